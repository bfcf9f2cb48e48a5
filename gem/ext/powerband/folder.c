/* The root may be in /tmp, where others could have put a folder or a link of that name first: no link below the root is
 * followed, nor the root itself where it was not configured, and owners and modes are verified on the open descriptors. */
#include "folder.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static int
fail(char *reason, size_t reason_size, const char *what, const char *path, const char *why)
{
    snprintf(reason, reason_size, "%s %s: %s", what, path, why);
    return -1;
}

/* Users share the default root, because servers switch users. A configured folder stays as it was made. */
static bool
make(const char *root, bool default_root)
{
    char path[PATH_MAX];
    size_t length = strlen(root);

    if (length == 0 || length >= sizeof path) {
        errno = ENAMETOOLONG;
        return false;
    }
    memcpy(path, root, length + 1);
    for (char *slash = strchr(path + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        if (mkdir(path, 0755) != 0 && errno != EEXIST) return false;
        *slash = '/';
    }
    if (mkdir(path, 0755) == 0) return !default_root || chmod(path, 01777) == 0;
    return errno == EEXIST;
}

bool
pb_folder_make(const char *root, bool default_root, char *reason, size_t reason_size)
{
    if (make(root, default_root)) return true;
    fail(reason, reason_size, "cannot make", root, strerror(errno));
    return false;
}

/* Every user with write access to the root could put another folder in the place of ours, unless the sticky bit is set. The owner
 * of a sticky root can still take our folder away, but a folder put in its place is refused: its own owner is checked. */
static const char *
distrust(const struct stat *root)
{
    if (root->st_mode & S_ISVTX) return NULL;
    if (root->st_uid != 0 && root->st_uid != geteuid()) {
        return "the folder belongs to another user and is not sticky (1777); set POWERBAND_DIR to another one";
    }
    if (root->st_mode & S_IWOTH) return "everybody may write to the folder and it is not sticky; run chmod +t on it";
    return NULL;
}

static int
open_root(const char *root, bool default_root, char *reason, size_t reason_size)
{
    struct stat status;
    const char *why;
    int fd = open(root, O_RDONLY | O_DIRECTORY | O_CLOEXEC | (default_root ? O_NOFOLLOW : 0));

    if (fd < 0) return fail(reason, reason_size, "cannot open", root, strerror(errno));
    why = fstat(fd, &status) == 0 ? distrust(&status) : strerror(errno);
    if (!why) return fd;
    close(fd);
    return fail(reason, reason_size, "cannot trust", root, why);
}

int
pb_folder_open(const char *root, bool default_root, char *reason, size_t reason_size)
{
    char user[24];
    struct stat folder;
    int fd, root_fd = open_root(root, default_root, reason, reason_size);

    if (root_fd < 0) return -1;
    snprintf(user, sizeof user, "%u", (unsigned)geteuid());
    if (mkdirat(root_fd, user, 0700) != 0 && errno != EEXIST) {
        int error = errno;
        close(root_fd);
        return fail(reason, reason_size, "cannot make a folder in", root, strerror(error));
    }
    fd = openat(root_fd, user, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0) {
        int error = errno;
        close(root_fd);
        return fail(reason, reason_size, "cannot open this user's folder in", root, strerror(error));
    }
    close(root_fd);

    if (fstat(fd, &folder) != 0 || folder.st_uid != geteuid() || (folder.st_mode & 077) != 0) {
        close(fd);
        return fail(reason, reason_size, "this user's folder is not private (0700 and its own) in", root,
                    "remove it or set POWERBAND_DIR");
    }
    return fd;
}
