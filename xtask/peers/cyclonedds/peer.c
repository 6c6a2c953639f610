/* Cyclone DDS, best effort, heard by a listener, which is its quickest way. URL: the topic's name. */
#include "../common/peer.h"
#include "dds/dds.h"
#include "probe.h"

static dds_entity_t must(dds_entity_t it) {
    if (it < 0) fprintf(stderr, "Cyclone DDS: %s\n", dds_strretcode(-it)), exit(2);
    return it;
}

static dds_qos_t *best_effort(void) {
    dds_qos_t *qos = dds_create_qos();
    dds_qset_reliability(qos, DDS_RELIABILITY_BEST_EFFORT, 0);
    dds_qset_history(qos, DDS_HISTORY_KEEP_LAST, 30);
    return qos;
}

static dds_entity_t topic(dds_entity_t participant, const char *url) {
    return must(dds_create_topic(participant, &peer_Probe_desc, url, NULL, NULL));
}

static void came(dds_entity_t reader, void *user) {
    void *samples[1] = {NULL};
    dds_sample_info_t info[1];
    (void)user;
    while (dds_take(reader, samples, info, 1, 1) > 0) {
        const peer_Probe *probe = samples[0];
        if (info[0].valid_data) peer_heard(probe->bytes._buffer, probe->bytes._length);
        dds_return_loan(reader, samples, 1);
        samples[0] = NULL;
    }
}

static void *open_publisher(const char *url, size_t bytes) {
    static dds_entity_t writer;
    (void)bytes;
    dds_entity_t participant = must(dds_create_participant(DDS_DOMAIN_DEFAULT, NULL, NULL));
    writer = must(dds_create_writer(participant, topic(participant, url), best_effort(), NULL));
    return &writer;
}

static int publish(void *writer, const void *message, size_t bytes) {
    peer_Probe probe = {.bytes = {._maximum = (uint32_t)bytes, ._length = (uint32_t)bytes,
                                  ._buffer = (uint8_t *)message, ._release = false}};
    return dds_write(*(dds_entity_t *)writer, &probe);
}

static void *open_subscriber(const char *url, size_t bytes) {
    (void)bytes;
    dds_entity_t participant = must(dds_create_participant(DDS_DOMAIN_DEFAULT, NULL, NULL));
    dds_listener_t *listener = dds_create_listener(NULL);
    dds_lset_data_available(listener, came);
    must(dds_create_reader(participant, topic(participant, url), best_effort(), listener));
    return NULL;
}

static void receive(void *nothing, int timeout_ms) {
    (void)nothing;
    usleep((useconds_t)timeout_ms * 1000);
}
