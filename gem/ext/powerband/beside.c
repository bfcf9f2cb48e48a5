#include "beside.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include "flight.h"
#include "folder.h"

/* <root>/<user>/<stem>.flight taken apart, and the folder opened with its checks. */
static int
open_folder(const char *suffix, char *name, size_t name_size, char *reason, size_t reason_size)
{
    char root[sizeof pb_flight.path];
    char *file, *user;

    memcpy(root, pb_flight.path, sizeof root);
    file = strrchr(root, '/');
    if (!file) return -1;
    *file++ = '\0';
    user = strrchr(root, '/');
    if (!user) return -1;
    *user = '\0';
    snprintf(name, name_size, "%.*s.%s", (int)strcspn(file, "."), file, suffix);
    return pb_folder_open(root, pb_flight.default_root, reason, reason_size);
}

int
pb_beside_open(const char *suffix, int flags, char *reason, size_t reason_size)
{
    char name[96];
    int fd, folder = open_folder(suffix, name, sizeof name, reason, reason_size);

    if (folder < 0) return -1;
    fd = openat(folder, name, flags | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0600);
    if (fd < 0) snprintf(reason, reason_size, "cannot open %s: %s", name, strerror(errno));
    close(folder);
    return fd;
}

bool
pb_beside_private(const struct stat *file, uint64_t size)
{
    return S_ISREG(file->st_mode) && file->st_uid == geteuid() && (file->st_mode & 077) == 0 &&
           (uint64_t)file->st_size == size && (uint64_t)file->st_blocks * 512 >= size;
}

void
pb_beside_unlink(const char *suffix)
{
    char name[96], reason[128];
    int folder = open_folder(suffix, name, sizeof name, reason, sizeof reason);

    if (folder < 0) return;
    unlinkat(folder, name, 0);
    close(folder);
}
