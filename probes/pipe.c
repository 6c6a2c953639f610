/* Named pipes, one for each subscriber. A subscriber creates its pipe; the publisher, while it greets, opens it and
   removes its name, which the next subscriber then uses. Both know the length of a message. URL: fifo:///tmp/FILE */
#include "kadenz_probe.h"
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/stat.h>

static int send_all(int end, const char *message, size_t length) {
    for (size_t done = 0; done < length;) {
        ssize_t wrote = write(end, message + done, length - done);
        if (wrote < 0 && errno != EINTR) return 0;
        if (wrote > 0) done += (size_t)wrote;
    }
    return 1;
}

static void publish(kadenz_probe *probe, const char *path) {
    int ends[64], count = 0, taken;
    signal(SIGPIPE, SIG_IGN);
    while (kadenz_probe_next(probe)) {
        /* The pipe opens only where a subscriber reads. */
        while (!probe->beat_ns && count < 64 && (ends[count] = open(path, O_WRONLY | O_NONBLOCK)) >= 0) {
            fcntl(ends[count], F_SETPIPE_SZ, 1 << 20);
            fcntl(ends[count++], F_SETFL, 0);
            unlink(path);
        }
        taken = 1;
        for (int at = count - 1; at >= 0; at--) {
            if (send_all(ends[at], (const char *)kadenz_probe_message(probe), kadenz_probe_bytes(probe))) continue;
            close(ends[at]);
            ends[at] = ends[--count];
            taken = 0;
        }
        kadenz_probe_sent(probe, taken);
    }
}

static void receive(kadenz_probe *probe, int end) {
    size_t has = 0, length = kadenz_probe_bytes(probe);
    char *buffer = (char *)kadenz_probe_message(probe);
    struct pollfd more = {.fd = end, .events = POLLIN};
    while (kadenz_probe_waits(probe)) {
        ssize_t came = poll(&more, 1, 100) > 0 ? read(end, buffer + has, length - has) : 0;
        if (came > 0) has += (size_t)came;
        if (has == length) kadenz_probe_received(probe, buffer, length), has = 0;
    }
}

int main(void) {
    kadenz_probe *probe = kadenz_probe_open("named pipe");
    const char *path = kadenz_probe_url(probe) + 7;
    int end = -1, is_publisher = kadenz_probe_publishes(probe);
    if (strncmp(kadenz_probe_url(probe), "fifo:///", 8)) kadenz_probe_fail(probe, "the URL is fifo:///PATH");
    if (is_publisher) unlink(path); /* left by a killed run */
    for (int tries = 0; !is_publisher && mkfifo(path, 0600); tries++, usleep(10000))
        if (tries == 500 || errno != EEXIST) kadenz_probe_fail(probe, strerror(errno));
    /* Opened for both directions, so that the pipe does not end with the publisher. */
    if (!is_publisher && (end = open(path, O_RDWR)) < 0) kadenz_probe_fail(probe, strerror(errno));
    kadenz_probe_ready(probe);
    if (is_publisher) publish(probe, path);
    else receive(probe, end);
    return kadenz_probe_close(probe);
}
