/* Decodes each line "type hexadecimal-digits", and encodes it again. */
#include <stdio.h>

#include "all.inc"

static char line[1 << 20];

static void put(const char *error, const uint8_t *bytes, ptrdiff_t size)
{
    if (size < 0) printf("%s: %s", error, kadenz_codec_error(size));
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

#define REQUIRE(kept) do { if (!(kept)) { fprintf(stderr, "%d: %s\n", __LINE__, #kept); exit(1); } } while (0)

static void fields(void)
{
    static char a[] = "a", large[] = "gr\xc3\xb6\xc3\x9f" "er", x[] = "x", t[] = "t";
    static char digits[6][2] = {"1", "2", "3", "4", "5", "6"};
    int32_t samples[] = {-7, 8};
    uint8_t image[3][2] = {{1, 2}, {3, 4}, {5, 255}};
    float mixed[2][2][3];
    int64_t cube[2][3][2];
    char *names[] = {a, large};
    char *table[2][3] = {{digits[0], digits[1], digits[2]}, {digits[3], digits[4], digits[5]}};
    robot_primitives load = {.raw = 200, .single = 0.5f, .yes = true};
    robot_primitives some[] = {load, load};
    some[0].small = -5;
    some[1].text = t;
    robot_arrays m = {.position = {1, 2, 3}, .matrix = {{1, 2, 3}, {4, 5, 6}}, .n = 2, .m = 3, .samples = samples,
        .image = &image[0][0], .mixed = &mixed[0][0][0], .names = names, .flags = {true}, .labels = {x},
        .cube = &cube[0][0][0], .some = some, .pair = {load, load}, .table = &table[0][0]};
    m.pair[0].small = 1;
    m.pair[1].small = 2;
    for (int i = 0; i < 12; ++i) m.mixed[i] = (float)(i + 1) / 2, m.cube[i] = i + 1;
    cube[1][2][1] = INT64_MIN;

    uint8_t buffer[1000];
    ptrdiff_t used = robot_arrays_encode(buffer, sizeof buffer, &m);
    put("not encoded", buffer, used);
    robot_arrays again;
    REQUIRE(robot_arrays_decode(buffer, (size_t)used, &again) == used);
    REQUIRE(again.n == 2 && again.image[2 * again.n + 0] == 5 && again.cube[(1 * 3 + 2) * 2] == 11);
    REQUIRE(again.matrix[1][0] == 4 && strcmp(again.table[1 * 3 + 0], "4") == 0 && strcmp(again.some[1].text, "t") == 0);
    REQUIRE(ROBOT_ARRAYS_AXES == 3 && ROBOT_MODE_FAULT == -1 && again.labels[1][0] == 0);
    robot_arrays_free(&again);
    REQUIRE(again.samples == NULL);
    m.samples = NULL;
    REQUIRE(robot_arrays_encoded_size(&m) == KADENZ_BAD_LENGTH);
    m.samples = samples;
    m.n = -1;
    REQUIRE(robot_arrays_encode(buffer, sizeof buffer, &m) == KADENZ_BAD_LENGTH);
}

int main(void)
{
    while (fgets(line, sizeof line, stdin) != NULL) {
        if (strcmp(line, "fields\n") == 0) {
            fields();
            break;
        }
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
