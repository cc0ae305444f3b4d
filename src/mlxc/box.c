/*
 * box.c - lists of free boxes, one per thread and kind.
 *
 * A list has at most LIST_MAX boxes; what is more goes back to malloc, so a thread that only frees does not hoard. The
 * thread's key is set while its lists may hold something. With AddressSanitizer every box is malloc's, so that it sees
 * a handle used after it was freed.
 */
#include "mlxc/box.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>

#include "base/process/thread_end.h"

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
    bool watched; /* the thread's key is set */
};

static _Thread_local struct list lists[KILN_BOX_KINDS] __attribute__((tls_model("initial-exec")));

/* At the end of a thread. A destructor that runs later may free boxes again; the key is then set again. */
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

KILN_THREAD_END(at_thread_end, release_lists);

/* False: this thread cannot be watched, so its lists must stay empty. */
static bool watch(struct list *list)
{
    list->watched = kiln__thread_end_set(&at_thread_end, lists);
    return list->watched;
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
    if (list->count >= LIST_MAX || (!list->watched && !watch(list))) {
        free(pointer);
        return;
    }
    struct free_box *box = pointer;
    box->next = list->first;
    list->first = box;
    list->count++;
}

#endif
