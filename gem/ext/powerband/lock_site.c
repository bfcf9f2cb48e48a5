#include "lock_site.h"

#include <ruby.h>
#include <ruby/debug.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#define AT_ONCE 8
#define MOST 40

/* Code that only passes a wait on to its caller. */
static const char *const of_locks[] = {
    "/monitor.rb", "/connection_pool", "/active_record/connection_adapters/", "/active_support/concurrency/", "/concurrent-ruby",
};

static bool
contains(const char *path, size_t length, const char *part)
{
    return memmem(path, length, part, strlen(part)) != NULL;
}

static bool
begins_with(const char *path, size_t length, const char *part)
{
    return length >= strlen(part) && memcmp(path, part, strlen(part)) == 0;
}

/* The last one: a folder of gems may lie inside another. */
static const char *
below_gems(const char *path, size_t length)
{
    static const char folder[] = "/gems/";
    const char *end = path + length, *at = path, *found = NULL;

    while ((at = memmem(at, (size_t)(end - at), folder, sizeof folder - 1)) != NULL) found = at += sizeof folder - 1;
    return found;
}

/* The path from the application's root, with the slash that it begins with; NULL: it is not below. */
static const char *
below_root(const char *path, size_t length, const char *app_root)
{
    const size_t root = strnlen(app_root, PB_ROOT_SIZE);

    return root > 1 && length > root && memcmp(path, app_root, root) == 0 && path[root] == '/' ? path + root : NULL;
}

/* Bundler may install gems below the application's root; all other code there is the application's. */
static bool
is_of_locks(const char *path, size_t length, const char *app_root)
{
    const char *own = below_root(path, length, app_root);

    if (own && !below_gems(own, (size_t)(path + length - own))) return false;
    if (begins_with(path, length, "<internal:")) return true;
    for (size_t i = 0; i < sizeof of_locks / sizeof of_locks[0]; i++) {
        if (contains(path, length, of_locks[i])) return true;
    }
    return false;
}

/* Ruby's string of the file lives as long as the frame's code. */
void
pb_lock_site_find(struct pb_lock_site *site, const char app_root[PB_ROOT_SIZE])
{
    VALUE frames[AT_ONCE];
    int lines[AT_ONCE];
    int found = AT_ONCE;

    *site = (struct pb_lock_site){ 0 };
    for (int start = 0; start < MOST && found == AT_ONCE; start += AT_ONCE) {
        found = rb_profile_frames(start, AT_ONCE, frames, lines);
        for (int i = 0; i < found; i++) {
            VALUE path = rb_profile_frame_path(frames[i]);
            struct pb_lock_site here;
            bool passes_on;

            /* Methods in C have none. */
            if (!RB_TYPE_P(path, T_STRING)) continue;
            here = (struct pb_lock_site){ RSTRING_PTR(path), (size_t)RSTRING_LEN(path), lines[i] };
            passes_on = is_of_locks(here.path, here.length, app_root);
            if (!site->path || !passes_on) *site = here;
            if (!passes_on) return;
        }
    }
}

/* FNV-1a of Fowler, Noll and Vo. */
static uint64_t
digest(uint64_t sum, const void *bytes, size_t length)
{
    const unsigned char *at = bytes;

    for (size_t i = 0; i < length; i++) sum = (sum ^ at[i]) * UINT64_C(1099511628211);
    return sum;
}

uint64_t
pb_lock_site_digest(const struct pb_lock_site *site, enum pb_lock_kind kind)
{
    uint64_t sum = UINT64_C(14695981039346656037);

    if (site->path) sum = digest(sum, site->path, site->length);
    sum = digest(sum, &site->line, sizeof site->line);
    sum = digest(sum, &kind, sizeof kind);
    return sum ? sum : 1;
}

void
pb_lock_site_write(const struct pb_lock_site *site, const char app_root[PB_ROOT_SIZE], char to[PB_SITE_SIZE])
{
    const char *from = site->path, *end = site->path + site->length;
    const char *own, *of_gem;
    char line[16];
    size_t room;

    if (!from) return;
    own = below_root(from, site->length, app_root);
    of_gem = below_gems(own ? own : from, (size_t)(end - (own ? own : from)));
    if (of_gem) from = of_gem;
    else if (own) from = own + 1;
    snprintf(line, sizeof line, ":%d", site->line);
    room = PB_SITE_SIZE - 1 - strlen(line);
    if ((size_t)(end - from) > room) {
        from = end - room;
        /* Never begin inside a UTF-8 character. */
        while (from < end && ((unsigned char)*from & 0xC0) == 0x80) from++;
    }
    memcpy(to, from, (size_t)(end - from));
    strcpy(to + (end - from), line);
}
