#include "mapping.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <sys/mman.h>
#include <sys/resource.h>

void *
pb_mapping_open(int fd, size_t size)
{
    void *base = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);

    if (base == MAP_FAILED) return NULL;
    if (madvise(base, size, MADV_DONTFORK) != 0) {
        const int error = errno;

        munmap(base, size);
        errno = error;
        return NULL;
    }
    return base;
}

/* An allocation beyond the limit (ulimit -f) would raise SIGXFSZ, which ends the process. */
static bool
within_limit(size_t size)
{
    struct rlimit limit;

    return getrlimit(RLIMIT_FSIZE, &limit) != 0 || size <= limit.rlim_cur;
}

/* Every signal to the thread interrupts the allocation, and Ruby's own timer sends some: tried again, but not for ever. */
void *
pb_mapping_make(int fd, size_t size)
{
    int error = EINTR;

    if (!within_limit(size)) {
        errno = EFBIG;
        return NULL;
    }
    for (int attempt = 0; error == EINTR && attempt < 64; attempt++) {
        error = posix_fallocate(fd, 0, (off_t)size);
    }
    errno = error;
    return error ? NULL : pb_mapping_open(fd, size);
}
