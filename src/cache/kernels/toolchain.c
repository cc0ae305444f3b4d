/*
 * toolchain.c - see toolchain.h.
 *
 * Ids are notes in the first pages of an ELF file. The plug-in's is made from what can change code and is the same
 * wherever one commit is built (compiler/toolchain.cmake); one that has no such note is known by its build id, which
 * is another for every build. libLLVM is known by its build id, and looked for where the dynamic loader would find it
 * for the plug-in: LD_LIBRARY_PATH, the plug-in's folder, the folder it was linked from, the system's folders. If that
 * search ever differed from the loader's, the digest would name another libLLVM of the same major version: the
 * plug-in's own id and the file that stands there still enter the key. A plug-in with LLVM inside has notes that say
 * which one.
 */
#include "cache/kernels/toolchain.h"

#include <ctype.h>
#include <elf.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/beside.h"
#include "base/config.h"
#include "base/trust.h"
#include "compiler/plugin.h"
#include "kiln/inspect.h"
#include "kiln_toolchain.h" /* generated */

#ifndef KILN_LLVM_LIBRARY
#define KILN_LLVM_LIBRARY "libLLVM.so.19.1"
#endif
#ifndef KILN_LLVM_FOLDER
#define KILN_LLVM_FOLDER "/usr/lib/llvm-19/lib"
#endif

/* ---- where the plug-in is ------------------------------------------------------------------------------------- */

/* In memory of its own; NULL: out of memory, or there is no such path. */
static char *find_plugin(void)
{
    const char *named = kiln__config("KILN_PLUGIN");
    if (named && *named) return kiln__path_absolute(named, kiln__folder_at_load());
    return kiln__path_beside("libkiln-llvm.so");
}

kiln_status kiln__plugin_path(char *out, size_t size, kiln_error *err)
{
    struct stat info; /* what is not a file, such as a fifo, might be waited for */
    char *path = find_plugin();
    bool fits = path && (size_t)snprintf(out, size, "%s", path) < size;
    free(path);
    if (!fits) return kiln__fail(err, KILN_NO_COMPILER, "the path of the compiler plug-in is not known, or too long");
    if (stat(out, &info) == 0 && S_ISREG(info.st_mode) && access(out, R_OK) == 0) return KILN_OK;
    return kiln__fail(err, KILN_NO_COMPILER,
                      "the compiler plug-in %s is not there; install it or name it in KILN_PLUGIN%s", out,
                      kiln__config_where("KILN_PLUGIN"));
}

/* ---- build ids ------------------------------------------------------------------------------------------------ */

enum { KILN_ID_SIZE = 72 }; /* of an id with its NUL: 64 digits, or fewer */

/* The first pages of a file: it is never mapped, let alone loaded. */
struct head {
    unsigned char bytes[16384];
    size_t size;
};

static bool read_head(const char *path, struct head *head)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) return false;
    ssize_t size = read(fd, head->bytes, sizeof head->bytes);
    close(fd);
    head->size = size > 0 ? (size_t)size : 0;
    return head->size >= sizeof(Elf64_Ehdr) && !memcmp(head->bytes, ELFMAG, SELFMAG);
}

/* What a note says. Its owner counts with the zero at its end, as in the file. */
struct note {
    const unsigned char *data;
    size_t size;
};

static bool find_in_segment(const unsigned char *data, size_t size, const char *owner, uint32_t type, struct note *out)
{
    size_t at = 0;
    while (at + sizeof(Elf64_Nhdr) <= size) {
        Elf64_Nhdr note;
        memcpy(&note, data + at, sizeof note);
        size_t name = at + sizeof note, text = name + ((note.n_namesz + 3u) & ~3u),
               end = text + ((note.n_descsz + 3u) & ~3u);
        if (end > size || end < text) return false;
        if (note.n_type == type && note.n_namesz == strlen(owner) + 1 && !memcmp(data + name, owner, note.n_namesz)) {
            *out = (struct note){data + text, note.n_descsz};
            return true;
        }
        at = end;
    }
    return false;
}

static bool find_note(const struct head *head, const char *owner, uint32_t type, struct note *out)
{
    Elf64_Ehdr elf;
    memcpy(&elf, head->bytes, sizeof elf);
    if (elf.e_phentsize != sizeof(Elf64_Phdr)) return false;
    for (size_t i = 0; i < elf.e_phnum; i++) {
        Elf64_Phdr segment;
        size_t at = elf.e_phoff + i * sizeof segment;
        if (at > head->size || head->size - at < sizeof segment) break;
        memcpy(&segment, head->bytes + at, sizeof segment);
        if (segment.p_type != PT_NOTE || segment.p_offset > head->size ||
            segment.p_filesz > head->size - segment.p_offset)
            continue;
        if (find_in_segment(head->bytes + segment.p_offset, segment.p_filesz, owner, type, out)) return true;
    }
    return false;
}

/* The id in hexadecimal. */
static bool build_id(const struct head *head, char *out, size_t out_size)
{
    struct note id;
    if (!find_note(head, "GNU", NT_GNU_BUILD_ID, &id) || !id.size) return false;
    for (size_t i = 0; i < id.size && 2 * i + 3 <= out_size; i++) snprintf(out + 2 * i, 3, "%02x", id.data[i]);
    return true;
}

/* What a note of ours says, when it is an id: hexadecimal digits. */
static bool noted_id(const struct head *head, uint32_t type, char *out, size_t out_size)
{
    struct note id;
    if (!find_note(head, KILN_PLUGIN_NOTE, type, &id) || !id.size || id.size >= out_size) return false;
    for (size_t i = 0; i < id.size; i++)
        if (!isxdigit(id.data[i])) return false;
    snprintf(out, out_size, "%.*s", (int)id.size, (const char *)id.data);
    return true;
}

static bool id_in_folder(const char *folder, size_t folder_size, char *out, size_t size)
{
    char path[4096];
    struct head head;
    if (!folder_size ||
        (size_t)snprintf(path, sizeof path, "%.*s/%s", (int)folder_size, folder, KILN_LLVM_LIBRARY) >= sizeof path)
        return false;
    return read_head(path, &head) && build_id(&head, out, size);
}

static bool llvm_id(char *out, size_t size)
{
    static const char *const folders[] = {
        KILN_LLVM_FOLDER, "/lib/x86_64-linux-gnu", "/usr/lib/x86_64-linux-gnu", "/usr/local/lib", "/lib64",
        "/usr/lib64"};
    for (const char *path = kiln__getenv_trusted("LD_LIBRARY_PATH"); path && *path;) {
        size_t length = strcspn(path, ":");
        if (id_in_folder(path, length, out, size)) return true;
        path += length + (path[length] == ':');
    }
    const char *own = kiln__own_folder();
    if (own && id_in_folder(own, strlen(own), out, size)) return true;
    for (size_t i = 0; i < sizeof folders / sizeof *folders; i++)
        if (id_in_folder(folders[i], strlen(folders[i]), out, size)) return true;
    return false;
}

kiln_status kiln_inspect_compiler(char *path, size_t path_size, char *llvm, size_t llvm_size, kiln_error *err)
{
    struct head head;
    struct note inside;
    if (!path || !llvm)
        return kiln__fail(err, KILN_INVALID, "kiln_inspect_compiler: needs room for a path and for a version");
    kiln_status status = kiln__plugin_path(path, path_size, err);
    if (status != KILN_OK) return status;
    snprintf(llvm, llvm_size, "%s", "");
    if (read_head(path, &head) && find_note(&head, KILN_PLUGIN_NOTE, KILN_PLUGIN_HAS_LLVM, &inside))
        snprintf(llvm, llvm_size, "%.*s", (int)inside.size, (const char *)inside.data);
    return KILN_OK;
}

void kiln__toolchain_digest(char *out, size_t size)
{
    char path[4096], plugin[KILN_ID_SIZE] = "none", llvm[KILN_ID_SIZE] = "none";
    struct head head;
    struct note inside;
    bool has_plugin = kiln__plugin_path(path, sizeof path, NULL) == KILN_OK && read_head(path, &head);
    if (has_plugin && !noted_id(&head, KILN_PLUGIN_IS, plugin, sizeof plugin)) build_id(&head, plugin, sizeof plugin);
    if (has_plugin && find_note(&head, KILN_PLUGIN_NOTE, KILN_PLUGIN_HAS_LLVM, &inside))
        noted_id(&head, KILN_PLUGIN_HAS_LLVM_ID, llvm, sizeof llvm);
    else
        llvm_id(llvm, sizeof llvm);
    snprintf(out, size, "plugin:%s llvm:%s", plugin, llvm);
}

const char *kiln__toolchain_built(void)
{
    return "plugin:" KILN_PLUGIN_ID " llvm:" KILN_LLVM_ID;
}
