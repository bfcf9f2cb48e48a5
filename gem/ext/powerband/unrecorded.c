#include "unrecorded.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <unistd.h>
#include "mapping.h"

#define MAPPED 4096 /* never touched: the mapping only keeps the lock */

static void *mapped;
static char marker[4400];

static const char *
name_of(int error, char *other, size_t other_size)
{
    switch (error) {
      case ENOSPC: return "ENOSPC";
      case EDQUOT: return "EDQUOT";
      case EFBIG: return "EFBIG";
      case ENOMEM: return "ENOMEM";
      case EIO: return "EIO";
      case EACCES: return "EACCES";
      case EPERM: return "EPERM";
      case EROFS: return "EROFS";
      case ENODEV: return "ENODEV";
      case EINTR: return "EINTR";
      default: snprintf(other, other_size, "E%d", error); return other;
    }
}

/* The lock is there before the name is, so that no reader takes the marker for that of a process that ended. */
static bool
hold(int folder, int fd, const char *from, const char *to)
{
    if (ftruncate(fd, 0) != 0 || flock(fd, LOCK_EX | LOCK_NB) != 0) return false;
    mapped = pb_mapping_open(fd, MAPPED);
    if (!mapped) return false;
    if (renameat(folder, from, folder, to) == 0) return true;
    munmap(mapped, MAPPED);
    mapped = NULL;
    return false;
}

void
pb_unrecorded_mark(int folder, int fd, const char *path, const char *name, int error)
{
    const int stem = (int)strcspn(name, ".");
    char other[16], to[96];

    snprintf(to, sizeof to, "%.*s.unrecorded-%s", stem, name, name_of(error, other, sizeof other));
    if (hold(folder, fd, name, to)) {
        snprintf(marker, sizeof marker, "%.*s%s", (int)(strlen(path) - strlen(name)), path, to);
    }
    else {
        unlinkat(folder, name, 0);
    }
}

void
pb_unrecorded_remove(void)
{
    if (!mapped) return;
    unlink(marker);
    munmap(mapped, MAPPED);
    mapped = NULL;
}

void
pb_unrecorded_forget(void)
{
    mapped = NULL;
}
