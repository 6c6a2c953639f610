/* ZeroMQ by libzmq: PUB and SUB, a message of one frame; the publisher binds. URL: tcp://127.0.0.1:7669 or
   ipc:///tmp/FILE */
#include "kadenz_probe.h"
#include <zmq.h>

int main(void) {
    char name[64];
    int major, minor, patch, timeout = 100, linger = 1000;
    zmq_version(&major, &minor, &patch);
    snprintf(name, sizeof name, "libzmq %d.%d.%d", major, minor, patch);
    kadenz_probe *probe = kadenz_probe_open(name);
    int is_publisher = kadenz_probe_publishes(probe), queue = (int)probe->queue;
    void *context = zmq_ctx_new(), *end = zmq_socket(context, is_publisher ? ZMQ_PUB : ZMQ_SUB);
    zmq_setsockopt(end, is_publisher ? ZMQ_SNDHWM : ZMQ_RCVHWM, &queue, sizeof queue);
    zmq_setsockopt(end, ZMQ_LINGER, &linger, sizeof linger);
    if (!is_publisher) {
        zmq_setsockopt(end, ZMQ_SUBSCRIBE, "", 0);
        zmq_setsockopt(end, ZMQ_RCVTIMEO, &timeout, sizeof timeout);
    }
    if (is_publisher ? zmq_bind(end, kadenz_probe_url(probe)) : zmq_connect(end, kadenz_probe_url(probe)))
        kadenz_probe_fail(probe, zmq_strerror(errno));
    kadenz_probe_ready(probe);
    if (is_publisher)
        while (kadenz_probe_next(probe))
            kadenz_probe_sent(probe, zmq_send(end, kadenz_probe_message(probe), kadenz_probe_bytes(probe), ZMQ_DONTWAIT) >= 0);
    zmq_msg_t message;
    zmq_msg_init(&message);
    while (!is_publisher && kadenz_probe_waits(probe))
        if (zmq_msg_recv(&message, end, 0) >= 0)
            kadenz_probe_received(probe, zmq_msg_data(&message), zmq_msg_size(&message));
    zmq_msg_close(&message);
    zmq_close(end);
    zmq_ctx_term(context); /* sends the waiting messages */
    return kadenz_probe_close(probe);
}
