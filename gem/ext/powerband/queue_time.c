#include "queue_time.h"

#define FRACTION_DIGITS 9

/* The smallest number taken for a time is 2001 in seconds; each unit's range would end where the next begins, in
 * the year 5138. */
#define SECONDS_FROM 1000000000u
#define MILLISECONDS_FROM 100000000000u
#define MICROSECONDS_FROM 100000000000000u
#define NANOSECONDS_FROM 100000000000000000u

/* The first whole second, in the year 2554, whose nanoseconds do not fit in 64 bits. */
#define SECONDS_BEYOND 18446744073u

static bool
digit(char c)
{
    return c >= '0' && c <= '9';
}

bool
pb_request_start_ns(const char *text, size_t length, uint64_t *start_ns)
{
    const char *at = text, *end = text + length;
    uint64_t whole = 0, fraction = 0, in_one_second;
    int digits = 0;

    while (at < end && *at == ' ') at++;
    if (end - at >= 2 && at[0] == 't' && at[1] == '=') at += 2;
    for (; at < end && digit(*at); at++) {
        if (++digits > 19) return false;
        whole = whole * 10 + (uint64_t)(*at - '0');
    }
    if (at < end && *at == '.') {
        int places = 0;

        for (at++; at < end && digit(*at); at++) {
            if (places < FRACTION_DIGITS) {
                fraction = fraction * 10 + (uint64_t)(*at - '0');
                places++;
            }
        }
        for (; places < FRACTION_DIGITS; places++) fraction *= 10;
    }
    /* Several proxies in a row append with a comma: the first saw the request first. */
    if (at < end && *at != ',' && *at != ' ') return false;

    if (whole < SECONDS_FROM) return false;
    if (whole < MILLISECONDS_FROM) in_one_second = 1;
    else if (whole < MICROSECONDS_FROM) in_one_second = 1000;
    else if (whole < NANOSECONDS_FROM) in_one_second = 1000000;
    else in_one_second = 1000000000;
    if (whole / in_one_second >= SECONDS_BEYOND) return false;
    *start_ns = whole * (1000000000u / in_one_second) + fraction / in_one_second;
    return true;
}
