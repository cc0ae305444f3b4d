/*
 * abi_dlpack.c - the functions of kiln/dlpack.h as symbols: tensors that manage themselves, of both kinds.
 *
 * A tensor that is given away is one piece of memory with its shape and strides, and holds one reference to its array.
 * Of a tensor that is taken, a note keeps the deleter, which it gets last: what fails before leaves the tensor alone.
 */
#include <stdlib.h>

#include "kiln/dlpack.h"
#include "mlxc/handle.h"
#include "run/io/dlpack_tensor.h"

enum { MAJOR = 1, READ_ONLY = 1, IS_COPIED = 2 };

/* As in DLPack's header. */
struct DLManagedTensorVersioned {
    struct {
        uint32_t major, minor;
    } version;
    void *manager_ctx;
    void (*deleter)(struct DLManagedTensorVersioned *self);
    uint64_t flags;
    struct kiln_dltensor tensor;
};

struct DLManagedTensor {
    struct kiln_dltensor tensor;
    void *manager_ctx;
    void (*deleter)(struct DLManagedTensor *self);
};

/* ---- export ------------------------------------------------------------------------------------------------------ */

/* What a tensor's manager_ctx points to. */
struct shown {
    struct kiln_array *array;
    union {
        struct DLManagedTensorVersioned tensor;
        struct DLManagedTensor old;
    };
    int64_t numbers[];
};

static void release(struct shown *shown)
{
    kiln__array_unref(shown->array);
    free(shown);
}

static void delete_tensor(struct DLManagedTensorVersioned *self)
{
    release(self->manager_ctx);
}

static void delete_old(struct DLManagedTensor *self)
{
    release(self->manager_ctx);
}

static kiln_status show(struct kiln_array *array, bool copy, int64_t stream, struct shown **out, kiln_error *err)
{
    struct shown *shown = calloc(1, sizeof *shown + 2 * array->ndim * sizeof *shown->numbers);
    if (!shown) return kiln__no_memory(err, "a tensor");
    kiln_status status = kiln__dlpack_show(array, copy, stream, &shown->array, err);
    if (status)
        free(shown);
    else
        *out = shown;
    return status;
}

int mlx_kiln_dlpack_export(struct DLManagedTensorVersioned **res, const mlx_array a, bool copy, int64_t stream)
{
    kiln_error err;
    struct shown *shown;
    if (KILN_NO_POINTER(res) || KILN_NO_ARRAY(a)) return 1;
    if (show(kiln__unwrap(a), copy, stream, &shown, &err)) return KILN_FAIL(&err);
    shown->tensor = (struct DLManagedTensorVersioned){
        .version = {MAJOR, 0}, .manager_ctx = shown, .deleter = delete_tensor, .flags = copy ? IS_COPIED : READ_ONLY};
    kiln__dlpack_describe(shown->array, shown->numbers, &shown->tensor.tensor);
    *res = &shown->tensor;
    return 0;
}

int mlx_kiln_dlpack_export_old(struct DLManagedTensor **res, const mlx_array a, bool copy, int64_t stream)
{
    kiln_error err;
    struct shown *shown;
    if (KILN_NO_POINTER(res) || KILN_NO_ARRAY(a)) return 1;
    if (show(kiln__unwrap(a), copy, stream, &shown, &err)) return KILN_FAIL(&err);
    shown->old = (struct DLManagedTensor){.manager_ctx = shown, .deleter = delete_old};
    kiln__dlpack_describe(shown->array, shown->numbers, &shown->old.tensor);
    *res = &shown->old;
    return 0;
}

int mlx_kiln_dlpack_device(int32_t *type, int32_t *id, const mlx_array a)
{
    kiln_error err;
    struct kiln_array *shown;
    struct kiln_dltensor tensor;
    int64_t numbers[2 * KILN_MAX_NDIM];
    if (KILN_NO_POINTER(type) || KILN_NO_POINTER(id) || KILN_NO_ARRAY(a)) return 1;
    if (kiln__dlpack_show(kiln__unwrap(a), false, KILN_DLPACK_NO_STREAM, &shown, &err)) return KILN_FAIL(&err);
    kiln__dlpack_describe(shown, numbers, &tensor);
    kiln__array_unref(shown);
    *type = tensor.device.type;
    *id = tensor.device.id;
    return 0;
}

/* ---- import ------------------------------------------------------------------------------------------------------ */

/* Of a tensor that was taken. One of the two is set, or, as long as the call may fail, none. */
struct taken {
    struct DLManagedTensorVersioned *tensor;
    struct DLManagedTensor *old;
};

static void let_go(void *payload)
{
    struct taken *taken = payload;
    if (taken->tensor && taken->tensor->deleter) taken->tensor->deleter(taken->tensor);
    if (taken->old && taken->old->deleter) taken->old->deleter(taken->old);
    free(taken);
}

/* NULL: it failed, and the handler was told. */
static struct taken *take(mlx_array *res, const struct kiln_dltensor *tensor, int64_t stream)
{
    kiln_error err;
    struct kiln_array *array = NULL;
    struct taken *taken = calloc(1, sizeof *taken);
    kiln_status status = taken ? kiln__dlpack_import(tensor, stream, let_go, taken, &array, &err)
                               : kiln__no_memory(&err, "a note of a tensor");
    if (!status) return kiln__give(res, array) ? NULL : taken; /* what can't be given is let go */
    free(taken);
    KILN_FAIL(&err);
    return NULL;
}

int mlx_kiln_dlpack_import(mlx_array *res, struct DLManagedTensorVersioned *tensor, int64_t stream)
{
    if (KILN_NO_POINTER(res) || KILN_NO_POINTER(tensor)) return 1;
    if (tensor->version.major != MAJOR)
        return KILN_FAIL_TEXT("[dlpack_import] the tensor is not of DLPack's version 1, and can't be read");
    struct taken *taken = take(res, &tensor->tensor, stream);
    if (taken) taken->tensor = tensor;
    return taken ? 0 : 1;
}

int mlx_kiln_dlpack_import_old(mlx_array *res, struct DLManagedTensor *tensor, int64_t stream)
{
    if (KILN_NO_POINTER(res) || KILN_NO_POINTER(tensor)) return 1;
    struct taken *taken = take(res, &tensor->tensor, stream);
    if (taken) taken->old = tensor;
    return taken ? 0 : 1;
}
