/* Files next to this process's flight file: the same folder, the same stem. */
#ifndef POWERBAND_BESIDE_H
#define POWERBAND_BESIDE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>

/* Opens <stem>.<suffix>, following no link; 0600 where it is made. Returns -1 with the cause in `reason`. */
int pb_beside_open(const char *suffix, int flags, char *reason, size_t reason_size);

/* Whether a file that a reader made is a regular one of this user's alone, of this size and allocated in full. */
bool pb_beside_private(const struct stat *file, uint64_t size);

void pb_beside_unlink(const char *suffix);

#endif
