/* Where a process runs: its number means something only inside one PID namespace, until the machine restarts. */
#ifndef POWERBAND_ORIGIN_H
#define POWERBAND_ORIGIN_H

#include <stdint.h>

#define PB_BOOT_ID_SIZE 16

/* Both are zero where the system does not provide them. */
struct pb_origin {
    uint64_t pid_namespace;
    uint8_t boot_id[PB_BOOT_ID_SIZE];
};

struct pb_origin pb_origin_of_this_process(void);

#endif
