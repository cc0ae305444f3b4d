/*
 * progress.c - how far long work is.
 *
 * Nothing is written before a second has passed, so scripts that are done by then see nothing.
 */
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

#include "cli.h"

static const uint64_t quiet_ns = 1000000000, between_ns = 100000000, between_lines_ns = 1000000000;

static uint64_t now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static unsigned columns_of(int fd)
{
    struct winsize size = {0};
    if (!isatty(fd)) return 0;
    return ioctl(fd, TIOCGWINSZ, &size) == 0 && size.ws_col ? size.ws_col : 80;
}

void progress_begin(struct progress *progress, const struct command *command)
{
    *progress = (struct progress){.command = command->name, .start_ns = now_ns(), .columns = columns_of(STDERR_FILENO)};
}

/* "checking  42%, 420 of 1000, 312/s, 2 s left" */
static void describe(char *out, size_t size, const char *what, uint64_t done, uint64_t total, uint64_t spent_ns)
{
    double rate = (double)done * 1e9 / (double)spent_ns;
    if (!total)
        snprintf(out, size, "%s, %llu, %.0f/s", what, (unsigned long long)done, rate);
    else
        snprintf(out, size, "%s %3u%%, %llu of %llu, %.0f/s, %.0f s left", what, (unsigned)(done * 100 / total),
                 (unsigned long long)done, (unsigned long long)total, rate,
                 rate > 0 && total > done ? (double)(total - done) / rate : 0);
}

/* A bar where there is room for one beside the words; too narrow a terminal gets fewer words. */
static void show(const struct progress *progress, const char *words, uint64_t done, uint64_t total)
{
    enum { BAR = 20 };
    unsigned used = (unsigned)(strlen(words) + strlen(progress->command) + 8), room = progress->columns - 1;
    fputs("\r\033[K", stderr);
    if (total && used + BAR + 3 <= room) {
        unsigned full = (unsigned)(done >= total ? BAR : done * BAR / total);
        fprintf(stderr, "kiln %s: [%.*s%.*s] %s", progress->command, (int)full, "####################", BAR - (int)full,
                "....................", words);
    } else {
        fprintf(stderr, "%.*s", (int)room, words);
    }
    fflush(stderr);
}

void progress_report(void *context, const char *what, uint64_t done, uint64_t total)
{
    struct progress *progress = context;
    char words[160];
    uint64_t now = now_ns();
    if (now - progress->start_ns < quiet_ns) return;
    if (now - progress->shown_ns < (progress->columns ? between_ns : between_lines_ns)) return;
    progress->shown_ns = now;
    progress->is_shown = progress->columns;
    describe(words, sizeof words, what, done, total, now - progress->start_ns);
    if (progress->columns)
        show(progress, words, done, total);
    else
        fprintf(stderr, "kiln %s: %s\n", progress->command, words);
}

void progress_end(struct progress *progress)
{
    if (progress->is_shown) fputs("\r\033[K", stderr);
    progress->is_shown = false;
}
