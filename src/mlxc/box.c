/*
 * box.c - lists of free boxes, one per thread and kind.
 *
 * A list has at most LIST_MAX boxes; further ones go back to malloc, so a thread that only frees boxes keeps few. Lists
 * hold boxes only on a thread that will give them back. With AddressSanitizer every box comes from malloc, which
 * reports a handle that is used after it was freed.
 */
#include "mlxc/box.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>

#include "base/process/thread_state.h"

#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define WITHOUT_LISTS
#endif
#endif
#ifdef __SANITIZE_ADDRESS__
#define WITHOUT_LISTS
#endif

static const size_t sizes[KILN_BOX_KINDS] = {KILN_BOX_SMALL_SIZE, KILN_BOX_VECTOR_SIZE};

#ifdef WITHOUT_LISTS

void *kiln__box_new(enum kiln_box kind)
{
    return malloc(sizes[kind]);
}

void kiln__box_free(enum kiln_box kind, void *box)
{
    (void)kind;
    free(box);
}

#else

enum { LIST_MAX = 64 };

struct free_box {
    struct free_box *next;
};

struct list {
    struct free_box *first;
    uint32_t count;
    bool is_watched; /* the thread's lists are registered with its state */
};

static _Thread_local struct list lists[KILN_BOX_KINDS] __attribute__((tls_model("initial-exec")));

/* At the end of a thread. If it frees boxes afterwards, its lists are registered again. */
static void release_lists(void *unused)
{
    (void)unused;
    for (int kind = 0; kind < KILN_BOX_KINDS; kind++) {
        struct free_box *box = lists[kind].first;
        lists[kind] = (struct list){0};
        while (box) {
            struct free_box *next = box->next;
            free(box);
            box = next;
        }
    }
}

/* False: this thread will not give its lists back, so they must stay empty. */
static bool watch(struct list *list)
{
    return list->is_watched = kiln__thread_state_set(KILN_THREAD_BOXES, release_lists, lists);
}

void *kiln__box_new(enum kiln_box kind)
{
    struct list *list = &lists[kind];
    struct free_box *box = list->first;
    if (!box) return malloc(sizes[kind]);
    list->first = box->next;
    list->count--;
    return box;
}

void kiln__box_free(enum kiln_box kind, void *pointer)
{
    struct list *list = &lists[kind];
    if (!pointer) return;
    if (list->count >= LIST_MAX || (!list->is_watched && !watch(list))) {
        free(pointer);
        return;
    }
    struct free_box *box = pointer;
    box->next = list->first;
    list->first = box;
    list->count++;
}

#endif
