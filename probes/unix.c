/* A Unix socket (SOCK_STREAM, as packets are limited by net.core.wmem_max). URL: unix:///tmp/FILE */
#include "stream.h"
#include <sys/un.h>

int main(void) {
    kadenz_probe *probe = kadenz_probe_open("Unix socket");
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    int is_publisher = kadenz_probe_publishes(probe), end = socket(AF_UNIX, SOCK_STREAM, 0);
    if (sscanf(kadenz_probe_url(probe), "unix://%107s", address.sun_path) != 1)
        kadenz_probe_fail(probe, "the URL is unix:///PATH, with a path of at most 107 bytes");
    if (is_publisher) unlink(address.sun_path);
    stream_open(probe, end, &address, sizeof address);
    kadenz_probe_ready(probe);
    if (is_publisher) stream_publish(probe, end), unlink(address.sun_path);
    else stream_receive(probe, end);
    return kadenz_probe_close(probe);
}
