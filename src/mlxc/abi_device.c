/*
 * abi_device.c - device.h of the ABI: the CPU, and the GPUs that the driver has.
 */
#include "mlxc/abi_device.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>

#include "base/file.h"
#include "device/gpu.h"

static const char *const type_names[] = {[MLX_CPU] = "cpu", [MLX_GPU] = "gpu"};
static const struct kiln_device_box cpu = {MLX_CPU, 0};

static bool is_type(mlx_device_type type)
{
    return type == MLX_CPU || type == MLX_GPU;
}

bool kiln__device_exists(struct kiln_device_box device)
{
    if (device.type == MLX_CPU) return device.index == cpu.index;
    return device.index >= 0 && (unsigned)device.index < kiln__gpu_count();
}

int kiln__give_device(mlx_device *res, struct kiln_device_box device)
{
    struct kiln_device_box *box = res->ctx ? res->ctx : kiln__box_new(KILN_BOX_SMALL);
    if (!box) return KILN_FAIL_TEXT("out of memory: a handle for a device");
    *box = device;
    res->ctx = box;
    return 0;
}

void kiln__device_print(struct kiln_device_box device, char *text, size_t size)
{
    snprintf(text, size, "Device(%s, %d)", type_names[device.type], device.index);
}

mlx_device mlx_device_new(void)
{
    return (mlx_device){NULL};
}

mlx_device mlx_device_new_type(mlx_device_type type, int index)
{
    mlx_device made = {NULL};
    if (is_type(type) && index >= 0)
        kiln__give_device(&made, (struct kiln_device_box){type, index});
    else
        _mlx_error(__FILE__, __LINE__,
                   "[device] expected MLX_CPU or MLX_GPU and an index from 0, got type %d, index %d", (int)type, index);
    return made;
}

int mlx_device_free(mlx_device dev)
{
    kiln__box_free(KILN_BOX_SMALL, dev.ctx);
    return 0;
}

int mlx_device_set(mlx_device *dev, const mlx_device src)
{
    if (KILN_NO_POINTER(dev) || KILN_NO_DEVICE(src)) return 1;
    return kiln__give_device(dev, kiln__unwrap_device(src));
}

int mlx_device_tostring(mlx_string *str, mlx_device dev)
{
    char text[40];
    if (KILN_NO_POINTER(str) || KILN_NO_DEVICE(dev)) return 1;
    kiln__device_print(kiln__unwrap_device(dev), text, sizeof text);
    return kiln__give_text(str, text, strlen(text));
}

bool mlx_device_equal(mlx_device lhs, mlx_device rhs)
{
    if (KILN_NO_DEVICE(lhs) || KILN_NO_DEVICE(rhs)) return false;
    struct kiln_device_box a = kiln__unwrap_device(lhs), b = kiln__unwrap_device(rhs);
    return a.type == b.type && a.index == b.index;
}

int mlx_device_get_index(int *index, mlx_device dev)
{
    if (KILN_NO_POINTER(index) || KILN_NO_DEVICE(dev)) return 1;
    *index = kiln__unwrap_device(dev).index;
    return 0;
}

int mlx_device_get_type(mlx_device_type *type, mlx_device dev)
{
    if (KILN_NO_POINTER(type) || KILN_NO_DEVICE(dev)) return 1;
    *type = kiln__unwrap_device(dev).type;
    return 0;
}

int mlx_get_default_device(mlx_device *dev)
{
    uint32_t device_index = kiln__default_device_index();
    if (KILN_NO_POINTER(dev)) return 1;
    return kiln__give_device(dev, device_index ? (struct kiln_device_box){MLX_GPU, (int)device_index - 1} : cpu);
}

int kiln__no_device(const char *what, struct kiln_device_box device)
{
    char text[40];
    kiln_error err = {KILN_OK, ""};
    struct kiln_gpu *gpu;
    kiln__device_print(device, text, sizeof text);
    if (kiln__gpu_count() > 0)
        _mlx_error(__FILE__, __LINE__,
                   "[%s] there is no %s; there are Device(cpu, 0) and %u GPUs, Device(gpu, 0) first", what, text,
                   kiln__gpu_count());
    else if (device.type == MLX_GPU && kiln__gpu_get(0, &gpu, &err))
        _mlx_error(__FILE__, __LINE__, "[%s] there is no %s; Device(cpu, 0) is the only device (%s)", what, text,
                   err.text);
    else
        _mlx_error(__FILE__, __LINE__, "[%s] there is no %s; Device(cpu, 0) is the only device", what, text);
    return 1;
}

int mlx_set_default_device(mlx_device dev)
{
    if (KILN_NO_DEVICE(dev)) return 1;
    struct kiln_device_box device = kiln__unwrap_device(dev);
    if (!kiln__device_exists(device)) return kiln__no_device("set_default_device", device);
    kiln__set_default_device_index(kiln__device_index(device));
    return 0;
}

int mlx_device_is_available(bool *avail, mlx_device dev)
{
    if (KILN_NO_POINTER(avail) || KILN_NO_DEVICE(dev)) return 1;
    *avail = kiln__device_exists(kiln__unwrap_device(dev));
    return 0;
}

int mlx_device_count(int *count, mlx_device_type type)
{
    if (KILN_NO_POINTER(count)) return 1;
    if (!is_type(type)) return KILN_FAIL_TEXT("[device_count] expected MLX_CPU or MLX_GPU");
    *count = type == MLX_CPU ? 1 : (int)kiln__gpu_count();
    return 0;
}

/* ---- what a device says about itself -------------------------------------------------------------------------- */

struct info {
    char architecture[80], device_name[128], uuid[44], pci_bus[24];
    size_t memory, free_memory, working_set, allocations, major, minor;
    bool is_gpu;
};

/* A CPU has the first two; a GPU has the keys that clients know from CUDA and those they know from Metal. */
static const struct info_key {
    const char *name;
    size_t offset;
    bool is_size, is_of_gpus;
} info_keys[] = {
    {"architecture", offsetof(struct info, architecture), false, false},
    {"device_name", offsetof(struct info, device_name), false, false},
    {"uuid", offsetof(struct info, uuid), false, true},
    {"pci_bus_id", offsetof(struct info, pci_bus), false, true},
    {"compute_capability_major", offsetof(struct info, major), true, true},
    {"compute_capability_minor", offsetof(struct info, minor), true, true},
    {"total_memory", offsetof(struct info, memory), true, true},
    {"free_memory", offsetof(struct info, free_memory), true, true},
    {"memory_size", offsetof(struct info, memory), true, true},
    {"max_buffer_length", offsetof(struct info, memory), true, true},
    {"max_recommended_working_set_size", offsetof(struct info, working_set), true, true},
    {"resource_limit", offsetof(struct info, allocations), true, true},
};

enum { NOT_FOUND = 2, INFO_KEYS = sizeof info_keys / sizeof *info_keys };

static const struct info_key *find_key(const struct info *info, const char *name)
{
    for (int i = 0; i < INFO_KEYS; i++)
        if (!strcmp(info_keys[i].name, name) && (info->is_gpu || !info_keys[i].is_of_gpus)) return &info_keys[i];
    return NULL;
}

/* Sets `name` to the first "model name" of /proc/cpuinfo; it stays as it is when there is none. */
static void read_cpu_name(char *name, size_t size)
{
    struct kiln_buffer text = {0};
    if (kiln__file_read("/proc/cpuinfo", 1 << 16, &text, NULL) == KILN_DONE && text.data) {
        const char *line = strstr((const char *)text.data, "model name");
        const char *value = line ? strstr(line, ": ") : NULL;
        if (value) snprintf(name, size, "%.*s", (int)strcspn(value + 2, "\n"), value + 2);
    }
    kiln__buffer_release(&text);
}

mlx_device_info mlx_device_info_new(void)
{
    return (mlx_device_info){NULL};
}

static void describe_cpu(struct info *info)
{
    struct utsname machine;
    bool is_known = uname(&machine) == 0;
    snprintf(info->architecture, sizeof info->architecture, "%s", is_known ? machine.machine : "unknown");
    memcpy(info->device_name, info->architecture, sizeof info->architecture);
    read_cpu_name(info->device_name, sizeof info->device_name);
}

static kiln_status describe_gpu(struct info *info, int index, kiln_error *err)
{
    struct kiln_gpu *gpu;
    kiln_status status = kiln__gpu_get((unsigned)index, &gpu, err);
    if (!status) status = kiln__gpu_enter(gpu, err);
    if (status) return status;
    snprintf(info->architecture, sizeof info->architecture, "%s", gpu->target);
    snprintf(info->device_name, sizeof info->device_name, "%s", gpu->name);
    snprintf(info->uuid, sizeof info->uuid, "%s", gpu->uuid);
    snprintf(info->pci_bus, sizeof info->pci_bus, "%s", gpu->pci_bus);
    info->major = (size_t)gpu->major;
    info->minor = (size_t)gpu->minor;
    info->memory = gpu->memory;
    info->working_set = kiln__gpu_working_set(gpu);
    info->allocations = SIZE_MAX / 2; /* there is no limit: the largest signed number */
    info->is_gpu = true;
    return kiln__gpu_free_memory(gpu, &info->free_memory, err);
}

int mlx_device_info_get(mlx_device_info *info, mlx_device dev)
{
    kiln_error err;
    struct info made = {.is_gpu = false};
    if (KILN_NO_POINTER(info) || KILN_NO_DEVICE(dev)) return 1;
    struct kiln_device_box device = kiln__unwrap_device(dev);
    if (!kiln__device_exists(device)) return kiln__no_device("device_info", device);
    if (device.type == MLX_CPU)
        describe_cpu(&made);
    else if (describe_gpu(&made, device.index, &err))
        return KILN_FAIL(&err);
    struct info *kept = info->ctx ? info->ctx : malloc(sizeof *kept);
    if (!kept) return KILN_FAIL_TEXT("out of memory: device info");
    *kept = made;
    info->ctx = kept;
    return 0;
}

int mlx_device_info_free(mlx_device_info info)
{
    free(info.ctx);
    return 0;
}

int mlx_device_info_has_key(bool *exists, mlx_device_info info, const char *key)
{
    if (KILN_NO_POINTER(exists) || KILN_NO_POINTER(key) || KILN_NO_HANDLE(info, "mlx_device_info")) return 1;
    *exists = find_key(info.ctx, key);
    return 0;
}

int mlx_device_info_is_string(bool *is_string, mlx_device_info info, const char *key)
{
    if (KILN_NO_POINTER(is_string) || KILN_NO_POINTER(key) || KILN_NO_HANDLE(info, "mlx_device_info")) return 1;
    const struct info_key *found = find_key(info.ctx, key);
    if (!found) return NOT_FOUND;
    *is_string = !found->is_size;
    return 0;
}

int mlx_device_info_get_string(const char **value, mlx_device_info info, const char *key)
{
    if (KILN_NO_POINTER(value) || KILN_NO_POINTER(key) || KILN_NO_HANDLE(info, "mlx_device_info")) return 1;
    const struct info_key *found = find_key(info.ctx, key);
    if (!found || found->is_size) return NOT_FOUND;
    *value = (const char *)info.ctx + found->offset;
    return 0;
}

int mlx_device_info_get_size(size_t *value, mlx_device_info info, const char *key)
{
    if (KILN_NO_POINTER(value) || KILN_NO_POINTER(key) || KILN_NO_HANDLE(info, "mlx_device_info")) return 1;
    const struct info_key *found = find_key(info.ctx, key);
    if (!found || !found->is_size) return NOT_FOUND;
    memcpy(value, (const char *)info.ctx + found->offset, sizeof *value);
    return 0;
}

int mlx_device_info_get_keys(mlx_vector_string *keys, mlx_device_info info)
{
    const char *names[INFO_KEYS];
    size_t count = 0;
    if (KILN_NO_POINTER(keys) || KILN_NO_HANDLE(info, "mlx_device_info")) return 1;
    for (int i = 0; i < INFO_KEYS; i++)
        if (find_key(info.ctx, info_keys[i].name)) names[count++] = info_keys[i].name;
    return mlx_vector_string_set_data(keys, names, count);
}
