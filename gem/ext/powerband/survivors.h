/* Which call sites' objects become old, and which die young: a sample of the objects that a process makes, while a reader wants
 * it (contract/survivors-file-v1.md). Off, nothing is hooked. */
#ifndef POWERBAND_SURVIVORS_H
#define POWERBAND_SURVIVORS_H

#include <stdbool.h>
#include <stdint.h>

/* Between a begin that was not refused and the end. */
extern bool pb_survivors_on;

/* Whether the file next to the flight file is one of this request, in which case all else here is about it. */
bool pb_survivors_asked(uint64_t request);

/* With the GVL held. Both raise what Ruby raises, and then pb_survivors_drop is to be called. */
void pb_survivors_begin(void);
void pb_survivors_end(void);

/* Unhooks and forgets everything, and writes nothing. */
void pb_survivors_drop(void);

/* It is time to end: there is nothing more to see, or none of it in time. */
bool pb_survivors_due(void);

/* For the child of a fork. */
void pb_survivors_forget(void);

void pb_survivors_init(void);

#endif
