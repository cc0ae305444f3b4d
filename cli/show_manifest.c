/*
 * show_manifest.c - a manifest in words: the names of what compile() turned out to depend on, one list for each set.
 * Format: docs/formats/manifest.md. What can't be read is told by its size, as any other section.
 */
#include <stdint.h>
#include <string.h>

#include "show.h"

bool is_manifest(const kiln_entry *entry)
{
    return kiln_entry_get(entry, "manifest").data && !kiln_entry_get(entry, "text").data;
}

static bool take_number(kiln_bytes *bytes, uint32_t *out)
{
    const unsigned char *p = bytes->data;
    if (bytes->size < 4) return false;
    *out = (uint32_t)p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 | (uint32_t)p[3] << 24;
    *bytes = (kiln_bytes){p + 4, bytes->size - 4};
    return true;
}

static bool take_string(kiln_bytes *bytes, const char **out)
{
    const char *text = bytes->data, *end = bytes->size ? memchr(text, '\0', bytes->size) : NULL;
    if (!end) return false;
    *out = text;
    *bytes = (kiln_bytes){end + 1, bytes->size - (size_t)(end + 1 - text)};
    return true;
}

/* "file tree/include/scale.h"; `clean` has one buffer, so each part is printed by itself. */
static bool print_input(kiln_bytes *set)
{
    static const char *const kinds[] = {"", "environment ", "", "file "};
    const char *module, *name;
    unsigned kind = *(const unsigned char *)set->data;
    *set = (kiln_bytes){(const char *)set->data + 1, set->size - 1};
    if (!take_string(set, &module) || !take_string(set, &name)) return false;
    printf("  %s", kind < sizeof kinds / sizeof *kinds ? kinds[kind] : "");
    printf("%s%s", clean(module), *module ? kind == 3 ? "/" : ": " : "");
    printf("%s\n", clean(name));
    return true;
}

void print_names(const kiln_entry *manifest)
{
    enum { VERSION = 1 };
    kiln_bytes bytes = kiln_entry_get(manifest, "manifest");
    uint32_t version, count, size;
    if (!take_number(&bytes, &version) || version != VERSION || !take_number(&bytes, &count)) return;
    for (uint32_t i = 0; i < count && take_number(&bytes, &size) && size <= bytes.size; i++) {
        kiln_bytes set = {bytes.data, size};
        bytes = (kiln_bytes){(const char *)bytes.data + size, bytes.size - size};
        puts(i ? "\nor on" : "\ndepends on");
        while (set.size && print_input(&set)) {
        }
    }
}
