/* A probe of timers that does what its first argument says: every tenth one-shot timer is ignored, or it ends after the
   tenth. */
#include "kadenz_probe.h"

static int is(const char *fault, const char *word) { return !strcmp(fault, word); }

int main(int argc, char **argv) {
    const char *fault = argc > 1 ? argv[1] : "";
    kadenz_probe *probe = kadenz_probe_open("timers of the test");
    kadenz_probe_ready(probe);
    kadenz_probe_wait_for_begin(probe);
    int is_cyclic = kadenz_probe_is(probe, "cyclic");
    if (is_cyclic) kadenz_probe_started(probe);
    int64_t start_ns = kadenz_probe_now(), beat_ns = start_ns;
    for (int64_t at = 0; at < probe->count && kadenz_probe_waits(probe); at++) {
        if (is(fault, "ends") && at == 10) break;
        if (!is_cyclic) beat_ns = start_ns = kadenz_probe_now();
        beat_ns += probe->interval_ns;
        kadenz_probe_sleep_until(beat_ns);
        if (is_cyclic) kadenz_probe_woke(probe);
        else if (is(fault, "ignored") && at % 10 == 9) kadenz_probe_ignored(probe, start_ns);
        else kadenz_probe_timer(probe, start_ns, kadenz_probe_now(), 0);
    }
    return kadenz_probe_close(probe);
}
