/*
 * url.h - URLs in settings: is it one, and how it is shown.
 *
 * A URL may hold a name and a password (redis://:secret@host) or a signed query. Whatever prints a URL, in the log, in
 * an error, on a terminal, prints what kiln__url_without_secrets() makes of it.
 */
#ifndef KILN_BASE_URL_H
#define KILN_BASE_URL_H

#include <stdbool.h>
#include <stddef.h>

/* "scheme://something" without blanks and control characters. */
bool kiln__is_url(const char *text, size_t size);

/*
 * Copies one URL, or several with blanks between them, with *** for everything before the last @ of each (behind
 * scheme://) and for everything behind ? or #; so what is hidden in a URL that is written wrongly is too much rather
 * than too little. Always ends with a NUL, cut at `size`.
 */
void kiln__url_without_secrets(const char *urls, char *out, size_t size);

#endif
