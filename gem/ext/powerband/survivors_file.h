/* The file that a reader made for a recording of survivors: checked, mapped, written once at the end. */
#ifndef POWERBAND_SURVIVORS_FILE_H
#define POWERBAND_SURVIVORS_FILE_H

#include <stdbool.h>
#include <stdint.h>
#include "survivors_layout.h"

struct pb_survivors_counts {
    uint64_t allocated;
    uint64_t sampled;
    uint64_t internal;
    uint64_t lost;
    uint64_t undecided;
    uint32_t collections;
};

/* Maps the file if there is one of this request and it is as it should be. */
bool pb_survivors_file_open(uint64_t request);

/* As it was asked for: what is in the file since may be another's. */
const struct pb_survivors_header *pb_survivors_file_header(void);

void pb_survivors_file_begin(void);
void pb_survivors_file_refuse(enum pb_survivors_refusal refusal);

/* The sites with their names, and that it is over. Ruby is asked for the names, which allocates and may raise. */
void pb_survivors_file_write(const struct pb_survivors_counts *counts);

void pb_survivors_file_close(void);
void pb_survivors_file_forget(void);

#endif
