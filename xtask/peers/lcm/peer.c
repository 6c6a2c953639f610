/* LCM by liblcm. URL: udpm://239.255.76.67:7668?ttl=0 */
#include "../common/peer.h"
#include <lcm/lcm.h>

static void handle(const lcm_recv_buf_t *buffer, const char *channel, void *user) {
    (void)channel, (void)user;
    peer_heard(buffer->data, buffer->data_size);
}

static void *must(void *it) {
    if (!it) fprintf(stderr, "liblcm cannot open the bus\n"), exit(2);
    return it;
}

static void *open_publisher(const char *url, size_t bytes) { (void)bytes; return must(lcm_create(url)); }

static int publish(void *lcm, const void *message, size_t bytes) {
    return lcm_publish(lcm, "PEER", message, (unsigned int)bytes);
}

static void *open_subscriber(const char *url, size_t bytes) {
    (void)bytes;
    lcm_t *lcm = must(lcm_create(url));
    lcm_subscribe(lcm, "PEER", handle, NULL);
    return lcm;
}

static void receive(void *lcm, int timeout_ms) { lcm_handle_timeout(lcm, timeout_ms); }
