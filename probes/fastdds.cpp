/* Fast DDS: reliable, keep last, received by a listener, over its shared memory. URL: dds://DOMAIN; the channel is the
   topic. */
#include "kadenz_probe.h"
#include <fastdds/dds/domain/DomainParticipant.hpp>
#include <fastdds/dds/domain/DomainParticipantFactory.hpp>
#include <fastdds/dds/publisher/DataWriter.hpp>
#include <fastdds/dds/publisher/Publisher.hpp>
#include <fastdds/dds/subscriber/DataReader.hpp>
#include <fastdds/dds/subscriber/DataReaderListener.hpp>
#include <fastdds/dds/subscriber/SampleInfo.hpp>
#include <fastdds/dds/subscriber/Subscriber.hpp>
#include <fastdds/dds/topic/TopicDataType.hpp>
#include <fastdds/rtps/transport/UDPv4TransportDescriptor.h>
#include <fastdds/rtps/transport/shared_mem/SharedMemTransportDescriptor.h>
#include <fastrtps/config.h>

using namespace eprosima::fastdds::dds;
using Payload = eprosima::fastrtps::rtps::SerializedPayload_t;

/* Bytes of one length, behind the four bytes of DDS that name the encoding. */
struct Bytes : TopicDataType {
    explicit Bytes(size_t bytes) {
        setName("kadenz_probe::Bytes");
        m_typeSize = (uint32_t)bytes + 4;
        auto_fill_type_object(false);
        auto_fill_type_information(false);
    }
    bool serialize(void *data, Payload *to) override {
        const unsigned char head[4] = {0, CDR_LE, 0, 0};
        to->length = m_typeSize;
        memcpy(to->data, head, 4);
        memcpy(to->data + 4, data, m_typeSize - 4);
        return true;
    }
    bool deserialize(Payload *from, void *data) override {
        if (from->length != m_typeSize) return false;
        memcpy(data, from->data + 4, m_typeSize - 4);
        return true;
    }
    std::function<uint32_t()> getSerializedSizeProvider(void *) override { return [this] { return m_typeSize; }; }
    void *createData() override { return malloc(m_typeSize); }
    void deleteData(void *data) override { free(data); }
    bool getKey(void *, eprosima::fastrtps::rtps::InstanceHandle_t *, bool) override { return false; }
};

struct Listener : DataReaderListener {
    kadenz_probe *probe;
    explicit Listener(kadenz_probe *it) : probe(it) {}
    void on_data_available(DataReader *reader) override {
        SampleInfo info;
        void *data = kadenz_probe_message(probe);
        while (reader->take_next_sample(data, &info) == ReturnCode_t::RETCODE_OK)
            if (info.valid_data) kadenz_probe_received(probe, data, kadenz_probe_bytes(probe));
        kadenz_probe_waits(probe); /* this thread alone writes lines */
    }
};

template <typename Qos> static Qos reliable(const Qos &given, int32_t depth) {
    Qos qos = given;
    qos.reliability().kind = RELIABLE_RELIABILITY_QOS;
    qos.durability().kind = VOLATILE_DURABILITY_QOS;
    qos.history().kind = KEEP_LAST_HISTORY_QOS;
    qos.history().depth = depth;
    qos.data_sharing().off(); /* its writer refuses for good where several readers join (Fast DDS's issue 6361) */
    qos.resource_limits().max_samples = depth;
    qos.resource_limits().max_instances = 1;
    qos.resource_limits().max_samples_per_instance = depth;
    qos.resource_limits().allocated_samples = depth;
    return qos;
}

template <typename T> static T *must(kadenz_probe *probe, T *it, const char *what) {
    if (!it) kadenz_probe_fail(probe, what);
    return it;
}

static void publish(kadenz_probe *probe, DomainParticipant *participant, Topic *topic) {
    Publisher *publisher = must(probe, participant->create_publisher(PUBLISHER_QOS_DEFAULT), "Fast DDS makes no publisher");
    DataWriter *writer = publisher->create_datawriter(topic, reliable(DATAWRITER_QOS_DEFAULT, (int32_t)probe->queue));
    must(probe, writer, "Fast DDS makes no writer");
    kadenz_probe_ready(probe);
    while (kadenz_probe_next(probe)) kadenz_probe_sent(probe, writer->write(kadenz_probe_message(probe)));
    writer->wait_for_acknowledgments({1, 0});
}

static void receive(kadenz_probe *probe, DomainParticipant *participant, Topic *topic) {
    Subscriber *subscriber = must(probe, participant->create_subscriber(SUBSCRIBER_QOS_DEFAULT), "Fast DDS makes no subscriber");
    DataReader *reader = subscriber->create_datareader(topic, reliable(DATAREADER_QOS_DEFAULT, (int32_t)probe->queue));
    must(probe, reader, "Fast DDS makes no reader");
    Listener listener(probe);
    kadenz_probe_ready(probe);
    reader->set_listener(&listener);
    while (!kadenz_probe_ended(probe)) usleep(10000);
    reader->set_listener(nullptr);
    participant->delete_contained_entities(); /* no thread calls the listener any more */
}

/* Shared memory, with room for the waiting messages, and UDP on loopback alone. */
static DomainParticipantQos on_this_host(const kadenz_probe *probe) {
    using namespace eprosima::fastdds::rtps;
    DomainParticipantQos qos = PARTICIPANT_QOS_DEFAULT;
    auto memory = std::make_shared<SharedMemTransportDescriptor>();
    auto udp = std::make_shared<UDPv4TransportDescriptor>();
    memory->segment_size((uint32_t)((kadenz_probe_bytes(probe) + 65536) * (size_t)probe->queue));
    udp->interfaceWhiteList = {"127.0.0.1"};
    qos.transport().use_builtin_transports = false;
    qos.transport().user_transports = {memory, udp};
    return qos;
}

int main() {
    kadenz_probe *probe = kadenz_probe_open("Fast DDS " FASTRTPS_VERSION_STR);
    unsigned int domain;
    if (sscanf(kadenz_probe_url(probe), "dds://%u", &domain) != 1) kadenz_probe_fail(probe, "the URL is dds://DOMAIN");
    DomainParticipantFactory *factory = DomainParticipantFactory::get_instance();
    DomainParticipant *participant = must(probe, factory->create_participant(domain, on_this_host(probe)), "Fast DDS joins no domain");
    TypeSupport type(new Bytes(kadenz_probe_bytes(probe)));
    type.register_type(participant);
    Topic *topic = participant->create_topic(kadenz_probe_channel(probe), type.get_type_name(), TOPIC_QOS_DEFAULT);
    must(probe, topic, "Fast DDS makes no topic");
    if (kadenz_probe_publishes(probe)) publish(probe, participant, topic);
    else receive(probe, participant, topic);
    participant->delete_contained_entities();
    factory->delete_participant(participant);
    return kadenz_probe_close(probe);
}
