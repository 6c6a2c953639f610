/* The probe over UDP that does what its first argument says, once 50 messages have come or gone. */
#include "kadenz_probe.h"
#include <arpa/inet.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/time.h>

static int is(const char *fault, const char *word) { return !strcmp(fault, word); }

/* Of ten messages the third is lost, the fifth comes twice, the seventh is damaged, and after the ninth come bytes
   that are no message. */
static void send_with_faults(int end, kadenz_probe *probe) {
    unsigned char *message = (unsigned char *)kadenz_probe_message(probe);
    size_t bytes = kadenz_probe_bytes(probe);
    int64_t at = probe->beat_ns && probe->sequence >= 0 ? probe->sequence % 10 : -1;
    if (at == 3) return;
    if (at == 7) message[bytes - 1] ^= 1;
    for (int times = at == 5 ? 2 : 1; times > 0; times--) send(end, message, bytes, 0);
    if (at == 9) send(end, "hello", 5, 0);
}

int main(int argc, char **argv) {
    const char *fault = argc > 1 ? argv[1] : "";
    kadenz_probe *probe = kadenz_probe_open("faulty");
    struct sockaddr_in address = {.sin_family = AF_INET};
    char host[64];
    int port, end = socket(AF_INET, SOCK_DGRAM, 0);
    if (sscanf(kadenz_probe_url(probe), "udp://%63[^:]:%d", host, &port) != 2 || !inet_pton(AF_INET, host, &address.sin_addr))
        kadenz_probe_fail(probe, "the URL is udp://ADDRESS:PORT");
    address.sin_port = htons((uint16_t)port);
    if (kadenz_probe_publishes(probe)) {
        if (connect(end, (struct sockaddr *)&address, sizeof address)) kadenz_probe_fail(probe, strerror(errno));
        kadenz_probe_ready(probe);
        while (kadenz_probe_next(probe)) {
            if (is(fault, "dies") && probe->sequence == 50) raise(SIGKILL);
            if (is(fault, "ends") && probe->sequence == 50) break;
            if (is(fault, "hangs") && probe->sequence == 50) {
                kadenz_probe_line(probe, "error lost its way");
                kadenz_probe_flush(probe);
                pause();
            }
            if (is(fault, "faults")) send_with_faults(end, probe);
            else send(end, kadenz_probe_message(probe), kadenz_probe_bytes(probe), 0);
            kadenz_probe_sent(probe, 1);
        }
        return is(fault, "says-nothing") ? 0 : kadenz_probe_close(probe);
    }
    static char buffer[65536];
    struct timeval timeout = {.tv_usec = 100000};
    setsockopt(end, SOL_SOCKET, SO_RCVTIMEO, &timeout, sizeof timeout);
    if (bind(end, (struct sockaddr *)&address, sizeof address)) kadenz_probe_fail(probe, strerror(errno));
    kadenz_probe_ready(probe);
    for (int came = 0; kadenz_probe_waits(probe);) {
        ssize_t length = recv(end, buffer, sizeof buffer, 0);
        if (length < 0) continue;
        kadenz_probe_received(probe, buffer, (size_t)length);
        if (kadenz_probe_get((unsigned char *)buffer + 16) < 0 || came++ != 50) continue;
        if (is(fault, "garbage")) kadenz_probe_line(probe, "Segmentation fault, or so"), kadenz_probe_flush(probe);
        if (is(fault, "clock")) kadenz_probe_line(probe, "message 51 1 1 -1 1"), kadenz_probe_flush(probe);
        if (is(fault, "dies")) raise(SIGKILL);
        if (is(fault, "ends")) break;
    }
    return kadenz_probe_close(probe);
}
