/* Shared by tcp.c and unix.c: the publisher listens, and sends each message behind its length to all subscribers. */
#include "kadenz_probe.h"
#include <fcntl.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/uio.h>

/* The publisher listens; a subscriber connects, and tries again for 5 s. */
static int stream_open(kadenz_probe *probe, int end, const void *address, size_t length) {
    const struct sockaddr *at = (const struct sockaddr *)address;
    if (kadenz_probe_publishes(probe)) {
        if (bind(end, at, (socklen_t)length) || listen(end, 64) || fcntl(end, F_SETFL, O_NONBLOCK))
            kadenz_probe_fail(probe, strerror(errno));
        return end;
    }
    for (int tries = 0; connect(end, at, (socklen_t)length); tries++, usleep(10000))
        if (tries == 500) kadenz_probe_fail(probe, strerror(errno));
    return end;
}

static int stream_send(int end, const void *message, uint32_t length) {
    struct iovec parts[2] = {{&length, sizeof length}, {(void *)message, length}};
    struct msghdr whole = {.msg_iov = parts, .msg_iovlen = 2};
    while (parts[0].iov_len + parts[1].iov_len) {
        ssize_t sent = sendmsg(end, &whole, MSG_NOSIGNAL);
        if (sent < 0 && errno != EINTR) return 0;
        for (int at = 0; at < 2 && sent > 0; at++) {
            size_t done = (size_t)sent < parts[at].iov_len ? (size_t)sent : parts[at].iov_len;
            parts[at].iov_base = (char *)parts[at].iov_base + done;
            parts[at].iov_len -= done;
            sent -= (ssize_t)done;
        }
    }
    return 1;
}

/* Accepts new connections while the publisher greets; closes one whose subscriber has gone. */
static void stream_publish(kadenz_probe *probe, int listener) {
    int ends[64], count = 0, taken;
    while (kadenz_probe_next(probe)) {
        for (int end; !probe->beat_ns && count < 64 && (end = accept(listener, NULL, NULL)) >= 0;) ends[count++] = end;
        taken = 1;
        for (int at = count - 1; at >= 0; at--) {
            if (stream_send(ends[at], kadenz_probe_message(probe), (uint32_t)kadenz_probe_bytes(probe))) continue;
            close(ends[at]);
            ends[at] = ends[--count];
            taken = 0;
        }
        kadenz_probe_sent(probe, taken);
    }
}

static void stream_receive(kadenz_probe *probe, int end) {
    size_t room = 2 * (kadenz_probe_bytes(probe) + sizeof(uint32_t)), has = 0;
    char *buffer = (char *)calloc(1, room);
    struct timeval timeout = {.tv_usec = 100000};
    setsockopt(end, SOL_SOCKET, SO_RCVTIMEO, &timeout, sizeof timeout);
    while (kadenz_probe_waits(probe)) {
        ssize_t came = recv(end, buffer + has, room - has, 0);
        if (!came) usleep(100000); /* the publisher has gone */
        if (came <= 0) continue;
        has += (size_t)came;
        size_t at = 0;
        for (uint32_t length; has - at >= sizeof length; at += sizeof length + length) {
            memcpy(&length, buffer + at, sizeof length);
            if (length > room - sizeof length) kadenz_probe_fail(probe, "what came is not of this probe");
            if (has - at < sizeof length + length) break;
            kadenz_probe_received(probe, buffer + at + sizeof length, length);
        }
        memmove(buffer, buffer + at, has -= at);
    }
}
