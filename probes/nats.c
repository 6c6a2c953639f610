/* NATS by its C client, with a server. URL: nats://127.0.0.1:4222 */
#include "kadenz_probe.h"
#include <nats/nats.h>

static void must(kadenz_probe *probe, natsStatus status) {
    if (status != NATS_OK) kadenz_probe_fail(probe, natsStatus_GetText(status));
}

static void lost(kadenz_probe *probe, natsStatus status) {
    char why[256];
    snprintf(why, sizeof why, "the connection to the server is lost: %s", natsStatus_GetText(status));
    kadenz_probe_fail(probe, why);
}

/* The options disable reconnecting. */
static void publish(kadenz_probe *probe, natsConnection *it) {
    while (kadenz_probe_next(probe)) {
        natsStatus status = natsConnection_Publish(it, kadenz_probe_channel(probe), kadenz_probe_message(probe),
                                                   (int)kadenz_probe_bytes(probe));
        kadenz_probe_sent(probe, status == NATS_OK);
        if (status != NATS_OK && natsConnection_IsClosed(it)) lost(probe, status);
    }
}

static void receive(kadenz_probe *probe, natsConnection *it, natsSubscription *subscription) {
    natsMsg *message;
    while (kadenz_probe_waits(probe)) {
        natsStatus status = natsSubscription_NextMsg(&message, subscription, 100);
        if (status != NATS_OK && natsConnection_IsClosed(it)) lost(probe, status);
        if (status != NATS_OK) continue;
        kadenz_probe_received(probe, natsMsg_GetData(message), (size_t)natsMsg_GetDataLength(message));
        natsMsg_Destroy(message);
    }
}

int main(void) {
    char name[64];
    snprintf(name, sizeof name, "NATS by its C client %s", nats_GetVersion());
    kadenz_probe *probe = kadenz_probe_open(name);
    natsOptions *options;
    natsConnection *it;
    natsSubscription *subscription = NULL;
    must(probe, natsOptions_Create(&options));
    must(probe, natsOptions_SetURL(options, kadenz_probe_url(probe)));
    must(probe, natsOptions_SetSendAsap(options, true));
    must(probe, natsOptions_SetAllowReconnect(options, false));
    must(probe, natsConnection_Connect(&it, options));
    if (!kadenz_probe_publishes(probe)) {
        must(probe, natsConnection_SubscribeSync(&subscription, it, kadenz_probe_channel(probe)));
        must(probe, natsSubscription_SetPendingLimits(subscription, (int)probe->queue, -1));
        must(probe, natsConnection_Flush(it));
    }
    kadenz_probe_ready(probe);
    if (kadenz_probe_publishes(probe)) publish(probe, it);
    else receive(probe, it, subscription);
    natsConnection_Flush(it);
    natsConnection_Close(it);
    return kadenz_probe_close(probe);
}
