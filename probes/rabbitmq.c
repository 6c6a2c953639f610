/* RabbitMQ by librabbitmq: its topic exchange, and a queue of each subscriber's own, without acknowledgements. URL:
   amqp://guest:guest@127.0.0.1:5672/ */
#include "kadenz_probe.h"
#include <amqp.h>
#include <amqp_tcp_socket.h>

static void must(kadenz_probe *probe, amqp_rpc_reply_t reply, const char *why) {
    if (reply.reply_type != AMQP_RESPONSE_NORMAL) kadenz_probe_fail(probe, why);
}

static void lost(kadenz_probe *probe, int error) {
    char why[256];
    snprintf(why, sizeof why, "the connection to the server is lost: %s", amqp_error_string2(error));
    kadenz_probe_fail(probe, why);
}

static amqp_connection_state_t connect_to(kadenz_probe *probe) {
    struct amqp_connection_info at;
    amqp_connection_state_t it = amqp_new_connection();
    amqp_socket_t *end = amqp_tcp_socket_new(it);
    if (amqp_parse_url(probe->url, &at)) kadenz_probe_fail(probe, "the URL is amqp://USER:PASSWORD@HOST:PORT/");
    if (!end || amqp_socket_open(end, at.host, at.port)) kadenz_probe_fail(probe, "no server answers at that address");
    must(probe, amqp_login(it, *at.vhost ? at.vhost : "/", 0, AMQP_DEFAULT_FRAME_SIZE, 0, AMQP_SASL_METHOD_PLAIN, at.user, at.password),
         "the server refuses to let it in");
    amqp_channel_open(it, 1);
    must(probe, amqp_get_rpc_reply(it), "the server opens no channel");
    return it;
}

static void publish(kadenz_probe *probe, amqp_connection_state_t it) {
    amqp_bytes_t exchange = amqp_cstring_bytes("amq.topic"), key = amqp_cstring_bytes(kadenz_probe_channel(probe));
    amqp_bytes_t message = {kadenz_probe_bytes(probe), kadenz_probe_message(probe)};
    kadenz_probe_ready(probe);
    while (kadenz_probe_next(probe)) {
        int error = amqp_basic_publish(it, 1, exchange, key, 0, 0, NULL, message);
        kadenz_probe_sent(probe, !error);
        if (error) lost(probe, error);
    }
}

static void receive(kadenz_probe *probe, amqp_connection_state_t it) {
    amqp_table_entry_t most = {amqp_cstring_bytes("x-max-length"), {.kind = AMQP_FIELD_KIND_I64, .value.i64 = probe->queue}};
    amqp_bytes_t exchange = amqp_cstring_bytes("amq.topic"), key = amqp_cstring_bytes(kadenz_probe_channel(probe));
    amqp_queue_declare_ok_t *made = amqp_queue_declare(it, 1, amqp_empty_bytes, 0, 0, 1, 1, (amqp_table_t){1, &most});
    must(probe, amqp_get_rpc_reply(it), "the server makes no queue");
    amqp_bytes_t queue = amqp_bytes_malloc_dup(made->queue);
    amqp_queue_bind(it, 1, queue, exchange, key, amqp_empty_table);
    must(probe, amqp_get_rpc_reply(it), "the server does not bind the queue");
    amqp_basic_consume(it, 1, queue, amqp_empty_bytes, 0, 1, 1, amqp_empty_table);
    must(probe, amqp_get_rpc_reply(it), "the server gives nothing of the queue");
    kadenz_probe_ready(probe);
    while (kadenz_probe_waits(probe)) {
        struct timeval timeout = {.tv_usec = 100000};
        amqp_envelope_t envelope;
        amqp_maybe_release_buffers(it);
        amqp_rpc_reply_t reply = amqp_consume_message(it, &envelope, &timeout, 0);
        if (reply.reply_type != AMQP_RESPONSE_NORMAL) {
            /* Any frame other than a message closes the connection. */
            if (reply.library_error != AMQP_STATUS_TIMEOUT) lost(probe, reply.library_error);
            continue;
        }
        kadenz_probe_received(probe, envelope.message.body.bytes, envelope.message.body.len);
        amqp_destroy_envelope(&envelope);
    }
}

int main(void) {
    char name[64];
    snprintf(name, sizeof name, "RabbitMQ by librabbitmq %s", amqp_version());
    kadenz_probe *probe = kadenz_probe_open(name);
    amqp_connection_state_t it = connect_to(probe);
    if (kadenz_probe_publishes(probe)) publish(probe, it);
    else receive(probe, it);
    amqp_connection_close(it, AMQP_REPLY_SUCCESS);
    return kadenz_probe_close(probe);
}
