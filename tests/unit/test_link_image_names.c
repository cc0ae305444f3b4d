/*
 * test_link_image_names.c - what perf and GDB are told of images: every function with its address, an object whose
 * sections are where they run, nothing of images that are gone, and nothing at all unasked.
 */
#include <elf.h>
#include <fcntl.h>
#include <pthread.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/file.h"
#include "codegen_support.h"

struct gdb_entry {
    struct gdb_entry *next, *previous;
    const char *object;
    uint64_t size;
};
extern struct {
    uint32_t version, action;
    struct gdb_entry *relevant, *first;
} __jit_debug_descriptor;

static struct kiln_buffer object;

static int make_object(void **state)
{
    static const char text[] = "define internal i32 @helper(i32 %x) noinline {\n  %r = mul i32 %x, 7\n  ret i32 %r\n}\n"
                               "define i32 @named_entry(i32 %x) {\n  %r = call i32 @helper(i32 %x)\n  ret i32 %r\n}\n";
    struct kiln_buffer entry = {0};
    if (open_plugin(state)) return -1;
    struct kiln_plugin_job job = {.text = {text, sizeof text - 1}, .target = "x86-64-v2"};
    kiln_status status = plugin->compile(&job, &object, &entry, NULL);
    kiln__buffer_release(&entry);
    return (int)status;
}

static int release_object(void **state)
{
    (void)state;
    kiln__buffer_release(&object);
    return 0;
}

static struct kiln_image *load(void)
{
    struct kiln_image *image = NULL;
    kiln_error err = {0};
    if (kiln__image_load((kiln_bytes){object.data, object.size}, "named_entry", &image, &err))
        CHECK_FAIL("%s", err.text);
    return image;
}

static size_t registered(void)
{
    size_t count = 0;
    const struct gdb_entry *before = NULL;
    for (const struct gdb_entry *entry = __jit_debug_descriptor.first; entry; before = entry, entry = entry->next) {
        CHECK_TRUE(entry->previous == before);
        count++;
    }
    return count;
}

/* ---- gdb --------------------------------------------------------------------------------------------------------- */

static void nobody_is_told_unasked(void **state)
{
    (void)state;
    char path[64];
    snprintf(path, sizeof path, "/tmp/perf-%d.map", (int)getpid());
    remove(path);
    unsetenv("KILN_PERF");
    struct kiln_image *image = load();
    CHECK_EQ(registered(), 0);
    CHECK_EQ(access(path, F_OK), -1);
    kiln__image_free(image);
}

/* The address that an object gives a function: that of its section, and the function's place in it. */
static uint64_t address_in(const struct gdb_entry *entry, const char *name)
{
    Elf64_Ehdr header;
    Elf64_Shdr sections[64];
    Elf64_Sym symbol;
    memcpy(&header, entry->object, sizeof header);
    CHECK_TRUE(header.e_shnum <= 64);
    memcpy(sections, entry->object + header.e_shoff, header.e_shnum * sizeof *sections);
    for (size_t i = 0; i < header.e_shnum; i++) {
        CHECK_EQ((sections[i].sh_flags & SHF_ALLOC) && sections[i].sh_size && !sections[i].sh_addr, 0);
        for (size_t at = 0; sections[i].sh_type == SHT_SYMTAB && at < sections[i].sh_size; at += sizeof symbol) {
            memcpy(&symbol, entry->object + sections[i].sh_offset + at, sizeof symbol);
            const char *found = entry->object + sections[sections[i].sh_link].sh_offset + symbol.st_name;
            if (!strcmp(found, name)) return sections[symbol.st_shndx].sh_addr + symbol.st_value;
        }
    }
    return 0;
}

static void gdb_gets_an_object_with_addresses(void **state)
{
    (void)state;
    setenv("KILN_PERF", "gdb", 1);
    struct kiln_image *one = load(), *two = load(), *three = load();
    CHECK_EQ(__jit_debug_descriptor.version, 1);
    CHECK_EQ(__jit_debug_descriptor.action, 0);
    CHECK_NULL(__jit_debug_descriptor.relevant);
    CHECK_EQ(registered(), 3);
    CHECK_EQ(address_in(__jit_debug_descriptor.first, "named_entry"), (uintptr_t)kiln__image_entry(three));
    kiln__image_free(two);
    CHECK_EQ(registered(), 2);
    CHECK_EQ(address_in(__jit_debug_descriptor.first->next, "named_entry"), (uintptr_t)kiln__image_entry(one));
    kiln__image_free(three);
    unsetenv("KILN_PERF"); /* what was told is taken back all the same */
    kiln__image_free(one);
    CHECK_EQ(registered(), 0);
}

/* ---- the map ----------------------------------------------------------------------------------------------------- */

/* Is there a line of a function that begins at this address? */
static bool map_has(const char *path, const void *address, const char *name)
{
    struct kiln_buffer map = {0};
    char begin[32], end[64];
    bool found = false;
    CHECK_EQ(kiln__file_read(path, SIZE_MAX, &map, NULL), KILN_DONE);
    kiln__buffer_u8(&map, 0);
    size_t begin_size = (size_t)snprintf(begin, sizeof begin, "%llx ", (unsigned long long)(uintptr_t)address);
    size_t end_size = (size_t)snprintf(end, sizeof end, " %s", name);
    for (char *line = strtok((char *)map.data, "\n"); line; line = strtok(NULL, "\n"))
        found |= !strncmp(line, begin, begin_size) && strlen(line) > end_size &&
                 !strcmp(line + strlen(line) - end_size, end) && strtoul(line + begin_size, NULL, 16) > 0;
    kiln__buffer_release(&map);
    return found;
}

static void perf_gets_a_line_for_each_function(void **state)
{
    (void)state;
    char path[64];
    struct stat info;
    snprintf(path, sizeof path, "/tmp/perf-%d.map", (int)getpid());
    setenv("KILN_PERF", "map", 1);
    mode_t before = umask(0);
    struct kiln_image *one = load(), *two = load();
    umask(before);
    CHECK_EQ(registered(), 0);
    CHECK_EQ(stat(path, &info), 0);
    CHECK_EQ(info.st_mode & 0777, 0600);
    CHECK_TRUE(map_has(path, kiln__image_entry(one), "named_entry"));
    CHECK_TRUE(map_has(path, kiln__image_entry(two), "named_entry"));
    CHECK_FALSE(map_has(path, kiln__image_entry(two), "helper"));
    pid_t child = fork();
    if (!child) { /* what it links is in its own map, with what it has from its parent */
        struct kiln_image *three = load();
        snprintf(path, sizeof path, "/tmp/perf-%d.map", (int)getpid());
        bool is_fine = map_has(path, kiln__image_entry(one), "named_entry") &&
                       map_has(path, kiln__image_entry(two), "named_entry") &&
                       map_has(path, kiln__image_entry(three), "named_entry");
        remove(path);
        _exit(is_fine ? 0 : 1);
    }
    int status;
    CHECK_EQ(waitpid(child, &status, 0), child);
    CHECK_EQ(status, 0);
    kiln__image_free(one), kiln__image_free(two);
    remove(path);
}

/* What another has put where the map belongs is left as it is: a link, a file with a second name, a pipe. */
static void a_map_of_others_is_left_alone(void **state)
{
    (void)state;
    char path[64], other[64];
    struct stat info;
    snprintf(path, sizeof path, "/tmp/perf-%d.map", (int)getpid());
    snprintf(other, sizeof other, "/tmp/kiln-test-map-%d", (int)getpid());
    setenv("KILN_PERF", "map", 1);
    for (int kind = 0; kind < 3; kind++) {
        int file = open(other, O_CREAT | O_WRONLY, 0600);
        CHECK_TRUE(file >= 0);
        close(file);
        CHECK_EQ(kind == 0 ? symlink(other, path) : kind == 1 ? link(other, path) : mkfifo(path, 0600), 0);
        kiln__image_free(load());
        CHECK_EQ(stat(other, &info), 0);
        CHECK_EQ(info.st_size, 0);
        remove(path), remove(other);
    }
}

/* ---- threads ----------------------------------------------------------------------------------------------------- */

enum { THREADS = 6, ROUNDS = 60, HELD = 5 };

static void *come_and_go(void *failed)
{
    struct kiln_image *held[HELD] = {NULL};
    for (int i = 0; i < ROUNDS; i++) {
        kiln__image_free(held[i % HELD]);
        held[i % HELD] = NULL;
        if (kiln__image_load((kiln_bytes){object.data, object.size}, "named_entry", &held[i % HELD], NULL))
            *(bool *)failed = true;
    }
    for (int i = 0; i < HELD; i++) kiln__image_free(held[i]);
    return NULL;
}

static void threads_link_and_unlink(void **state)
{
    (void)state;
    pthread_t threads[THREADS];
    bool failed[THREADS] = {false};
    char path[64];
    setenv("KILN_PERF", "map,gdb", 1);
    for (int i = 0; i < THREADS; i++) pthread_create(&threads[i], NULL, come_and_go, &failed[i]);
    for (int i = 0; i < THREADS; i++) {
        pthread_join(threads[i], NULL);
        CHECK_FALSE(failed[i]);
    }
    CHECK_EQ(registered(), 0);
    snprintf(path, sizeof path, "/tmp/perf-%d.map", (int)getpid());
    struct kiln_buffer map = {0};
    size_t lines = 0;
    CHECK_EQ(kiln__file_read(path, SIZE_MAX, &map, NULL), KILN_DONE);
    for (size_t i = 0; i < map.size; i++) lines += ((const char *)map.data)[i] == '\n';
    CHECK_EQ(lines % (THREADS * ROUNDS), 0); /* as many for each image */
    CHECK_GE(lines, THREADS * ROUNDS);
    kiln__buffer_release(&map);
    remove(path);
    unsetenv("KILN_PERF");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nobody_is_told_unasked),
        cmocka_unit_test(gdb_gets_an_object_with_addresses),
        cmocka_unit_test(perf_gets_a_line_for_each_function),
        cmocka_unit_test(a_map_of_others_is_left_alone),
        cmocka_unit_test(threads_link_and_unlink),
    };
    return cmocka_run_group_tests(tests, make_object, release_object);
}
