/* What all peers written in C share: two processes, the beat, the times, and the line at the end.
   A peer defines the four functions below and calls peer_heard for each message. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static void *open_publisher(const char *url, size_t bytes);
static int publish(void *publisher, const void *message, size_t bytes);
static void *open_subscriber(const char *url, size_t bytes);
/* Waits for messages, no longer than that. */
static void receive(void *subscriber, int timeout_ms);

#define GREETING UINT64_MAX
#define WARM_UP 20

static struct { int64_t *values; uint64_t count, heard; volatile int open; } peer;

static int64_t peer_now(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * 1000000000LL + now.tv_nsec;
}

static void peer_heard(const void *message, size_t bytes) {
    uint64_t sequence;
    int64_t sent, now = peer_now();
    if (bytes < 16) return;
    memcpy(&sequence, message, 8);
    memcpy(&sent, (const char *)message + 8, 8);
    if (sequence == GREETING) { peer.open = 1; return; }
    if (sequence >= peer.count || peer.values[sequence] >= 0) return;
    peer.values[sequence] = now - sent;
    peer.heard++;
}

static void peer_publish(void *publisher, char *message, size_t bytes, uint64_t sequence) {
    int64_t sent = peer_now();
    memcpy(message, &sequence, 8);
    memcpy(message + 8, &sent, 8);
    publish(publisher, message, bytes);
}

static void peer_publish_all(const char *url, size_t bytes, int64_t interval_ns, int begin) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    void *publisher = open_publisher(url, bytes);
    char *message = (char *)calloc(1, bytes);
    struct pollfd told = {.fd = begin, .events = POLLIN};
    while (poll(&told, 1, 10) == 0) peer_publish(publisher, message, bytes, GREETING);
    int64_t beat = peer_now() + 50000000;
    for (int64_t at = -WARM_UP; at < (int64_t)peer.count; at++, beat += interval_ns) {
        struct timespec until = {beat / 1000000000, beat % 1000000000};
        while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL) == EINTR) {}
        peer_publish(publisher, message, bytes, at < 0 ? GREETING : (uint64_t)at);
    }
    usleep(300000); /* what is on its way in the library's own threads */
    _exit(0);
}

static int peer_order(const void *a, const void *b) {
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

static void peer_tell(double seconds) {
    uint64_t held = 0;
    for (uint64_t at = 0; at < peer.count; at++)
        if (peer.values[at] >= 0) peer.values[held++] = peer.values[at];
    qsort(peer.values, held, sizeof(int64_t), peer_order);
    printf("{\"count\":%llu,\"lost\":%llu", (unsigned long long)held,
           (unsigned long long)(peer.count - held));
    const struct { const char *name; double share; } views[] = {
        {"p50_ns", 0.5}, {"p90_ns", 0.9}, {"p99_ns", 0.99}, {"p99_9_ns", 0.999}, {"max_ns", 1}};
    for (int at = 0; held > 0 && at < 5; at++) {
        uint64_t rank = (uint64_t)(views[at].share * (double)held + 0.999999);
        printf(",\"%s\":%lld", views[at].name, (long long)peer.values[rank < held ? rank - 1 : held - 1]);
    }
    printf(",\"seconds\":%.3f}\n", seconds);
}

int main(int argc, char **argv) {
    int begin[2];
    if (argc != 5 || pipe(begin) != 0) {
        fprintf(stderr, "usage: %s URL COUNT BYTES INTERVAL_NS\n", argv[0]);
        return 2;
    }
    size_t bytes = strtoull(argv[3], NULL, 10);
    peer.count = strtoull(argv[2], NULL, 10);
    peer.values = (int64_t *)malloc(peer.count * sizeof(int64_t));
    if (bytes < 16 || !peer.values) return 2;
    memset(peer.values, 0xff, peer.count * sizeof(int64_t));
    if (mlockall(MCL_CURRENT | MCL_FUTURE)) errno = 0; /* without the right it is done without */
    pid_t child = fork();
    if (child == 0) {
        if (mlockall(MCL_CURRENT | MCL_FUTURE)) errno = 0;
        peer_publish_all(argv[1], bytes, strtoll(argv[4], NULL, 10), begin[0]);
    }
    void *subscriber = open_subscriber(argv[1], bytes);
    int64_t patience = peer_now() + 10000000000LL;
    while (!peer.open) {
        receive(subscriber, 10);
        if (peer_now() > patience || waitpid(child, NULL, WNOHANG) == child) {
            fprintf(stderr, "%s: no message came over %s\n", argv[0], argv[1]);
            kill(child, SIGKILL);
            return 1;
        }
    }
    if (write(begin[1], "b", 1) != 1) return 1;
    int64_t started = peer_now(), last = started;
    for (uint64_t before = 0; peer.heard < peer.count; before = peer.heard) {
        receive(subscriber, 100);
        if (peer.heard != before) { last = peer_now(); continue; }
        if (waitpid(child, NULL, WNOHANG) != 0) break; /* silent for 100 ms after 300 of its own */
    }
    peer_tell((double)(last - started) / 1e9);
    kill(child, SIGKILL);
    _exit(fflush(stdout));
}
