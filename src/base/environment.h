/*
 * environment.h - variables of the environment, read live on every call without searching for them.
 *
 * Each thread keeps a copy of the pointers in `environ`, and of the bytes of the variables that somebody wants to know.
 * While the pointers are the same, the value of a variable is where it was, and only its bytes are compared, since a
 * putenv() buffer can be edited in place; a variable that was unset is still unset. On any difference all variables are
 * read again with getenv(), so both ways give the same bytes. Only pointers that are in `environ` at that moment are
 * followed.
 *
 * The rule for programs is that of getenv(): no other thread may change the environment meanwhile. And the name in a
 * putenv() buffer must not be edited in place.
 */
#ifndef KILN_BASE_ENVIRONMENT_H
#define KILN_BASE_ENVIRONMENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>

/* What every call depends on; these have the first indices. */
enum kiln_core_variable { KILN_VARIABLE_TARGET, KILN_VARIABLE_OPT_LEVEL, KILN_VARIABLE_FAST_MATH, KILN_CORE_VARIABLES };

struct kiln_variable {
    const char *value; /* as getenv() gave it; NULL: unset */
    uint64_t *words;   /* a copy with its NUL, zeros up to a whole word */
    uint32_t size;     /* of the value with its NUL, in bytes; 0: unset */
    uint32_t cap;      /* words */
};

struct kiln_environment {
    char **array;   /* `environ` when it was read; NULL: not read yet */
    size_t bytes;   /* of `entries`, with the NULL at the end */
    char **entries; /* a copy of the array */
    size_t entry_cap;
    uint32_t count;                  /* variables */
    bool core_is_set;                /* one of the core variables is set */
    struct kiln_variable *variables; /* by index */
    uint64_t version;                /* another one each time it is read; 0: never */
};

extern _Thread_local struct kiln_environment kiln__this_environment __attribute__((tls_model("initial-exec")));

/* The index of a variable, for the life of the process; the same for the same name. UINT32_MAX: out of memory. */
uint32_t kiln__environment_index(const char *name);

/* Reads all again. NULL: out of memory; then getenv() is what is left. */
const struct kiln_environment *kiln__environment_read(void);
bool kiln__environment_core_stands(const struct kiln_environment *environment);

/* Test hook: with false every look reads again. */
void kiln__environment_set_fast(bool fast);
extern bool kiln__environment_is_slow;

static inline bool kiln__variable_stands(const struct kiln_variable *variable)
{
    const char *was = (const char *)variable->words, *is = variable->value;
    if (!is) return true;
    for (int i = 0; i < 16; i++) {
        if (was[i] != is[i]) return false;
        if (!is[i]) return true;
    }
    return strcmp(was + 16, is + 16) == 0;
}

/* This thread's copy, as the environment is now: same pointers, same core variables as when it got its version. */
static inline const struct kiln_environment *kiln__environment(void)
{
    const struct kiln_environment *known = &kiln__this_environment;
    if (__builtin_expect(known->array && known->array == environ && !memcmp(environ, known->entries, known->bytes),
                         1) &&
        __builtin_expect(!known->core_is_set || kiln__environment_core_stands(known), 1) && !kiln__environment_is_slow)
        return known;
    return kiln__environment_read();
}

/* A variable as it is now, by its index. NULL: out of memory. After kiln__environment(). */
static inline const struct kiln_variable *kiln__environment_variable(const struct kiln_environment *environment,
                                                                     uint32_t index)
{
    if (__builtin_expect(index < environment->count, 1)) {
        const struct kiln_variable *variable = &environment->variables[index];
        if (__builtin_expect(kiln__variable_stands(variable), 1)) return variable;
    }
    environment = kiln__environment_read();
    return environment && index < environment->count ? &environment->variables[index] : NULL;
}

#endif
