/* RabbitMQ by librabbitmq-c: a topic exchange, and a queue of the subscriber's own, without
   acknowledgements. URL: amqp://guest:guest@127.0.0.1:5672/ */
#include "../common/peer.h"
#include <amqp.h>
#include <amqp_tcp_socket.h>

static const amqp_channel_t CHANNEL = 1;

static void check(amqp_rpc_reply_t reply, const char *what) {
    if (reply.reply_type == AMQP_RESPONSE_NORMAL) return;
    fprintf(stderr, "librabbitmq-c: %s failed\n", what);
    exit(2);
}

static void must(amqp_connection_state_t connection, const char *what) {
    check(amqp_get_rpc_reply(connection), what);
}

static amqp_connection_state_t open_connection(const char *url) {
    struct amqp_connection_info account;
    char *words = strdup(url);
    if (amqp_parse_url(words, &account)) fprintf(stderr, "%s is no URL\n", url), exit(2);
    amqp_connection_state_t connection = amqp_new_connection();
    amqp_socket_t *socket = amqp_tcp_socket_new(connection);
    if (!socket || amqp_socket_open(socket, account.host, account.port))
        fprintf(stderr, "librabbitmq-c: nobody answers at %s\n", url), exit(2);
    check(amqp_login(connection, "/", 0, AMQP_DEFAULT_FRAME_SIZE, 0, AMQP_SASL_METHOD_PLAIN,
                     account.user, account.password), "login");
    amqp_channel_open(connection, CHANNEL);
    must(connection, "a channel");
    amqp_exchange_declare(connection, CHANNEL, amqp_cstring_bytes("peer"),
                          amqp_cstring_bytes("topic"), 0, 0, 1, 0, amqp_empty_table);
    must(connection, "the exchange");
    return connection;
}

static void *open_publisher(const char *url, size_t bytes) {
    (void)bytes;
    return open_connection(url);
}

static int publish(void *connection, const void *message, size_t bytes) {
    amqp_bytes_t body = {.len = bytes, .bytes = (void *)message};
    return amqp_basic_publish(connection, CHANNEL, amqp_cstring_bytes("peer"),
                              amqp_cstring_bytes("PEER"), 0, 0, NULL, body);
}

static void *open_subscriber(const char *url, size_t bytes) {
    (void)bytes;
    amqp_connection_state_t connection = open_connection(url);
    amqp_queue_declare_ok_t *queue =
        amqp_queue_declare(connection, CHANNEL, amqp_empty_bytes, 0, 0, 1, 1, amqp_empty_table);
    must(connection, "a queue");
    amqp_bytes_t name = amqp_bytes_malloc_dup(queue->queue);
    amqp_queue_bind(connection, CHANNEL, name, amqp_cstring_bytes("peer"),
                    amqp_cstring_bytes("PEER"), amqp_empty_table);
    must(connection, "binding the queue");
    amqp_basic_consume(connection, CHANNEL, name, amqp_empty_bytes, 0, 1, 1, amqp_empty_table);
    must(connection, "consuming");
    return connection;
}

static void receive(void *connection, int timeout_ms) {
    struct timeval timeout = {timeout_ms / 1000, timeout_ms % 1000 * 1000};
    amqp_envelope_t envelope;
    amqp_maybe_release_buffers(connection);
    amqp_rpc_reply_t reply = amqp_consume_message(connection, &envelope, &timeout, 0);
    if (reply.reply_type != AMQP_RESPONSE_NORMAL) return;
    peer_heard(envelope.message.body.bytes, envelope.message.body.len);
    amqp_destroy_envelope(&envelope);
}
