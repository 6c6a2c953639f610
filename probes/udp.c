/* UDP over loopback: the floor of all middleware that uses the network. URL: udp://127.0.0.1:7680 */
#include "kadenz_probe.h"
#include <arpa/inet.h>
#include <sys/socket.h>
#include <sys/time.h>

int main(void) {
    kadenz_probe *probe = kadenz_probe_open("UDP");
    struct sockaddr_in address = {.sin_family = AF_INET};
    char host[64];
    int port, is_publisher = kadenz_probe_publishes(probe), end = socket(AF_INET, SOCK_DGRAM, 0);
    if (sscanf(kadenz_probe_url(probe), "udp://%63[^:]:%d", host, &port) != 2 || !inet_pton(AF_INET, host, &address.sin_addr))
        kadenz_probe_fail(probe, "the URL is udp://ADDRESS:PORT");
    if (probe->bytes > 65507) kadenz_probe_fail(probe, "UDP carries 65507 B at most");
    address.sin_port = htons((uint16_t)port);
    if (is_publisher ? connect(end, (struct sockaddr *)&address, sizeof address)
                     : bind(end, (struct sockaddr *)&address, sizeof address))
        kadenz_probe_fail(probe, strerror(errno));
    kadenz_probe_ready(probe);
    if (is_publisher) {
        while (kadenz_probe_next(probe))
            kadenz_probe_sent(probe, send(end, kadenz_probe_message(probe), kadenz_probe_bytes(probe), 0) >= 0);
        return kadenz_probe_close(probe);
    }
    static char buffer[65536];
    struct timeval timeout = {.tv_usec = 100000};
    setsockopt(end, SOL_SOCKET, SO_RCVTIMEO, &timeout, sizeof timeout);
    while (kadenz_probe_waits(probe)) {
        ssize_t length = recv(end, buffer, sizeof buffer, 0);
        if (length >= 0) kadenz_probe_received(probe, buffer, (size_t)length);
    }
    return kadenz_probe_close(probe);
}
