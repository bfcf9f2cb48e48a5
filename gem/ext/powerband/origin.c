#include "origin.h"

#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static int
digit(char c)
{
    if (c >= '0' && c <= '9') return c - '0';
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* A UUID as text: hexadecimal digits, with dashes between groups of whole bytes. */
static void
read_boot_id(uint8_t boot_id[PB_BOOT_ID_SIZE])
{
    char text[64];
    uint8_t bytes[PB_BOOT_ID_SIZE];
    size_t count = 0;
    ssize_t length;
    int fd = open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC);

    if (fd < 0) return;
    length = read(fd, text, sizeof text);
    close(fd);
    for (ssize_t at = 0; at + 1 < length && count < sizeof bytes;) {
        const int high = digit(text[at]), low = digit(text[at + 1]);

        if (high >= 0 && low >= 0) {
            bytes[count++] = (uint8_t)(high << 4 | low);
            at += 2;
        }
        else if (text[at] == '-') {
            at++;
        }
        else {
            return;
        }
    }
    if (count == sizeof bytes) memcpy(boot_id, bytes, sizeof bytes);
}

struct pb_origin
pb_origin_of_this_process(void)
{
    struct pb_origin origin;
    struct stat namespace;

    memset(&origin, 0, sizeof origin);
    if (stat("/proc/self/ns/pid", &namespace) == 0) origin.pid_namespace = (uint64_t)namespace.st_ino;
    read_boot_id(origin.boot_id);
    return origin;
}
