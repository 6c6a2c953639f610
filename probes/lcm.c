/* LCM by liblcm. URL: udpm://239.255.76.67:7667?ttl=0 */
#include "kadenz_probe.h"
#include <lcm/lcm.h>

static void came(const lcm_recv_buf_t *buffer, const char *channel, void *probe) {
    (void)channel;
    kadenz_probe_received((kadenz_probe *)probe, buffer->data, buffer->data_size);
}

/* Without a server, publishing fails where the kernel refuses the message. */
static void publish(kadenz_probe *probe, lcm_t *lcm, const char *channel) {
    int has_server = !strncmp(kadenz_probe_url(probe), "tcpq:", 5);
    while (kadenz_probe_next(probe)) {
        int error = lcm_publish(lcm, channel, kadenz_probe_message(probe), (unsigned int)kadenz_probe_bytes(probe));
        kadenz_probe_sent(probe, !error);
        if (error && has_server) kadenz_probe_fail(probe, "the connection to the server is lost");
    }
}

static void receive(kadenz_probe *probe, lcm_t *lcm) {
    while (kadenz_probe_waits(probe))
        if (lcm_handle_timeout(lcm, 100) < 0) kadenz_probe_fail(probe, "liblcm receives no more: the bus is lost");
}

int main(void) {
    char name[64];
    snprintf(name, sizeof name, "liblcm %d.%d.%d", LCM_MAJOR_VERSION, LCM_MINOR_VERSION, LCM_MICRO_VERSION);
    kadenz_probe *probe = kadenz_probe_open(name);
    const char *channel = kadenz_probe_channel(probe);
    lcm_t *lcm = lcm_create(kadenz_probe_url(probe));
    if (!lcm) kadenz_probe_fail(probe, "liblcm cannot open the bus");
    if (!kadenz_probe_publishes(probe))
        lcm_subscription_set_queue_capacity(lcm_subscribe(lcm, channel, came, probe), (int)probe->queue);
    kadenz_probe_ready(probe);
    if (kadenz_probe_publishes(probe)) publish(probe, lcm, channel);
    else receive(probe, lcm);
    return kadenz_probe_close(probe);
}
