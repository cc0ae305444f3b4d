/*
 * test_cache_toolchain.c - which tool chain a plug-in is, read from the head of its file: notes with its id and, when
 * it has LLVM inside, LLVM's; or its build id. The files are made here; damaged ones say "none".
 */
#include <elf.h>
#include <unistd.h>

#include "cache/kernels/toolchain.h"
#include "compiler/plugin.h"
#include "kiln/inspect.h"
#include "support/check.h"

static char *built_plugin; /* what KILN_PLUGIN named when this began; or NULL */

struct file {
    Elf64_Ehdr elf;
    Elf64_Phdr segment;
    unsigned char notes[512];
};

static void add_note(struct file *file, const char *owner, uint32_t type, const void *data, uint32_t size)
{
    Elf64_Nhdr head = {(uint32_t)strlen(owner) + 1, size, type};
    unsigned char *at = file->notes + file->segment.p_filesz;
    memcpy(at, &head, sizeof head);
    memcpy(at + sizeof head, owner, head.n_namesz);
    size_t name_size = (head.n_namesz + 3u) & ~3u;
    if (size) memcpy(at + sizeof head + name_size, data, size);
    file->segment.p_filesz += sizeof head + name_size + ((size + 3u) & ~3u);
}

static struct file new_file(void)
{
    struct file file = {
        .elf = {.e_phoff = offsetof(struct file, segment), .e_phentsize = sizeof(Elf64_Phdr), .e_phnum = 1},
        .segment = {.p_type = PT_NOTE, .p_offset = offsetof(struct file, notes)}};
    memcpy(file.elf.e_ident, ELFMAG, SELFMAG);
    add_note(&file, "GNU", NT_GNU_BUILD_ID, "\x01\xab\xff", 3);
    return file;
}

/* Makes this file the plug-in. */
static void write_plugin(const struct file *file, size_t size)
{
    char path[] = "/tmp/kiln-test-XXXXXX";
    int fd = mkstemp(path);
    CHECK_EQ(write(fd, file, size), size);
    close(fd);
    setenv("KILN_PLUGIN", path, 1);
}
#define write_plugin(...) CHECK_CALL(write_plugin, __VA_ARGS__)

/* The digest with this file as the plug-in. */
static const char *digest_of(const struct file *file, size_t size)
{
    static char digest[160];
    write_plugin(file, size);
    kiln__toolchain_digest(digest, sizeof digest);
    remove(getenv("KILN_PLUGIN"));
    return digest;
}

static void starts_with(const char *text, const char *start)
{
    if (strncmp(text, start, strlen(start)) != 0) CHECK_FAIL("\"%s\" does not start with \"%s\"", text, start);
}
#define starts_with(...) CHECK_CALL(starts_with, __VA_ARGS__)

#define ID "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"

static void a_plugin_is_its_id_and_libllvm(void **state)
{
    (void)state;
    struct file file = new_file();
    add_note(&file, KILN_PLUGIN_NOTE, KILN_PLUGIN_IS, ID, 64);
    const char *digest = digest_of(&file, sizeof file);
    starts_with(digest, "plugin:" ID " llvm:");
    CHECK_NULL(strstr(digest, "none")); /* the system's libLLVM */
}

static void a_plugin_with_llvm_inside_is_two_ids(void **state)
{
    (void)state;
    struct file file = new_file();
    add_note(&file, KILN_PLUGIN_NOTE, KILN_PLUGIN_IS, ID, 64);
    add_note(&file, KILN_PLUGIN_NOTE, KILN_PLUGIN_HAS_LLVM, "19.1.7", 6);
    add_note(&file, KILN_PLUGIN_NOTE, KILN_PLUGIN_HAS_LLVM_ID, "fedcba", 6);
    CHECK_STR(digest_of(&file, sizeof file), "plugin:" ID " llvm:fedcba");
}

/* Of an earlier version, or somebody's own. */
static void without_a_note_it_is_the_build_id(void **state)
{
    (void)state;
    struct file file = new_file();
    starts_with(digest_of(&file, sizeof file), "plugin:01abff llvm:");
    add_note(&file, KILN_PLUGIN_NOTE, KILN_PLUGIN_HAS_LLVM, "19.1.7", 6);
    CHECK_STR(digest_of(&file, sizeof file), "plugin:01abff llvm:none");
}

static void what_is_no_id_counts_as_none(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        uint32_t size;
    } odd[] = {{"", 0}, {"12 4", 4}, {"12\n4", 4}, {"12\0004", 4}, {ID ID, 128}, {"-1", 2}};
    for (size_t i = 0; i < sizeof odd / sizeof *odd; i++) {
        struct file file = new_file();
        add_note(&file, KILN_PLUGIN_NOTE, KILN_PLUGIN_IS, odd[i].text, odd[i].size);
        starts_with(digest_of(&file, sizeof file), "plugin:01abff llvm:");
    }
}

/* What a library says where there is no plug-in is what the plug-in of its build says. */
static void the_library_knows_its_plugin(void **state)
{
    (void)state;
    char digest[160];
    if (!built_plugin || access(built_plugin, R_OK) != 0) CHECK_SKIP();
    setenv("KILN_PLUGIN", built_plugin, 1);
    kiln__toolchain_digest(digest, sizeof digest);
    CHECK_STR(digest, kiln__toolchain_built());
}

static void the_note_tells_llvms_version(void **state)
{
    (void)state;
    char path[64], version[8];
    struct file file = new_file();
    add_note(&file, KILN_PLUGIN_NOTE, KILN_PLUGIN_HAS_LLVM, "19.1.7", 6);
    write_plugin(&file, sizeof file);
    CHECK_STATUS(kiln_inspect_compiler(path, sizeof path, version, sizeof version, NULL), KILN_OK);
    CHECK_STR(path, getenv("KILN_PLUGIN"));
    CHECK_STR(version, "19.1.7");
    remove(path);
    CHECK_STATUS(kiln_inspect_compiler(path, sizeof path, version, sizeof version, NULL), KILN_NO_COMPILER);
    file = new_file();
    write_plugin(&file, sizeof file);
    CHECK_STATUS(kiln_inspect_compiler(path, sizeof path, version, sizeof version, NULL), KILN_OK);
    CHECK_STR(version, "");
    remove(path);
}

static void other_notes_say_nothing(void **state)
{
    (void)state;
    struct file file = new_file();
    add_note(&file, "Kilns", KILN_PLUGIN_IS, ID, 64);
    add_note(&file, "Kilns", KILN_PLUGIN_HAS_LLVM, NULL, 0);
    add_note(&file, KILN_PLUGIN_NOTE, KILN_PLUGIN_HAS_LLVM_ID + 1, ID, 64);
    const char *digest = digest_of(&file, sizeof file);
    starts_with(digest, "plugin:01abff llvm:");
    CHECK_NULL(strstr(digest, "none"));
}

static void damaged_files_are_none(void **state)
{
    (void)state;
    struct file file = new_file();
    for (size_t size = 0; size < offsetof(struct file, notes); size += 7)
        starts_with(digest_of(&file, size), "plugin:none llvm:");
    file.segment.p_filesz = UINT64_MAX;
    starts_with(digest_of(&file, sizeof file), "plugin:none llvm:");
    file = new_file();
    file.elf.e_phoff = UINT64_MAX - 8;
    starts_with(digest_of(&file, sizeof file), "plugin:none llvm:");
    file = new_file();
    memset(file.notes, 0xff, sizeof(Elf64_Nhdr)); /* sizes beyond the file */
    starts_with(digest_of(&file, sizeof file), "plugin:none llvm:");
}

int main(void)
{
    built_plugin = getenv("KILN_PLUGIN");
    if (built_plugin) built_plugin = strdup(built_plugin);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_library_knows_its_plugin),
        cmocka_unit_test(a_plugin_is_its_id_and_libllvm),
        cmocka_unit_test(a_plugin_with_llvm_inside_is_two_ids),
        cmocka_unit_test(without_a_note_it_is_the_build_id),
        cmocka_unit_test(what_is_no_id_counts_as_none),
        cmocka_unit_test(the_note_tells_llvms_version),
        cmocka_unit_test(other_notes_say_nothing),
        cmocka_unit_test(damaged_files_are_none),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
