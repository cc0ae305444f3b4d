/*
 * fiber.h - stacks to switch between: what ucontext.h does, without the two system calls it makes per switch.
 *
 * Under sanitizers it is ucontext.h, which they know, and the thread sanitizer is told of each switch.
 */
#ifndef KILN_TESTS_FIBER_H
#define KILN_TESTS_FIBER_H

#include <stddef.h>
#include <string.h>

#if defined(__has_feature) /* of clang */
#if __has_feature(thread_sanitizer)
#define __SANITIZE_THREAD__
#endif
#if __has_feature(address_sanitizer)
#define __SANITIZE_ADDRESS__
#endif
#endif
#ifdef __SANITIZE_THREAD__
#include <sanitizer/tsan_interface.h>
#endif

#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
#include <ucontext.h>

struct fiber {
    ucontext_t context;
    void *known; /* by the thread sanitizer; kept when the fiber starts anew */
};

/* For the thread that runs now, before it switches to a fiber. */
static inline void fiber_begin(struct fiber *self)
{
#ifdef __SANITIZE_THREAD__
    self->known = __tsan_get_current_fiber();
#else
    (void)self;
#endif
}

/* A switch to it calls `entry`, which must not return. */
static inline void fiber_start(struct fiber *fiber, char *stack, size_t size, void (*entry)(void))
{
#ifdef __SANITIZE_THREAD__
    if (!fiber->known) fiber->known = __tsan_create_fiber(0);
#endif
    getcontext(&fiber->context);
    fiber->context.uc_stack.ss_sp = stack;
    fiber->context.uc_stack.ss_size = size;
    makecontext(&fiber->context, entry, 0);
}

/* A fiber that is left for good returns from here never; the sanitizer must not count this as entered. */
__attribute__((no_sanitize("thread"))) static void fiber_switch(struct fiber *from, struct fiber *to)
{
#ifdef __SANITIZE_THREAD__
    __tsan_switch_to_fiber(to->known, 0);
#endif
    swapcontext(&from->context, &to->context);
}
#else

struct fiber {
    void *stack; /* registers that a call keeps lie on it, and where to go on */
};

void fiber_exchange(void **from, void *to);
__asm__(".pushsection .text\n.type fiber_exchange, @function\n.hidden fiber_exchange\n.globl fiber_exchange\n"
        "fiber_exchange:\n"
        "  push %rbx\n  push %rbp\n  push %r12\n  push %r13\n  push %r14\n  push %r15\n"
        "  mov %rsp, (%rdi)\n  mov %rsi, %rsp\n"
        "  pop %r15\n  pop %r14\n  pop %r13\n  pop %r12\n  pop %rbp\n  pop %rbx\n"
        "  ret\n.size fiber_exchange, . - fiber_exchange\n.popsection\n");

static inline void fiber_begin(struct fiber *self)
{
    (void)self;
}

static inline void fiber_start(struct fiber *fiber, char *stack, size_t size, void (*entry)(void))
{
    enum { KEPT = 6 };
    void **top = (void **)(void *)(stack + size / 16 * 16) - (KEPT + 2); /* at `entry`, as after a call */
    memset(top, 0, (KEPT + 2) * sizeof *top);
    memcpy(&top[KEPT], &entry, sizeof entry);
    fiber->stack = top;
}

static inline void fiber_switch(struct fiber *from, struct fiber *to)
{
    fiber_exchange(&from->stack, to->stack);
}
#endif

#endif
