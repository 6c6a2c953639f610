/* The cost of a record into a series from C, in nanoseconds: the twin of crates/kadenz/examples/durations_cost.rs. argv[1]: a folder. */
#include <kadenz.h>
#include <stdio.h>

#define RECORDS 20000000ull

int main(int count, char **arguments)
{
	kadenz_recording *run = count > 1 ? kadenz_recording_create(arguments[1]) : NULL;
	kadenz_series *series = kadenz_series_create(run, "control", 0);
	if (!series) return fprintf(stderr, "%s\n", kadenz_error()), 1;
	uint64_t start = kadenz_now_ns(), begin = kadenz_now_ns();
	for (uint64_t i = 0; i < RECORDS; i++)
		kadenz_series_record(series, start + i, start + i + (i & 1023));
	printf("%f\n", (double)(kadenz_now_ns() - begin) / RECORDS);
	kadenz_series_free(series);
	kadenz_recording_finish(run, NULL, 0);
	kadenz_recording_free(run);
	return 0;
}
