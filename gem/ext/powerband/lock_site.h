/* The line of code at which the current thread waits for a lock. Neither allocates nor raises. */
#ifndef POWERBAND_LOCK_SITE_H
#define POWERBAND_LOCK_SITE_H

#include <stddef.h>
#include <stdint.h>
#include "layout.h"

struct pb_lock_site {
    const char *path; /* Ruby's; NULL: none was found */
    size_t length;
    int line;
};

/* Of the innermost frame that is not in the code of locks and pools themselves. `app_root` is the header's field. */
void pb_lock_site_find(struct pb_lock_site *site, const char app_root[PB_ROOT_SIZE]);

/* Never 0. */
uint64_t pb_lock_site_digest(const struct pb_lock_site *site, enum pb_lock_kind kind);

/* `lib/cache.rb:41`, from the application's root or below a folder of gems; of longer ones the end. `to` is all zero. */
void pb_lock_site_write(const struct pb_lock_site *site, const char app_root[PB_ROOT_SIZE], char to[PB_SITE_SIZE]);

#endif
