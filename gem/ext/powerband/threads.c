/* The list only grows, to the most threads there ever were at once, and is whole at every instant: a fork may come
 * at any. No lock, because its holder might not exist in the child. */
#include "threads.h"

#include <stdlib.h>
#include <string.h>

/* A stop-watch takes two cache lines, which it shares with no other thread. */
#define CACHE_LINE 64
_Static_assert(offsetof(struct pb_thread, watch) + sizeof(struct pb_watch) <= 2 * CACHE_LINE, "the watch");

static struct pb_thread *first;
static uint32_t numbers;

static void
clear(struct pb_thread *thread)
{
    memset(&thread->watch, 0, sizeof *thread - offsetof(struct pb_thread, watch));
    thread->number = __atomic_add_fetch(&numbers, 1, __ATOMIC_RELAXED);
}

struct pb_thread *
pb_threads_take(void)
{
    struct pb_thread *thread;

    for (thread = __atomic_load_n(&first, __ATOMIC_ACQUIRE); thread; thread = thread->next) {
        if (__atomic_load_n(&thread->in_use, __ATOMIC_RELAXED)) continue;
        if (!__atomic_exchange_n(&thread->in_use, true, __ATOMIC_ACQUIRE)) {
            clear(thread);
            return thread;
        }
    }
    if (posix_memalign((void **)&thread, CACHE_LINE, sizeof *thread) != 0) return NULL;
    thread->in_use = true;
    clear(thread);
    thread->next = __atomic_load_n(&first, __ATOMIC_RELAXED);
    while (!__atomic_compare_exchange_n(&first, &thread->next, thread, false, __ATOMIC_RELEASE, __ATOMIC_RELAXED)) {
    }
    return thread;
}

void
pb_threads_give(struct pb_thread *thread)
{
    thread->ruby_thread = 0;
    __atomic_store_n(&thread->in_use, false, __ATOMIC_RELEASE);
}

void
pb_threads_keep_only(struct pb_thread *kept)
{
    for (struct pb_thread *thread = first; thread; thread = thread->next) {
        thread->in_use = thread == kept;
    }
    if (kept) clear(kept);
}

struct pb_thread *
pb_threads_find(uintptr_t ruby_thread)
{
    for (struct pb_thread *thread = __atomic_load_n(&first, __ATOMIC_ACQUIRE); thread; thread = thread->next) {
        if (thread->ruby_thread == ruby_thread && __atomic_load_n(&thread->in_use, __ATOMIC_RELAXED)) return thread;
    }
    return NULL;
}

void
pb_threads_count(unsigned *used, unsigned *made)
{
    *used = *made = 0;
    for (struct pb_thread *thread = __atomic_load_n(&first, __ATOMIC_ACQUIRE); thread; thread = thread->next) {
        *used += __atomic_load_n(&thread->in_use, __ATOMIC_RELAXED);
        (*made)++;
    }
}
