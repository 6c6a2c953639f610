/* Decodes and encodes again what comes as "type hexadecimal-digits". */
#include <stdio.h>

#include "all.inc"

static char line[1 << 20];

static void put(const char *error, const uint8_t *bytes, ptrdiff_t size)
{
    if (size < 0) printf("%s: %s", error, kadenz_error(size));
    for (ptrdiff_t i = 0; i < size; ++i) printf("%02x", bytes[i]);
    printf("\n");
}

#define TYPE(text, name)                                                    \
    static void echo_##name(const uint8_t *bytes, size_t size)              \
    {                                                                       \
        name m;                                                             \
        ptrdiff_t used = name##_decode(bytes, size, &m);                    \
        if (used < 0) {                                                     \
            put("refused", NULL, used);                                     \
            return;                                                         \
        }                                                                   \
        ptrdiff_t room = name##_encoded_size(&m);                           \
        uint8_t *buffer = (uint8_t *)malloc(room < 0 ? 1 : (size_t)room);   \
        put("not encoded", buffer, name##_encode(buffer, (size_t)room, &m)); \
        if (room > 0 && name##_encode(buffer, (size_t)room - 1, &m) != KADENZ_TOO_SHORT) abort(); \
        free(buffer);                                                       \
        name##_free(&m);                                                    \
    }
#include "types.inc"
#undef TYPE

int main(void)
{
    while (fgets(line, sizeof line, stdin) != NULL) {
        char *digits = strchr(line, ' ');
        *digits++ = 0;
        size_t size = strspn(digits, "0123456789abcdef") / 2;
        uint8_t *bytes = (uint8_t *)malloc(size + (size == 0));
        for (size_t i = 0; i < size; ++i) {
            char pair[3] = {digits[2 * i], digits[2 * i + 1], 0};
            bytes[i] = (uint8_t)strtol(pair, NULL, 16);
        }
#define TYPE(text, name) \
    if (strcmp(line, text) == 0) echo_##name(bytes, size);
#include "types.inc"
        free(bytes);
    }
    return 0;
}
