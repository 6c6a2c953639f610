/* A program of Cyclone DDS, by kadenz.idl alone: publishes to FROM_CYCLONE and prints what it receives.
   Arguments: domain, topic, "reliable" or "best_effort". Ends when its standard input closes. */
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "dds/dds.h"
#include "kadenz.h"

#define LONG 200000

static dds_entity_t must(dds_entity_t it) {
    if (it < 0) fprintf(stderr, "Cyclone DDS: %s\n", dds_strretcode(-it)), exit(2);
    return it;
}

static void publish(dds_entity_t writer, uint8_t *bytes, uint32_t length) {
    kadenz_Message message = {
        .channel = "FROM_CYCLONE",
        .payload = {._maximum = length, ._length = length, ._buffer = bytes, ._release = false}};
    must(dds_write(writer, &message));
}

static void print_what_came(dds_entity_t reader) {
    void *samples[1] = {NULL};
    dds_sample_info_t info[1];
    while (dds_take(reader, samples, info, 1, 1) > 0) {
        const kadenz_Message *message = samples[0];
        if (info[0].valid_data) {
            unsigned sum = 0;
            for (uint32_t at = 0; at < message->payload._length; at++)
                sum += message->payload._buffer[at];
            printf("%s %u %u\n", message->channel, (unsigned)message->payload._length, sum);
        }
        dds_return_loan(reader, samples, 1);
        samples[0] = NULL;
    }
    fflush(stdout);
}

int main(int count, char **arguments) {
    if (count != 4) return 2;
    int reliable = strcmp(arguments[3], "reliable") == 0;
    dds_entity_t participant = must(dds_create_participant(atoi(arguments[1]), NULL, NULL));
    dds_entity_t topic = must(dds_create_topic(participant, &kadenz_Message_desc, arguments[2], NULL, NULL));
    dds_qos_t *qos = dds_create_qos();
    dds_qset_reliability(qos, reliable ? DDS_RELIABILITY_RELIABLE : DDS_RELIABILITY_BEST_EFFORT, DDS_SECS(1));
    dds_qset_history(qos, DDS_HISTORY_KEEP_LAST, 100);
    dds_entity_t writer = must(dds_create_writer(participant, topic, qos, NULL));
    dds_entity_t reader = must(dds_create_reader(participant, topic, qos, NULL));
    static uint8_t bytes[LONG];
    memset(bytes, 7, LONG);
    struct pollfd input = {.fd = 0, .events = POLLIN};
    while (poll(&input, 1, 50) == 0) {
        publish(writer, bytes, 5);
        publish(writer, bytes, LONG);
        print_what_came(reader);
    }
    return 0;
}
