/* Names are built in a buffer of the caller's and looked up in a hash table of this process, so that no Ruby
 * object is made. Callers hold the GVL. */
#include "endpoint.h"

#include <stdio.h>
#include <string.h>
#include "flight.h"
#include "name.h"
#include "path_name.h"

#define UNROUTED_AT_MOST (PB_ENDPOINTS / 2)
#define SLOTS 1024 /* a power of two, four times the entries */

static uint16_t slots[SLOTS];
static uint16_t used;
static uint16_t unrouted;

void
pb_endpoint_path_name(char name[PB_NAME_SIZE], const char *method, const char *path, size_t path_length)
{
    struct pb_name writer = { name, 0 };

    memset(name, 0, PB_NAME_SIZE);
    pb_name_put(&writer, method, strlen(method));
    pb_name_put(&writer, " ", 1);
    if (path_length == 0) pb_name_put(&writer, "/", 1);
    else pb_path_name(&writer, path, path_length);
}

void
pb_endpoint_status_name(char name[PB_NAME_SIZE], const char *method, uint16_t status)
{
    memset(name, 0, PB_NAME_SIZE);
    if (status == 404) snprintf(name, PB_NAME_SIZE, "%s (not found)", method);
    else snprintf(name, PB_NAME_SIZE, "%s (%u)", method, (unsigned)status);
}

void
pb_endpoint_action_name(char name[PB_NAME_SIZE], const char *controller, size_t controller_length,
                        const char *action, size_t action_length)
{
    struct pb_name writer = { name, 0 };

    memset(name, 0, PB_NAME_SIZE);
    pb_name_put(&writer, controller, controller_length);
    pb_name_put(&writer, "#", 1);
    pb_name_put(&writer, action, action_length);
}

void
pb_endpoint_given_name(char name[PB_NAME_SIZE], const char *prefix, const char *text, size_t length)
{
    struct pb_name writer = { name, 0 };

    memset(name, 0, PB_NAME_SIZE);
    pb_name_put(&writer, prefix, strlen(prefix));
    pb_name_put(&writer, text, length);
}

static uint32_t
hash(const char *name)
{
    uint32_t h = 2166136261u; /* FNV-1a */

    while (*name) h = (h ^ (unsigned char)*name++) * 16777619u;
    return h;
}

uint16_t
pb_endpoint_index(const char name[PB_NAME_SIZE], bool routed)
{
    uint32_t slot = hash(name) & (SLOTS - 1);
    struct pb_endpoint *entry;

    for (; slots[slot]; slot = (slot + 1) & (SLOTS - 1)) {
        if (strcmp(pb_flight.endpoints[slots[slot]].name, name) == 0) return slots[slot];
    }
    if (used == PB_ENDPOINTS || (!routed && unrouted == UNROUTED_AT_MOST)) {
        pb_flight.header->endpoints_lost++;
        return 0;
    }
    entry = &pb_flight.endpoints[used];
    memcpy(entry->name, name, PB_NAME_SIZE);
    __atomic_store_n(&entry->named, 1, __ATOMIC_RELEASE);
    unrouted += !routed;
    return slots[slot] = used++;
}

void
pb_endpoint_reset(void)
{
    memset(slots, 0, sizeof slots);
    strcpy(pb_flight.endpoints[0].name, "(other)");
    __atomic_store_n(&pb_flight.endpoints[0].named, 1, __ATOMIC_RELEASE);
    used = 1;
    unrouted = 0;
}
