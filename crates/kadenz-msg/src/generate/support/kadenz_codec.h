/* What the headers that `kadenz msg gen --lang c` writes have in common: LCM's encoding. C11. */
#ifndef KADENZ_CODEC_H
#define KADENZ_CODEC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* What encoding and decoding return instead of a number of bytes. */
enum {
    KADENZ_TOO_SHORT = -1,
    KADENZ_TOO_LONG = -2,
    KADENZ_OTHER_TYPE = -3,
    KADENZ_BAD_LENGTH = -4,
    KADENZ_BAD_STRING = -5,
    KADENZ_TOO_DEEP = -6,
    KADENZ_NO_MEMORY = -7,
    KADENZ_MAX_DEPTH = 128
};

/* A result for people. */
static inline const char *kadenz_codec_error(ptrdiff_t result)
{
    switch (result) {
    case KADENZ_TOO_SHORT: return "the buffer ends before the message does";
    case KADENZ_TOO_LONG: return "the buffer goes on behind the message";
    case KADENZ_OTHER_TYPE: return "the message is of another type, or another version of it";
    case KADENZ_BAD_LENGTH: return "an array's length is negative, more than the message can hold, or has no array";
    case KADENZ_BAD_STRING: return "a string does not end with a NUL, or is longer than 2 GiB";
    case KADENZ_TOO_DEEP: return "a message lies more than 128 deep within itself";
    case KADENZ_NO_MEMORY: return "there is no memory for the message";
    default: return "no error";
    }
}

/* Where bytes are read or written; after the first error nothing more is done. */
typedef struct {
    uint8_t *to;         /* what is written; NULL where it is only counted */
    const uint8_t *from; /* what is read */
    size_t size, at, free;
    int depth, error;
} kadenz_cursor;

static inline void kadenz_fail(kadenz_cursor *c, int error)
{
    c->error = c->error ? c->error : error;
}

/* Whether there are `count` times `width` bytes more. */
static inline bool kadenz_has(kadenz_cursor *c, size_t count, size_t width)
{
    if (count > (c->size - c->at) / width) {
        kadenz_fail(c, count == SIZE_MAX ? KADENZ_BAD_LENGTH : KADENZ_TOO_SHORT);
    }
    return !c->error;
}

/* The product of lengths; SIZE_MAX where one cannot be. */
static inline size_t kadenz_times(size_t count, int64_t length)
{
    if (count == SIZE_MAX || length < 0) return SIZE_MAX;
    if (length > 0 && count > (SIZE_MAX - 1) / (uint64_t)length) return SIZE_MAX;
    return count * (size_t)length;
}

/* How many elements an array holds, when its member says what can be. */
static inline size_t kadenz_count(kadenz_cursor *c, const void *array, size_t count)
{
    if (count == SIZE_MAX || (count > 0 && array == NULL)) kadenz_fail(c, KADENZ_BAD_LENGTH);
    return c->error ? 0 : count;
}

/* How many elements there are to be freed. */
static inline size_t kadenz_held(const void *array, size_t count)
{
    return array == NULL || count == SIZE_MAX ? 0 : count;
}

/* Writes numbers of `width` bytes. */
static inline void kadenz_put(kadenz_cursor *c, const void *from, size_t count, size_t width)
{
    const uint8_t *bytes = (const uint8_t *)from;
    if (!kadenz_has(c, count, width)) return;
    if (count > 0 && bytes == NULL) {
        kadenz_fail(c, KADENZ_BAD_LENGTH);
    } else if (c->to != NULL) {
        uint8_t *to = c->to + c->at;
        for (size_t i = 0; i < count; ++i) {
            uint16_t v2;
            uint32_t v4;
            uint64_t v8 = 0;
            switch (width) {
            case 1: v8 = bytes[i]; break;
            case 2: memcpy(&v2, bytes + 2 * i, 2), v8 = v2; break;
            case 4: memcpy(&v4, bytes + 4 * i, 4), v8 = v4; break;
            default: memcpy(&v8, bytes + 8 * i, 8); break;
            }
            for (size_t k = 0; k < width; ++k) to[i * width + k] = (uint8_t)(v8 >> 8 * (width - 1 - k));
        }
    }
    if (!c->error) c->at += count * width;
}

/* Reads numbers of `width` bytes. */
static inline void kadenz_get(kadenz_cursor *c, void *into, size_t count, size_t width)
{
    uint8_t *bytes = (uint8_t *)into;
    if (!kadenz_has(c, count, width)) return;
    const uint8_t *from = c->from + c->at;
    for (size_t i = 0; i < count; ++i) {
        uint64_t v8 = 0;
        for (size_t k = 0; k < width; ++k) v8 = v8 << 8 | from[i * width + k];
        uint16_t v2 = (uint16_t)v8;
        uint32_t v4 = (uint32_t)v8;
        switch (width) {
        case 1: bytes[i] = (uint8_t)v8; break;
        case 2: memcpy(bytes + 2 * i, &v2, 2); break;
        case 4: memcpy(bytes + 4 * i, &v4, 4); break;
        default: memcpy(bytes + 8 * i, &v8, 8); break;
        }
    }
    c->at += count * width;
}

static inline void kadenz_get_bool(kadenz_cursor *c, bool *into, size_t count)
{
    if (!kadenz_has(c, count, 1)) return;
    for (size_t i = 0; i < count; ++i) into[i] = c->from[c->at++] != 0;
}

/* Writes strings; NULL is an empty one. */
static inline void kadenz_put_text(kadenz_cursor *c, char *const *texts, size_t count)
{
    count = kadenz_count(c, texts, count);
    for (size_t i = 0; i < count && !c->error; ++i) {
        size_t length = texts[i] == NULL ? 0 : strlen(texts[i]);
        int32_t stated = (int32_t)(length + 1);
        if (length >= INT32_MAX) kadenz_fail(c, KADENZ_BAD_STRING);
        kadenz_put(c, &stated, 1, 4);
        kadenz_put(c, length == 0 ? "" : texts[i], length + 1, 1);
    }
}

static inline void kadenz_get_text(kadenz_cursor *c, char **texts, size_t count)
{
    for (size_t i = 0; i < count && !c->error; ++i) {
        int32_t length = 0;
        kadenz_get(c, &length, 1, 4);
        if (length < 0) kadenz_fail(c, KADENZ_BAD_STRING);
        if (c->error || !kadenz_has(c, (size_t)length, 1)) return;
        if (length == 0 || c->from[c->at + (size_t)length - 1] != 0) {
            kadenz_fail(c, KADENZ_BAD_STRING);
            return;
        }
        texts[i] = (char *)malloc((size_t)length);
        if (texts[i] == NULL) kadenz_fail(c, KADENZ_NO_MEMORY);
        else kadenz_get(c, texts[i], (size_t)length, 1);
    }
}

static inline void kadenz_free_text(char **texts, size_t count)
{
    count = kadenz_held(texts, count);
    for (size_t i = 0; i < count; ++i) free(texts[i]);
}

/* Zeroed memory for an array whose elements take `least` bytes in the message, when it has room for them. */
static inline void *kadenz_new(kadenz_cursor *c, size_t count, size_t least, size_t size)
{
    if (c->error || count == 0) return NULL;
    if (least == 0 && count <= c->free) {
        c->free -= count;
    } else if (least == 0 || count > (c->size - c->at) / least) {
        kadenz_fail(c, KADENZ_BAD_LENGTH);
        return NULL;
    }
    void *found = calloc(count, size);
    if (found == NULL) kadenz_fail(c, KADENZ_NO_MEMORY);
    return found;
}

/* Goes into a message that may hold itself. */
static inline bool kadenz_enter(kadenz_cursor *c)
{
    if (++c->depth > KADENZ_MAX_DEPTH) kadenz_fail(c, KADENZ_TOO_DEEP);
    return !c->error;
}

static inline kadenz_cursor kadenz_writer(void *buffer, size_t size, uint64_t fingerprint)
{
    kadenz_cursor c = {(uint8_t *)buffer, NULL, buffer == NULL ? PTRDIFF_MAX : size, 0, 0, 0, 0};
    kadenz_put(&c, &fingerprint, 1, 8);
    return c;
}

static inline kadenz_cursor kadenz_reader(const void *buffer, size_t size, uint64_t fingerprint)
{
    kadenz_cursor c = {NULL, (const uint8_t *)buffer, size, 0, size, 0, 0};
    uint64_t found = 0;
    kadenz_get(&c, &found, 1, 8);
    c.free = size < SIZE_MAX - 1024 ? size + 1024 : size;
    if (found != fingerprint) kadenz_fail(&c, KADENZ_OTHER_TYPE);
    return c;
}

static inline ptrdiff_t kadenz_end(const kadenz_cursor *c)
{
    return c->error ? c->error : (ptrdiff_t)c->at;
}

#endif
