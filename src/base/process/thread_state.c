/*
 * thread_state.c - see thread_state.h.
 *
 * Invariant: while a thread has a part, its value of the key is not NULL, so end_thread() will run. A part is cleared
 * before its function is called: that function may set it, or another one, again.
 */
#include "base/process/thread_state.h"

#include <pthread.h>

struct kiln_thread_state {
    struct {
        void (*give_back)(void *value);
        void *value; /* NULL: the thread has nothing of this part */
    } parts[KILN_THREAD_PARTS];
    bool is_watched; /* the thread's value of the key is set */
};

static _Thread_local struct kiln_thread_state this_state;
static pthread_once_t once = PTHREAD_ONCE_INIT;
static pthread_key_t key;
static bool has_key;

/* The system has set the thread's value of the key to NULL. */
static void end_thread(void *state)
{
    struct kiln_thread_state *ended = state;
    ended->is_watched = false;
    for (int part = 0; part < KILN_THREAD_PARTS; part++) {
        void *value = ended->parts[part].value;
        ended->parts[part].value = NULL;
        if (value) ended->parts[part].give_back(value);
    }
}

static void make_key(void)
{
    has_key = pthread_key_create(&key, end_thread) == 0;
}

static bool watch(struct kiln_thread_state *state)
{
    pthread_once(&once, make_key);
    return state->is_watched = has_key && pthread_setspecific(key, state) == 0;
}

bool kiln__thread_state_set(enum kiln_thread_part part, void (*give_back)(void *value), void *value)
{
    struct kiln_thread_state *state = &this_state;
    if (!state->is_watched && !watch(state)) return false;
    state->parts[part].give_back = give_back;
    state->parts[part].value = value;
    return true;
}
