/*
 * toolchain.c - see toolchain.h.
 *
 * A build id is a note in the first pages of an ELF file. libLLVM is looked for where the dynamic loader would find it
 * for the plug-in: LD_LIBRARY_PATH, the plug-in's folder, the folder it was linked from, the system's folders. If that
 * search ever differed from the loader's, the digest would name another libLLVM of the same major version: the
 * plug-in's own id, which is made from its code, and the file that stands there still enter the key.
 */
#include "cache/toolchain.h"

#include <dlfcn.h>
#include <elf.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#ifndef KILN_LLVM_LIBRARY
#define KILN_LLVM_LIBRARY "libLLVM.so.19.1"
#endif
#ifndef KILN_LLVM_FOLDER
#define KILN_LLVM_FOLDER "/usr/lib/llvm-19/lib"
#endif

static void own_folder(char *out, size_t size)
{
    Dl_info info;
    const char *path = dladdr((const void *)&kiln__plugin_path, &info) && info.dli_fname ? info.dli_fname : "";
    const char *slash = strrchr(path, '/');
    snprintf(out, size, "%.*s", slash ? (int)(slash - path) : 1, slash ? path : ".");
}

kiln_status kiln__plugin_path(char *out, size_t size, kiln_error *err)
{
    const char *named = getenv("KILN_PLUGIN");
    char folder[3000];
    own_folder(folder, sizeof folder);
    if (named && *named)
        snprintf(out, size, "%s", named);
    else
        snprintf(out, size, "%s/libkiln-llvm.so", folder);
    if (access(out, R_OK) == 0) return KILN_OK;
    return kiln__fail(err, KILN_NO_COMPILER,
                      "the compiler plug-in %s is not there; install it or name it in KILN_PLUGIN", out);
}

/* Appends the id in hexadecimal when the note segment at `data` holds one. */
static bool find_note(const unsigned char *data, size_t size, char *out, size_t out_size)
{
    size_t at = 0;
    while (at + sizeof(Elf64_Nhdr) <= size) {
        Elf64_Nhdr note;
        memcpy(&note, data + at, sizeof note);
        size_t name = at + sizeof note, id = name + ((note.n_namesz + 3u) & ~3u),
               end = id + ((note.n_descsz + 3u) & ~3u);
        if (end > size || end < id) return false;
        if (note.n_type == NT_GNU_BUILD_ID && note.n_namesz == 4 && !memcmp(data + name, "GNU", 4)) {
            for (size_t i = 0; i < note.n_descsz && 2 * i + 3 <= out_size; i++)
                snprintf(out + 2 * i, 3, "%02x", data[id + i]);
            return note.n_descsz > 0;
        }
        at = end;
    }
    return false;
}

/* Reads the head of the file only: it is never mapped, let alone loaded. */
static bool build_id(const char *path, char *out, size_t out_size)
{
    enum { HEAD = 16384 };
    unsigned char head[HEAD];
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) return false;
    ssize_t size = read(fd, head, sizeof head);
    close(fd);
    Elf64_Ehdr elf;
    if (size < (ssize_t)sizeof elf) return false;
    memcpy(&elf, head, sizeof elf);
    if (memcmp(elf.e_ident, ELFMAG, SELFMAG) || elf.e_phentsize != sizeof(Elf64_Phdr)) return false;
    for (size_t i = 0; i < elf.e_phnum; i++) {
        Elf64_Phdr segment;
        size_t at = elf.e_phoff + i * sizeof segment;
        if (at + sizeof segment > (size_t)size) break;
        memcpy(&segment, head + at, sizeof segment);
        if (segment.p_type != PT_NOTE || segment.p_offset > (size_t)size ||
            segment.p_filesz > (size_t)size - segment.p_offset)
            continue;
        if (find_note(head + segment.p_offset, segment.p_filesz, out, out_size)) return true;
    }
    return false;
}

static bool id_in_folder(const char *folder, size_t folder_size, char *out, size_t size)
{
    char path[4096];
    if (!folder_size ||
        (size_t)snprintf(path, sizeof path, "%.*s/%s", (int)folder_size, folder, KILN_LLVM_LIBRARY) >= sizeof path)
        return false;
    return build_id(path, out, size);
}

static bool llvm_id(char *out, size_t size)
{
    static const char *const folders[] = {
        KILN_LLVM_FOLDER, "/lib/x86_64-linux-gnu", "/usr/lib/x86_64-linux-gnu", "/usr/local/lib", "/lib64",
        "/usr/lib64"};
    char own[3000];
    for (const char *path = getenv("LD_LIBRARY_PATH"); path && *path;) {
        size_t length = strcspn(path, ":");
        if (id_in_folder(path, length, out, size)) return true;
        path += length + (path[length] == ':');
    }
    own_folder(own, sizeof own);
    if (id_in_folder(own, strlen(own), out, size)) return true;
    for (size_t i = 0; i < sizeof folders / sizeof *folders; i++)
        if (id_in_folder(folders[i], strlen(folders[i]), out, size)) return true;
    return false;
}

void kiln__toolchain_digest(char *out, size_t size)
{
    char path[4096], plugin[64] = "none", llvm[64] = "none";
    if (kiln__plugin_path(path, sizeof path, NULL) == KILN_OK) build_id(path, plugin, sizeof plugin);
    llvm_id(llvm, sizeof llvm);
    snprintf(out, size, "plugin:%s llvm:%s", plugin, llvm);
}
