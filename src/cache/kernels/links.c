/*
 * links.c - kiln_entry_check_links(): whether a stored artifact could be linked, told without running any of it.
 *
 * Sections have a meaning for the compiler that made them, so only those of our own are looked at; which compiler it
 * was stands in the content key.
 */
#include <string.h>

#include "kiln/inspect.h"
#include "link/link.h"

static bool is_ours(const kiln_entry *entry)
{
    static const char ours[] = "llvm";
    kiln_bytes name, value;
    for (size_t i = 0; kiln_entry_key_field(entry, i, &name, &value); i++)
        if (name.size == 8 && !memcmp(name.data, "compiler", 8))
            return value.size == sizeof ours - 1 && !memcmp(value.data, ours, value.size);
    return false;
}

static kiln_status check_ptx(kiln_bytes ptx, kiln_error *err)
{
    bool is_text = ptx.size > 0 && memmem(ptx.data, ptx.size, ".version", 8) &&
                   strnlen(ptx.data, ptx.size) + 1 >= ptx.size; /* a zero byte at most at its end */
    return is_text ? KILN_OK : kiln__fail(err, KILN_LINK_FAILED, "section ptx: it is not PTX");
}

static kiln_status check_section(const char *section, kiln_bytes bytes, const char *entry, kiln_error *err)
{
    if (!strcmp(section, "object")) return kiln__image_check(bytes, entry, err);
    if (!strcmp(section, "ptx")) return check_ptx(bytes, err);
    return KILN_OK;
}

kiln_status kiln_entry_check_links(const kiln_entry *entry, kiln_error *err)
{
    kiln_entry_info info;
    kiln_bytes bytes;
    kiln_status status = KILN_OK;
    const char *section;
    if (!entry) return kiln__fail(err, KILN_INVALID, "kiln_entry_check_links: needs an entry");
    if (!is_ours(entry)) return KILN_OK;
    kiln_entry_describe(entry, &info);
    for (size_t i = 0; !status && (section = kiln_entry_section(entry, i, &bytes)); i++)
        status = check_section(section, bytes, info.entry, err);
    return status;
}
