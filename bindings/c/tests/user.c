/* What a user can rely on, in C. argv[1]: a folder for runs. */
#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kadenz.h"

#define NEED(what) do { if (!(what)) { fprintf(stderr, "%s:%d: %s: %s\n", __FILE__, __LINE__, #what, kadenz_error()); exit(1); } } while (0)

static void loops(const char *folder)
{
	char run[512], summary[4096];
	snprintf(run, sizeof run, "%s/c", folder);
	kadenz_recording *recording = kadenz_recording_create(run);
	NEED(recording);
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
	kadenz_periodic_free(loop);
	kadenz_series_free(control);
	NEED(kadenz_recording_finish(recording, summary, sizeof summary) == 0);
	NEED(strstr(summary, "lateness") && strstr(summary, "control"));
	/* Once only, and the text says so. */
	NEED(kadenz_recording_finish(recording, NULL, 0) == -1 && strstr(kadenz_error(), "finished"));
	NEED(!kadenz_series_create(recording, "late", 0));
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
	kadenz_bus_free(bus);
	kadenz_subscription_free(subscription);
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
	NEED(!kadenz_camera_open("nobody-serves-this", "gray", 1000000) && strstr(kadenz_error(), "kadenz camera serve"));
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
}

int main(int count, char **arguments)
{
	assert(count == 2);
	loops(arguments[1]);
	messages();
	cameras();
	nulls();
	puts(kadenz_version());
	return 0;
}
