#include "survivors_file.h"

#include <fcntl.h>
#include <ruby.h>
#include <ruby/debug.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include "beside.h"
#include "clock.h"
#include "flight.h"
#include "mapping.h"
#include "sites.h"

#define LARGEST (UINT64_C(1) << 30)
#define LONGEST_TEXT 4096

static struct pb_survivors_header *header; /* not NULL while mapped */
static struct pb_survivors_header asked;
static size_t mapped_size;
static uint64_t used;
static bool full;

/* The file was written by another process: nothing of it is trusted. */
static bool
sound(const struct stat *file, uint64_t request)
{
    return memcmp(asked.magic, PB_SURVIVORS_MAGIC, sizeof asked.magic) == 0 && asked.version == PB_SURVIVORS_VERSION &&
           asked.header_size == sizeof asked && asked.state == PB_SURVIVORS_ASKED && asked.request == request &&
           asked.pid == pb_flight.header->pid && asked.start_ticks == pb_flight.header->start_ticks && asked.every > 0 &&
           asked.capacity <= LARGEST && asked.deadline_mono_ns <= asked.last_mono_ns &&
           asked.frames == 0 && asked.sites == 0 && asked.used == 0 &&
           pb_beside_private(file, sizeof asked + asked.capacity);
}

bool
pb_survivors_file_open(uint64_t request)
{
    struct stat file;
    char reason[256];
    int fd = pb_beside_open("survivors", O_RDWR, reason, sizeof reason);

    if (fd < 0) return false;
    if (pread(fd, &asked, sizeof asked, 0) != (ssize_t)sizeof asked || fstat(fd, &file) != 0 || !sound(&file, request)) {
        close(fd);
        return false;
    }
    mapped_size = (size_t)file.st_size;
    header = pb_mapping_open(fd, mapped_size);
    close(fd);
    return header != NULL;
}

const struct pb_survivors_header *
pb_survivors_file_header(void)
{
    return &asked;
}

static void
set_state(enum pb_survivors_state state)
{
    __atomic_store_n(&header->state, state, __ATOMIC_RELEASE);
}

void
pb_survivors_file_begin(void)
{
    header->began_mono_ns = pb_mono_ns();
    set_state(PB_SURVIVORS_RECORDING);
}

void
pb_survivors_file_refuse(enum pb_survivors_refusal refusal)
{
    if (!header) return;
    header->refusal = refusal;
    set_state(PB_SURVIVORS_REFUSED);
}

static void
append(const void *bytes, size_t size)
{
    if (full || used + size > asked.capacity) {
        full = true;
        return;
    }
    memcpy((char *)(header + 1) + used, bytes, size);
    used += size;
}

static uint32_t
length_of(VALUE text)
{
    const long length = RB_TYPE_P(text, T_STRING) ? RSTRING_LEN(text) : 0;

    return length > LONGEST_TEXT ? LONGEST_TEXT : (uint32_t)length;
}

static void
append_text(VALUE text)
{
    if (length_of(text) > 0) append(RSTRING_PTR(text), length_of(text));
}

static bool
write_frame(VALUE frame)
{
    const uint64_t before = used;
    VALUE path = rb_profile_frame_absolute_path(frame), label = rb_profile_frame_full_label(frame);
    struct pb_survivors_frame entry;

    if (!RB_TYPE_P(path, T_STRING)) path = rb_profile_frame_path(frame);
    entry = (struct pb_survivors_frame){ length_of(path), length_of(label) };
    append(&entry, sizeof entry);
    append_text(path);
    append_text(label);
    RB_GC_GUARD(path);
    RB_GC_GUARD(label);
    if (full) used = before;
    return !full;
}

/* A class without a name has its address in what Ruby calls it, which says nothing. */
static VALUE
class_name(VALUE class)
{
    VALUE name = rb_mod_name(rb_class_real(class));

    return NIL_P(name) ? rb_utf8_str_new_cstr("(anonymous)") : name;
}

static bool
write_site(const struct pb_site *site)
{
    const uint64_t before = used;
    VALUE name = class_name(site->class);
    const struct pb_survivors_site entry = {
        .class_length = length_of(name), .depth = site->depth, .sampled = site->sampled, .promoted = site->promoted,
        .died = site->died, .promoted_bytes = site->promoted_bytes, .died_bytes = site->died_bytes,
    };

    append(&entry, sizeof entry);
    append_text(name);
    append(pb_sites_steps(site), site->depth * sizeof(struct pb_step));
    RB_GC_GUARD(name);
    if (full) used = before;
    return !full;
}

void
pb_survivors_file_write(const struct pb_survivors_counts *counts)
{
    const uint32_t frames = pb_sites_frames_count(), sites = pb_sites_count();

    used = 0;
    full = false;
    header->ended_mono_ns = pb_mono_ns();
    header->collections = counts->collections;
    header->allocated = counts->allocated;
    header->sampled = counts->sampled;
    header->internal = counts->internal;
    header->lost = counts->lost;
    header->undecided = counts->undecided;
    for (uint32_t i = 0; i < frames && write_frame(pb_sites_frame(i)); i++) header->frames++;
    for (uint32_t i = 0; i < sites; i++) {
        const struct pb_site *site = pb_sites_at(i);

        if (write_site(site)) header->sites++;
        else header->lost += site->sampled;
    }
    header->used = used;
    set_state(PB_SURVIVORS_OVER);
}

void
pb_survivors_file_close(void)
{
    if (header) munmap(header, mapped_size);
    header = NULL;
}

void
pb_survivors_file_forget(void)
{
    header = NULL;
}
