/*
 * faults.c - preloaded into a program: the nth call of one function by our libraries fails.
 *
 * KILN_FAULT=name:nth:errno chooses it; calls are counted per name, and KILN_FAULT_COUNTS=file gets the counts at exit.
 * Only calls from libkiln, libmlxc and libkiln-llvm count, told by the return address: what LLVM or the C library do
 * without memory is theirs. "open" and "read" are those of files in KILN_CACHE_DIR, "open_other" and "read_other" the
 * rest.
 */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

enum name { MALLOC, MMAP, OPEN, READ, WRITE, RENAME, LINK, DLOPEN, OPEN_OTHER, READ_OTHER, NAMES };
static const char *const names[NAMES] = {"malloc", "mmap", "open",   "read",       "write",
                                         "rename", "link", "dlopen", "open_other", "read_other"};

static _Atomic uint64_t counts[NAMES];
static enum name chosen = NAMES;
static uint64_t nth;
static int code;
static char folder[4096];

/* ---- whose call it is ------------------------------------------------------------------------------------------- */

enum { MOST_RANGES = 16, MOST_FILES = 1024 };
static struct {
    uintptr_t start, end;
} ranges[MOST_RANGES];
static _Atomic size_t range_count;
static _Atomic bool is_in_folder[MOST_FILES];

static int add_range(struct dl_phdr_info *info, size_t size, void *context)
{
    size_t *count = context;
    (void)size;
    if (!strstr(info->dlpi_name, "libkiln") && !strstr(info->dlpi_name, "libmlxc")) return 0;
    for (unsigned i = 0; i < info->dlpi_phnum && *count < MOST_RANGES; i++) {
        const ElfW(Phdr) *part = &info->dlpi_phdr[i];
        if (part->p_type != PT_LOAD || !(part->p_flags & PF_X)) continue;
        ranges[*count].start = info->dlpi_addr + part->p_vaddr;
        ranges[*count].end = ranges[*count].start + part->p_memsz;
        ++*count;
    }
    return 0;
}

static void find_ranges(void)
{
    size_t count = 0;
    dl_iterate_phdr(add_range, &count);
    atomic_store(&range_count, count);
}

static bool is_ours(const void *caller)
{
    uintptr_t at = (uintptr_t)caller;
    for (size_t i = 0; i < atomic_load_explicit(&range_count, memory_order_relaxed); i++)
        if (at >= ranges[i].start && at < ranges[i].end) return true;
    return false;
}

/* True: this call fails, and errno says why. */
static bool fails(enum name name, const void *caller)
{
    if (!is_ours(caller)) return false;
    uint64_t number = atomic_fetch_add(&counts[name], 1) + 1;
    if (name != chosen || number != nth) return false;
    errno = code;
    return true;
}

#define FAILS(name) fails(name, __builtin_return_address(0))

__attribute__((constructor)) static void set_up(void)
{
    const char *fault = getenv("KILN_FAULT"), *where = getenv("KILN_CACHE_DIR");
    char name[32];
    unsigned long long number;
    if (where) snprintf(folder, sizeof folder, "%s", where);
    if (fault && sscanf(fault, "%31[a-z_]:%llu:%d", name, &number, &code) == 3) {
        nth = number;
        for (int i = 0; i < NAMES; i++)
            if (!strcmp(name, names[i])) chosen = (enum name)i;
    }
    find_ranges();
}

__attribute__((destructor)) static void write_counts(void)
{
    const char *path = getenv("KILN_FAULT_COUNTS");
    FILE *file = path ? fopen(path, "w") : NULL;
    for (int i = 0; file && i < NAMES; i++)
        fprintf(file, "%s %llu\n", names[i], (unsigned long long)atomic_load(&counts[i]));
    if (file) fclose(file);
}

/* ---- memory ------------------------------------------------------------------------------------------------------ */

void *__libc_malloc(size_t size);
void *__libc_calloc(size_t count, size_t size);
void *__libc_realloc(void *memory, size_t size);

void *malloc(size_t size)
{
    return FAILS(MALLOC) ? NULL : __libc_malloc(size);
}

void *calloc(size_t count, size_t size)
{
    return FAILS(MALLOC) ? NULL : __libc_calloc(count, size);
}

void *realloc(void *memory, size_t size)
{
    return FAILS(MALLOC) ? NULL : __libc_realloc(memory, size);
}

char *strdup(const char *text)
{
    size_t size = strlen(text) + 1;
    char *copy = FAILS(MALLOC) ? NULL : __libc_malloc(size);
    return copy ? memcpy(copy, text, size) : NULL;
}

void *mmap(void *address, size_t size, int protection, int flags, int fd, off_t offset)
{
    if (FAILS(MMAP)) return MAP_FAILED;
    long result = syscall(SYS_mmap, address, size, protection, flags, fd, offset);
    return (void *)result;
}

/* ---- files ------------------------------------------------------------------------------------------------------- */

static bool is_below_folder(const char *path)
{
    return folder[0] && !strncmp(path, folder, strlen(folder));
}

static int note_file(int fd, bool is_folder)
{
    if (fd >= 0 && fd < MOST_FILES) atomic_store(&is_in_folder[fd], is_folder);
    return fd;
}

static bool is_folder_file(int fd)
{
    return fd >= 0 && fd < MOST_FILES && atomic_load(&is_in_folder[fd]);
}

int open(const char *path, int flags, ...)
{
    va_list list;
    va_start(list, flags);
    mode_t mode = flags & O_CREAT ? va_arg(list, mode_t) : 0;
    va_end(list);
    bool is_folder = is_below_folder(path);
    if (FAILS(is_folder ? OPEN : OPEN_OTHER)) return -1;
    return note_file((int)syscall(SYS_openat, AT_FDCWD, path, flags, mode), is_folder);
}

int mkostemp(char *path, int flags)
{
    static int (*real)(char *, int);
    if (!real) *(void **)&real = dlsym(RTLD_NEXT, "mkostemp");
    if (FAILS(OPEN)) return -1;
    return note_file(real(path, flags), true);
}

ssize_t read(int fd, void *data, size_t size)
{
    if (FAILS(is_folder_file(fd) ? READ : READ_OTHER)) return -1;
    return syscall(SYS_read, fd, data, size);
}

ssize_t pread(int fd, void *data, size_t size, off_t offset)
{
    if (FAILS(is_folder_file(fd) ? READ : READ_OTHER)) return -1;
    return syscall(SYS_pread64, fd, data, size, offset);
}

ssize_t write(int fd, const void *data, size_t size)
{
    if (FAILS(WRITE)) return -1;
    return syscall(SYS_write, fd, data, size);
}

int rename(const char *from, const char *to)
{
    if (FAILS(RENAME)) return -1;
    return (int)syscall(SYS_renameat2, AT_FDCWD, from, AT_FDCWD, to, 0);
}

int link(const char *from, const char *to)
{
    if (FAILS(LINK)) return -1;
    return (int)syscall(SYS_linkat, AT_FDCWD, from, AT_FDCWD, to, 0);
}

void *dlopen(const char *path, int flags)
{
    static void *(*real)(const char *, int);
    if (!real) *(void **)&real = dlsym(RTLD_NEXT, "dlopen");
    void *library = real(FAILS(DLOPEN) ? "/nonexistent/library" : path, flags); /* dlerror() has something to say */
    find_ranges();
    return library;
}
