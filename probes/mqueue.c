/* POSIX message queues, one for each subscriber. A subscriber creates its queue; the publisher, while it greets, opens
   it and removes its name, which the next subscriber then uses. URL: mqueue://NAME */
#include "kadenz_probe.h"
#include <fcntl.h>
#include <mqueue.h>
#include <sys/resource.h>

static void publish(kadenz_probe *probe, const char *name) {
    mqd_t ends[64];
    int count = 0, taken;
    while (kadenz_probe_next(probe)) {
        while (!probe->beat_ns && count < 64 && (ends[count] = mq_open(name, O_WRONLY | O_NONBLOCK)) != (mqd_t)-1)
            count++, mq_unlink(name);
        taken = 1;
        for (int at = 0; at < count; at++)
            taken &= !mq_send(ends[at], (const char *)kadenz_probe_message(probe), kadenz_probe_bytes(probe), 0);
        kadenz_probe_sent(probe, taken);
    }
}

static mqd_t subscribe(kadenz_probe *probe, const char *name) {
    struct mq_attr room = {.mq_maxmsg = probe->queue < 10 ? probe->queue : 10, .mq_msgsize = probe->bytes};
    struct rlimit all = {RLIM_INFINITY, RLIM_INFINITY};
    mqd_t end;
    setrlimit(RLIMIT_MSGQUEUE, &all); /* where that is allowed */
    for (int tries = 0; (end = mq_open(name, O_RDONLY | O_CREAT | O_EXCL, 0600, &room)) == (mqd_t)-1; tries++, usleep(10000)) {
        if (errno == EINVAL) kadenz_probe_fail(probe, "a message is too long for a queue: sysctl -w fs.mqueue.msgsize_max=BYTES");
        if (errno == EMFILE) kadenz_probe_fail(probe, "queues may not take so much memory: ulimit -q unlimited");
        if (errno != EEXIST || tries == 500) kadenz_probe_fail(probe, strerror(errno));
    }
    return end;
}

static void receive(kadenz_probe *probe, mqd_t end) {
    while (kadenz_probe_waits(probe)) {
        struct timespec until;
        clock_gettime(CLOCK_REALTIME, &until);
        until.tv_nsec += 100000000;
        if (until.tv_nsec >= 1000000000) until.tv_sec++, until.tv_nsec -= 1000000000;
        ssize_t length = mq_timedreceive(end, (char *)probe->message, kadenz_probe_bytes(probe), NULL, &until);
        if (length >= 0) kadenz_probe_received(probe, probe->message, (size_t)length);
    }
}

int main(void) {
    kadenz_probe *probe = kadenz_probe_open("POSIX message queue");
    char name[256];
    int is_publisher = kadenz_probe_publishes(probe);
    if (sscanf(kadenz_probe_url(probe), "mqueue://%254[^/]", name + 1) != 1) kadenz_probe_fail(probe, "the URL is mqueue://NAME");
    name[0] = '/';
    if (is_publisher) mq_unlink(name); /* left by a killed run */
    mqd_t end = is_publisher ? (mqd_t)-1 : subscribe(probe, name);
    kadenz_probe_ready(probe);
    if (is_publisher) publish(probe, name);
    else receive(probe, end);
    return kadenz_probe_close(probe);
}
