/* Names are built in a buffer of the caller's and looked up in a hash table of this process, so that no Ruby
 * object is made. Callers hold the GVL. */
#include "endpoint.h"

#include <ctype.h>
#include <stdbool.h>
#include <string.h>
#include "flight.h"

#define SLOTS 1024 /* a power of two, four times the entries */
#define HEX_AT_LEAST 8
#define HEX_WITHOUT_DIGITS_AT_LEAST 16 /* "facade" is a word, and so may be eight letters */
#define UUID_LENGTH 36

static uint16_t slots[SLOTS];
static uint16_t used;

struct writer {
    char *to;
    size_t length;
};

/* The table is UTF-8 whatever the request was, hence plain ASCII. */
static void
put(struct writer *writer, const char *text, size_t length)
{
    for (size_t i = 0; i < length && writer->length < PB_NAME_SIZE - 1; i++) {
        unsigned char c = (unsigned char)text[i];
        writer->to[writer->length++] = (c < 0x20 || c > 0x7E) ? '?' : (char)c;
    }
}

static bool
uuid(const char *text, size_t length)
{
    if (length < UUID_LENGTH || (length > UUID_LENGTH && isalnum((unsigned char)text[UUID_LENGTH]))) return false;
    for (size_t i = 0; i < UUID_LENGTH; i++) {
        bool dash = i == 8 || i == 13 || i == 18 || i == 23;
        if (dash ? text[i] != '-' : !isxdigit((unsigned char)text[i])) return false;
    }
    return true;
}

static bool
identifier(const char *token, size_t length)
{
    size_t digits = 0;

    for (size_t i = 0; i < length; i++) {
        if (!isxdigit((unsigned char)token[i])) return false;
        digits += isdigit((unsigned char)token[i]) != 0;
    }
    if (length == 0) return false;
    if (digits == length) return true;
    return digits > 0 ? length >= HEX_AT_LEAST : length >= HEX_WITHOUT_DIGITS_AT_LEAST;
}

void
pb_endpoint_path_name(char name[PB_NAME_SIZE], const char *method, const char *path, size_t path_length)
{
    struct writer writer = { name, 0 };
    size_t at = 0;

    memset(name, 0, PB_NAME_SIZE);
    put(&writer, method, strlen(method));
    put(&writer, " ", 1);
    if (path_length == 0) put(&writer, "/", 1);
    while (at < path_length && writer.length < PB_NAME_SIZE - 1) {
        size_t length = 0;

        if (uuid(path + at, path_length - at)) {
            length = UUID_LENGTH;
            put(&writer, ":id", 3);
        }
        else {
            while (at + length < path_length && !memchr("/-._~", path[at + length], 5)) length++;
            if (identifier(path + at, length)) put(&writer, ":id", 3);
            else put(&writer, path + at, length);
        }
        at += length;
        if (at < path_length) put(&writer, path + at++, 1);
    }
}

void
pb_endpoint_not_found_name(char name[PB_NAME_SIZE], const char *method)
{
    static const char suffix[] = " (not found)";
    struct writer writer = { name, 0 };

    memset(name, 0, PB_NAME_SIZE);
    put(&writer, method, strlen(method));
    put(&writer, suffix, sizeof suffix - 1);
}

void
pb_endpoint_action_name(char name[PB_NAME_SIZE], const char *controller, size_t controller_length,
                        const char *action, size_t action_length)
{
    struct writer writer = { name, 0 };

    memset(name, 0, PB_NAME_SIZE);
    put(&writer, controller, controller_length);
    put(&writer, "#", 1);
    put(&writer, action, action_length);
}

void
pb_endpoint_given_name(char name[PB_NAME_SIZE], const char *prefix, const char *text, size_t length)
{
    struct writer writer = { name, 0 };

    memset(name, 0, PB_NAME_SIZE);
    put(&writer, prefix, strlen(prefix));
    put(&writer, text, length);
}

static uint32_t
hash(const char *name)
{
    uint32_t h = 2166136261u; /* FNV-1a */

    while (*name) h = (h ^ (unsigned char)*name++) * 16777619u;
    return h;
}

uint16_t
pb_endpoint_index(const char name[PB_NAME_SIZE])
{
    uint32_t slot = hash(name) & (SLOTS - 1);
    struct pb_endpoint *entry;

    for (; slots[slot]; slot = (slot + 1) & (SLOTS - 1)) {
        if (strcmp(pb_flight.endpoints[slots[slot]].name, name) == 0) return slots[slot];
    }
    if (used == PB_ENDPOINTS) {
        pb_flight.header->endpoints_lost++;
        return 0;
    }
    entry = &pb_flight.endpoints[used];
    memcpy(entry->name, name, PB_NAME_SIZE);
    __atomic_store_n(&entry->named, 1, __ATOMIC_RELEASE);
    return slots[slot] = used++;
}

void
pb_endpoint_reset(void)
{
    memset(slots, 0, sizeof slots);
    strcpy(pb_flight.endpoints[0].name, "(other)");
    __atomic_store_n(&pb_flight.endpoints[0].named, 1, __ATOMIC_RELEASE);
    used = 1;
}
