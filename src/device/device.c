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
 * A thread that set none uses "cpu", which follows KILN_TARGET while the program runs: resolved again whenever this
 * thread's copy of the environment has another version.
 */
static _Thread_local kiln_device *chosen_device;
static _Thread_local struct {
    kiln_device *device; /* NULL: not resolved yet */
    uint64_t version;
} default_device;

kiln_device *kiln__device_current_in(const struct kiln_environment *environment, kiln_error *err)
{
    if (chosen_device != NULL) return chosen_device;
    if (environment != NULL && default_device.device != NULL && default_device.version == environment->version)
        return default_device.device;
    kiln_device *device = NULL;
    if (kiln_device_find("cpu", &device, err) != KILN_OK) return NULL;
    default_device.device = environment != NULL ? device : NULL;
    default_device.version = environment != NULL ? environment->version : 0;
    return device;
}

kiln_device *kiln__device_current(kiln_error *err)
{
    return kiln__device_current_in(chosen_device != NULL ? NULL : kiln__environment(), err);
}

kiln_status kiln_set_current_device(kiln_device *device)
{
    chosen_device = device; /* NULL: "cpu" again */
    return KILN_OK;
}

kiln_device *kiln__device_by_id(uint32_t id)
{
    pthread_mutex_lock(&list_lock);
    kiln_device *device = devices;
    while (device != NULL && device->id != id) device = device->next;
    pthread_mutex_unlock(&list_lock);
    return device;
}
