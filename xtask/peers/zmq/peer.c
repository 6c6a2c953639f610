/* ZeroMQ by libzmq, PUB and SUB. URL: tcp://127.0.0.1:7669 or ipc://FILE; the publisher binds. */
#include "../common/peer.h"
#include <zmq.h>

static void *socket_of(int type, int (*join)(void *, const char *), const char *url) {
    void *socket = zmq_socket(zmq_ctx_new(), type);
    if (type == ZMQ_SUB) zmq_setsockopt(socket, ZMQ_SUBSCRIBE, "", 0);
    if (join(socket, url)) fprintf(stderr, "libzmq: %s\n", zmq_strerror(errno)), exit(2);
    return socket;
}

static void *open_publisher(const char *url, size_t bytes) {
    (void)bytes;
    return socket_of(ZMQ_PUB, zmq_bind, url);
}

static int publish(void *socket, const void *message, size_t bytes) {
    return zmq_send(socket, message, bytes, ZMQ_DONTWAIT);
}

static void *open_subscriber(const char *url, size_t bytes) {
    (void)bytes;
    return socket_of(ZMQ_SUB, zmq_connect, url);
}

static void receive(void *socket, int timeout_ms) {
    zmq_setsockopt(socket, ZMQ_RCVTIMEO, &timeout_ms, sizeof timeout_ms);
    zmq_msg_t message;
    zmq_msg_init(&message);
    while (zmq_msg_recv(&message, socket, 0) >= 0) {
        uint64_t before = peer.heard;
        peer_heard(zmq_msg_data(&message), zmq_msg_size(&message));
        if (peer.heard == before || peer.heard == peer.count) break;
    }
    zmq_msg_close(&message);
}
