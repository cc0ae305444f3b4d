/*
 * callback.h - calls of the client's code, in which the thread may end.
 *
 * Our own code has no cancellation points: every entry that may wait, lock or do I/O disables cancellation
 * (KILN_HOLD_CANCEL). The client's callbacks run with the cancel state that the client had. When the thread ends inside
 * of one (pthread_exit(), or a cancellation), kiln__call_client() stops the unwinding and returns false. Our frames
 * then return as after any other failure and release what they hold. Where we would return to the client,
 * kiln__go_on_leaving() unwinds the rest of the stack, and the thread ends.
 *
 * A callback that jumps over our frames (longjmp, a C++ exception) breaks a rule of kiln.h. No code of ours runs then.
 * What the lost frames held is found later, by their addresses: stacks grow down, so a frame at a lower address than
 * that of the caller has ended. kiln__frame() is such an address.
 */
#ifndef KILN_BASE_PROCESS_CALLBACK_H
#define KILN_BASE_PROCESS_CALLBACK_H

#include <stdbool.h>
#include <stdint.h>

/* Disables cancellation until the function returns. */
#define KILN_HOLD_CANCEL __attribute__((cleanup(kiln__cancel_release))) bool kiln__cancel_is_held = kiln__cancel_hold()
bool kiln__cancel_hold(void);
void kiln__cancel_release(const bool *is_held);

/* Runs call(context), which calls code of the client's. False: the thread is ending, and its unwinding was stopped. */
bool kiln__call_client(void (*call)(void *context), void *context);

/* This thread is ending: kiln__call_client() returned false, and our frames are returning. */
bool kiln__thread_left(void);
/* Does not return if that is so. For the outermost frame of ours, once it has released everything. */
void kiln__go_on_leaving(void);
/* The thread does not end after all. For threads of our own. */
void kiln__thread_stays(void);

/* The address of the calling function's frame. */
#define kiln__frame() ((uintptr_t)__builtin_frame_address(0))
/* Has `frame`, of this thread, ended, seen from a frame `here` (UINTPTR_MAX: from the end of the thread)? Of frames on
 * other stacks than the thread's own, as of fibers, this can't be known; they count as active. */
bool kiln__frame_is_lost(uintptr_t frame, uintptr_t here);

/* Removes the callbacks of this thread whose frames are lost, and ends the work that they had begun. */
void kiln__callbacks_lost(uintptr_t here);

#endif
