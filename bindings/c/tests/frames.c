/* A frame outlives its server, which is restarted while this program waits for a line. argv[1]: the camera's name. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kadenz.h"

#define NEED(what) do { if (!(what)) { fprintf(stderr, "%s:%d: %s: %s\n", __FILE__, __LINE__, #what, kadenz_error()); exit(1); } } while (0)

int main(int count, char **arguments)
{
	NEED(count == 2);
	kadenz_camera *camera = kadenz_camera_open(arguments[1], "gray", 20000000000);
	NEED(camera);
	kadenz_frame old, frame;
	NEED(kadenz_camera_next(camera, 20000000000, &old) == 1);
	puts("taken");
	fflush(stdout);
	NEED(getchar() == '\n');
	do {
		NEED(kadenz_camera_next(camera, 20000000000, &frame) >= 0);
	} while (frame.generation == old.generation || frame.count < old.count);
	/* The new server has a frame of that count, and it is another one. */
	unsigned char *copy = malloc(old.length);
	NEED(!kadenz_frame_is_valid(camera, &old));
	NEED(kadenz_frame_copy(camera, &old, copy, old.length) == -1 && strstr(kadenz_error(), "newest"));
	free(copy);
	kadenz_camera_free(camera);
	puts("another one");
	return 0;
}
