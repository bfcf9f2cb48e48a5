/* A segment is read twice, because its last word may show that the first is a part of a token, and nothing is allocated. */
#include "path_name.h"

#include <stdint.h>
#include <string.h>

#define HEX_AT_LEAST 8
#define HEX_WITHOUT_DIGITS_AT_LEAST 16 /* "facade" is a word, and so may be eight letters */
#define MIXED_AT_LEAST 10              /* in one word, or in all such words of a segment together */
#define ALTERNATING_AT_LEAST 6         /* the same where letters and digits take turns, or both cases are there */
#define TURNS_AT_LEAST 3
#define BOTH_CASES_AT_LEAST 20         /* without a digit: "getCustomerOrders" is shorter */
#define LETTERS_AT_LEAST 32
#define EXTENSION_AT_MOST 5            /* "woff2" */
#define UUID_LENGTH 36

enum kind { PLAIN, NUMBER, MIXED, OPAQUE };

struct word {
    const char *start, *end;
    enum kind kind;
    size_t mixed; /* letters and digits of a mixed word with digits */
};

/* What a word is made of. */
struct shape {
    size_t letters, digits, others, turns;
    bool lower, upper; /* upper: not the first byte */
    bool not_hex, begins_with_letter;
    unsigned char last;
};

/* Whatever the locale. */
static bool is_digit(unsigned char c) { return c >= '0' && c <= '9'; }
static bool is_lower(unsigned char c) { return c >= 'a' && c <= 'z'; }
static bool is_upper(unsigned char c) { return c >= 'A' && c <= 'Z'; }
static bool is_letter(unsigned char c) { return is_lower(c) || is_upper(c); }
static bool is_hex(unsigned char c) { return is_digit(c) || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F'); }

static unsigned
hex_value(unsigned char c)
{
    if (is_digit(c)) return c - '0';
    return (is_lower(c) ? c - 'a' : c - 'A') + 10u;
}

/* The byte that comes first, percent-encoded or not; returns where the next one begins. */
static const char *
decode(const char *at, const char *end, unsigned char *byte)
{
    const char *digits = at + 1;

    *byte = (unsigned char)*at;
    if (*at != '%') return digits;
    /* An encoded percent sign may begin another escape. */
    while (end - digits >= 2 && digits[0] == '2' && digits[1] == '5') digits += 2;
    if (end - digits < 2 || !is_hex((unsigned char)digits[0]) || !is_hex((unsigned char)digits[1])) return digits;
    *byte = (unsigned char)(hex_value((unsigned char)digits[0]) << 4 | hex_value((unsigned char)digits[1]));
    return digits + 2;
}

static bool
is_uuid(const char *text, const char *end)
{
    if (end - text < UUID_LENGTH) return false;
    if (end - text > UUID_LENGTH) {
        const unsigned char next = (unsigned char)text[UUID_LENGTH];
        if (is_letter(next) || is_digit(next)) return false;
    }
    for (size_t i = 0; i < UUID_LENGTH; i++) {
        const bool dash = i == 8 || i == 13 || i == 18 || i == 23;
        if (dash ? text[i] != '-' : !is_hex((unsigned char)text[i])) return false;
    }
    return true;
}

static void
add(struct shape *shape, unsigned char byte)
{
    const bool first = shape->letters + shape->digits + shape->others == 0;

    if (is_digit(byte)) {
        shape->digits++;
        shape->turns += is_letter(shape->last);
    }
    else if (is_letter(byte)) {
        shape->letters++;
        shape->turns += is_digit(shape->last);
        shape->lower |= is_lower(byte);
        shape->upper |= !first && is_upper(byte);
        shape->begins_with_letter |= first;
    }
    else {
        shape->others++;
    }
    shape->not_hex |= !is_hex(byte);
    shape->last = byte;
}

static bool
opaque(const struct shape *shape)
{
    const size_t length = shape->letters + shape->digits;
    const bool both_cases = shape->lower && shape->upper;

    if (shape->digits == 0) {
        return (!shape->not_hex && length >= HEX_WITHOUT_DIGITS_AT_LEAST) || length >= LETTERS_AT_LEAST ||
               (both_cases && length >= BOTH_CASES_AT_LEAST);
    }
    return (!shape->not_hex && length >= HEX_AT_LEAST) || length >= MIXED_AT_LEAST ||
           ((shape->turns >= TURNS_AT_LEAST || both_cases) && length >= ALTERNATING_AT_LEAST);
}

static void
judge(struct word *word, const struct shape *shape, bool may_be_extension)
{
    const size_t length = shape->letters + shape->digits;

    word->mixed = 0;
    if (may_be_extension && shape->begins_with_letter && shape->others == 0 && length <= EXTENSION_AT_MOST) {
        word->kind = PLAIN;
    }
    else if (shape->letters + shape->others == 0) {
        word->kind = NUMBER;
    }
    else if (opaque(shape)) {
        word->kind = OPAQUE;
    }
    else if (shape->digits > 0) {
        word->kind = MIXED;
        word->mixed = length;
    }
    else {
        word->kind = shape->lower && shape->upper ? MIXED : PLAIN;
    }
}

/* The next word of the segment from `at` on; false where there is none. `address` is set once an @ has been passed. */
static bool
next_word(struct word *word, const char *segment, const char *at, const char *end, bool *address)
{
    struct shape shape;
    bool any = false;

    memset(&shape, 0, sizeof shape);
    while (at < end) {
        unsigned char byte;
        const char *next;

        if (!any && is_uuid(at, end)) {
            *word = (struct word){ at, at + UUID_LENGTH, OPAQUE, 0 };
            return true;
        }
        next = decode(at, end, &byte);
        *address |= byte == '@';
        if (is_letter(byte) || is_digit(byte) || byte > 0x7F) {
            if (!any) word->start = at;
            any = true;
            add(&shape, byte);
        }
        else if (any) {
            break;
        }
        at = next;
    }
    if (!any) return false;
    word->end = at;
    judge(word, &shape, at == end && word->start > segment && word->start[-1] == '.');
    return true;
}

static const char *
replace(struct pb_name *name, const char *copied, const char *start, const char *end)
{
    pb_name_put(name, copied, (size_t)(start - copied));
    pb_name_put(name, ":id", 3);
    return end;
}

static void
segment_name(struct pb_name *name, const char *segment, const char *end)
{
    const char *copied = segment, *first = NULL, *last = NULL;
    struct word word = { .end = segment };
    bool address = false, token = false;
    size_t mixed = 0;

    while (next_word(&word, segment, word.end, end, &address)) {
        token |= word.kind == OPAQUE;
        mixed += word.mixed;
        if (word.kind == PLAIN) continue;
        if (!first) first = word.start;
        last = word.end;
    }
    if (address) {
        copied = replace(name, segment, segment, end);
    }
    else if (token || mixed >= MIXED_AT_LEAST) {
        copied = replace(name, copied, first, last);
    }
    else if (first) {
        word.end = segment;
        while (next_word(&word, segment, word.end, end, &address)) {
            if (word.kind == NUMBER) copied = replace(name, copied, word.start, word.end);
        }
    }
    pb_name_put(name, copied, (size_t)(end - copied));
}

void
pb_path_name(struct pb_name *name, const char *path, size_t length)
{
    const char *at = path, *end = path;

    while (end < path + length && *end != '?' && *end != '#') end++;
    while (!pb_name_full(name)) {
        const char *slash = at < end ? memchr(at, '/', (size_t)(end - at)) : NULL;

        segment_name(name, at, slash ? slash : end);
        if (!slash) return;
        pb_name_put(name, "/", 1);
        at = slash + 1;
    }
}
