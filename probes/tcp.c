/* TCP without delay: the floor of all middleware that uses network connections. URL: tcp://127.0.0.1:7681 */
#include "stream.h"
#include <arpa/inet.h>
#include <netinet/tcp.h>

int main(void) {
    kadenz_probe *probe = kadenz_probe_open("TCP");
    struct sockaddr_in address = {.sin_family = AF_INET};
    char host[64];
    int port, yes = 1, end = socket(AF_INET, SOCK_STREAM, 0);
    if (sscanf(kadenz_probe_url(probe), "tcp://%63[^:]:%d", host, &port) != 2 || !inet_pton(AF_INET, host, &address.sin_addr))
        kadenz_probe_fail(probe, "the URL is tcp://ADDRESS:PORT");
    address.sin_port = htons((uint16_t)port);
    setsockopt(end, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
    setsockopt(end, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes); /* accepted connections inherit it */
    stream_open(probe, end, &address, sizeof address);
    kadenz_probe_ready(probe);
    if (kadenz_probe_publishes(probe)) stream_publish(probe, end);
    else stream_receive(probe, end);
    return kadenz_probe_close(probe);
}
