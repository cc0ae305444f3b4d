/*
 * test_cache_reader_model.c - the protocol of readers and removers of a memo table, checked in every interleaving.
 *
 * Extracted from find_value() and take_out() of cache/memo/memo_table.c and kiln__wait_for_readers() of
 * cache/memo/thread_cache.c. The reader stores to its hazard slot without a fence; the remover makes up for it with
 * membarrier(), which is a full fence in every running thread. Hardware may keep a store back until a fence: each
 * process here has a store buffer that is written to memory at any moment (x86-TSO; what TSO allows, weaker hardware
 * allows as well, and the fences are full ones there too). A state space this small is walked completely.
 *
 * What must never happen: the reader looks at an entry of the old table after the remover has freed it.
 * test_cache_readers.c shows with the real code that removers wait; that the barrier before the wait is needed can only
 * be shown like this.
 */
#include "support/check.h"

/* Memory: the table readers find (0: old, 1: new), the reader's hazard slot, and whether the old table is freed. */
enum { TABLE, HAZARD, VARIABLES };
enum { READER, REMOVER, PROCESSES };

struct variant {
    bool has_barrier;  /* membarrier() in kiln__wait_for_readers() */
    bool has_wait;     /* the remover looks at the hazard slots at all */
    bool has_fence;    /* the reader fences its store: where membarrier() is refused */
    bool stores_first; /* the reader says that it reads before it loads the table */
};

struct state {
    unsigned char memory[VARIABLES], is_freed;
    unsigned char step[PROCESSES], reads;                                        /* what the reader loaded from TABLE */
    unsigned char is_buffered[PROCESSES], variable[PROCESSES], value[PROCESSES]; /* a store buffer of one */
};

static const struct variant *variant;
static bool was_seen[1 << 16], is_violated;
static int state_count;

/* ---- stores and loads ---------------------------------------------------------------------------------------------
 */

static void drain(struct state *state, int process)
{
    if (state->is_buffered[process]) state->memory[state->variable[process]] = state->value[process];
    state->is_buffered[process] = state->variable[process] = state->value[process] = 0;
}

/* A second store waits for the first: buffers are first in, first out. */
static void store(struct state *state, int process, int variable, int value)
{
    drain(state, process);
    state->is_buffered[process] = 1;
    state->variable[process] = (unsigned char)variable;
    state->value[process] = (unsigned char)value;
}

static int load(const struct state *state, int process, int variable)
{
    if (state->is_buffered[process] && state->variable[process] == variable) return state->value[process];
    return state->memory[variable];
}

/* ---- the two programs: each step is one access; false: this process can't go on ------------------------------------
 */

static void look_at_entry(const struct state *state)
{
    if (state->reads == 0 && state->is_freed) is_violated = true;
}

/* find_value(): reading = memo; light barrier; table = load; look at an entry, twice; reading = NULL. */
static bool step_reader(struct state *state)
{
    int first = variant->stores_first ? 0 : 1;
    switch (state->step[READER]++) {
    case 0:
    case 1:
        if (state->step[READER] - 1 == first) {
            store(state, READER, HAZARD, 1);
            if (variant->has_fence) drain(state, READER);
        } else {
            state->reads = (unsigned char)load(state, READER, TABLE);
        }
        return true;
    case 2:
    case 3:
        look_at_entry(state);
        return true;
    case 4:
        store(state, READER, HAZARD, 0);
        return true;
    default:
        return false;
    }
}

/* take_out(): table = new; wait for readers (fence, membarrier, fence; while the slot is set); free the old table. */
static bool step_remover(struct state *state)
{
    switch (state->step[REMOVER]++) {
    case 0:
        store(state, REMOVER, TABLE, 1);
        return true;
    case 1:
        drain(state, REMOVER); /* the remover's own fence stands in every variant */
        return true;
    case 2:
        if (variant->has_barrier) drain(state, READER);
        return true;
    case 3:
        if (!variant->has_wait || load(state, REMOVER, HAZARD) == 0) return true;
        state->step[REMOVER]--; /* still read: look again */
        return true;
    case 4:
        state->is_freed = 1;
        return true;
    default:
        return false;
    }
}

/* ---- all interleavings --------------------------------------------------------------------------------------------
 */

static unsigned number_of(const struct state *s)
{
    unsigned n = s->memory[TABLE] | s->memory[HAZARD] << 1 | s->is_freed << 2 | s->reads << 3;
    n |= (unsigned)s->step[READER] << 4 | (unsigned)s->step[REMOVER] << 7;
    for (int i = 0; i < PROCESSES; i++)
        n |= (unsigned)(s->is_buffered[i] | s->variable[i] << 1 | s->value[i] << 2) << (10 + 3 * i);
    return n;
}

static void explore(struct state state)
{
    unsigned number = number_of(&state);
    if (was_seen[number]) return;
    was_seen[number] = true;
    state_count++;
    for (int process = 0; process < PROCESSES; process++) {
        struct state next = state;
        if (process == READER ? step_reader(&next) : step_remover(&next)) explore(next);
        next = state;
        drain(&next, process);
        explore(next);
    }
}

static bool is_sound(struct variant checked)
{
    variant = &checked;
    memset(was_seen, 0, sizeof was_seen);
    is_violated = false;
    state_count = 0;
    explore((struct state){.reads = 1}); /* nothing loaded yet: not the old table */
    return !is_violated;
}

static void test_as_it_is(void **state)
{
    (void)state;
    CHECK_TRUE(is_sound((struct variant){.has_barrier = true, .has_wait = true, .stores_first = true}));
    CHECK_GT(state_count, 50);
}

static void test_where_membarrier_is_refused(void **state)
{
    (void)state;
    CHECK_TRUE(is_sound((struct variant){.has_wait = true, .has_fence = true, .stores_first = true}));
}

static void test_each_part_is_needed(void **state)
{
    (void)state;
    CHECK_FALSE(is_sound((struct variant){.has_wait = true, .stores_first = true}));    /* no barrier */
    CHECK_FALSE(is_sound((struct variant){.has_barrier = true, .stores_first = true})); /* no wait */
    CHECK_FALSE(is_sound((struct variant){.has_barrier = true, .has_wait = true}));     /* loads, then says so */
    CHECK_FALSE(is_sound((struct variant){.has_fence = true, .stores_first = true}));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_as_it_is),
        cmocka_unit_test(test_where_membarrier_is_refused),
        cmocka_unit_test(test_each_part_is_needed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
