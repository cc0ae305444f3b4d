/*
 * run_program.c - `kiln run` and `kiln audit` run a program and go on when it has ended. Signals from the terminal are
 * the program's.
 */
#include <errno.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli.h"

int run_program(char **words)
{
    pid_t process;
    int status = 0;
    struct sigaction ignored = {.sa_handler = SIG_IGN}, interrupt, quit;
    posix_spawnattr_t how;
    sigset_t defaults;
    sigemptyset(&defaults);
    sigaddset(&defaults, SIGINT), sigaddset(&defaults, SIGQUIT);
    posix_spawnattr_init(&how);
    posix_spawnattr_setsigdefault(&how, &defaults);
    posix_spawnattr_setflags(&how, POSIX_SPAWN_SETSIGDEF);
    sigaction(SIGINT, &ignored, &interrupt), sigaction(SIGQUIT, &ignored, &quit);
    int error = posix_spawnp(&process, words[0], NULL, &how, words, environ);
    while (!error && waitpid(process, &status, 0) < 0 && errno == EINTR) {
    }
    sigaction(SIGINT, &interrupt, NULL), sigaction(SIGQUIT, &quit, NULL);
    posix_spawnattr_destroy(&how);
    if (error) return errno = error, -1;
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}
