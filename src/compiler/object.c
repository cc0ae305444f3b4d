/*
 * object.c - the last check of what LLVM made: the entry is there, and nothing is needed from outside.
 *
 * The object comes from LLVM in this process, but every offset is checked all the same: a fault here would be a crash
 * far away.
 */
#include <elf.h>
#include <string.h>

#include "compiler/internal.h"

static const Elf64_Shdr *section(const char *data, size_t size, unsigned index)
{
    const Elf64_Ehdr *head = (const Elf64_Ehdr *)data;
    if (index >= head->e_shnum || head->e_shoff > size || size - head->e_shoff < (index + 1) * sizeof(Elf64_Shdr))
        return NULL;
    const Elf64_Shdr *found = (const Elf64_Shdr *)(data + head->e_shoff) + index;
    if (found->sh_type == SHT_NOBITS) return found;
    return found->sh_offset <= size && found->sh_size <= size - found->sh_offset ? found : NULL;
}

static kiln_status check_symbols(const char *data, const Elf64_Shdr *symbols, const Elf64_Shdr *strings,
                                 const char *entry, kiln_error *err)
{
    const Elf64_Sym *table = (const Elf64_Sym *)(data + symbols->sh_offset);
    bool has_entry = false;
    for (size_t i = 1; i < symbols->sh_size / sizeof *table; i++) {
        if (table[i].st_name >= strings->sh_size)
            return kiln__fail(err, KILN_COMPILE_FAILED, "LLVM made a damaged object");
        const char *name = data + strings->sh_offset + table[i].st_name;
        if (table[i].st_shndx == SHN_UNDEF)
            return kiln__fail(err, KILN_COMPILE_FAILED, "the kernel needs \"%s\", which is not in the run-time library",
                              name);
        if (strcmp(name, entry) == 0) has_entry = true;
    }
    if (!has_entry) return kiln__fail(err, KILN_COMPILE_FAILED, "the object has no entry \"%s\"", entry);
    return KILN_OK;
}

kiln_status kiln__object_check(const void *bytes, size_t size, const char *entry, kiln_error *err)
{
    const char *data = bytes;
    const Elf64_Ehdr *head = bytes;
    if (size < sizeof *head || memcmp(head->e_ident, ELFMAG, SELFMAG) != 0)
        return kiln__fail(err, KILN_COMPILE_FAILED, "LLVM made something that is no ELF object");
    for (unsigned i = 0; i < head->e_shnum; i++) {
        const Elf64_Shdr *symbols = section(data, size, i);
        if (!symbols) return kiln__fail(err, KILN_COMPILE_FAILED, "LLVM made a damaged object");
        if (symbols->sh_type != SHT_SYMTAB) continue;
        const Elf64_Shdr *strings = section(data, size, symbols->sh_link);
        if (!strings || strings->sh_type != SHT_STRTAB)
            return kiln__fail(err, KILN_COMPILE_FAILED, "LLVM made a damaged object");
        return check_symbols(data, symbols, strings, entry, err);
    }
    return kiln__fail(err, KILN_COMPILE_FAILED, "the object has no symbols");
}
