/* The private folder that flight files live in. The root may be in /tmp, where others could have put a folder or
 * a link of that name first: nothing is followed below the root, and owner and mode are verified on the open
 * descriptor. */
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

/* One user must not lock the others out of a root that several share: servers switch users. */
static int
make_root(const char *root)
{
    char path[PATH_MAX];
    size_t length = strlen(root);

    if (length == 0 || length >= sizeof path) {
        errno = ENAMETOOLONG;
        return -1;
    }
    memcpy(path, root, length + 1);
    for (char *slash = strchr(path + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        if (mkdir(path, 0755) != 0 && errno != EEXIST) return -1;
        *slash = '/';
    }
    if (mkdir(path, 0755) == 0) return chmod(path, 01777);
    return errno == EEXIST ? 0 : -1;
}

int
pb_folder_open(const char *root, char *reason, size_t reason_size)
{
    char user[24];
    struct stat folder;
    int root_fd, fd;

    if (make_root(root) != 0) return fail(reason, reason_size, "cannot make", root, strerror(errno));
    root_fd = open(root, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (root_fd < 0) return fail(reason, reason_size, "cannot open", root, strerror(errno));

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
