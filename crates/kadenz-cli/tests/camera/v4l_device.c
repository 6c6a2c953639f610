/* A camera of Video4Linux2 where the kernel has none: preloaded, it stands at /dev/video77. The structures and numbers
 * are those of the kernel's header, so a program that reads them otherwise fails.
 *
 * YUYV at 10 Hz and NV12 at 50 Hz, 320x240 or 640x480. Every tenth number is left out, as a driver does that
 * had no buffer. V4L_DEVICE_PULLED=40: it is pulled out after 40 frames, and plugged in again at once. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/videodev2.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

#define BUFFERS 4
#define ROOM (1 << 20)
static int device = -1, memory = -1;
static struct v4l2_pix_format format;
static uint8_t *bytes;
static unsigned queue[BUFFERS], queued, sequence, given;

static int is_yuyv(void) { return format.pixelformat == V4L2_PIX_FMT_YUYV; }

static void set_format(const struct v4l2_pix_format *wanted)
{
	memset(&format, 0, sizeof format);
	format.width = wanted->width > 320 ? 640 : 320;
	format.height = wanted->width > 320 ? 480 : 240;
	format.pixelformat = wanted->pixelformat == V4L2_PIX_FMT_NV12 ? V4L2_PIX_FMT_NV12 : V4L2_PIX_FMT_YUYV;
	format.field = V4L2_FIELD_NONE;
	format.bytesperline = format.width * (is_yuyv() ? 2 : 1) + 64;
	format.sizeimage = format.bytesperline * format.height * (is_yuyv() ? 2 : 3) / 2;
	format.colorspace = V4L2_COLORSPACE_SRGB;
}

static int opened(int flags)
{
	struct v4l2_pix_format first = {.width = 320, .pixelformat = V4L2_PIX_FMT_YUYV};
	if (!(flags & O_NONBLOCK)) return errno = EINVAL, -1;
	device = timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC);
	memory = memfd_create("video", MFD_CLOEXEC);
	if (ftruncate(memory, BUFFERS * ROOM)) return -1;
	bytes = mmap(NULL, BUFFERS * ROOM, PROT_READ | PROT_WRITE, MAP_SHARED, memory, 0);
	queued = sequence = given = 0;
	set_format(&first);
	return device;
}

#define OPEN(name)                                                                       \
	int name(const char *path, int flags, ...)                                       \
	{                                                                                \
		va_list more;                                                            \
		va_start(more, flags);                                                   \
		int mode = va_arg(more, int);                                            \
		va_end(more);                                                            \
		if (!strcmp(path, "/dev/video77")) return opened(flags);                 \
		return ((int (*)(const char *, int, ...))dlsym(RTLD_NEXT, #name))(path, flags, mode); \
	}
OPEN(open)
OPEN(open64)

#define MMAP(name)                                                                       \
	void *name(void *at, size_t length, int rights, int flags, int file, off_t from) \
	{                                                                                \
		if (file == device && file >= 0) file = memory;                          \
		return ((void *(*)(void *, size_t, int, int, int, off_t))dlsym(RTLD_NEXT, #name))( \
			at, length, rights, flags, file, from);                          \
	}
MMAP(mmap)
MMAP(mmap64)

static int dequeue(struct v4l2_buffer *buffer)
{
	uint64_t ticks;
	struct timespec now;
	const char *pulled = getenv("V4L_DEVICE_PULLED");
	if (buffer->type != V4L2_BUF_TYPE_VIDEO_CAPTURE || buffer->memory != V4L2_MEMORY_MMAP) return errno = EINVAL, -1;
	if (pulled && given >= (unsigned)atoi(pulled)) return errno = ENODEV, -1;
	if (!queued || read(device, &ticks, sizeof ticks) != sizeof ticks) return errno = EAGAIN, -1;
	buffer->index = queue[0];
	memmove(queue, queue + 1, --queued * sizeof *queue);
	sequence += given++ % 10 == 9;
	buffer->sequence = sequence++;
	buffer->bytesused = format.sizeimage;
	buffer->flags = V4L2_BUF_FLAG_TIMESTAMP_MONOTONIC | V4L2_BUF_FLAG_TSTAMP_SRC_SOE;
	clock_gettime(CLOCK_MONOTONIC, &now);
	buffer->timestamp.tv_sec = now.tv_sec;
	buffer->timestamp.tv_usec = now.tv_nsec / 1000;
	memset(bytes + buffer->index * ROOM, 128, format.sizeimage);
	return 0;
}

static int start(void)
{
	long ns = is_yuyv() ? 100000000 : 20000000;
	struct itimerspec beat = {{0, ns}, {0, ns}};
	return timerfd_settime(device, 0, &beat, NULL);
}

static int describe(struct v4l2_fmtdesc *it)
{
	static const uint32_t codes[] = {V4L2_PIX_FMT_YUYV, V4L2_PIX_FMT_NV12};
	if (it->type != V4L2_BUF_TYPE_VIDEO_CAPTURE || it->index >= 2) return errno = EINVAL, -1;
	it->pixelformat = codes[it->index];
	return 0;
}

static int answer(unsigned long command, void *it)
{
	struct v4l2_capability *capability = it;
	struct v4l2_streamparm *parameters = it;
	struct v4l2_requestbuffers *request = it;
	struct v4l2_buffer *buffer = it;
	struct v4l2_format *wanted = it;
	switch (command) {
	case VIDIOC_QUERYCAP:
		memset(capability, 0, sizeof *capability);
		strcpy((char *)capability->card, "Painted camera");
		capability->capabilities = V4L2_CAP_DEVICE_CAPS | V4L2_CAP_VIDEO_CAPTURE | V4L2_CAP_STREAMING;
		capability->device_caps = V4L2_CAP_VIDEO_CAPTURE | V4L2_CAP_STREAMING;
		return 0;
	case VIDIOC_ENUM_FMT: return describe(it);
	case VIDIOC_S_FMT: set_format(&wanted->fmt.pix); /* fall through */
	case VIDIOC_G_FMT: wanted->fmt.pix = format; return 0;
	case VIDIOC_G_PARM:
	case VIDIOC_S_PARM:
		parameters->parm.capture.timeperframe.numerator = 1;
		parameters->parm.capture.timeperframe.denominator = is_yuyv() ? 10 : 50;
		return 0;
	case VIDIOC_REQBUFS: request->count = BUFFERS; return 0;
	case VIDIOC_QUERYBUF: buffer->length = ROOM, buffer->m.offset = buffer->index * ROOM; return 0;
	case VIDIOC_QBUF: return buffer->index < BUFFERS ? queue[queued++] = buffer->index, 0 : (errno = EINVAL, -1);
	case VIDIOC_STREAMON: return *(int *)it == V4L2_BUF_TYPE_VIDEO_CAPTURE ? start() : (errno = EINVAL, -1);
	case VIDIOC_DQBUF: return dequeue(buffer);
	default: return errno = ENOTTY, -1;
	}
}

int ioctl(int file, unsigned long command, ...)
{
	va_list more;
	va_start(more, command);
	void *it = va_arg(more, void *);
	va_end(more);
	if (file == device && file >= 0) return answer(command, it);
	return ((int (*)(int, unsigned long, ...))dlsym(RTLD_NEXT, "ioctl"))(file, command, it);
}
