/*
 * format.c - see format.h. What becomes part of a key, a file or a line is formatted here: a locale with another
 * decimal point makes no other key, and a name that came out of a file sends nothing to a terminal.
 */
#include "base/format.h"

#include <locale.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

static pthread_once_t once = PTHREAD_ONCE_INIT;
static locale_t c_locale; /* 0: could not be made; written once */

static void make_locale(void)
{
    c_locale = newlocale(LC_ALL_MASK, "C", (locale_t)0);
}

int kiln__vformat(char *out, size_t size, const char *format, va_list list)
{
    pthread_once(&once, make_locale);
    locale_t before = c_locale ? uselocale(c_locale) : (locale_t)0;
    int length = vsnprintf(out, size, format, list);
    if (before) uselocale(before);
    return length;
}

/* The code point of the UTF-8 sequence at `text`, whose length is set; UINT32_MAX: there is none. */
static uint32_t code_point(const unsigned char *text, size_t size, size_t *length)
{
    static const uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000}; /* shorter forms are not valid */
    unsigned char first = text[0];
    *length = first < 0x80 ? 1 : first >> 5 == 6 ? 2 : first >> 4 == 14 ? 3 : first >> 3 == 30 ? 4 : 0;
    if (*length == 1) return first;
    if (*length == 0 || *length > size) return UINT32_MAX;
    uint32_t point = first & (0x7fu >> *length);
    for (size_t i = 1; i < *length; i++) {
        if (text[i] >> 6 != 2) return UINT32_MAX;
        point = point << 6 | (text[i] & 0x3f);
    }
    bool is_valid = point >= least[*length] && point <= 0x10ffff && point >> 11 != 0x1b;
    return is_valid ? point : UINT32_MAX;
}

size_t kiln__printable(const char *text, size_t size)
{
    size_t length;
    uint32_t point = size ? code_point((const unsigned char *)text, size, &length) : UINT32_MAX;
    return point == UINT32_MAX || point < 0x20 || (point >= 0x7f && point < 0xa0) ? 0 : length;
}

size_t kiln__escape(char *out, size_t cap, const char *text, size_t size)
{
    static const char digits[] = "0123456789abcdef";
    size_t used = 0;
    for (size_t at = 0, length; at < size; at += length) {
        unsigned char byte = (unsigned char)text[at];
        const char escaped[] = {'\\', 'x', digits[byte >> 4], digits[byte & 15]};
        length = kiln__printable(text + at, size - at);
        size_t need = length ? length : sizeof escaped;
        if (need > cap - used) break;
        for (size_t i = 0; i < need; i++) out[used + i] = length ? text[at + i] : escaped[i];
        used += need;
        if (!length) length = 1;
    }
    return used;
}
