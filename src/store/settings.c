/*
 * settings.c - see settings.h.
 */
#include "store/settings.h"

#include <stdlib.h>

#include "base/log.h"
#include "base/trust.h"

enum { DEFAULT_FILES = 200000 };
static const uint64_t default_bytes = 5ull << 30;

void kiln__default_folder(struct kiln_buffer *out)
{
    const char *value = kiln__getenv_trusted("KILN_CACHE_DIR");
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
    static const struct {
        char letter;
        int shift;
    } units[] = {{'\0', 0}, {'K', 10}, {'M', 20}, {'G', 30}, {'T', 40}};
    uint64_t number = 0;
    if (!text || !out || *text < '0' || *text > '9') return false;
    for (; *text >= '0' && *text <= '9'; text++)
        if (__builtin_mul_overflow(number, 10, &number) || __builtin_add_overflow(number, *text - '0', &number))
            return false;
    for (size_t i = 0; i < sizeof units / sizeof *units; i++) {
        bool is_unit = (*text & ~0x20) == units[i].letter && (!*text || !text[1]);
        if (!is_unit || number > UINT64_MAX >> units[i].shift) continue;
        *out = number << units[i].shift;
        return true;
    }
    return false;
}

void kiln_default_bounds(uint64_t *max_bytes, uint64_t *max_files)
{
    const char *text = getenv("KILN_CACHE_SIZE");
    uint64_t bytes = default_bytes;
    if (text && *text && (!kiln_parse_size(text, &bytes) || !bytes)) {
        kiln__log_once("KILN_CACHE_SIZE=%.64s is not a size such as 500M or 5G; using the default", text);
        bytes = default_bytes;
    }
    if (max_bytes) *max_bytes = bytes;
    if (max_files) *max_files = DEFAULT_FILES;
}
