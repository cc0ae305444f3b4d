/*
 * signal.c - see signal.h. Invariant: the thread's mask and what is pending for it are the same before and after.
 */
#include "base/process/signal.h"

#include <errno.h>
#include <time.h>

void kiln__signal_hold(struct kiln_signal_hold *hold)
{
    sigset_t held;
    int code = errno;
    sigemptyset(&held);
    sigaddset(&held, SIGXFSZ);
    sigaddset(&held, SIGPIPE);
    sigemptyset(&hold->pending);
    pthread_sigmask(SIG_BLOCK, &held, &hold->mask);
    sigpending(&hold->pending);
    errno = code;
}

static void take_back(int number)
{
    sigset_t raised;
    sigemptyset(&raised);
    sigaddset(&raised, number);
    while (sigtimedwait(&raised, NULL, &(struct timespec){0, 0}) < 0 && errno == EINTR) {
    }
}

void kiln__signal_release(const struct kiln_signal_hold *hold)
{
    int code = errno, own = code == EFBIG ? SIGXFSZ : code == EPIPE ? SIGPIPE : 0;
    if (own && !sigismember(&hold->pending, own)) take_back(own);
    pthread_sigmask(SIG_SETMASK, &hold->mask, NULL);
    errno = code;
}
