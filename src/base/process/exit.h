/*
 * exit.h - exit(): no library is torn down while a thread is inside of it.
 *
 * exit() runs the destructors of every library, also those of LLVM and of the BLAS, while other threads go on. So once
 * it has begun, no other thread begins such work (base/process/gate.h), and exit waits up to a second for what is
 * running. What still runs then can't be stopped: the process ends at once (_exit), with the status it was given, its
 * counters written and its streams flushed, but without further exit handlers and destructors.
 *
 * Exit handlers run in the reverse order of their registration, and LLVM registers more of them while it compiles. So
 * ours is registered again after each library that was opened; and by the thread that calls exit(), whose thread-local
 * destructors run before all exit handlers, when that thread is known to us.
 */
#ifndef KILN_BASE_PROCESS_EXIT_H
#define KILN_BASE_PROCESS_EXIT_H

#include <stdbool.h>
#include <stdint.h>

/* exit() has begun: what another compiler or BLAS would have to do is refused. */
bool kiln__is_leaving(void);

/* From now on exit waits as said above; the handler runs before all that were registered up to now. */
void kiln__exit_watch(void);
/* The same while a library is loaded that registers handlers of its own: some may have run by the time ours does, so it
 * does not wait for who uses that library, and leaves at once. */
void kiln__exit_watch_loading(void);
/* This thread may be the one that calls exit(). Once per thread. */
void kiln__exit_know_thread(void);
/* `flush` runs once, when exit() has begun and work may still be done; it takes no longer than its patience, which is a
 * part of that second. One for the process. For constructors. */
void kiln__exit_add_flusher(void (*flush)(uint64_t patience_ns));
/* `write` runs before the process leaves without further handlers. For constructors and pthread_once(). */
void kiln__exit_add_writer(void (*write)(void));

#endif
