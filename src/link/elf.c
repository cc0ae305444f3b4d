/*
 * elf.c - loads one position-independent, self-contained ELF object (x86-64, ET_REL) into this process.
 *
 * The allocated sections are placed in one run of pages, code first, then constants; relocations are applied while the
 * pages are writable and not executable; then they become read-execute, constants too, for good (code.h).
 * Invariant: nothing of the object is read or written before its offset was checked against the object's or the
 * section's size. Headers are copied out, because an object need not be aligned. What our compiler does not emit is
 * refused with its name: undefined symbols, writable data, constructors, thread-local data, other relocations.
 */
#include "link/link.h"

#include <elf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "link/code.h"
#include "link/image_names.h"

enum {
    PAGE = KILN_CODE_PAGE,
    LINE = 64,       /* code and constants share no cache line */
    CODE_START = 64, /* callers built with clang's -fsanitize=function read the bytes before an entry */
    MAX_SECTIONS = 4096,
    MAX_IMAGE = 1 << 28, /* far below 2 GiB: a 32-bit distance reaches everything in an image */
};

struct kiln_image {
    struct kiln_code code;
    void *entry;
    struct kiln_image_names *names; /* NULL: nobody is told of it */
};

struct loader {
    kiln_bytes object;
    const char *entry_name;
    kiln_error *err;
    Elf64_Shdr *sections; /* a copy of the table */
    struct kiln_placed_section *offsets;
    size_t section_count;
    const unsigned char *symbols; /* the symbol table, in the object; maybe not aligned */
    size_t symbol_count;
    const char *strings; /* names of symbols; the last byte is NUL */
    size_t strings_size;
    const char *section_names; /* the same for sections; NULL when there are none */
    size_t section_names_size;
    struct kiln_code code;
    unsigned char *base; /* of the above */
    size_t code_size, size;
    bool has_code;
    void *entry;
};

#define REFUSE(loader, ...) kiln__fail((loader)->err, KILN_LINK_FAILED, "object: " __VA_ARGS__)

static bool is_inside(const struct loader *loader, uint64_t offset, uint64_t size)
{
    return offset <= loader->object.size && size <= loader->object.size - offset;
}

static const unsigned char *object_at(const struct loader *loader, uint64_t offset)
{
    return (const unsigned char *)loader->object.data + offset;
}

static const char *section_name(const struct loader *loader, size_t idx)
{
    uint32_t offset = loader->sections[idx].sh_name;
    return loader->section_names && offset < loader->section_names_size ? loader->section_names + offset : "?";
}

static const char *symbol_name(const struct loader *loader, const Elf64_Sym *symbol)
{
    return symbol->st_name < loader->strings_size ? loader->strings + symbol->st_name : "?";
}

/* ---- tables -------------------------------------------------------------------------------------------------- */

static kiln_status check_header(struct loader *loader, Elf64_Ehdr *header)
{
    if (!loader->object.data || loader->object.size < sizeof(*header)) return REFUSE(loader, "too short for ELF");
    memcpy(header, loader->object.data, sizeof(*header));
    if (memcmp(header->e_ident, ELFMAG, SELFMAG) != 0) return REFUSE(loader, "not an ELF file");
    if (header->e_ident[EI_CLASS] != ELFCLASS64 || header->e_ident[EI_DATA] != ELFDATA2LSB ||
        header->e_machine != EM_X86_64) {
        return REFUSE(loader, "not for x86-64 (machine %u)", header->e_machine);
    }
    if (header->e_type != ET_REL) {
        return REFUSE(loader, "of type %u; a relocatable object (type 1) is needed", header->e_type);
    }
    if (header->e_shentsize != sizeof(Elf64_Shdr) || header->e_shnum == 0 || header->e_shnum > MAX_SECTIONS ||
        !is_inside(loader, header->e_shoff, (uint64_t)header->e_shnum * sizeof(Elf64_Shdr))) {
        return REFUSE(loader, "its section table is not inside it");
    }
    return KILN_OK;
}

/* A string table is usable when it is inside the object and ends in NUL, so that every name in it ends as well. */
static const char *string_table(const struct loader *loader, size_t idx, size_t *size)
{
    if (idx >= loader->section_count || loader->sections[idx].sh_type != SHT_STRTAB) return NULL;
    const Elf64_Shdr *section = &loader->sections[idx];
    if (section->sh_size == 0 || !is_inside(loader, section->sh_offset, section->sh_size)) return NULL;
    const char *strings = (const char *)object_at(loader, section->sh_offset);
    *size = (size_t)section->sh_size;
    return strings[section->sh_size - 1] == '\0' ? strings : NULL;
}

static kiln_status read_sections(struct loader *loader)
{
    Elf64_Ehdr header;
    kiln_status status = check_header(loader, &header);
    if (status != KILN_OK) return status;
    loader->section_count = header.e_shnum;
    loader->sections = calloc(loader->section_count, sizeof(*loader->sections));
    loader->offsets = calloc(loader->section_count, sizeof(*loader->offsets));
    if (!loader->sections || !loader->offsets) return kiln__no_memory(loader->err, "an object's sections");
    memcpy(loader->sections, object_at(loader, header.e_shoff), loader->section_count * sizeof(*loader->sections));
    loader->section_names = string_table(loader, header.e_shstrndx, &loader->section_names_size);
    return KILN_OK;
}

static kiln_status read_symbols(struct loader *loader)
{
    for (size_t i = 0; i < loader->section_count; i++) {
        const Elf64_Shdr *section = &loader->sections[i];
        if (section->sh_type != SHT_SYMTAB) continue;
        if (loader->symbols) return REFUSE(loader, "it has two symbol tables");
        if (section->sh_entsize != sizeof(Elf64_Sym) || !is_inside(loader, section->sh_offset, section->sh_size)) {
            return REFUSE(loader, "its symbol table is not inside it");
        }
        loader->symbols = object_at(loader, section->sh_offset);
        loader->symbol_count = (size_t)(section->sh_size / sizeof(Elf64_Sym));
        loader->strings = string_table(loader, section->sh_link, &loader->strings_size);
        if (!loader->strings) return REFUSE(loader, "the names of its symbols can't be read");
    }
    return loader->symbols ? KILN_OK : REFUSE(loader, "it has no symbol table");
}

static Elf64_Sym symbol_at(const struct loader *loader, size_t idx)
{
    Elf64_Sym symbol;
    memcpy(&symbol, loader->symbols + idx * sizeof(symbol), sizeof(symbol));
    return symbol;
}

/* ---- placing ------------------------------------------------------------------------------------------------- */

/* Frame descriptions are for unwinding, which never passes through a kernel; nothing refers to them. */
static bool is_skipped(const struct loader *loader, size_t idx)
{
    const Elf64_Shdr *section = &loader->sections[idx];
    return !(section->sh_flags & SHF_ALLOC) || section->sh_size == 0 || section->sh_type == SHT_NOTE ||
           section->sh_type == SHT_X86_64_UNWIND || strcmp(section_name(loader, idx), ".eh_frame") == 0;
}

static kiln_status check_section(const struct loader *loader, size_t idx)
{
    const Elf64_Shdr *section = &loader->sections[idx];
    const char *name = section_name(loader, idx);
    uint64_t alignment = section->sh_addralign;
    if (section->sh_type != SHT_PROGBITS && section->sh_type != SHT_NOBITS) {
        return REFUSE(loader, "section %s has type %u; only code and constants are loaded", name, section->sh_type);
    }
    if (section->sh_type == SHT_NOBITS && (section->sh_flags & SHF_EXECINSTR)) {
        return REFUSE(loader, "section %s is code without bytes", name);
    }
    if (section->sh_flags & (SHF_TLS | SHF_COMPRESSED)) {
        return REFUSE(loader, "section %s holds thread-local or compressed data", name);
    }
    bool is_relocated_constant = strncmp(name, ".data.rel.ro", 12) == 0 && !(section->sh_flags & SHF_EXECINSTR);
    if ((section->sh_flags & SHF_WRITE) && !is_relocated_constant) {
        return REFUSE(loader, "section %s is writable; a kernel keeps no state between calls", name);
    }
    if (alignment > PAGE || (alignment & (alignment - 1)) != 0) {
        return REFUSE(loader, "section %s wants alignment %llu; at most %d, a power of two", name,
                      (unsigned long long)alignment, PAGE);
    }
    if (section->sh_type != SHT_NOBITS && !is_inside(loader, section->sh_offset, section->sh_size)) {
        return REFUSE(loader, "section %s is not inside it", name);
    }
    if (section->sh_size > MAX_IMAGE) return REFUSE(loader, "section %s is too large", name);
    return KILN_OK;
}

/* Appends the sections of one kind to the image. */
static kiln_status lay_out_sections(struct loader *loader, bool is_code)
{
    for (size_t i = 0; i < loader->section_count; i++) {
        const Elf64_Shdr *section = &loader->sections[i];
        if (is_skipped(loader, i) || ((section->sh_flags & SHF_EXECINSTR) != 0) != is_code) continue;
        kiln_status status = check_section(loader, i);
        if (status != KILN_OK) return status;
        size_t alignment = section->sh_addralign > 1 ? (size_t)section->sh_addralign : 1;
        size_t offset = (loader->size + alignment - 1) & ~(alignment - 1);
        loader->offsets[i] = (struct kiln_placed_section){true, offset};
        loader->has_code |= is_code;
        loader->size = offset + (size_t)section->sh_size;
        if (loader->size > MAX_IMAGE) return REFUSE(loader, "larger than %d bytes in memory", MAX_IMAGE);
    }
    loader->size = (loader->size + LINE - 1) & ~(size_t)(LINE - 1);
    return KILN_OK;
}

static kiln_status map_image(struct loader *loader)
{
    if (!kiln__code_new(loader->size, &loader->code)) return kiln__no_memory(loader->err, "an object's image");
    loader->base = loader->code.base;
    return KILN_OK;
}

static void copy_sections(const struct loader *loader)
{
    memset(loader->base, 0xcc, loader->code_size); /* what is between functions traps */
    for (size_t i = 0; i < loader->section_count; i++) {
        const Elf64_Shdr *section = &loader->sections[i];
        if (!loader->offsets[i].is_loaded) continue;
        unsigned char *to = loader->base + loader->offsets[i].offset;
        if (section->sh_type == SHT_NOBITS)
            memset(to, 0, section->sh_size);
        else
            memcpy(to, object_at(loader, section->sh_offset), section->sh_size);
    }
}

static kiln_status protect_image(const struct loader *loader)
{
    char text[128];
    if (kiln__code_seal(&loader->code)) return KILN_OK;
    if (errno == ENOMEM) return kiln__no_memory(loader->err, "an object's image");
    return REFUSE(loader, "its code can't be made executable: %s", strerror_r(errno, text, sizeof(text)));
}

/* ---- symbols and relocations --------------------------------------------------------------------------------- */

/* The offset in the image of a symbol that is defined in a loaded section. */
static kiln_status resolve(const struct loader *loader, const Elf64_Sym *symbol, uint64_t *out)
{
    const char *name = symbol_name(loader, symbol);
    unsigned type = ELF64_ST_TYPE(symbol->st_info);
    if (symbol->st_shndx == SHN_UNDEF) return REFUSE(loader, "the symbol %s is not defined in it", name);
    if (symbol->st_shndx >= loader->section_count || !loader->offsets[symbol->st_shndx].is_loaded || type == STT_TLS ||
        type == STT_GNU_IFUNC) {
        return REFUSE(loader, "the symbol %s is not in a section of code or constants", name);
    }
    if (symbol->st_value > loader->sections[symbol->st_shndx].sh_size) {
        return REFUSE(loader, "the symbol %s is outside its section", name);
    }
    *out = loader->offsets[symbol->st_shndx].offset + symbol->st_value;
    return KILN_OK;
}

static kiln_status check_undefined(const struct loader *loader)
{
    for (size_t i = 1; i < loader->symbol_count; i++) {
        Elf64_Sym symbol = symbol_at(loader, i);
        if (symbol.st_shndx == SHN_UNDEF) {
            return REFUSE(loader, "the symbol %s is not defined in it; an object must be self-contained",
                          symbol_name(loader, &symbol));
        }
    }
    return KILN_OK;
}

/* The relocations of self-contained, position-independent code. */
static const struct relocation {
    uint32_t type;
    unsigned size_bytes;
    bool is_relative; /* to the relocated address itself */
} relocations[] = {
    {R_X86_64_64, 8, false},
    {R_X86_64_PC32, 4, true},
    {R_X86_64_PLT32, 4, true},
    {R_X86_64_PC64, 8, true},
};

static const struct relocation *find_relocation(uint32_t type)
{
    for (size_t i = 0; i < sizeof(relocations) / sizeof(relocations[0]); i++) {
        if (relocations[i].type == type) return &relocations[i];
    }
    return NULL;
}

static kiln_status apply(const struct loader *loader, size_t section, const Elf64_Rela *row)
{
    const struct relocation *relocation = find_relocation((uint32_t)ELF64_R_TYPE(row->r_info));
    size_t symbol_idx = ELF64_R_SYM(row->r_info);
    const char *name = section_name(loader, section);
    uint64_t size = loader->sections[section].sh_size, target;
    if (symbol_idx >= loader->symbol_count) return REFUSE(loader, "a relocation of %s names no symbol", name);
    Elf64_Sym symbol = symbol_at(loader, symbol_idx);
    if (!relocation) {
        return REFUSE(loader,
                      "relocation type %u (%s, symbol %s) is not one of position-independent, self-contained code",
                      (unsigned)ELF64_R_TYPE(row->r_info), name, symbol_name(loader, &symbol));
    }
    if (row->r_offset > size || relocation->size_bytes > size - row->r_offset) {
        return REFUSE(loader, "a relocation of %s is outside the section", name);
    }
    kiln_status status = resolve(loader, &symbol, &target);
    if (status != KILN_OK) return status;
    uint64_t at = loader->offsets[section].offset + row->r_offset;
    uint64_t origin = relocation->is_relative ? at : (uint64_t)0 - (uint64_t)(uintptr_t)loader->base;
    uint64_t value = target + (uint64_t)row->r_addend - origin;
    if (relocation->size_bytes == 4 && (int64_t)value != (int32_t)(uint32_t)value) {
        return REFUSE(loader, "a relocation of %s (symbol %s) does not fit 32 bits", name,
                      symbol_name(loader, &symbol));
    }
    memcpy(loader->base + at, &value, relocation->size_bytes); /* little-endian, as the host */
    return KILN_OK;
}

static kiln_status apply_section(const struct loader *loader, const Elf64_Shdr *table)
{
    if (table->sh_info >= loader->section_count) return REFUSE(loader, "relocations for a section that is not there");
    if (!loader->offsets[table->sh_info].is_loaded) return KILN_OK;
    if (table->sh_type == SHT_REL || table->sh_entsize != sizeof(Elf64_Rela) ||
        !is_inside(loader, table->sh_offset, table->sh_size)) {
        return REFUSE(loader, "the relocations of %s can't be read", section_name(loader, table->sh_info));
    }
    if (loader->sections[table->sh_info].sh_type == SHT_NOBITS) {
        return REFUSE(loader, "relocations in %s, which has no bytes", section_name(loader, table->sh_info));
    }
    const unsigned char *rows = object_at(loader, table->sh_offset);
    for (size_t i = 0; i < table->sh_size / sizeof(Elf64_Rela); i++) {
        Elf64_Rela row;
        memcpy(&row, rows + i * sizeof(row), sizeof(row));
        kiln_status status = apply(loader, table->sh_info, &row);
        if (status != KILN_OK) return status;
    }
    return KILN_OK;
}

static kiln_status relocate(const struct loader *loader)
{
    for (size_t i = 0; i < loader->section_count; i++) {
        uint32_t type = loader->sections[i].sh_type;
        kiln_status status =
            type == SHT_RELA || type == SHT_REL ? apply_section(loader, &loader->sections[i]) : KILN_OK;
        if (status != KILN_OK) return status;
    }
    return KILN_OK;
}

static kiln_status find_entry(struct loader *loader)
{
    for (size_t i = 1; i < loader->symbol_count; i++) {
        Elf64_Sym symbol = symbol_at(loader, i);
        uint64_t offset;
        if (ELF64_ST_BIND(symbol.st_info) == STB_LOCAL ||
            strcmp(symbol_name(loader, &symbol), loader->entry_name) != 0) {
            continue;
        }
        kiln_status status = resolve(loader, &symbol, &offset);
        if (status != KILN_OK) return status;
        const Elf64_Shdr *section = &loader->sections[symbol.st_shndx];
        if (!(section->sh_flags & SHF_EXECINSTR) || symbol.st_value >= section->sh_size) {
            return REFUSE(loader, "the entry %s is not code", loader->entry_name);
        }
        loader->entry = loader->base + offset;
        return KILN_OK;
    }
    return REFUSE(loader, "it has no function %s", loader->entry_name);
}

/* ---- the whole path ------------------------------------------------------------------------------------------ */

/* All that can be told without memory for the image. */
static kiln_status lay_out(struct loader *loader)
{
    kiln_status status = read_sections(loader);
    if (status == KILN_OK) status = read_symbols(loader);
    if (status == KILN_OK) status = check_undefined(loader);
    if (status == KILN_OK) status = lay_out_sections(loader, true);
    if (status != KILN_OK) return status;
    loader->code_size = loader->size;
    status = lay_out_sections(loader, false);
    if (status == KILN_OK && !loader->has_code) status = REFUSE(loader, "it holds no code");
    return status;
}

/* Makes the image in memory that can be written and not executed. */
static kiln_status fill(struct loader *loader)
{
    copy_sections(loader);
    kiln_status status = relocate(loader);
    return status == KILN_OK ? find_entry(loader) : status;
}

static struct kiln_image_names *tell_names(const struct loader *loader)
{
    const struct kiln_placed_object object = {.bytes = loader->object,
                                              .image = loader->base,
                                              .sections = loader->offsets,
                                              .section_count = loader->section_count,
                                              .symbols = loader->symbols,
                                              .symbol_count = loader->symbol_count,
                                              .strings = loader->strings,
                                              .strings_size = loader->strings_size};
    return kiln__image_names_tell(&object);
}

static void release_tables(const struct loader *loader)
{
    free(loader->sections);
    free(loader->offsets);
}

kiln_status kiln__image_load(kiln_bytes object, const char *entry, struct kiln_image **out, kiln_error *err)
{
    struct loader loader = {.object = object, .entry_name = entry, .err = err, .size = CODE_START};
    struct kiln_image *image = calloc(1, sizeof(*image));
    kiln_status status = image ? lay_out(&loader) : kiln__no_memory(err, "an image");
    if (status == KILN_OK) status = map_image(&loader);
    if (status == KILN_OK) status = fill(&loader);
    if (status == KILN_OK) status = protect_image(&loader);
    if (status == KILN_OK) *image = (struct kiln_image){loader.code, loader.entry, tell_names(&loader)};
    release_tables(&loader);
    if (status == KILN_OK) {
        *out = image;
        return KILN_OK;
    }
    if (loader.base) kiln__code_free(&loader.code);
    free(image);
    return status;
}

kiln_status kiln__image_check(kiln_bytes object, const char *entry, kiln_error *err)
{
    struct loader loader = {.object = object, .entry_name = entry, .err = err, .size = CODE_START};
    kiln_status status = lay_out(&loader);
    if (status == KILN_OK) {
        loader.base = malloc(loader.size);
        status = loader.base ? fill(&loader) : kiln__no_memory(err, "an object's image");
        free(loader.base);
    }
    release_tables(&loader);
    return status;
}

void *kiln__image_entry(const struct kiln_image *image)
{
    return image->entry;
}

size_t kiln__image_size(const struct kiln_image *image)
{
    return image->code.size;
}

void kiln__image_free(struct kiln_image *image)
{
    if (!image) return;
    kiln__image_names_forget(image->names);
    kiln__code_free(&image->code);
    free(image);
}
