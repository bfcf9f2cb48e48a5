/* When a proxy first saw the request. */
#ifndef POWERBAND_QUEUE_TIME_H
#define POWERBAND_QUEUE_TIME_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Reads X-Request-Start: with or without "t=", in seconds, milli-, micro- or nanoseconds of the wall clock,
 * distinguished by magnitude. False if the text is no such time. */
bool pb_request_start_ns(const char *text, size_t length, uint64_t *start_ns);

#endif
