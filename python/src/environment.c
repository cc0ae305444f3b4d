/*
 * environment.c - see environment.h.
 */
#include "environment.h"

#include <stdlib.h>
#include <string.h>

extern char **environ;

static char **saved, **saved_place;
static uint64_t version;

static bool is_as_saved(void)
{
    if (!saved || environ != saved_place || !environ) return false;
    size_t i = 0;
    while (environ[i] && environ[i] == saved[i]) i++;
    return !environ[i] && !saved[i];
}

static bool save(void)
{
    size_t count = 0;
    while (environ && environ[count]) count++;
    char **copy = realloc(saved, (count + 1) * sizeof *copy);
    if (!copy) return false;
    if (count) memcpy(copy, environ, count * sizeof *copy);
    copy[count] = NULL;
    saved = copy;
    saved_place = environ;
    return true;
}

uint64_t environment_version(void)
{
    if (is_as_saved()) return version;
    version++;
    return save() ? version : 0;
}

bool variables_have(const struct variables *variables, PyObject *name)
{
    for (size_t i = 0; i < variables->count; i++)
        if (!PyUnicode_Compare(variables->all[i].name, name)) return true;
    return false;
}

int variables_add(struct variables *variables, PyObject *name)
{
    if (variables_have(variables, name)) return 0;
    struct variable *all = PyMem_Realloc(variables->all, (variables->count + 1) * sizeof *all);
    if (!all) {
        PyErr_NoMemory();
        return -1;
    }
    variables->all = all;
    all[variables->count++] = (struct variable){Py_NewRef(name), NULL, NULL};
    variables->version = 0;
    variables->stamp++;
    return 0;
}

void variables_release(struct variables *variables)
{
    for (size_t i = 0; i < variables->count; i++) {
        Py_DECREF(variables->all[i].name);
        PyMem_Free(variables->all[i].copy);
    }
    PyMem_Free(variables->all);
    *variables = (struct variables){NULL};
}

static int see(struct variable *variable, bool *is_other)
{
    const char *name = PyUnicode_AsUTF8(variable->name), *value = name ? getenv(name) : NULL;
    if (!name) return -1;
    bool same = !value == !variable->copy && (!value || !strcmp(value, variable->copy));
    variable->place = value;
    if (same) return 0;
    char *copy = value ? PyMem_Malloc(strlen(value) + 1) : NULL;
    if (value && !copy) {
        PyErr_NoMemory();
        return -1;
    }
    if (value) strcpy(copy, value);
    PyMem_Free(variable->copy);
    variable->copy = copy;
    *is_other = true;
    return 0;
}

int variables_see(struct variables *variables)
{
    bool is_other = false;
    uint64_t now = environment_version();
    variables->version = 0;
    for (size_t i = 0; i < variables->count; i++)
        if (see(&variables->all[i], &is_other)) return -1;
    variables->version = now;
    variables->stamp += is_other;
    return 0;
}

enum outcome variables_put(struct sink *sink, const struct variables *variables)
{
    enum outcome outcome = sink_word(sink, sink_header(TAG_TUPLE, variables->count));
    for (size_t i = 0; !outcome && i < variables->count; i++) {
        const char *value = variables->all[i].copy;
        outcome =
            value ? sink_bytes(sink, TAG_BYTES, value, strlen(value)) : sink_word(sink, sink_header(TAG_ABSENT, 0));
    }
    return outcome;
}
