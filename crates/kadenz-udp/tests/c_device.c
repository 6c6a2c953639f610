/* Answers one datagram from standard input to standard output: received at 5000 ns, sent at 6000 ns. */
#include <stdio.h>

#include "../firmware/kadenz_echo.h"

int main(int count, char **arguments)
{
    static uint8_t datagram[65507];
    size_t length = fread(datagram, 1, sizeof datagram, stdin);
    length = kadenz_answer(datagram, length, 5000, count > 1 ? arguments[1] : "");
    if (length > 0) kadenz_departure(datagram, 6000);
    return fwrite(datagram, 1, length, stdout) == length ? 0 : 1;
}
