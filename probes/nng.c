/* nng: pub0 and sub0; the publisher listens. URL: ipc:///tmp/FILE or tcp://127.0.0.1:7670 */
#include "kadenz_probe.h"
#include <nng/nng.h>
#include <nng/protocol/pubsub0/pub.h>
#include <nng/protocol/pubsub0/sub.h>

static void must(kadenz_probe *probe, int error) {
    if (error) kadenz_probe_fail(probe, nng_strerror(error));
}

static void publish(kadenz_probe *probe) {
    nng_socket end;
    must(probe, nng_pub0_open(&end));
    must(probe, nng_socket_set_int(end, NNG_OPT_SENDBUF, (int)probe->queue));
    must(probe, nng_listen(end, kadenz_probe_url(probe), NULL, 0));
    kadenz_probe_ready(probe);
    while (kadenz_probe_next(probe))
        kadenz_probe_sent(probe, !nng_send(end, kadenz_probe_message(probe), kadenz_probe_bytes(probe), NNG_FLAG_NONBLOCK));
    usleep(300000); /* closing drops waiting messages, and the library does not report when they are sent */
    nng_close(end);
}

static void receive(kadenz_probe *probe) {
    nng_socket end;
    nng_msg *message;
    must(probe, nng_sub0_open(&end));
    must(probe, nng_socket_set(end, NNG_OPT_SUB_SUBSCRIBE, "", 0));
    must(probe, nng_socket_set_size(end, NNG_OPT_RECVMAXSZ, kadenz_probe_bytes(probe)));
    must(probe, nng_socket_set_int(end, NNG_OPT_RECVBUF, (int)probe->queue));
    must(probe, nng_socket_set_ms(end, NNG_OPT_RECONNMINT, 10));
    must(probe, nng_socket_set_ms(end, NNG_OPT_RECVTIMEO, 100));
    must(probe, nng_dial(end, kadenz_probe_url(probe), NULL, NNG_FLAG_NONBLOCK));
    kadenz_probe_ready(probe);
    while (kadenz_probe_waits(probe)) {
        if (nng_recvmsg(end, &message, 0)) continue;
        kadenz_probe_received(probe, nng_msg_body(message), nng_msg_len(message));
        nng_msg_free(message);
    }
    nng_close(end);
}

int main(void) {
    char name[64];
    snprintf(name, sizeof name, "nng %s", nng_version());
    kadenz_probe *probe = kadenz_probe_open(name);
    if (kadenz_probe_publishes(probe)) publish(probe);
    else receive(probe);
    return kadenz_probe_close(probe);
}
