/* A probe of `kadenz msg latency` and `kadenz timer`, in one header: a program that publishes, subscribes or sets timers
   by another library. It reads its task from its standard input, keeps the beat, stamps each message, and writes what
   came and when to its standard output. C99 and C++, Linux; link with -pthread.

       #include "kadenz_probe.h"

       int main(void) {
           kadenz_probe *probe = kadenz_probe_open("my middleware 1.0");
           if (kadenz_probe_publishes(probe)) {
               ... open a publisher at kadenz_probe_url(probe), then kadenz_probe_ready(probe) ...
               while (kadenz_probe_next(probe))
                   kadenz_probe_sent(probe, send(kadenz_probe_message(probe), kadenz_probe_bytes(probe)) == 0);
           } else {
               ... subscribe, then kadenz_probe_ready(probe) ...
               while (kadenz_probe_waits(probe))
                   if (receive(data, &length, 100 ms)) kadenz_probe_received(probe, data, length);
           }
           return kadenz_probe_close(probe);
       }

   The message is LCM's encoding of kadenz.latency_probe_t, with times of CLOCK_MONOTONIC, so that a probe may be one
   side and Kadenz the other where both use one protocol. All other output of the program and its libraries to standard
   output goes to standard error. After kadenz_probe_ready nothing allocates. docs/messages-probes.md describes the
   lines. */
#ifndef KADENZ_PROBE_H
#define KADENZ_PROBE_H

#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/* Bytes of a message without padding. */
#define KADENZ_PROBE_MIN 52
#define KADENZ_PROBE_FINGERPRINT UINT64_C(0xbd30f24f6a0ea620)
/* A greeting's number, and the time between two greetings. */
#define KADENZ_PROBE_GREETING (-1)
#define KADENZ_PROBE_GREETING_NS 5000000
/* From the order to begin to the first beat. */
#define KADENZ_PROBE_HEAD_START_NS 50000000
/* Lines on received messages are written in blocks, at the latest after this time. */
#define KADENZ_PROBE_FLUSH_NS 1000000000

typedef struct {
    /* The content of the first line. */
    char role[16], url[512], channel[128];
    int64_t run, interval_ns, warm_up, count, bytes, queue;
    /* The thread that reads orders sets these. */
    int begun, ended;
    /* The former standard output, for lines. */
    int output;
    const char *name;
    /* The publisher's message, and its state. */
    unsigned char *message;
    int64_t sequence, beat_ns, sent_ns, before_ns, published, refused;
    /* The subscriber's lines that are not written yet. */
    int has_heard, has_received;
    int64_t flushed_ns;
    size_t length;
    char lines[1 << 16];
} kadenz_probe;

static inline int64_t kadenz_probe_now(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * INT64_C(1000000000) + now.tv_nsec;
}

/* Writes the lines that are held back. Where the reader is gone, the measurement is over. */
static inline void kadenz_probe_flush(kadenz_probe *probe) {
    for (size_t done = 0; done < probe->length;) {
        ssize_t wrote = write(probe->output, probe->lines + done, probe->length - done);
        if (wrote < 0 && errno == EINTR) continue;
        if (wrote <= 0) exit(1);
        done += (size_t)wrote;
    }
    probe->length = 0;
    probe->flushed_ns = kadenz_probe_now();
}

/* Adds a line, without writing it yet. */
__attribute__((format(printf, 2, 3))) static inline void
kadenz_probe_line(kadenz_probe *probe, const char *format, ...) {
    if (probe->length + 1024 > sizeof probe->lines) kadenz_probe_flush(probe);
    va_list values;
    va_start(values, format);
    int wrote = vsnprintf(probe->lines + probe->length, 1024, format, values);
    va_end(values);
    if (wrote < 0) return;
    probe->length += wrote < 1023 ? (size_t)wrote : 1022;
    probe->lines[probe->length++] = '\n';
}

/* Reports why the probe cannot work, and ends the program with code 2. */
static inline void kadenz_probe_fail(kadenz_probe *probe, const char *why) {
    kadenz_probe_line(probe, "error %.900s", why);
    kadenz_probe_flush(probe);
    exit(2);
}

/* Reports a warning for the run. */
static inline void kadenz_probe_note(kadenz_probe *probe, const char *text) {
    kadenz_probe_line(probe, "note %.900s", text);
    kadenz_probe_flush(probe);
}

/* Reads a line without its end. Not by stdio: a thread that waits there keeps some C libraries' programs from ending. */
static inline int kadenz_probe_read(char *line, size_t room) {
    for (size_t at = 0; at < room;) {
        ssize_t came = read(STDIN_FILENO, line + at, 1);
        if (came < 0 && errno == EINTR) continue;
        if (came <= 0) return 0;
        if (line[at++] == '\n') return line[at - 1] = 0, 1;
    }
    return 0;
}

static inline void *kadenz_probe_take_orders(void *given) {
    kadenz_probe *probe = (kadenz_probe *)given;
    char line[64];
    while (kadenz_probe_read(line, sizeof line)) {
        if (!strcmp(line, "begin")) __atomic_store_n(&probe->begun, 1, __ATOMIC_RELEASE);
        if (!strcmp(line, "end")) break;
    }
    __atomic_store_n(&probe->ended, 1, __ATOMIC_RELEASE);
    return NULL;
}

static inline void kadenz_probe_set(kadenz_probe *probe, const char *name, const char *value) {
    int64_t number = strtoll(value, NULL, 10);
    if (!strcmp(name, "role")) snprintf(probe->role, sizeof probe->role, "%s", value);
    if (!strcmp(name, "url")) snprintf(probe->url, sizeof probe->url, "%s", value);
    if (!strcmp(name, "channel")) snprintf(probe->channel, sizeof probe->channel, "%s", value);
    if (!strcmp(name, "run")) probe->run = number;
    if (!strcmp(name, "interval_ns")) probe->interval_ns = number;
    if (!strcmp(name, "warm_up")) probe->warm_up = number;
    if (!strcmp(name, "count")) probe->count = number;
    if (!strcmp(name, "bytes")) probe->bytes = number;
    if (!strcmp(name, "queue")) probe->queue = number;
}

/* Reads the task. `name` is the middleware and its version, as reports show it. */
static inline kadenz_probe *kadenz_probe_open(const char *name) {
    kadenz_probe *probe = (kadenz_probe *)calloc(1, sizeof *probe);
    char line[2048], *rest = line, *word;
    pthread_t thread;
    if (!probe || !kadenz_probe_read(line, sizeof line) || strncmp(line, "kadenz-probe version=1 ", 23)) {
        fprintf(stderr, "this is a probe: let `kadenz msg latency --with` start it\n");
        exit(2);
    }
    /* Libraries may print to standard output. */
    fflush(stdout);
    probe->output = dup(STDOUT_FILENO);
    dup2(STDERR_FILENO, STDOUT_FILENO);
    probe->name = name;
    while ((word = strsep(&rest, " "))) {
        char *value = strchr(word, '=');
        if (value) *value++ = 0, kadenz_probe_set(probe, word, value);
    }
    probe->message = (unsigned char *)calloc(1, (size_t)probe->bytes);
    int is_of_messages = !strcmp(probe->role, "publisher") || !strcmp(probe->role, "subscriber");
    if (is_of_messages && (!probe->message || probe->bytes < KADENZ_PROBE_MIN))
        kadenz_probe_fail(probe, "a message has 52 bytes at least");
    if (pthread_create(&thread, NULL, kadenz_probe_take_orders, probe))
        kadenz_probe_fail(probe, "no thread can be started");
    pthread_detach(thread);
    return probe;
}

static inline int kadenz_probe_publishes(const kadenz_probe *probe) { return !strcmp(probe->role, "publisher"); }
static inline const char *kadenz_probe_url(const kadenz_probe *probe) { return probe->url; }
static inline const char *kadenz_probe_channel(const kadenz_probe *probe) { return probe->channel; }
static inline size_t kadenz_probe_bytes(const kadenz_probe *probe) { return (size_t)probe->bytes; }
static inline void *kadenz_probe_message(const kadenz_probe *probe) { return probe->message; }

/* Call this when all is open, so that each message that comes is received. */
static inline void kadenz_probe_ready(kadenz_probe *probe) {
    kadenz_probe_line(probe, "ready %s", probe->name);
    kadenz_probe_flush(probe);
}

static inline void kadenz_probe_put(unsigned char *to, uint64_t value) {
    for (int at = 0; at < 8; at++) to[at] = (unsigned char)(value >> (56 - 8 * at));
}

static inline int64_t kadenz_probe_get(const unsigned char *from) {
    uint64_t value = 0;
    for (int at = 0; at < 8; at++) value = value << 8 | from[at];
    return (int64_t)value;
}

static inline void kadenz_probe_sleep_until(int64_t ns) {
    struct timespec until = {(time_t)(ns / 1000000000), (long)(ns % 1000000000)};
    while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL) == EINTR) {}
}

/* Encodes the next message; takes the time of publishing first, since encoding counts. */
static inline void kadenz_probe_encode(kadenz_probe *probe, int64_t sequence, int64_t intended_ns) {
    unsigned char *to = probe->message;
    uint32_t padding = (uint32_t)(probe->bytes - KADENZ_PROBE_MIN);
    probe->sent_ns = kadenz_probe_now();
    kadenz_probe_put(to, KADENZ_PROBE_FINGERPRINT);
    kadenz_probe_put(to + 8, (uint64_t)probe->run);
    kadenz_probe_put(to + 16, (uint64_t)sequence);
    kadenz_probe_put(to + 24, (uint64_t)(intended_ns ? intended_ns : probe->sent_ns));
    kadenz_probe_put(to + 32, (uint64_t)probe->sent_ns);
    kadenz_probe_put(to + 40, (uint64_t)probe->before_ns);
    for (int at = 0; at < 4; at++) to[48 + at] = (unsigned char)(padding >> (24 - 8 * at));
    memset(to + KADENZ_PROBE_MIN, (int)(sequence & 0xff), padding);
}

/* Waits until the next message is due, and encodes it; 0 when there is none any more. Before the order to begin, a
   publisher sends a greeting every 5 ms. A message that is late keeps its own intended time. */
static inline int kadenz_probe_next(kadenz_probe *probe) {
    if (!probe->beat_ns) {
        probe->before_ns = -1;
        if (__atomic_load_n(&probe->ended, __ATOMIC_ACQUIRE)) return 0;
        if (!__atomic_load_n(&probe->begun, __ATOMIC_ACQUIRE)) {
            kadenz_probe_sleep_until(kadenz_probe_now() + KADENZ_PROBE_GREETING_NS);
            kadenz_probe_encode(probe, KADENZ_PROBE_GREETING, 0);
            return 1;
        }
        probe->beat_ns = kadenz_probe_now() + KADENZ_PROBE_HEAD_START_NS;
        probe->sequence = -probe->warm_up;
    } else {
        if (probe->sequence >= 0) probe->published++;
        probe->sequence++;
        probe->beat_ns += probe->interval_ns;
    }
    if (probe->sequence >= probe->count || __atomic_load_n(&probe->ended, __ATOMIC_ACQUIRE)) return 0;
    kadenz_probe_sleep_until(probe->beat_ns);
    kadenz_probe_encode(probe, probe->sequence, probe->beat_ns);
    return 1;
}

/* Call this after a message was handed over, or refused, with `taken` 0. */
static inline void kadenz_probe_sent(kadenz_probe *probe, int taken) {
    probe->before_ns = kadenz_probe_now() - probe->sent_ns;
    if (probe->beat_ns && probe->sequence >= 0) probe->refused += !taken;
}

/* Whether the order to end came. Any thread may ask: the main one, where a library calls back on its own thread. */
static inline int kadenz_probe_ended(const kadenz_probe *probe) { return __atomic_load_n(&probe->ended, __ATOMIC_ACQUIRE); }

/* Whether more is to be received: until the order to end came, and no message since the last call. It makes no system
   call but one a second, where lines wait: call it in the loop, with a wait of 100 ms at most between two calls. */
static inline int kadenz_probe_waits(kadenz_probe *probe) {
    if (probe->length && kadenz_probe_now() - probe->flushed_ns > KADENZ_PROBE_FLUSH_NS) kadenz_probe_flush(probe);
    int has_received = probe->has_received;
    probe->has_received = 0;
    return has_received || !kadenz_probe_ended(probe);
}

/* Takes a received message: decodes it, then takes the time, since decoding counts. */
static inline void kadenz_probe_received(kadenz_probe *probe, const void *data, size_t length) {
    const unsigned char *from = (const unsigned char *)data;
    int is_probe = length >= KADENZ_PROBE_MIN && kadenz_probe_get(from) == (int64_t)KADENZ_PROBE_FINGERPRINT;
    int64_t run = is_probe ? kadenz_probe_get(from + 8) : 0, sequence = is_probe ? kadenz_probe_get(from + 16) : 0;
    int is_damaged = is_probe && (length != (size_t)probe->bytes ||
        (length > KADENZ_PROBE_MIN && (from[KADENZ_PROBE_MIN] != (sequence & 0xff) || from[length - 1] != (sequence & 0xff))));
    int64_t received_ns = kadenz_probe_now();
    probe->has_received = 1;
    if (!is_probe || run != probe->run) {
        kadenz_probe_line(probe, "foreign");
    } else if (sequence >= 0) {
        kadenz_probe_line(probe, "message %" PRId64 " %" PRId64 " %" PRId64 " %" PRId64 " %" PRId64 "%s", sequence,
                          kadenz_probe_get(from + 24), kadenz_probe_get(from + 32), kadenz_probe_get(from + 40),
                          received_ns, is_damaged ? " damaged" : "");
    } else if (!probe->has_heard) {
        probe->has_heard = 1;
        kadenz_probe_line(probe, "heard");
        kadenz_probe_flush(probe);
    }
}

/* Timers: `oneshot` is to set a timer of interval_ns again and again, `cyclic` to let one keep that interval; count times. */
static inline int kadenz_probe_is(const kadenz_probe *probe, const char *role) { return !strcmp(probe->role, role); }

/* Waits until the measurement begins. */
static inline void kadenz_probe_wait_for_begin(kadenz_probe *probe) {
    while (!__atomic_load_n(&probe->begun, __ATOMIC_ACQUIRE) && !kadenz_probe_ended(probe))
        kadenz_probe_sleep_until(kadenz_probe_now() + 1000000);
}

/* A one-shot timer was set at `start_ns`, called back at `end_ns`, and reports so much lateness. */
static inline void kadenz_probe_timer(kadenz_probe *probe, int64_t start_ns, int64_t end_ns, int64_t reported_ns) {
    kadenz_probe_line(probe, "timer %" PRId64 " %" PRId64 " %" PRId64, start_ns, end_ns, reported_ns);
}

/* A timer was set at `start_ns`, and had not called back by now, when it is given up. */
static inline void kadenz_probe_ignored(kadenz_probe *probe, int64_t start_ns) {
    kadenz_probe_line(probe, "ignored %" PRId64 " %" PRId64, start_ns, kadenz_probe_now());
}

/* A cyclic timer was started; each time it calls back, kadenz_probe_woke. */
static inline void kadenz_probe_started(kadenz_probe *probe) {
    kadenz_probe_line(probe, "started %" PRId64, kadenz_probe_now());
}
static inline void kadenz_probe_woke(kadenz_probe *probe) {
    kadenz_probe_line(probe, "woke %" PRId64, kadenz_probe_now());
}

/* Writes the rest of the lines. Returns the program's exit code. Libraries with threads of their own may keep running. */
static inline int kadenz_probe_close(kadenz_probe *probe) {
    if (kadenz_probe_publishes(probe))
        kadenz_probe_line(probe, "published %" PRId64 " %" PRId64, probe->published, probe->refused);
    kadenz_probe_flush(probe);
    return 0;
}

#endif
