/* MQTT by libmosquitto, of QoS 0, with a broker. URL: mqtt://127.0.0.1:1883 */
#include "kadenz_probe.h"
#include <mosquitto.h>
#include <poll.h>

static int is_connected;

static void must(kadenz_probe *probe, int error) {
    if (error) kadenz_probe_fail(probe, mosquitto_strerror(error));
}

static void lost(kadenz_probe *probe, int error) {
    char why[256];
    snprintf(why, sizeof why, "the connection to the broker is lost: %s", mosquitto_strerror(error));
    kadenz_probe_fail(probe, why);
}

static void came(struct mosquitto *it, void *probe, const struct mosquitto_message *message) {
    (void)it;
    kadenz_probe_received((kadenz_probe *)probe, message->payload, (size_t)message->payloadlen);
}

static void connected(struct mosquitto *it, void *probe, int refused) {
    (void)it;
    if (refused) kadenz_probe_fail((kadenz_probe *)probe, mosquitto_connack_string(refused));
    is_connected = 1;
}

/* Without a loop of its own the library writes at once; bytes that the kernel refused are written here. */
static int publish(struct mosquitto *it, kadenz_probe *probe) {
    int error = mosquitto_publish(it, NULL, kadenz_probe_channel(probe), (int)kadenz_probe_bytes(probe),
                                  kadenz_probe_message(probe), 0, false);
    while (!error && mosquitto_want_write(it)) {
        struct pollfd end = {.fd = mosquitto_socket(it), .events = POLLOUT};
        poll(&end, 1, 100);
        error = mosquitto_loop_write(it, 1);
    }
    return error;
}

int main(void) {
    char name[64], host[64];
    int major, minor, patch, port;
    mosquitto_lib_init();
    mosquitto_lib_version(&major, &minor, &patch);
    snprintf(name, sizeof name, "MQTT by libmosquitto %d.%d.%d", major, minor, patch);
    kadenz_probe *probe = kadenz_probe_open(name);
    struct mosquitto *it = mosquitto_new(NULL, true, probe);
    if (sscanf(kadenz_probe_url(probe), "mqtt://%63[^:]:%d", host, &port) != 2) kadenz_probe_fail(probe, "the URL is mqtt://HOST:PORT");
    mosquitto_int_option(it, MOSQ_OPT_TCP_NODELAY, 1);
    mosquitto_connect_callback_set(it, connected);
    mosquitto_message_callback_set(it, came);
    must(probe, mosquitto_connect(it, host, port, 60));
    while (!is_connected) must(probe, mosquitto_loop(it, 100, 1));
    if (!kadenz_probe_publishes(probe)) must(probe, mosquitto_subscribe(it, NULL, kadenz_probe_channel(probe), 0));
    kadenz_probe_ready(probe);
    if (kadenz_probe_publishes(probe))
        while (kadenz_probe_next(probe)) {
            int error = publish(it, probe);
            kadenz_probe_sent(probe, !error);
            if (error) lost(probe, error);
        }
    else
        for (int error; kadenz_probe_waits(probe);)
            if ((error = mosquitto_loop(it, 100, 1))) lost(probe, error);
    mosquitto_disconnect(it);
    return kadenz_probe_close(probe);
}
