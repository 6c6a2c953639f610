/* Cyclone DDS: reliable, keep last, received by a listener, which is its quickest way. URL: dds://DOMAIN; the channel is
   the topic. `idlc -l c cyclonedds_type.idl` writes the type. */
#include "kadenz_probe.h"
#include "cyclonedds_type.c"
#include <dds/dds.h>
#include <dds/version.h>

/* No packet leaves this host, unless CYCLONEDDS_URI says otherwise. */
#define LOOPBACK \
    "<CycloneDDS><Domain><General><Interfaces><NetworkInterface name='lo' multicast='true'/></Interfaces>" \
    "</General></Domain></CycloneDDS>"

static dds_entity_t must(kadenz_probe *probe, dds_entity_t it) {
    if (it < 0) kadenz_probe_fail(probe, dds_strretcode(-it));
    return it;
}

static void came(dds_entity_t reader, void *probe) {
    void *samples[1] = {NULL};
    dds_sample_info_t info[1];
    while (dds_take(reader, samples, info, 1, 1) > 0) {
        const kadenz_probe_idl_Message *it = (const kadenz_probe_idl_Message *)samples[0];
        if (info[0].valid_data) kadenz_probe_received((kadenz_probe *)probe, it->bytes._buffer, it->bytes._length);
        dds_return_loan(reader, samples, 1);
        samples[0] = NULL;
    }
    kadenz_probe_waits((kadenz_probe *)probe); /* this thread alone writes lines */
}

static void publish(kadenz_probe *probe, dds_entity_t writer) {
    uint32_t bytes = (uint32_t)kadenz_probe_bytes(probe);
    kadenz_probe_idl_Message message = {{bytes, bytes, (uint8_t *)kadenz_probe_message(probe), false}};
    kadenz_probe_ready(probe);
    while (kadenz_probe_next(probe)) kadenz_probe_sent(probe, dds_write(writer, &message) == DDS_RETCODE_OK);
    dds_wait_for_acks(writer, DDS_SECS(1));
}

static void receive(kadenz_probe *probe, dds_entity_t reader) {
    dds_listener_t *listener = dds_create_listener(probe);
    dds_lset_data_available(listener, came);
    kadenz_probe_ready(probe);
    must(probe, dds_set_listener(reader, listener));
    while (!kadenz_probe_ended(probe)) usleep(10000);
    dds_set_listener(reader, NULL); /* waits until no listener runs any more */
}

int main(void) {
    kadenz_probe *probe = kadenz_probe_open("Cyclone DDS " DDS_VERSION);
    unsigned int domain;
    if (sscanf(kadenz_probe_url(probe), "dds://%u", &domain) != 1) kadenz_probe_fail(probe, "the URL is dds://DOMAIN");
    setenv("CYCLONEDDS_URI", LOOPBACK, 0);
    dds_entity_t participant = must(probe, dds_create_participant(domain, NULL, NULL));
    dds_entity_t topic = must(probe, dds_create_topic(participant, &kadenz_probe_idl_Message_desc, kadenz_probe_channel(probe), NULL, NULL));
    dds_qos_t *qos = dds_create_qos();
    dds_qset_reliability(qos, DDS_RELIABILITY_RELIABLE, DDS_MSECS(100));
    dds_qset_history(qos, DDS_HISTORY_KEEP_LAST, (int32_t)probe->queue);
    if (kadenz_probe_publishes(probe)) publish(probe, must(probe, dds_create_writer(participant, topic, qos, NULL)));
    else receive(probe, must(probe, dds_create_reader(participant, topic, qos, NULL)));
    dds_delete(participant);
    return kadenz_probe_close(probe);
}
