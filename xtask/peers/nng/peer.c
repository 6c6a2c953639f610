/* nng, pub0 and sub0. URL: ipc://FILE or tcp://127.0.0.1:7670; the publisher listens. */
#include "../common/peer.h"
#include <nng/nng.h>
#include <nng/protocol/pubsub0/pub.h>
#include <nng/protocol/pubsub0/sub.h>

static nng_socket ours;

static void must(int error) {
    if (error) fprintf(stderr, "nng: %s\n", nng_strerror(error)), exit(2);
}

static void *open_publisher(const char *url, size_t bytes) {
    (void)bytes;
    must(nng_pub0_open(&ours));
    must(nng_listen(ours, url, NULL, 0));
    return &ours;
}

static int publish(void *socket, const void *message, size_t bytes) {
    return nng_send(*(nng_socket *)socket, (void *)message, bytes, NNG_FLAG_NONBLOCK);
}

static void *open_subscriber(const char *url, size_t bytes) {
    must(nng_sub0_open(&ours));
    must(nng_socket_set(ours, NNG_OPT_SUB_SUBSCRIBE, "", 0));
    must(nng_socket_set_size(ours, NNG_OPT_RECVMAXSZ, bytes + 64));
    must(nng_socket_set_ms(ours, NNG_OPT_RECONNMINT, 10));
    must(nng_dial(ours, url, NULL, NNG_FLAG_NONBLOCK));
    return &ours;
}

static void receive(void *socket, int timeout_ms) {
    nng_msg *message;
    nng_socket_set_ms(*(nng_socket *)socket, NNG_OPT_RECVTIMEO, timeout_ms);
    if (nng_recvmsg(*(nng_socket *)socket, &message, 0)) return;
    peer_heard(nng_msg_body(message), nng_msg_len(message));
    nng_msg_free(message);
}
