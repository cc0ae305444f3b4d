/*
 * callback.h - the client's code, called from ours, on a thread that may not come back.
 *
 * Our own code is no point at which a thread can be cancelled: every way in that may wait, lock or do I/O holds
 * cancellation off (KILN_HOLD_CANCEL). The client's callbacks run with the state that the client had. A thread that
 * leaves inside of one (pthread_exit, or a cancellation acted upon) is caught by kiln__call_client(), which returns
 * false; our frames then return as after any other failure and give back what they hold; and where we would return to
 * the client, kiln__go_on_leaving() lets the thread go on with what it was about to do.
 *
 * A callback that jumps over our frames (longjmp, a C++ exception) breaks a rule of kiln.h. Nothing runs then; what the
 * lost frames held is found later, by their addresses: stacks grow down, so a frame at a lower address than that of the
 * caller is no more. kiln__frame() is such an address.
 */
#ifndef KILN_BASE_PROCESS_CALLBACK_H
#define KILN_BASE_PROCESS_CALLBACK_H

#include <stdbool.h>
#include <stdint.h>

/* Holds cancellation off until the function returns. */
#define KILN_HOLD_CANCEL __attribute__((cleanup(kiln__cancel_release))) bool kiln__cancel_is_held = kiln__cancel_hold()
bool kiln__cancel_hold(void);
void kiln__cancel_release(const bool *is_held);

/* Runs call(context), which calls code of the client's. False: the thread left inside of it. */
bool kiln__call_client(void (*call)(void *context), void *context);

/* This thread left inside of a callback, and is on its way out through our frames. */
bool kiln__thread_left(void);
/* Does not return if it did. For the outermost frame of ours, when it holds nothing any more. */
void kiln__go_on_leaving(void);
/* It does not go after all. For threads of our own. */
void kiln__thread_stays(void);

/* Of the function that asks. */
#define kiln__frame() ((uintptr_t)__builtin_frame_address(0))
/* Is `frame`, of this thread, no more, seen from `here`? UINTPTR_MAX: the thread ends. Frames on other stacks than the
 * thread's own, as of fibers, can't be told; they count as being there. */
bool kiln__frame_is_lost(uintptr_t frame, uintptr_t here);

/* Forgets the callbacks of this thread that are lost, and what they began. */
void kiln__callbacks_lost(uintptr_t here);

#endif
