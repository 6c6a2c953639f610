/* The device's side of Kadenz's UDP protocol, version 1, without token: docs/udp-protocol.md.
 * C99, no allocation, no state. Same licence as Kadenz: MIT or Apache-2.0. */
#ifndef KADENZ_ECHO_H
#define KADENZ_ECHO_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

enum {
    KADENZ_HEADER = 18,
    KADENZ_PROBE = 0xA1, KADENZ_REPLY = 0xA2, KADENZ_DISCOVER = 0xA3, KADENZ_PRESENT = 0xA4,
    KADENZ_STAMPS = 2 /* the flag; bit 0 is the token's */
};

static inline void kadenz_put_u64(uint8_t *to, uint64_t value)
{
    int i;
    for (i = 7; i >= 0; i--, value >>= 8) to[i] = (uint8_t)value;
}

/* Bytes before the body. */
static inline size_t kadenz_body(const uint8_t *datagram)
{
    return KADENZ_HEADER + ((datagram[1] & KADENZ_STAMPS) ? 16 : 0);
}

/* Makes the answer of a question in its own bytes. How many to send back; 0: send nothing.
 * `name` is printable ASCII, at most 48 characters. */
static inline size_t kadenz_answer(uint8_t *datagram, size_t length, uint64_t received_ns, const char *name)
{
    size_t body, room, told;
    if (length < KADENZ_HEADER) return 0;
    /* Whatever else has bits set is tagged, or of a later version. */
    if (datagram[1] & ~KADENZ_STAMPS) return 0;
    body = kadenz_body(datagram);
    if (length < body) return 0;
    if (datagram[0] == KADENZ_PROBE) {
        datagram[0] = KADENZ_REPLY;
    } else if (datagram[0] == KADENZ_DISCOVER) {
        datagram[0] = KADENZ_PRESENT;
        memset(datagram + body, 0, length - body);
        if (length > body) {
            room = length - body - 1;
            told = strlen(name) < room ? strlen(name) : room;
            datagram[body] = (uint8_t)told;
            memcpy(datagram + body + 1, name, told);
        }
    } else {
        return 0; /* An answer to an answer would go back and forth forever. */
    }
    if (datagram[1] & KADENZ_STAMPS) {
        kadenz_put_u64(datagram + KADENZ_HEADER, received_ns);
        kadenz_put_u64(datagram + KADENZ_HEADER + 8, 0);
    }
    return length;
}

/* Call right before sending the answer. */
static inline void kadenz_departure(uint8_t *datagram, uint64_t now_ns)
{
    if (datagram[1] & KADENZ_STAMPS) kadenz_put_u64(datagram + KADENZ_HEADER + 8, now_ns);
}

#endif
