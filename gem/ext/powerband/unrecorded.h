/* The marker of a process that cannot have its flight file, so that readers see the process all the same: an empty file, which
 * needs no space but its inode, and which the process holds a lock on (contract/flight-v1.md). Callers hold the GVL, except
 * for pb_unrecorded_forget. */
#ifndef POWERBAND_UNRECORDED_H
#define POWERBAND_UNRECORDED_H

/* Turns the flight file `path`, named `name` in `folder` and open as `fd`, into the marker; `error` is why it cannot be a flight
 * file. Where that fails too, the file is removed. Leaves both descriptors open. */
void pb_unrecorded_mark(int folder, int fd, const char *path, const char *name, int error);

/* Removes the marker of this process, if it has one. */
void pb_unrecorded_remove(void);

/* For the child of a fork: the marker is its parent's. */
void pb_unrecorded_forget(void);

#endif
