/*
 * environment.h - the environment of the process, live.
 *
 * A version that changes whenever the pointers of `environ` do: comparing them takes a few nanoseconds, and no name is
 * looked up. What is edited inside of a putenv() buffer is seen by comparing the bytes of the variables that matter.
 * The rule is that of getenv(): no thread calls setenv() while another looks; under the GIL Python's own os.environ
 * keeps it.
 */
#ifndef KILN_PYTHON_ENVIRONMENT_H
#define KILN_PYTHON_ENVIRONMENT_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <stdbool.h>
#include <stdint.h>

#include "sink.h"

uint64_t environment_version(void); /* 0: no memory to remember it; never equal then */

/* The variables that a function depends on, with the values that were seen last. */
struct variables {
    struct variable {
        PyObject *name;    /* str */
        const char *place; /* where the value stood; NULL: unset */
        char *copy;
    } *all;
    size_t count;
    uint64_t version; /* of the environment when they were seen */
    uint64_t stamp;   /* grows whenever one of the values is another */
};

/* Names that are there stay as they are. -1 with an exception. */
int variables_add(struct variables *variables, PyObject *name);
bool variables_have(const struct variables *variables, PyObject *name);
void variables_release(struct variables *variables);

/* Whether all hold what was seen last: compares pointers, and the bytes of those that are set. */
static inline bool variables_stand(const struct variables *variables, uint64_t version)
{
    if (variables->version != version || !version) return false;
    for (size_t i = 0; i < variables->count; i++)
        if (variables->all[i].place && __builtin_strcmp(variables->all[i].place, variables->all[i].copy)) return false;
    return true;
}

/* Looks all of them up again. -1 with an exception. */
int variables_see(struct variables *variables);
enum outcome variables_put(struct sink *sink, const struct variables *variables);

#endif
