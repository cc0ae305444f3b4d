/*
 * log.c - see log.h.
 *
 * Invariant: a line is complete, one line long and at most PIPE_BUF bytes when it is written, and is written by one
 * write(2), so lines of several threads and processes do not mix. KILN_LOG is read once, on first use.
 */
#include "base/log.h"

#include <errno.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/config.h"
#include "base/digest.h"
#include "base/file.h"
#include "base/format.h"
#include "base/process/callback.h"
#include "base/process/fork.h"
#include "base/process/log_callback.h"

static const char prefix[] = "kiln: ";
enum { LINE_SIZE = 4096, REMEMBERED = 64, PREFIX_SIZE = sizeof prefix - 1 };

static const struct {
    const char *word;
    unsigned kinds;
} words[] = {
    {"miss", KILN_LOG_MISS},
    {"fault", KILN_LOG_FAULT},
    {"all", KILN_LOG_MISS | KILN_LOG_FAULT},
};

static pthread_once_t parse_once = PTHREAD_ONCE_INIT;
static unsigned kinds_on; /* written once, by parse(), as is the next */
static char wrong_word[65];
static _Atomic bool is_wrong; /* the word was not told yet: not in parse(), since a callback may log */

static void write_line(kiln_log_kind kind, const char *format, va_list list);

static __attribute__((format(printf, 1, 2))) void say(const char *format, ...)
{
    va_list list;
    va_start(list, format);
    write_line(KILN_LOG_FAULT, format, list);
    va_end(list);
}

/* False: there is no such word. */
static bool parse_word(const char *word, size_t size)
{
    for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
        if (strlen(words[i].word) == size && memcmp(words[i].word, word, size) == 0) {
            kinds_on |= words[i].kinds;
            return true;
        }
    }
    return size == 0;
}

static void parse(void)
{
    const char *text = kiln__config_unchecked("KILN_LOG");
    while (text && *text != '\0') {
        size_t size = strcspn(text, ",");
        if (!parse_word(text, size) && !is_wrong) { /* one is enough to be told */
            snprintf(wrong_word, sizeof wrong_word, "%.*s", (int)(size > 64 ? 64 : size), text);
            is_wrong = true;
        }
        text += size;
        if (*text == ',') text++;
    }
}

bool kiln__log_on(kiln_log_kind kind)
{
    pthread_once(&parse_once, parse);
    if (__builtin_expect(atomic_load_explicit(&is_wrong, memory_order_relaxed), 0) && atomic_exchange(&is_wrong, false))
        say("KILN_LOG=%s is not one of miss, fault, all; not used", wrong_word);
    return ((kinds_on | kiln__log_callback_kinds()) & (unsigned)kind) != 0;
}

/* Fills `line` with "kiln: ", the text without line breaks and control characters, and a newline; returns its length.
 */
static size_t format_line(char line[LINE_SIZE], const char *format, va_list list)
{
    char text[LINE_SIZE];
    int wanted = kiln__vformat(text, sizeof(text), format, list);
    size_t size = wanted < 0 ? 0 : (size_t)wanted >= sizeof(text) ? sizeof(text) - 1 : (size_t)wanted;
    for (size_t i = 0; i < size; i++) {
        if (text[i] == '\n' || text[i] == '\r' || text[i] == '\t') text[i] = ' ';
    }
    memcpy(line, prefix, PREFIX_SIZE);
    size = PREFIX_SIZE + kiln__escape(line + PREFIX_SIZE, LINE_SIZE - 1 - PREFIX_SIZE, text, size);
    line[size] = '\n';
    return size + 1;
}

/* The callback gets the text without the prefix and the newline. */
static void deliver(kiln_log_kind kind, char *line, size_t size)
{
    int saved = errno;
    line[size - 1] = '\0';
    if (!kiln__log_callback_call(kind, line + PREFIX_SIZE)) {
        line[size - 1] = '\n';
        kiln__write_all(STDERR_FILENO, line, size);
    }
    errno = saved;
}

static void write_line(kiln_log_kind kind, const char *format, va_list list)
{
    char line[LINE_SIZE];
    deliver(kind, line, format_line(line, format, list));
}

void kiln__log(kiln_log_kind kind, const char *format, ...)
{
    if (!kiln__log_on(kind)) return;
    KILN_HOLD_CANCEL;
    va_list list;
    va_start(list, format);
    write_line(kind, format, list);
    va_end(list);
}

KILN_LEAF_LOCK(said_lock); /* guards the two below; nothing is called under it */
static struct kiln_digest said[REMEMBERED];
static size_t said_count;

/* True the first time; the newest text takes the oldest one's place. */
static bool remember(const struct kiln_digest *digest)
{
    pthread_mutex_lock(&said_lock);
    size_t filled = said_count < REMEMBERED ? said_count : REMEMBERED;
    bool is_new = true;
    for (size_t i = 0; i < filled && is_new; i++) is_new = memcmp(&said[i], digest, sizeof(*digest)) != 0;
    if (is_new) said[said_count++ % REMEMBERED] = *digest;
    pthread_mutex_unlock(&said_lock);
    return is_new;
}

void kiln__log_once(const char *format, ...)
{
    KILN_HOLD_CANCEL;
    char line[LINE_SIZE];
    va_list list;
    va_start(list, format);
    size_t size = format_line(line, format, list);
    va_end(list);
    struct kiln_digest digest = kiln__digest(line, size);
    if (remember(&digest)) deliver(KILN_LOG_FAULT, line, size);
}
