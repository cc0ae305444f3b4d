/*
 * progress.c - one line on a terminal while something takes long.
 *
 * Nothing is written before half a second has passed, nor when stderr is no terminal: logs and scripts never see it.
 */
#include <time.h>
#include <unistd.h>

#include "cli.h"

static const uint64_t quiet_ns = 500000000, between_ns = 100000000;

static uint64_t now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

void progress_begin(struct progress *progress, const struct command *command)
{
    *progress = (struct progress){.command = command->name, .start_ns = now_ns(), .is_terminal = isatty(STDERR_FILENO)};
}

void progress_report(void *context, const char *what, uint64_t done, uint64_t total)
{
    struct progress *progress = context;
    if (!progress->is_terminal) return;
    uint64_t now = now_ns();
    if (now - progress->start_ns < quiet_ns || now - progress->shown_ns < between_ns) return;
    progress->shown_ns = now;
    progress->is_shown = true;
    fprintf(stderr, "\rkiln %s: %s", progress->command, what);
    if (total)
        fprintf(stderr, " %3u%%, %llu of %llu", (unsigned)(done * 100 / total), (unsigned long long)done,
                (unsigned long long)total);
    fputs("\033[K", stderr);
    fflush(stderr);
}

void progress_end(struct progress *progress)
{
    if (progress->is_shown) fputs("\r\033[K", stderr);
    progress->is_shown = false;
}
