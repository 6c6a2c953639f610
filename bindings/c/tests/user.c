/* What a user can rely on, in C. argv[1]: a folder for runs. */
#define _POSIX_C_SOURCE 200809L
#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "kadenz.h"

#define NEED(what) do { if (!(what)) { fprintf(stderr, "%s:%d: %s: %s\n", __FILE__, __LINE__, #what, kadenz_error()); exit(1); } } while (0)

static void loops(const char *folder)
{
	char run[512], summary[4096];
	snprintf(run, sizeof run, "%s/c", folder);
	kadenz_recording *recording = kadenz_recording_create(run);
	NEED(recording && kadenz_recording_keep_samples(recording) == 0);
	kadenz_series *control = kadenz_series_create(recording, "control", 1000000);
	kadenz_periodic *loop = kadenz_periodic_start("200Hz", "100ms", 0, false, NULL, recording, NULL);
	NEED(control && loop);
	kadenz_tick tick;
	for (int i = 0; i < 20; i++) {
		NEED(kadenz_periodic_next(loop, &tick) == 0);
		uint64_t begin = kadenz_now_ns();
		NEED(kadenz_series_record(control, begin, kadenz_now_ns()) == 0);
	}
	NEED(tick.index >= 20 && tick.step_ns == 5000000 * (1 + tick.skipped));
	/* One look, which sleeps no longer than it may. */
	int due = kadenz_periodic_next_within(loop, 0, &tick);
	NEED(due == 0 || due == 1);
	NEED(kadenz_periodic_next_within(loop, -1, &tick) == 1);
	kadenz_periodic_free(loop);
	kadenz_series_free(control);
	NEED(kadenz_recording_finish(recording, summary, sizeof summary) == 0);
	NEED(strstr(summary, "lateness") && strstr(summary, "control"));
	const char *const kept[] = {"lateness", "control"};
	for (int i = 0; i < 2; i++) {
		char samples[640];
		snprintf(samples, sizeof samples, "%s/%s.samples.arrow", run, kept[i]);
		FILE *file = fopen(samples, "rb");
		NEED(file);
		fclose(file);
	}
	/* Once only, and the text says so. */
	NEED(kadenz_recording_finish(recording, NULL, 0) == -1 && strstr(kadenz_error(), "finished"));
	NEED(!kadenz_series_create(recording, "late", 0) && kadenz_recording_keep_samples(recording) == -1);
	kadenz_recording_free(recording);
	NEED(!kadenz_recording_create(run) && strstr(kadenz_error(), "holds a run already"));
}

static void messages(void)
{
	kadenz_bus *bus = kadenz_bus_open("memq://");
	NEED(bus);
	kadenz_subscription *subscription = kadenz_subscribe(bus, "A|B", 0);
	NEED(subscription);
	NEED(kadenz_publish(bus, "A", (const uint8_t *)"12345678", 8) == 0);
	NEED(kadenz_publish(bus, "B", NULL, 0) == 0);
	kadenz_message message;
	NEED(kadenz_receive(subscription, 5000000000, &message) == 1);
	NEED(message.length == 8 && !memcmp(message.payload, "12345678", 8) && !strcmp(message.channel, "A"));
	NEED(kadenz_receive(subscription, 5000000000, &message) == 1);
	NEED(message.length == 0 && !strcmp(message.channel, "B"));
	NEED(kadenz_receive(subscription, 0, &message) == 0);
	NEED(kadenz_receive(subscription, 1000000, &message) == 0);
	NEED(kadenz_bus_lost(bus) == 0);
	kadenz_bus_free(bus);
	kadenz_subscription_free(subscription);
}

/* Nothing waits for a message meanwhile, and the transport has no room for all of them. */
static void background(void)
{
	kadenz_bus *bus = kadenz_bus_open("memq://");
	kadenz_subscription *subscription = kadenz_subscribe(bus, "A", 10000);
	NEED(bus && subscription);
	NEED(kadenz_bus_receive_in_background(bus) == 0 && kadenz_bus_receive_in_background(bus) == 0);
	struct timespec pause = {0, 60000000};
	for (int i = 0; i < 3000; i++) {
		NEED(kadenz_publish(bus, "A", (const uint8_t *)&i, sizeof i) == 0);
		if (i % 100 == 0)
			nanosleep(&pause, NULL);
	}
	kadenz_message message;
	for (int i = 0; i < 3000; i++)
		NEED(kadenz_receive(subscription, 5000000000, &message) == 1 && !memcmp(message.payload, &i, sizeof i));
	kadenz_subscription_free(subscription);
	kadenz_bus_free(bus);
	NEED(kadenz_bus_receive_in_background(NULL) == -1 && kadenz_bus_lost(NULL) == -1);
}

static void cameras(void)
{
	kadenz_camera *camera = kadenz_camera_open("test://320x240@50", "gray", 10000000000);
	NEED(camera);
	kadenz_frame frame;
	NEED(kadenz_camera_next(camera, 5000000000, &frame) == 1);
	NEED(frame.width == 320 && frame.height == 240 && frame.channels == 1 && frame.length == 320 * 240);
	unsigned char *copy = malloc(frame.length);
	/* A busy machine may let the camera write over it: then the next. */
	int copied = kadenz_frame_copy(camera, &frame, copy, frame.length);
	while (copied != 0 && strstr(kadenz_error(), "wrote over"))
		if (kadenz_camera_next(camera, 5000000000, &frame) == 1)
			copied = kadenz_frame_copy(camera, &frame, copy, frame.length);
	NEED(copied == 0);
	NEED(kadenz_frame_copy(camera, &frame, copy, 1) == -1 && strstr(kadenz_error(), "room for 1 bytes"));
	NEED(kadenz_camera_latest(camera, 0, &frame) == -1);
	free(copy);
	kadenz_camera_free(camera);
	NEED(!kadenz_camera_open("not-served", "gray", 1000000) && strstr(kadenz_error(), "kadenz camera serve"));
}

static void logs(const char *folder)
{
	char path[512];
	snprintf(path, sizeof path, "%s/drive.mcap", folder);
	kadenz_log_writer *writer = kadenz_log_create(path);
	NEED(writer);
	for (int i = 0; i < 100; i++)
		NEED(kadenz_log_write(writer, i % 2 ? "A" : "B", (const uint8_t *)&i, sizeof i, 1700000000000000000 + i) == 0);
	NEED(kadenz_log_finish(writer) == 0 && kadenz_log_finish(writer) == -1);
	kadenz_log_writer_free(writer);
	kadenz_log *log = kadenz_log_open(path);
	NEED(log);
	kadenz_message message;
	for (int i = 0; i < 100; i++) {
		NEED(kadenz_log_next(log, &message) == 1 && message.length == sizeof i && !memcmp(message.payload, &i, sizeof i));
		NEED(!strcmp(message.channel, i % 2 ? "A" : "B") && message.taken_ns == 1700000000000000000u + i);
	}
	NEED(kadenz_log_next(log, &message) == 0);
	NEED(kadenz_log_seek(log, 1700000000000000050) == 0 && kadenz_log_next(log, &message) == 1);
	NEED(message.taken_ns == 1700000000000000050u);
	kadenz_log_free(log);
	NEED(!kadenz_log_open("nothing.mcap") && strstr(kadenz_error(), "nothing.mcap"));
}

static void networks(const char *folder)
{
	char run[512], summary[512];
	snprintf(run, sizeof run, "%s/bus", folder);
	kadenz_recording *recording = kadenz_recording_create(run);
	kadenz_network *net = kadenz_network_open("sim:8", "500Hz", "100ms", 0, false, NULL);
	NEED(recording && net);
	int actual = kadenz_network_input(net, "waist yaw", 0x6064, 0, NULL);
	int target = kadenz_network_output(net, "4", 0x607A, 0, "i32");
	int control = kadenz_network_output(net, "waist yaw", 0x6040, 0, NULL);
	NEED(actual >= 0 && target >= 0 && control >= 0);
	NEED(kadenz_network_input(net, "waist yaw", 0x6064, 0, "f32") == -1 && strstr(kadenz_error(), "f32"));
	NEED(kadenz_network_input(net, "elbow", 0x6064, 0, NULL) == -1 && strstr(kadenz_error(), "waist yaw"));
	NEED(kadenz_network_wait(net, 0, 0) == -1);
	NEED(kadenz_network_start(net, recording) == 0);
	NEED(kadenz_network_start(net, NULL) == -1);
	NEED(kadenz_network_set(net, control, 70000) == -1 && kadenz_network_set(net, actual, 0) == -1);
	int64_t cycle = 0;
	kadenz_network_state state = {0};
	for (int i = 0; i < 20000 && state.operational < 8; i++) {
		NEED((cycle = kadenz_network_wait(net, cycle, 20000000000)) > 0);
		NEED(kadenz_network_get_state(net, &state) == 0);
	}
	/* Again where a busy machine let the drive fault: 0x80 resets it. */
	const int words[] = {0x80, 6, 7, 15};
	double position = 0;
	for (int round = 0; round < 20 && position != -1000; round++) {
		for (int word = 0; word < 4; word++) {
			NEED(kadenz_network_set(net, control, words[word]) == 0);
			for (int i = 0; i < 50; i++) {
				int64_t next = kadenz_network_wait(net, cycle, 20000000000);
				NEED(next > cycle);
				cycle = next;
			}
		}
		NEED(kadenz_network_set_integer(net, target, -1000) == 0);
		for (int i = 0; i < 2000 && position != -1000; i++) {
			NEED((cycle = kadenz_network_wait(net, cycle, 20000000000)) > 0);
			NEED(kadenz_network_get(net, actual, &position) == 0);
		}
	}
	NEED(position == -1000);
	NEED(kadenz_network_get_state(net, &state) == 0 && state.is_running && state.devices == 8);
	NEED(kadenz_recording_finish(recording, NULL, 0) == -1 && strstr(kadenz_error(), "kadenz_network_stop"));
	NEED(kadenz_network_stop(net, summary, sizeof summary) == 0 && strstr(summary, "8 devices"));
	NEED(kadenz_network_stop(net, NULL, 0) == -1);
	kadenz_network_free(net);
	NEED(kadenz_recording_finish(recording, NULL, 0) == 0);
	kadenz_recording_free(recording);
	NEED(!kadenz_network_open("sim:many", "1kHz", NULL, 0, false, NULL));
}

static void runs(const char *folder)
{
	char path[512], text[256];
	snprintf(path, sizeof path, "%s/c", folder);
	kadenz_run *run = kadenz_run_open(path);
	NEED(run && strstr(kadenz_run_json(run), "\"lateness\""));
	kadenz_bucket buckets[64];
	int64_t count = kadenz_run_histogram(run, "lateness", buckets, 64);
	uint64_t values = 0;
	for (int64_t i = 0; i < count && i < 64; i++)
		values += buckets[i].count;
	NEED(count > 0 && values >= 20);
	NEED(kadenz_run_histogram(run, "nothing", NULL, 0) == -1 && strstr(kadenz_error(), "control"));
	kadenz_interval interval;
	NEED(kadenz_run_intervals(run, "control", &interval, 1) >= 1 && interval.count > 0);
	NEED(kadenz_compare(run, run, text, sizeof text) == 1 && text[0] == 0);
	kadenz_run_free(run);
	NEED(!kadenz_run_open("nowhere") && strstr(kadenz_error(), "nowhere"));
}

static void nulls(void)
{
	kadenz_tick tick;
	kadenz_message message;
	NEED(!kadenz_bus_open("nonsense://") && strlen(kadenz_error()) > 10);
	NEED(!kadenz_recording_create(NULL) && strstr(kadenz_error(), "NULL"));
	NEED(!kadenz_recording_create("\xff") && strstr(kadenz_error(), "UTF-8"));
	NEED(!kadenz_periodic_start("1000", NULL, 0, false, NULL, NULL, NULL));
	NEED(kadenz_periodic_next(NULL, &tick) == -1 && kadenz_series_record(NULL, 0, 0) == -1);
	NEED(kadenz_publish(NULL, "A", NULL, 0) == -1 && kadenz_receive(NULL, 0, &message) == -1);
	kadenz_bus_free(NULL);
	kadenz_recording_free(NULL);
	kadenz_camera_free(NULL);
	kadenz_network_free(NULL);
	kadenz_log_free(NULL);
	kadenz_log_writer_free(NULL);
	kadenz_run_free(NULL);
	NEED(kadenz_network_start(NULL, NULL) == -1 && kadenz_network_set(NULL, 0, 0) == -1 && !kadenz_run_json(NULL));
}

int main(int count, char **arguments)
{
	assert(count == 2);
	loops(arguments[1]);
	messages();
	background();
	cameras();
	logs(arguments[1]);
	networks(arguments[1]);
	runs(arguments[1]);
	nulls();
	puts(kadenz_version());
	return 0;
}
