/*
 * format.h - numbers and names as text that does not depend on the program's locale, and can be printed.
 */
#ifndef KILN_BASE_FORMAT_H
#define KILN_BASE_FORMAT_H

#include <stdarg.h>
#include <stddef.h>

/* vsnprintf() as in the C locale: a fraction has a point, whatever locale the program has set. */
int kiln__vformat(char *out, size_t size, const char *format, va_list list) __attribute__((format(printf, 3, 0)));

/* Bytes of the character at `text` when it can stand on a line of a terminal; 0: a control character, or no UTF-8. */
size_t kiln__printable(const char *text, size_t size);

/* Copies text with \xNN in the place of each byte that can't be printed, as far as `cap` bytes go; returns how many. */
size_t kiln__escape(char *out, size_t cap, const char *text, size_t size);

#endif
