/*
 * device.c - devices by name, and the current one of each thread.
 *
 * Invariant: there is one kiln_device per canonical name, made under the lock and never freed, so two names of one
 * device give one pointer. But for `generation`, a device does not change once it is in the list.
 */
#include "device/device.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h> /* environ */

#include "base/fork.h"
#include "device/isa.h"

enum { MAX_INDEX = 1023 }; /* of logical devices of one target; names stay short and ids small */

KILN_LEAF_LOCK(list_lock); /* guards the two below */
static kiln_device *devices;
static uint32_t device_count;

/* "#3" or nothing; the first device of a target is number 0 and has no "#" in its canonical name. */
static bool parse_index(const char *text, unsigned *out)
{
    unsigned value = 0;
    *out = 0;
    if (*text == '\0') return true;
    if (*text++ != '#' || *text == '\0') return false;
    for (; *text != '\0'; text++) {
        if (*text < '0' || *text > '9') return false;
        value = value * 10 + (unsigned)(*text - '0');
        if (value > MAX_INDEX) return false;
    }
    *out = value;
    return true;
}

/* The target of plain "cpu". */
static const char *default_target(void)
{
    const char *name = getenv("KILN_TARGET");
    return name != NULL && name[0] != '\0' ? name : "native";
}

static kiln_status parse_name(const char *name, struct kiln_target *target, unsigned *index, kiln_error *err)
{
    if (strncmp(name, "cuda", 4) == 0) {
        return kiln__fail(err, KILN_INVALID,
                          "device \"%.64s\": CUDA devices are not supported in this version; use \"cpu\"", name);
    }
    size_t prefix = strcspn(name, ":#");
    const char *text = name + prefix;
    size_t target_size = *text == ':' ? strcspn(++text, "#") : 0;
    char wanted[sizeof(target->name)] = "";
    bool is_valid = prefix == 3 && memcmp(name, "cpu", 3) == 0 && target_size < sizeof(wanted) &&
                    (target_size > 0) == (name[prefix] == ':') && parse_index(text + target_size, index);
    if (!is_valid) {
        return kiln__fail(err, KILN_INVALID,
                          "unknown device \"%.64s\"; right would be \"cpu\", \"cpu:x86-64-v3\" or, for a second device "
                          "of one target, \"cpu:native#1\" (numbers up to %d)",
                          name, MAX_INDEX);
    }
    memcpy(wanted, text, target_size);
    kiln_status status = kiln__target_resolve(target_size > 0 ? wanted : default_target(), target, err);
    return status == KILN_OK ? kiln__target_check_host(target, err) : status;
}

/* Under the lock. NULL: out of memory. */
static kiln_device *find_or_add(const char *canonical, const struct kiln_target *target)
{
    kiln_device *device = devices;
    while (device != NULL && strcmp(device->name, canonical) != 0) device = device->next;
    if (device != NULL) return device;
    device = calloc(1, sizeof(*device));
    if (device == NULL) return NULL;
    snprintf(device->name, sizeof(device->name), "%s", canonical);
    device->target = *target;
    device->id = ++device_count;
    device->next = devices;
    return devices = device;
}

kiln_status kiln_device_find(const char *name, kiln_device **out, kiln_error *err)
{
    struct kiln_target target;
    unsigned index = 0;
    char canonical[sizeof((*out)->name)];
    if (name == NULL || out == NULL) {
        return kiln__fail(err, KILN_INVALID, "kiln_device_find: name and out must not be NULL");
    }
    kiln_status status = parse_name(name, &target, &index, err);
    if (status != KILN_OK) return status;
    if (index == 0)
        snprintf(canonical, sizeof(canonical), "cpu:%s", target.name);
    else
        snprintf(canonical, sizeof(canonical), "cpu:%s#%u", target.name, index);
    pthread_mutex_lock(&list_lock);
    kiln_device *device = find_or_add(canonical, &target);
    pthread_mutex_unlock(&list_lock);
    if (device == NULL) return kiln__no_memory(err, "a device");
    *out = device;
    return KILN_OK;
}

const char *kiln_device_name(const kiln_device *device)
{
    return device != NULL ? device->name : "";
}

const char *kiln_device_target(const kiln_device *device)
{
    return device != NULL ? device->target.name : "";
}

/* ---- the current device ---------------------------------------------------------------------------------------
 *
 * A thread that set none uses "cpu", which follows KILN_TARGET while the program runs. getenv on every call would
 * cost more than the look-up it belongs to, so the thread remembers where in `environ` the variable stood, its
 * bytes, and where the array ended. setenv and unsetenv change the array, its end or the entry; then it looks again.
 */
struct default_device {
    kiln_device *device; /* NULL: not resolved yet */
    char **environment;
    size_t count, at; /* entries; the place of KILN_TARGET, or `count` when it is not set */
    char *last;       /* the last entry */
    char *entry;      /* at `at`; NULL when not set */
    char text[64];    /* a copy of the entry, because a putenv buffer can be edited in place */
};

static _Thread_local kiln_device *chosen_device;
static _Thread_local struct default_device default_device;

static bool is_fresh(const struct default_device *known)
{
    if (known->device == NULL || environ != known->environment) return false;
    if (environ == NULL) return true;
    if (environ[known->count] != NULL || environ[known->at] != known->entry) return false;
    if (known->count > 0 && environ[known->count - 1] != known->last) return false;
    return known->entry == NULL || strncmp(known->entry, known->text, sizeof(known->text)) == 0;
}

static void remember_environment(struct default_device *known)
{
    static const char prefix[] = "KILN_TARGET=";
    size_t count = 0, at = SIZE_MAX;
    for (; environ != NULL && environ[count] != NULL; count++) {
        if (at == SIZE_MAX && strncmp(environ[count], prefix, sizeof(prefix) - 1) == 0) at = count;
    }
    known->environment = environ;
    known->count = count;
    known->at = at == SIZE_MAX ? count : at;
    known->last = count > 0 ? environ[count - 1] : NULL;
    known->entry = at == SIZE_MAX ? NULL : environ[at];
    if (known->entry != NULL) snprintf(known->text, sizeof(known->text), "%s", known->entry);
}

kiln_device *kiln__device_current(kiln_error *err)
{
    struct default_device *known = &default_device;
    if (chosen_device != NULL) return chosen_device;
    if (is_fresh(known)) return known->device;
    known->device = NULL;
    remember_environment(known);
    kiln_device *device = NULL;
    if (kiln_device_find("cpu", &device, err) == KILN_OK) known->device = device;
    return known->device;
}

kiln_status kiln_set_current_device(kiln_device *device)
{
    chosen_device = device; /* NULL: "cpu" again */
    return KILN_OK;
}
