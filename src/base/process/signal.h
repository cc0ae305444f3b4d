/*
 * signal.h - a file that may not grow, or a pipe that nobody reads, is a failure, not the end of the process.
 *
 * Where RLIMIT_FSIZE (ulimit -f) ends, write() and ftruncate() fail with EFBIG and the kernel sends SIGXFSZ to the
 * calling thread; with EPIPE comes SIGPIPE. Both kill a process that does not expect them. The disposition of a signal
 * belongs to the program, so between hold and release the two are blocked for this thread alone, and the one that came
 * with the errno of release is taken back. What was pending before stays pending. Pairs do not nest; errno is kept.
 */
#ifndef KILN_BASE_PROCESS_SIGNAL_H
#define KILN_BASE_PROCESS_SIGNAL_H

#include <signal.h>

struct kiln_signal_hold {
    sigset_t mask, pending; /* as they were */
};

void kiln__signal_hold(struct kiln_signal_hold *hold);
void kiln__signal_release(const struct kiln_signal_hold *hold);

#endif
