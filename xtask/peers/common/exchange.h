/* Shared code of the MainDevices of `cargo xtask bench ethercat` written in C: the beat, the times, and the
   line at the end. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <time.h>

#define WARM_UP 50

/* Sends outputs and receives inputs; returns whether every device took part. */
static int exchange(void);

static int64_t time_of(clockid_t clock) {
    struct timespec now;
    clock_gettime(clock, &now);
    return now.tv_sec * 1000000000LL + now.tv_nsec;
}

static int ascending(const void *a, const void *b) {
    int64_t left = *(const int64_t *)a, right = *(const int64_t *)b;
    return (left > right) - (left < right);
}

static void exchange_all(int devices, int64_t count, int64_t interval_ns) {
    int64_t *values = (int64_t *)calloc(count, sizeof *values);
    int64_t lost = 0, late = 0, cpu_ns = 0;
    mlockall(MCL_CURRENT | MCL_FUTURE);
    int64_t beat = time_of(CLOCK_MONOTONIC) + 10000000;
    for (int64_t at = -WARM_UP; at < count; at++, beat += interval_ns) {
        struct timespec until = {.tv_sec = beat / 1000000000, .tv_nsec = beat % 1000000000};
        while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL)) {}
        if (at == 0) cpu_ns = time_of(CLOCK_PROCESS_CPUTIME_ID);
        int64_t before = time_of(CLOCK_MONOTONIC);
        int whole = exchange();
        int64_t after = time_of(CLOCK_MONOTONIC);
        if (at < 0) continue;
        values[at] = after - before;
        lost += !whole;
        late += after > beat + interval_ns;
    }
    cpu_ns = time_of(CLOCK_PROCESS_CPUTIME_ID) - cpu_ns;
    qsort(values, count, sizeof *values, ascending);
    printf("{\"devices\":%d,\"count\":%lld,\"lost\":%lld,\"late\":%lld,\"p50_ns\":%lld,\"p99_ns\":%lld,"
           "\"max_ns\":%lld,\"cpu_ns\":%lld}\n",
           devices, (long long)count, (long long)lost, (long long)late,
           (long long)values[(count + 1) / 2 - 1], (long long)values[(count * 99 + 99) / 100 - 1],
           (long long)values[count - 1], (long long)(cpu_ns / count));
}
