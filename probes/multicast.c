/* UDP multicast that stays on loopback: the floor of LCM, and of DDS to several readers. URL: udp://239.255.76.80:7682 */
#include "kadenz_probe.h"
#include <arpa/inet.h>
#include <sys/socket.h>
#include <sys/time.h>

int main(void) {
    kadenz_probe *probe = kadenz_probe_open("UDP multicast");
    struct sockaddr_in address = {.sin_family = AF_INET};
    struct ip_mreq group = {.imr_interface.s_addr = htonl(INADDR_LOOPBACK)};
    struct timeval timeout = {.tv_usec = 100000};
    unsigned char ttl = 0;
    char host[64];
    int port, yes = 1, is_publisher = kadenz_probe_publishes(probe), end = socket(AF_INET, SOCK_DGRAM, 0);
    int room = (int)(probe->queue * (probe->bytes + 1024));
    if (sscanf(kadenz_probe_url(probe), "udp://%63[^:]:%d", host, &port) != 2 || !inet_pton(AF_INET, host, &address.sin_addr))
        kadenz_probe_fail(probe, "the URL is udp://GROUP:PORT");
    if (probe->bytes > 65507) kadenz_probe_fail(probe, "UDP carries 65507 B at most");
    address.sin_port = htons((uint16_t)port);
    group.imr_multiaddr = address.sin_addr;
    setsockopt(end, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
    setsockopt(end, SOL_SOCKET, SO_RCVBUF, &room, sizeof room);
    setsockopt(end, SOL_SOCKET, SO_RCVTIMEO, &timeout, sizeof timeout);
    setsockopt(end, IPPROTO_IP, IP_MULTICAST_TTL, &ttl, sizeof ttl);
    if (is_publisher ? setsockopt(end, IPPROTO_IP, IP_MULTICAST_IF, &group.imr_interface, sizeof group.imr_interface)
                           || connect(end, (struct sockaddr *)&address, sizeof address)
                     : bind(end, (struct sockaddr *)&address, sizeof address)
                           || setsockopt(end, IPPROTO_IP, IP_ADD_MEMBERSHIP, &group, sizeof group))
        kadenz_probe_fail(probe, strerror(errno));
    kadenz_probe_ready(probe);
    if (is_publisher)
        while (kadenz_probe_next(probe))
            kadenz_probe_sent(probe, send(end, kadenz_probe_message(probe), kadenz_probe_bytes(probe), 0) >= 0);
    static char buffer[65536];
    while (!is_publisher && kadenz_probe_waits(probe)) {
        ssize_t length = recv(end, buffer, sizeof buffer, 0);
        if (length >= 0) kadenz_probe_received(probe, buffer, (size_t)length);
    }
    return kadenz_probe_close(probe);
}
