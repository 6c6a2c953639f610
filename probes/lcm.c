/* LCM by liblcm. URL: udpm://239.255.76.67:7667?ttl=0 */
#include "kadenz_probe.h"
#include <lcm/lcm.h>

static void came(const lcm_recv_buf_t *buffer, const char *channel, void *probe) {
    (void)channel;
    kadenz_probe_received((kadenz_probe *)probe, buffer->data, buffer->data_size);
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
    if (kadenz_probe_publishes(probe))
        while (kadenz_probe_next(probe))
            kadenz_probe_sent(probe, !lcm_publish(lcm, channel, kadenz_probe_message(probe),
                                                  (unsigned int)kadenz_probe_bytes(probe)));
    else
        while (kadenz_probe_waits(probe)) lcm_handle_timeout(lcm, 100);
    return kadenz_probe_close(probe);
}
