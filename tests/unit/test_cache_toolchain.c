/*
 * test_cache_toolchain.c - which tool chain a plug-in is, read from the head of its file: its build id, and the note of
 * one that has LLVM inside. The files are made here; damaged ones say "none".
 */
#include <elf.h>
#include <unistd.h>

#include "cache/kernels/toolchain.h"
#include "compiler/plugin.h"
#include "kiln/inspect.h"
#include "support/check.h"

struct file {
    Elf64_Ehdr elf;
    Elf64_Phdr segment;
    unsigned char notes[64];
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

static void a_plugin_is_its_build_id_and_libllvm(void **state)
{
    (void)state;
    struct file file = new_file();
    const char *digest = digest_of(&file, sizeof file);
    starts_with(digest, "plugin:01abff llvm:");
    CHECK_NULL(strstr(digest, "inside"));
}

static void a_plugin_with_llvm_inside_is_its_build_id_alone(void **state)
{
    (void)state;
    struct file file = new_file();
    add_note(&file, KILN_PLUGIN_NOTE, KILN_PLUGIN_HAS_LLVM, NULL, 0);
    CHECK_STR(digest_of(&file, sizeof file), "plugin:01abff llvm:inside");
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
    add_note(&file, "Kilns", KILN_PLUGIN_HAS_LLVM, NULL, 0);
    add_note(&file, KILN_PLUGIN_NOTE, KILN_PLUGIN_HAS_LLVM + 1, NULL, 0);
    CHECK_NULL(strstr(digest_of(&file, sizeof file), "inside"));
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
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_plugin_is_its_build_id_and_libllvm),
        cmocka_unit_test(a_plugin_with_llvm_inside_is_its_build_id_alone),
        cmocka_unit_test(the_note_tells_llvms_version),
        cmocka_unit_test(other_notes_say_nothing),
        cmocka_unit_test(damaged_files_are_none),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
