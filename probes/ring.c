/* A ring in shared memory with a futex: the floor of all middleware that shares memory and wakes readers. One process
   writes, any number read, each from its own place; a reader that falls behind by the whole ring loses the oldest
   messages. URL: shm://NAME */
#include "kadenz_probe.h"
#include <fcntl.h>
#include <limits.h>
#include <linux/futex.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>

/* `written` counts messages; readers sleep on it. Message n lies in slot n % slots, and the slot's first word is n + 1
   while it is complete. */
typedef struct {
    uint32_t magic, written;
    char slots[] __attribute__((aligned(64)));
} ring_t;

static size_t slot_bytes(const kadenz_probe *probe) { return (sizeof(uint32_t) + kadenz_probe_bytes(probe) + 63) / 64 * 64; }

static uint32_t *slot_of(ring_t *ring, const kadenz_probe *probe, uint32_t message) {
    return (uint32_t *)(ring->slots + slot_bytes(probe) * (message % (uint32_t)probe->queue));
}

/* The publisher makes the ring; a subscriber waits for it for 5 s. */
static ring_t *open_ring(kadenz_probe *probe, const char *name) {
    size_t bytes = sizeof(ring_t) + slot_bytes(probe) * (size_t)probe->queue;
    int is_publisher = kadenz_probe_publishes(probe);
    if (is_publisher) shm_unlink(name); /* left by a killed run */
    for (int tries = 0; tries < 500; tries++, usleep(10000)) {
        struct stat found = {.st_size = 0};
        int end = shm_open(name, is_publisher ? O_RDWR | O_CREAT | O_EXCL : O_RDWR, 0600);
        if (is_publisher && (end < 0 || ftruncate(end, (off_t)bytes))) kadenz_probe_fail(probe, strerror(errno));
        if (end < 0) continue;
        fstat(end, &found);
        ring_t *ring = (size_t)found.st_size != bytes ? (ring_t *)MAP_FAILED
            : (ring_t *)mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, end, 0);
        close(end);
        if (ring == MAP_FAILED) continue;
        if (is_publisher) __atomic_store_n(&ring->magic, 0x6b616465, __ATOMIC_RELEASE);
        if (__atomic_load_n(&ring->magic, __ATOMIC_ACQUIRE) == 0x6b616465) return ring;
        munmap(ring, bytes);
    }
    kadenz_probe_fail(probe, "there is no ring of this name and size");
    return NULL;
}

static void publish(kadenz_probe *probe, ring_t *ring) {
    for (uint32_t next = 0; kadenz_probe_next(probe); next++) {
        uint32_t *slot = slot_of(ring, probe, next);
        __atomic_store_n(slot, 0, __ATOMIC_RELAXED);
        __atomic_thread_fence(__ATOMIC_RELEASE);
        memcpy(slot + 1, kadenz_probe_message(probe), kadenz_probe_bytes(probe));
        __atomic_store_n(slot, next + 1, __ATOMIC_RELEASE);
        __atomic_store_n(&ring->written, next + 1, __ATOMIC_RELEASE);
        syscall(SYS_futex, &ring->written, FUTEX_WAKE, INT_MAX, NULL, NULL, 0);
        kadenz_probe_sent(probe, 1);
    }
}

static void receive(kadenz_probe *probe, ring_t *ring) {
    const struct timespec timeout = {.tv_nsec = 100000000};
    for (uint32_t next = __atomic_load_n(&ring->written, __ATOMIC_ACQUIRE), written; kadenz_probe_waits(probe);) {
        if ((written = __atomic_load_n(&ring->written, __ATOMIC_ACQUIRE)) == next) {
            syscall(SYS_futex, &ring->written, FUTEX_WAIT, next, &timeout, NULL, 0);
            continue;
        }
        if (written - next > (uint32_t)probe->queue) next = written - (uint32_t)probe->queue;
        uint32_t *slot = slot_of(ring, probe, next++);
        if (__atomic_load_n(slot, __ATOMIC_ACQUIRE) != next) continue; /* overwritten */
        memcpy(kadenz_probe_message(probe), slot + 1, kadenz_probe_bytes(probe));
        __atomic_thread_fence(__ATOMIC_ACQUIRE);
        if (__atomic_load_n(slot, __ATOMIC_RELAXED) == next)
            kadenz_probe_received(probe, kadenz_probe_message(probe), kadenz_probe_bytes(probe));
    }
}

int main(void) {
    kadenz_probe *probe = kadenz_probe_open("shared-memory ring");
    char name[256] = "/";
    if (sscanf(kadenz_probe_url(probe), "shm://%254[^/]", name + 1) != 1) kadenz_probe_fail(probe, "the URL is shm://NAME");
    ring_t *ring = open_ring(probe, name);
    kadenz_probe_ready(probe);
    if (kadenz_probe_publishes(probe)) publish(probe, ring), shm_unlink(name);
    else receive(probe, ring);
    return kadenz_probe_close(probe);
}
