/*
 * image_names.c - see image_names.h.
 *
 * Invariant: with the lock held, `told` has the images that others were told of, and GDB's list those of them that it
 * knows. Both are this process's own: a forked child has copies of the images and of the lists. Its map has another
 * name, so the first image that it links brings the lines of all others with it.
 *
 * A map is written by who may read it alone: it is created so, and a file of somebody else, or what is no plain file,
 * is left alone. Nothing is taken out of it, since perf has no way to say so; who made an address last is its owner.
 */
#include "link/image_names.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buffer.h"
#include "base/config.h"
#include "base/log.h"
#include "base/process/fork.h"

/* ---- GDB's interface: names and layout are GDB's ----------------------------------------------------------------- */

enum { GDB_NOTHING, GDB_REGISTER, GDB_UNREGISTER };

struct gdb_entry {
    struct gdb_entry *next, *previous;
    const char *object;
    uint64_t size;
};

struct gdb_descriptor {
    uint32_t version, action;
    struct gdb_entry *relevant, *first;
};

/* Ours, whatever else in the process has such an interface of its own, as LLVM does. */
#define FOR_GDB __attribute__((visibility("protected"), used))

extern struct gdb_descriptor __jit_debug_descriptor;
void __jit_debug_register_code(void);

FOR_GDB struct gdb_descriptor __jit_debug_descriptor = {.version = 1};

/* GDB stops here, and looks. */
FOR_GDB __attribute__((noinline)) void __jit_debug_register_code(void)
{
    __asm__ volatile("" ::: "memory");
}

/* ---- the lists --------------------------------------------------------------------------------------------------- */

struct kiln_image_names {
    struct kiln_image_names *next, **link;
    struct kiln_buffer lines; /* of the map; empty: it is not in there */
    struct gdb_entry gdb;     /* `object` is NULL: GDB does not know it */
};

KILN_LEAF_LOCK(lock); /* guards the lists and who has written */
static struct kiln_image_names *told;
static pid_t writer; /* of the map so far */

static void show_gdb(struct gdb_entry *entry, uint32_t action)
{
    __jit_debug_descriptor.relevant = entry;
    __jit_debug_descriptor.action = action;
    __jit_debug_register_code();
    __jit_debug_descriptor.relevant = NULL;
    __jit_debug_descriptor.action = GDB_NOTHING;
}

static void add_to_gdb(struct gdb_entry *entry)
{
    struct gdb_entry *first = __jit_debug_descriptor.first;
    entry->next = first;
    if (first) first->previous = entry;
    __jit_debug_descriptor.first = entry;
    show_gdb(entry, GDB_REGISTER);
}

static void remove_from_gdb(struct gdb_entry *entry)
{
    *(entry->previous ? &entry->previous->next : &__jit_debug_descriptor.first) = entry->next;
    if (entry->next) entry->next->previous = entry->previous;
    show_gdb(entry, GDB_UNREGISTER);
}

/* ---- the object for GDB ------------------------------------------------------------------------------------------ */

/* Sections that are not in the image must not look as if they were at address 0. */
static void place(char *copy, const struct kiln_placed_object *object)
{
    Elf64_Ehdr header;
    memcpy(&header, copy, sizeof header);
    for (size_t i = 0; i < object->section_count; i++) {
        Elf64_Shdr section;
        char *at = copy + header.e_shoff + i * sizeof section;
        memcpy(&section, at, sizeof section);
        if (object->sections[i].is_loaded)
            section.sh_addr = (uint64_t)(uintptr_t)object->image + object->sections[i].offset;
        else
            section.sh_flags &= ~(uint64_t)SHF_ALLOC;
        memcpy(at, &section, sizeof section);
    }
}

static bool describe_to_gdb(struct kiln_image_names *names, const struct kiln_placed_object *object)
{
    char *copy = malloc(object->bytes.size);
    if (!copy) return false;
    memcpy(copy, object->bytes.data, object->bytes.size);
    place(copy, object);
    names->gdb.object = copy;
    names->gdb.size = object->bytes.size;
    return true;
}

/* ---- the map ----------------------------------------------------------------------------------------------------- */

/* The name comes from a file: it must not break a line. */
static void print_name(struct kiln_buffer *lines, const char *name)
{
    for (; *name; name++) kiln__buffer_u8(lines, (unsigned char)(*name < ' ' || *name == 0x7f ? '?' : *name));
    kiln__buffer_u8(lines, '\n');
}

static bool describe_to_perf(struct kiln_image_names *names, const struct kiln_placed_object *object)
{
    for (size_t i = 0; i < object->symbol_count; i++) {
        Elf64_Sym symbol;
        memcpy(&symbol, object->symbols + i * sizeof symbol, sizeof symbol);
        if (ELF64_ST_TYPE(symbol.st_info) != STT_FUNC || symbol.st_shndx >= object->section_count ||
            !object->sections[symbol.st_shndx].is_loaded || symbol.st_name >= object->strings_size)
            continue;
        uint64_t image = (uint64_t)(uintptr_t)object->image;
        kiln__buffer_printf(&names->lines, "%llx %llx ",
                            (unsigned long long)(image + object->sections[symbol.st_shndx].offset + symbol.st_value),
                            (unsigned long long)symbol.st_size);
        print_name(&names->lines, object->strings + symbol.st_name);
    }
    return !names->lines.failed;
}

/* Ours alone; errno otherwise says why not. */
static int open_map(char *path, size_t size)
{
    struct stat info;
    snprintf(path, size, "/tmp/perf-%d.map", (int)getpid());
    int file = open(path, O_WRONLY | O_CREAT | O_APPEND | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0600);
    if (file < 0) return -1;
    if (fstat(file, &info) == 0 && S_ISREG(info.st_mode) && info.st_uid == geteuid() && info.st_nlink == 1) return file;
    close(file);
    errno = EPERM;
    return -1;
}

/* Each image's lines in one write, so that those of several writers do not mix. 0, or errno. */
static int write_lines(const struct kiln_image_names *first, const struct kiln_image_names *end, char *path,
                       size_t size)
{
    int file = open_map(path, size), failure = file < 0 ? errno : 0;
    for (; first != end && !failure; first = first->next)
        if (first->lines.size && write(file, first->lines.data, first->lines.size) != (ssize_t)first->lines.size)
            failure = errno ? errno : EIO;
    if (file >= 0) close(file);
    return failure;
}

/* With the lock held, when `names` is in front of the list. */
static int add_to_map(const struct kiln_image_names *names, char *path, size_t size)
{
    const struct kiln_image_names *end = writer == getpid() ? names->next : NULL;
    writer = getpid();
    return write_lines(names, end, path, size);
}

/* ---- images ------------------------------------------------------------------------------------------------------ */

/* Is `word` one of those of KILN_PERF? */
static bool is_asked(const char *words, const char *word)
{
    for (size_t size; *words; words += size + (words[size] == ',')) {
        size = strcspn(words, ",");
        if (size == strlen(word) && !memcmp(words, word, size)) return true;
    }
    return false;
}

static void release(struct kiln_image_names *names)
{
    free((void *)(uintptr_t)names->gdb.object);
    kiln__buffer_release(&names->lines);
    free(names);
}

static void add(struct kiln_image_names *names)
{
    char path[64], text[128];
    pthread_mutex_lock(&lock);
    names->next = told;
    names->link = &told;
    if (told) told->link = &names->next;
    told = names;
    if (names->gdb.object) add_to_gdb(&names->gdb);
    int failure = names->lines.size ? add_to_map(names, path, sizeof path) : 0;
    pthread_mutex_unlock(&lock);
    if (failure)
        kiln__log_once("KILN_PERF%s: %s can't be written: %s; perf will not know all kernels",
                       kiln__config_where("KILN_PERF"), path, strerror_r(failure, text, sizeof text));
}

struct kiln_image_names *kiln__image_names_tell(const struct kiln_placed_object *object)
{
    const char *words = kiln__config("KILN_PERF");
    if (!words || !*words) return NULL;
    struct kiln_image_names *names = calloc(1, sizeof *names);
    bool is_fine = names != NULL;
    if (is_fine && is_asked(words, "map")) is_fine = describe_to_perf(names, object);
    if (is_fine && is_asked(words, "gdb")) is_fine = describe_to_gdb(names, object);
    if (is_fine) {
        add(names);
        return names;
    }
    if (names) release(names);
    return NULL;
}

void kiln__image_names_forget(struct kiln_image_names *names)
{
    if (!names) return;
    pthread_mutex_lock(&lock);
    *names->link = names->next;
    if (names->next) names->next->link = names->link;
    if (names->gdb.object) remove_from_gdb(&names->gdb);
    pthread_mutex_unlock(&lock);
    release(names);
}
