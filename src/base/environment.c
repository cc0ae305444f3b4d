/*
 * environment.c - see environment.h. Names are never removed; a thread's copy is released when the thread ends.
 *
 * Invariant: `array` is set last, and cleared before anything else changes, so an incomplete copy is never treated
 * as valid.
 */
#include "base/environment.h"

#include <pthread.h>
#include <stdlib.h>

#include "base/process/fork.h"
#include "base/process/thread_state.h"

_Thread_local struct kiln_environment kiln__this_environment __attribute__((tls_model("initial-exec")));
bool kiln__environment_is_slow;

static const char *const core_names[KILN_CORE_VARIABLES] = {"KILN_TARGET", "KILN_OPT_LEVEL", "KILN_FAST_MATH"};

KILN_LEAF_LOCK(names_lock); /* guards the two below */
static char **names;        /* behind the core's */
static uint32_t name_count;

void kiln__environment_set_fast(bool fast)
{
    kiln__environment_is_slow = !fast;
}

/* ---- names ---------------------------------------------------------------------------------------------------- */

static uint32_t find_name(const char *name)
{
    for (uint32_t i = 0; i < KILN_CORE_VARIABLES; i++)
        if (!strcmp(core_names[i], name)) return i;
    for (uint32_t i = 0; i < name_count; i++)
        if (!strcmp(names[i], name)) return KILN_CORE_VARIABLES + i;
    return UINT32_MAX;
}

uint32_t kiln__environment_index(const char *name)
{
    pthread_mutex_lock(&names_lock);
    uint32_t index = find_name(name);
    if (index == UINT32_MAX) {
        char *copy = strdup(name), **grown = copy ? realloc(names, (name_count + 1) * sizeof *names) : NULL;
        if (grown) {
            names = grown;
            names[name_count] = copy;
            index = KILN_CORE_VARIABLES + name_count++;
        } else {
            free(copy);
        }
    }
    pthread_mutex_unlock(&names_lock);
    return index;
}

/* ---- a thread's copy ------------------------------------------------------------------------------------------ */

static void release(void *copy)
{
    struct kiln_environment *known = copy;
    for (uint32_t i = 0; i < known->count; i++) free(known->variables[i].words);
    free(known->variables);
    free(known->entries);
    uint64_t version = known->version; /* stays: another copy must not get a version that this one had */
    memset(known, 0, sizeof *known);
    known->version = version;
}

static bool copy_entries(struct kiln_environment *known)
{
    size_t count = 1;
    while (environ[count - 1]) count++;
    if (count > known->entry_cap) {
        char **grown = realloc(known->entries, 2 * count * sizeof *grown);
        if (!grown) return false;
        known->entries = grown;
        known->entry_cap = 2 * count;
    }
    memcpy(known->entries, environ, count * sizeof *environ);
    known->bytes = count * sizeof *environ;
    return true;
}

static bool copy_value(struct kiln_variable *variable, const char *name)
{
    const char *value = getenv(name);
    size_t size = value ? strlen(value) + 1 : 0, words = (size + 7) / 8;
    if (size > UINT32_MAX / 2) return false;
    if (words > variable->cap) {
        uint64_t *grown = realloc(variable->words, words * sizeof *grown);
        if (!grown) return false;
        variable->words = grown;
        variable->cap = (uint32_t)words;
    }
    if (words) variable->words[words - 1] = 0;
    if (size) memcpy(variable->words, value, size);
    variable->value = value;
    variable->size = (uint32_t)size;
    return true;
}

/* With the lock held. */
static bool copy_values(struct kiln_environment *known)
{
    uint32_t count = KILN_CORE_VARIABLES + name_count;
    if (count > known->count) {
        struct kiln_variable *grown = realloc(known->variables, count * sizeof *grown);
        if (!grown) return false;
        memset(grown + known->count, 0, (count - known->count) * sizeof *grown);
        known->variables = grown;
        known->count = count;
    }
    for (uint32_t i = 0; i < count; i++)
        if (!copy_value(&known->variables[i], i < KILN_CORE_VARIABLES ? core_names[i] : names[i - KILN_CORE_VARIABLES]))
            return false;
    known->core_is_set = false;
    for (uint32_t i = 0; i < KILN_CORE_VARIABLES; i++) known->core_is_set |= known->variables[i].value != NULL;
    return true;
}

const struct kiln_environment *kiln__environment_read(void)
{
    struct kiln_environment *known = &kiln__this_environment;
    kiln__thread_state_set(KILN_THREAD_ENVIRONMENT, release, known);
    known->array = NULL;
    known->version++;
    pthread_mutex_lock(&names_lock);
    bool is_copied = copy_values(known);
    pthread_mutex_unlock(&names_lock);
    if (!is_copied) return NULL;
    if (environ && copy_entries(known)) known->array = environ;
    return known;
}

bool kiln__environment_core_stands(const struct kiln_environment *environment)
{
    for (uint32_t i = 0; i < KILN_CORE_VARIABLES; i++)
        if (!kiln__variable_stands(&environment->variables[i])) return false;
    return true;
}
