/* NATS by its C client, with a server. URL: nats://127.0.0.1:4222 */
#include "kadenz_probe.h"
#include <nats/nats.h>

static void must(kadenz_probe *probe, natsStatus status) {
    if (status != NATS_OK) kadenz_probe_fail(probe, natsStatus_GetText(status));
}

int main(void) {
    char name[64];
    snprintf(name, sizeof name, "NATS by its C client %s", nats_GetVersion());
    kadenz_probe *probe = kadenz_probe_open(name);
    natsOptions *options;
    natsConnection *it;
    natsSubscription *subscription;
    natsMsg *message;
    must(probe, natsOptions_Create(&options));
    must(probe, natsOptions_SetURL(options, kadenz_probe_url(probe)));
    must(probe, natsOptions_SetSendAsap(options, true));
    must(probe, natsConnection_Connect(&it, options));
    if (!kadenz_probe_publishes(probe)) {
        must(probe, natsConnection_SubscribeSync(&subscription, it, kadenz_probe_channel(probe)));
        must(probe, natsSubscription_SetPendingLimits(subscription, (int)probe->queue, -1));
        must(probe, natsConnection_Flush(it));
    }
    kadenz_probe_ready(probe);
    if (kadenz_probe_publishes(probe))
        while (kadenz_probe_next(probe))
            kadenz_probe_sent(probe, natsConnection_Publish(it, kadenz_probe_channel(probe), kadenz_probe_message(probe),
                                                            (int)kadenz_probe_bytes(probe)) == NATS_OK);
    else
        while (kadenz_probe_waits(probe)) {
            if (natsSubscription_NextMsg(&message, subscription, 100) != NATS_OK) continue;
            kadenz_probe_received(probe, natsMsg_GetData(message), (size_t)natsMsg_GetDataLength(message));
            natsMsg_Destroy(message);
        }
    natsConnection_Flush(it);
    natsConnection_Close(it);
    return kadenz_probe_close(probe);
}
