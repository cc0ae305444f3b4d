/*
 * url.c - see url.h.
 */
#include "base/url.h"

#include <stdio.h>
#include <string.h>

static const char mark[] = "://";
enum { MARK_SIZE = sizeof mark - 1 };

static bool is_scheme_letter(char letter)
{
    return (letter >= 'a' && letter <= 'z') || (letter >= '0' && letter <= '9') || letter == '+' || letter == '-' ||
           letter == '.';
}

bool kiln__is_url(const char *text, size_t size)
{
    size_t scheme = 0;
    for (size_t i = 0; i < size; i++)
        if ((unsigned char)text[i] <= ' ' || text[i] == 0x7f) return false;
    while (scheme < size && is_scheme_letter(text[scheme])) scheme++;
    return scheme && size - scheme > MARK_SIZE && !memcmp(text + scheme, mark, MARK_SIZE);
}

struct writer {
    char *out;
    size_t size, at;
};

static void put(struct writer *writer, const char *text, size_t size)
{
    for (size_t i = 0; i < size && writer->at + 1 < writer->size; i++) writer->out[writer->at++] = text[i];
}

static void put_url(struct writer *writer, const char *url, size_t size)
{
    const char *start = memmem(url, size, mark, MARK_SIZE);
    size_t scheme = start ? (size_t)(start - url) + MARK_SIZE : 0;
    const char *at = memrchr(url + scheme, '@', size - scheme);
    size_t hidden = at ? (size_t)(at - url) : scheme;
    put(writer, url, scheme);
    if (at) put(writer, "***", 3);
    size_t shown = hidden;
    while (shown < size && url[shown] != '?' && url[shown] != '#') shown++;
    put(writer, url + hidden, shown - hidden);
    put(writer, url + shown, shown < size);
    if (shown + 1 < size) put(writer, "***", 3);
}

void kiln__url_without_secrets(const char *urls, char *out, size_t size)
{
    struct writer writer = {out, size, 0};
    while (*urls) {
        size_t blanks = strspn(urls, " \t"), length = strcspn(urls + blanks, " \t");
        put(&writer, urls, blanks);
        put_url(&writer, urls + blanks, length);
        urls += blanks + length;
    }
    if (size) out[writer.at] = '\0';
}
