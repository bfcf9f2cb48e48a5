/* A file's memory, which a forked child does not have: it must never write into its parent's file. */
#ifndef POWERBAND_MAPPING_H
#define POWERBAND_MAPPING_H

#include <stddef.h>

/* NULL with the cause in errno. */
void *pb_mapping_open(int fd, size_t size);

/* The same of a file that is new and empty. Every block of it is allocated first: a sparse file on a disk that fills up
 * later is a SIGBUS, which would kill the server. */
void *pb_mapping_make(int fd, size_t size);

#endif
