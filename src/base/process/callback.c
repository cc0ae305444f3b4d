/*
 * callback.c - see callback.h.
 *
 * A thread that ends unwinds its stack frame by frame, and calls the personality routine of each frame that has one.
 * That of catch_departure() jumps back into its frame, which stops the unwinding. kiln__go_on_leaving() starts it
 * again, through the interface that the C library has for the clean-up handlers of C programs. C++ exceptions, which
 * are not forced unwinding, pass.
 *
 * Invariant: `innermost` is the list of callbacks that run on this thread, the innermost first. They are allocated,
 * because the stack of a frame that was jumped over may have been overwritten.
 */
#include "base/process/callback.h"

#include <pthread.h>
#include <setjmp.h>
#include <stdlib.h>
#include <unwind.h>

#include "base/process/gate.h"

struct callback {
    struct callback *outer;
    uintptr_t frame;
    unsigned work_depth; /* when it was called */
    sigjmp_buf back;
};

static _Thread_local struct callback *innermost;
static _Thread_local unsigned holds; /* of cancellation, since the client's code called us */
static _Thread_local int state_of_client;
static _Thread_local bool has_left;

/* ---- cancellation ----------------------------------------------------------------------------------------------- */

bool kiln__cancel_hold(void)
{
    if (holds++ == 0) pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &state_of_client);
    return true;
}

void kiln__cancel_release(const bool *is_held)
{
    if (*is_held && holds && --holds == 0) pthread_setcancelstate(state_of_client, NULL);
}

/* ---- departure -------------------------------------------------------------------------------------------------- */

_Unwind_Reason_Code kiln__callback_unwinds(int version, _Unwind_Action actions, _Unwind_Exception_Class kind,
                                           struct _Unwind_Exception *exception, struct _Unwind_Context *context)
    __attribute__((visibility("hidden"), used));

/* NULL where the unwinder's library is not loaded with the program; then callbacks that were jumped over are taken for
 * running ones. */
extern __typeof__(_Unwind_GetCFA) _Unwind_GetCFA __attribute__((weak));

/* The unwinding of a thread that ends is forced, and is of exception class 0. */
_Unwind_Reason_Code kiln__callback_unwinds(int version, _Unwind_Action actions, _Unwind_Exception_Class kind,
                                           struct _Unwind_Exception *exception, struct _Unwind_Context *context)
{
    (void)version, (void)exception;
    if (!(actions & _UA_FORCE_UNWIND) || kind != 0) return _URC_CONTINUE_UNWIND;
    if (_Unwind_GetCFA) kiln__callbacks_lost(_Unwind_GetCFA(context));
    if (innermost) siglongjmp(innermost->back, 1);
    return _URC_CONTINUE_UNWIND;
}

__attribute__((noinline)) static bool catch_departure(struct callback *callback, void (*call)(void *), void *context)
{
    __asm__ volatile(".cfi_personality 0x1b, kiln__callback_unwinds"); /* relative to its place, in four bytes */
    if (sigsetjmp(callback->back, 0)) return false;
    call(context);
    return true;
}

bool kiln__call_client(void (*call)(void *context), void *context)
{
    struct callback *callback = malloc(sizeof *callback);
    if (!callback) { /* out of memory: called without a guard, rather than not at all */
        call(context);
        return true;
    }
    unsigned outer_holds = holds;
    int outer_state = state_of_client;
    callback->outer = innermost;
    callback->frame = kiln__frame();
    callback->work_depth = kiln__work_depth();
    innermost = callback;
    holds = 0;
    if (outer_holds) pthread_setcancelstate(outer_state, NULL);
    bool returned = catch_departure(callback, call, context);
    if (outer_holds) pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &outer_state);
    holds = outer_holds;
    state_of_client = outer_state;
    innermost = callback->outer;
    kiln__work_return_to(callback->work_depth);
    free(callback);
    if (!returned) has_left = true;
    return returned;
}

bool kiln__thread_left(void)
{
    return has_left;
}

void kiln__thread_stays(void)
{
    has_left = false;
}

/* Cancellation stays disabled: the thread is ending. */
void kiln__go_on_leaving(void)
{
    __pthread_unwind_buf_t none;
    if (!has_left) return;
    has_left = false;
    holds = 0;
    __pthread_register_cancel(&none);
    __pthread_unwind_next(&none);
}

/* ---- frames that were jumped over ------------------------------------------------------------------------------- */

static bool is_on_own_stack(uintptr_t frame)
{
    pthread_attr_t attributes;
    void *lowest = NULL;
    size_t size = 0;
    if (pthread_getattr_np(pthread_self(), &attributes) != 0) return false;
    pthread_attr_getstack(&attributes, &lowest, &size);
    pthread_attr_destroy(&attributes);
    return frame - (uintptr_t)lowest < size;
}

bool kiln__frame_is_lost(uintptr_t frame, uintptr_t here)
{
    if (frame >= here) return false;
    return here == UINTPTR_MAX || (is_on_own_stack(frame) && is_on_own_stack(here));
}

/* The frames between a callback and the next outer one are lost too, and so is the work that they had begun. */
void kiln__callbacks_lost(uintptr_t here)
{
    while (innermost && kiln__frame_is_lost(innermost->frame, here)) {
        struct callback *lost = innermost;
        innermost = lost->outer;
        kiln__work_return_to(innermost ? innermost->work_depth : 0);
        holds = 0;
        free(lost);
    }
}
