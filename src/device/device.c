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

#include "base/config.h"
#include "base/process/fork.h"
#include "device/isa.h"

enum { MAX_INDEX = 1023 }; /* of logical devices of one target; names stay short and ids small */

KILN_LEAF_LOCK(list_lock); /* guards the two below */
static kiln_device *devices;
static uint32_t device_count;

/* "#3", or "" for device 0 of a target, whose canonical name has no number. */
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
    const char *name = kiln__config("KILN_TARGET");
    return name && name[0] != '\0' ? name : "native";
}

static void blame_setting(const char *value, kiln_status status, kiln_error *err)
{
    char name[1024];
    snprintf(name, sizeof name, "KILN_TARGET=%.64s%s", value, kiln__config_where("KILN_TARGET"));
    kiln__fail_as(err, status, name);
}

/* What a name means: a device that may be in the list already. */
struct wanted {
    struct kiln_target target;
    struct kiln_gpu *gpu;
    char name[sizeof(((kiln_device *)0)->name)]; /* canonical */
};

static kiln_status parse_cpu(const char *name, struct wanted *out, kiln_error *err)
{
    size_t prefix = strcspn(name, ":#");
    const char *text = name + prefix;
    size_t target_size = *text == ':' ? strcspn(++text, "#") : 0;
    char target[sizeof(out->target.name)] = "";
    unsigned index = 0;
    bool is_valid = prefix == 3 && memcmp(name, "cpu", 3) == 0 && target_size < sizeof(target) &&
                    (target_size > 0) == (name[prefix] == ':') && parse_index(text + target_size, &index);
    if (!is_valid) {
        return kiln__fail(
            err, KILN_INVALID,
            "unknown device \"%.64s\"; right would be \"cpu\", \"cpu:x86-64-v3\" or, for a second device "
            "of one target, \"cpu:native#1\" (numbers up to %d), \"cuda:0\" or, to compile for a GPU that "
            "is not here, \"cuda:sm_90\"",
            name, MAX_INDEX);
    }
    memcpy(target, text, target_size);
    const char *wanted = target_size > 0 ? target : default_target();
    kiln_status status = kiln__target_resolve(wanted, &out->target, err);
    if (status == KILN_OK) status = kiln__target_check_host(&out->target, err);
    if (status != KILN_OK && !target_size) blame_setting(wanted, status, err);
    if (index == 0)
        snprintf(out->name, sizeof(out->name), "cpu:%.48s", out->target.name);
    else
        snprintf(out->name, sizeof(out->name), "cpu:%.48s#%u", out->target.name, index);
    return status;
}

/* "cuda", "cuda:1" or "cuda:sm_90". Code for a GPU can be kept by every machine. */
static kiln_status parse_cuda(const char *name, struct wanted *out, kiln_error *err)
{
    const char *text = name[4] == ':' ? name + 5 : "0";
    char *end;
    unsigned long index = strtoul(text, &end, 10);
    bool is_number = *text >= '0' && *text <= '9' && *end == '\0' && index <= MAX_INDEX;
    bool is_valid = name[4] == '\0' || (name[4] == ':' && *text != '\0');
    if (!is_valid)
        return kiln__fail(err, KILN_INVALID, "unknown device \"%.64s\"; right would be \"cuda:0\" or \"cuda:sm_90\"",
                          name);
    kiln_status status =
        is_number ? kiln__gpu_get((unsigned)index, &out->gpu, err) : kiln__gpu_absent(text, &out->gpu, err);
    if (status != KILN_OK) return kiln__fail_as(err, status, name);
    snprintf(out->target.name, sizeof(out->target.name), "%s", out->gpu->target);
    out->target.isa = KILN_ISA_X86_64_V1;
    if (out->gpu->is_absent)
        snprintf(out->name, sizeof(out->name), "cuda:%s", out->gpu->target);
    else
        snprintf(out->name, sizeof(out->name), "cuda:%u", out->gpu->index);
    return KILN_OK;
}

/* Under the lock. NULL: out of memory. */
static kiln_device *find_or_add(const struct wanted *wanted)
{
    kiln_device *device = devices;
    while (device && strcmp(device->name, wanted->name) != 0) device = device->next;
    if (device) return device;
    device = calloc(1, sizeof(*device));
    if (!device) return NULL;
    memcpy(device->name, wanted->name, sizeof(device->name));
    device->target = wanted->target;
    device->gpu = wanted->gpu;
    device->id = ++device_count;
    device->next = devices;
    return devices = device;
}

kiln_status kiln_device_find(const char *name, kiln_device **out, kiln_error *err)
{
    struct wanted wanted = {.gpu = NULL};
    if (!name || !out) {
        return kiln__fail(err, KILN_INVALID, "kiln_device_find: name and out must not be NULL");
    }
    bool is_cuda = strncmp(name, "cuda", 4) == 0;
    kiln_status status = is_cuda ? parse_cuda(name, &wanted, err) : parse_cpu(name, &wanted, err);
    if (status != KILN_OK) return status;
    pthread_mutex_lock(&list_lock);
    kiln_device *device = find_or_add(&wanted);
    pthread_mutex_unlock(&list_lock);
    if (!device) return kiln__no_memory(err, "a device");
    *out = device;
    return KILN_OK;
}

const char *kiln_device_name(const kiln_device *device)
{
    return device ? device->name : "";
}

const char *kiln_device_target(const kiln_device *device)
{
    return device ? device->target.name : "";
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
    if (chosen_device) return chosen_device;
    if (environment && default_device.device && default_device.version == environment->version)
        return default_device.device;
    kiln_device *device = NULL;
    if (kiln_device_find("cpu", &device, err) != KILN_OK) return NULL;
    default_device.device = environment ? device : NULL;
    default_device.version = environment ? environment->version : 0;
    return device;
}

kiln_device *kiln__device_current(kiln_error *err)
{
    return kiln__device_current_in(chosen_device ? NULL : kiln__environment(), err);
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
    while (device && device->id != id) device = device->next;
    pthread_mutex_unlock(&list_lock);
    return device;
}
