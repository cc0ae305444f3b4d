/*
 * settings.c - see settings.h.
 */
#include "store/settings.h"

#include "base/config.h"
#include "base/trust.h"

enum { DEFAULT_FILES = 200000 };
static const uint64_t default_bytes = 5ull << 30; /* as the table of settings says */

void kiln__default_folder(struct kiln_buffer *out)
{
    const char *value = kiln__config("KILN_CACHE_DIR");
    if (value) {
        kiln__buffer_printf(out, "%s", value);
    } else if ((value = kiln__getenv_trusted("XDG_CACHE_HOME")) && *value == '/') {
        kiln__buffer_printf(out, "%s/kiln", value);
    } else if ((value = kiln__getenv_trusted("HOME")) && *value) {
        kiln__buffer_printf(out, "%s/.cache/kiln", value);
    }
}

bool kiln_parse_size(const char *text, uint64_t *out)
{
    return text && out && kiln__parse_size(text, out);
}

void kiln_default_bounds(uint64_t *max_bytes, uint64_t *max_files)
{
    const char *text = kiln__config("KILN_CACHE_SIZE");
    uint64_t bytes;
    if (!text || !kiln__parse_size(text, &bytes)) bytes = default_bytes;
    if (max_bytes) *max_bytes = bytes;
    if (max_files) *max_files = DEFAULT_FILES;
}

unsigned kiln__cache_mask(void)
{
    const char *text = kiln__config("KILN_CACHE_UMASK");
    unsigned mask;
    return text && kiln__parse_mask(text, &mask) ? mask : 077;
}
