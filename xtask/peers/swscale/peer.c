// yuv420p to planes of columns by libswscale: to planes (GBRP) that are transposed by SSE2, and to BGR24 that plain
// loops split. Prints first deciles in nanoseconds: {"gbrp":{"480p":..},"bgr24":{..},"gray":{..}}.
//
//     peer MILLISECONDS      for each size and way

#include <emmintrin.h>
#include <libavutil/pixfmt.h>
#include <libswscale/swscale.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static const struct {
    const char *name;
    int width, height;
} SIZES[] = {{"480p", 640, 480}, {"720p", 1280, 720}, {"1080p", 1920, 1080}, {"4K", 3840, 2160}};

enum way { GBRP, BGR24, GRAY };

struct job {
    enum way way;
    int width, height;
    uint8_t *yuv[3], *rgb[3], *out;
    int yuv_stride[3], rgb_stride[3];
    struct SwsContext *context;
};

static uint8_t *memory(size_t size) {
    uint8_t *bytes = aligned_alloc(64, (size + 127) / 64 * 64);
    if (bytes == NULL) exit(1);
    for (size_t i = 0; i < size; i++) bytes[i] = (uint8_t)(3 * i + (i >> 9));
    return bytes;
}

static void square(const uint8_t *from, int stride, uint8_t *to, int to_stride) {
    __m128i rows[16], before[16];
    for (int i = 0; i < 16; i++) rows[i] = _mm_loadu_si128((const __m128i *)(from + (size_t)i * stride));
    for (int round = 0; round < 4; round++) {
        for (int i = 0; i < 16; i++) before[i] = rows[i];
        for (int i = 0; i < 8; i++) {
            rows[2 * i] = _mm_unpacklo_epi8(before[i], before[i + 8]);
            rows[2 * i + 1] = _mm_unpackhi_epi8(before[i], before[i + 8]);
        }
    }
    for (int i = 0; i < 16; i++) _mm_storeu_si128((__m128i *)(to + (size_t)i * to_stride), rows[i]);
}

// All sizes here but the height of 1080 are whole squares: the last ones overlap those before.
static void transpose(const uint8_t *from, int stride, int width, int height, uint8_t *to) {
    for (int y = 0; y < height; y += 16) {
        int top = y + 16 <= height ? y : height - 16;
        for (int x = 0; x < width; x += 16)
            square(from + (size_t)top * stride + x, stride, to + (size_t)x * height + top, height);
    }
}

static void run(struct job *it) {
    size_t plane = (size_t)it->width * it->height;
    if (it->way == GRAY) {
        transpose(it->yuv[0], it->yuv_stride[0], it->width, it->height, it->out);
        return;
    }
    sws_scale(it->context, (const uint8_t *const *)it->yuv, it->yuv_stride, 0, it->height, it->rgb, it->rgb_stride);
    if (it->way == GBRP) {
        const int order[3] = {2, 0, 1};
        for (int i = 0; i < 3; i++)
            transpose(it->rgb[order[i]], it->rgb_stride[0], it->width, it->height, it->out + i * plane);
        return;
    }
    for (int channel = 0; channel < 3; channel++)
        for (int x = 0; x < it->width; x++)
            for (int y = 0; y < it->height; y++)
                it->out[channel * plane + (size_t)x * it->height + y] =
                    it->rgb[0][(size_t)y * it->rgb_stride[0] + 3 * x + 2 - channel];
}

static int64_t now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return time.tv_sec * 1000000000LL + time.tv_nsec;
}

static int ascending(const void *a, const void *b) {
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

static int64_t measure(struct job *it, int64_t budget) {
    static int64_t times[1 << 20];
    int count = 0;
    run(it);
    for (int64_t end = now() + budget; count < 5 || (now() < end && count < 1 << 20); count++) {
        int64_t start = now();
        run(it);
        times[count] = now() - start;
    }
    qsort(times, count, sizeof times[0], ascending);
    return times[count / 10];
}

static int64_t take(enum way way, int width, int height, int64_t budget) {
    struct job it = {.way = way, .width = width, .height = height};
    size_t pixels = (size_t)width * height;
    for (int i = 0; i < 3; i++) {
        it.yuv_stride[i] = i == 0 ? width : width / 2;
        it.yuv[i] = memory(i == 0 ? pixels : pixels / 4);
        it.rgb_stride[i] = way == BGR24 ? 3 * width : width;
        it.rgb[i] = memory(way == BGR24 ? 3 * pixels : pixels);
    }
    it.out = memory(3 * pixels);
    enum AVPixelFormat format = way == BGR24 ? AV_PIX_FMT_BGR24 : AV_PIX_FMT_GBRP;
    it.context = sws_getContext(width, height, AV_PIX_FMT_YUV420P, width, height, format, SWS_FAST_BILINEAR, NULL,
                                NULL, NULL);
    if (it.context == NULL) exit(1);
    int64_t time = measure(&it, budget);
    sws_freeContext(it.context);
    for (int i = 0; i < 3; i++) free(it.yuv[i]), free(it.rgb[i]);
    free(it.out);
    return time;
}

int main(int count, char **arguments) {
    static const char *const WAYS[] = {"gbrp", "bgr24", "gray"};
    int64_t budget = (count > 1 ? atoll(arguments[1]) : 200) * 1000000LL;
    for (int way = 0; way < 3; way++) {
        printf("%s\"%s\":{", way == 0 ? "{" : ",", WAYS[way]);
        for (int i = 0; i < 4; i++) {
            int64_t time = take(way, SIZES[i].width, SIZES[i].height, budget);
            printf("%s\"%s\":%lld", i == 0 ? "" : ",", SIZES[i].name, (long long)time);
        }
        printf("}");
    }
    printf("}\n");
    return 0;
}
