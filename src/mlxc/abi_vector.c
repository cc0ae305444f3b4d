/*
 * abi_vector.c - vector.h of the ABI: four kinds of list, eleven functions each, from one implementation.
 *
 * A change is made on the side first and moved in when it is complete, so that a failure leaves the vector as it was,
 * and so that a vector may be set from itself.
 */
#include "mlxc/abi_vector.h"

#include <stdlib.h>
#include <string.h>

struct item_kind {
    const char *type;                                        /* of the handle */
    bool (*copy)(union kiln_item *to, union kiln_item from); /* false: out of memory */
    void (*drop)(union kiln_item item);
};

static void vector_init(struct kiln_vector *vector)
{
    vector->size = 0;
    vector->cap = KILN_VECTOR_FEW;
    vector->data = vector->few;
}

static bool vector_reserve(struct kiln_vector *vector, size_t more)
{
    if (more <= vector->cap - vector->size) return true;
    size_t cap = vector->size + more, size_bytes;
    if (cap < more) return false;
    if (cap < 2 * vector->cap) cap = 2 * vector->cap;
    if (__builtin_mul_overflow(cap, sizeof *vector->data, &size_bytes)) return false;
    union kiln_item *data = malloc(size_bytes);
    if (!data) return false;
    memcpy(data, vector->data, vector->size * sizeof *data);
    if (vector->data != vector->few) free(vector->data);
    vector->data = data;
    vector->cap = cap;
    return true;
}

static void vector_cut(const struct item_kind *kind, struct kiln_vector *vector, size_t size)
{
    while (vector->size > size) kind->drop(vector->data[--vector->size]);
}

static void vector_release(const struct item_kind *kind, struct kiln_vector *vector)
{
    vector_cut(kind, vector, 0);
    if (vector->data != vector->few) free(vector->data);
}

/* `to` is uninitialised; `from` must not be used afterwards. */
static void vector_move(struct kiln_vector *to, struct kiln_vector *from)
{
    *to = *from;
    if (from->data == from->few) to->data = to->few;
}

/* Appends copies of all or, when out of memory, of none. `items` may be the vector's own. */
static bool vector_append(const struct item_kind *kind, struct kiln_vector *vector, const union kiln_item *items,
                          size_t count)
{
    size_t before = vector->size;
    if (!vector_reserve(vector, count)) return false;
    for (size_t i = 0; i < count; i++) {
        if (!kind->copy(&vector->data[vector->size], items[i])) {
            vector_cut(kind, vector, before);
            return false;
        }
        vector->size++;
    }
    return true;
}

/* ---- the kinds ------------------------------------------------------------------------------------------------ */

static bool array_copy(union kiln_item *to, union kiln_item from)
{
    to->array = kiln__array_ref(from.array);
    return true;
}

static void array_drop(union kiln_item item)
{
    kiln__array_unref(item.array);
}

static const struct item_kind array_kind = {"mlx_vector_array", array_copy, array_drop};

static bool list_copy(union kiln_item *to, union kiln_item from)
{
    struct kiln_vector *copy = kiln__box_new(KILN_BOX_VECTOR);
    if (!copy) return false;
    vector_init(copy);
    if (!vector_append(&array_kind, copy, from.vector->data, from.vector->size)) {
        kiln__box_free(KILN_BOX_VECTOR, copy);
        return false;
    }
    to->vector = copy;
    return true;
}

static void list_drop(union kiln_item item)
{
    vector_release(&array_kind, item.vector);
    kiln__box_free(KILN_BOX_VECTOR, item.vector);
}

static const struct item_kind list_kind = {"mlx_vector_vector_array", list_copy, list_drop};

static bool number_copy(union kiln_item *to, union kiln_item from)
{
    to->number = from.number;
    return true;
}

static void number_drop(union kiln_item item)
{
    (void)item;
}

static const struct item_kind number_kind = {"mlx_vector_int", number_copy, number_drop};

static bool text_copy(union kiln_item *to, union kiln_item from)
{
    to->text = strdup(from.text);
    return to->text;
}

static void text_drop(union kiln_item item)
{
    free(item.text);
}

static const struct item_kind text_kind = {"mlx_vector_string", text_copy, text_drop};

/* ---- what all kinds do ---------------------------------------------------------------------------------------- */

/* Moves `made` into the handle's box, a new one when it has none. `made` is released on failure. */
static int give(const struct item_kind *kind, void **ctx, struct kiln_vector *made)
{
    struct kiln_vector old, *box = *ctx;
    if (box) {
        vector_move(&old, box);
        vector_move(box, made);
        vector_release(kind, &old);
        return 0;
    }
    box = kiln__box_new(KILN_BOX_VECTOR);
    if (!box) {
        vector_release(kind, made);
        return KILN_FAIL_TEXT("out of memory: a handle for a vector");
    }
    vector_move(box, made);
    *ctx = box;
    return 0;
}

static int set_items(const struct item_kind *kind, void **ctx, const union kiln_item *items, size_t count)
{
    struct kiln_vector made;
    vector_init(&made);
    if (vector_append(kind, &made, items, count)) return give(kind, ctx, &made);
    vector_release(kind, &made);
    return KILN_FAIL_TEXT("out of memory: the items of a vector");
}

static int append_items(const struct item_kind *kind, struct kiln_vector *vector, const union kiln_item *items,
                        size_t count)
{
    if (vector_append(kind, vector, items, count)) return 0;
    return KILN_FAIL_TEXT("out of memory: the items of a vector");
}

static int set_vector(const struct item_kind *kind, void **ctx, const struct kiln_vector *src)
{
    return set_items(kind, ctx, src->data, src->size);
}

static int free_vector(const struct item_kind *kind, struct kiln_vector *vector)
{
    if (!vector) return 0;
    vector_release(kind, vector);
    kiln__box_free(KILN_BOX_VECTOR, vector);
    return 0;
}

/* The item at `idx`, or NULL after the handler was called. */
static const union kiln_item *item_at(const struct item_kind *kind, const struct kiln_vector *vector, size_t idx)
{
    if (idx < vector->size) return &vector->data[idx];
    _mlx_error(__FILE__, __LINE__, "[%s_get] index %zu is out of range for a vector of size %zu", kind->type, idx,
               vector->size);
    return NULL;
}

/* ---- values of the caller's as items -------------------------------------------------------------------------- */

/* Each fills *item without taking a reference, or reports what `function` got wrong and returns 1. */
static int item_of_array(union kiln_item *item, mlx_array value, const char *function)
{
    if (!value.ctx) return kiln__mlxc_empty(__FILE__, __LINE__, "mlx_array", "val", function);
    item->array = kiln__unwrap(value);
    return 0;
}

static int item_of_list(union kiln_item *item, mlx_vector_array value, const char *function)
{
    if (!value.ctx) return kiln__mlxc_empty(__FILE__, __LINE__, "mlx_vector_array", "val", function);
    item->vector = value.ctx;
    return 0;
}

static int item_of_number(union kiln_item *item, int value, const char *function)
{
    (void)function;
    item->number = value;
    return 0;
}

static int item_of_text(union kiln_item *item, const char *value, const char *function)
{
    (void)function;
    if (KILN_NO_POINTER(value)) return 1;
    item->text = (char *)value; /* only ever copied from */
    return 0;
}

static int array_of_item(mlx_array *res, union kiln_item item)
{
    return kiln__give(res, kiln__array_ref(item.array));
}

static int list_of_item(mlx_vector_array *res, union kiln_item item)
{
    return set_items(&array_kind, &res->ctx, item.vector->data, item.vector->size);
}

static int number_of_item(int *res, union kiln_item item)
{
    *res = item.number;
    return 0;
}

static int text_of_item(char **res, union kiln_item item)
{
    *res = item.text;
    return 0;
}

enum { CHUNK = 16 }; /* values turned into items at a time */

/*
 * The eleven functions. `handle` is the vector's type, `data` the type of a pointer to values, `value` that of one,
 * `out` that of one given back.
 */
#define KILN_VECTOR_FUNCTIONS(handle, kind, data_type, value_type, out_type)                                           \
    handle handle##_new(void)                                                                                          \
    {                                                                                                                  \
        handle made = {NULL};                                                                                          \
        set_items(&kind##_kind, &made.ctx, NULL, 0);                                                                   \
        return made;                                                                                                   \
    }                                                                                                                  \
    int handle##_set(handle *vec, const handle src)                                                                    \
    {                                                                                                                  \
        if (KILN_NO_POINTER(vec) || KILN_NO_HANDLE(src, #handle)) return 1;                                            \
        return set_vector(&kind##_kind, &vec->ctx, src.ctx);                                                           \
    }                                                                                                                  \
    int handle##_free(handle vec)                                                                                      \
    {                                                                                                                  \
        return free_vector(&kind##_kind, vec.ctx);                                                                     \
    }                                                                                                                  \
    static int kind##_append_all(struct kiln_vector *vector, data_type data, size_t size, const char *function)        \
    {                                                                                                                  \
        union kiln_item items[CHUNK];                                                                                  \
        size_t before = vector->size;                                                                                  \
        if (KILN_NO_ELEMENTS(data, size)) return 1;                                                                    \
        for (size_t done = 0; done < size;) {                                                                          \
            size_t count = 0;                                                                                          \
            int code = 0;                                                                                              \
            while (!code && count < CHUNK && done < size)                                                              \
                code = item_of_##kind(&items[count++], data[done++], function);                                        \
            if (!code) code = append_items(&kind##_kind, vector, items, count);                                        \
            if (code) {                                                                                                \
                vector_cut(&kind##_kind, vector, before);                                                              \
                return code;                                                                                           \
            }                                                                                                          \
        }                                                                                                              \
        return 0;                                                                                                      \
    }                                                                                                                  \
    int handle##_set_data(handle *vec, data_type data, size_t size)                                                    \
    {                                                                                                                  \
        struct kiln_vector made;                                                                                       \
        if (KILN_NO_POINTER(vec)) return 1;                                                                            \
        vector_init(&made);                                                                                            \
        if (!kind##_append_all(&made, data, size, __func__)) return give(&kind##_kind, &vec->ctx, &made);              \
        vector_release(&kind##_kind, &made);                                                                           \
        return 1;                                                                                                      \
    }                                                                                                                  \
    handle handle##_new_data(data_type data, size_t size)                                                              \
    {                                                                                                                  \
        handle made = {NULL};                                                                                          \
        handle##_set_data(&made, data, size);                                                                          \
        return made;                                                                                                   \
    }                                                                                                                  \
    int handle##_set_value(handle *vec, value_type val)                                                                \
    {                                                                                                                  \
        union kiln_item item = {0};                                                                                    \
        if (KILN_NO_POINTER(vec)) return 1;                                                                            \
        if (item_of_##kind(&item, val, __func__)) return 1;                                                            \
        return set_items(&kind##_kind, &vec->ctx, &item, 1);                                                           \
    }                                                                                                                  \
    handle handle##_new_value(value_type val)                                                                          \
    {                                                                                                                  \
        handle made = {NULL};                                                                                          \
        union kiln_item item = {0};                                                                                    \
        if (!item_of_##kind(&item, val, __func__)) set_items(&kind##_kind, &made.ctx, &item, 1);                       \
        return made;                                                                                                   \
    }                                                                                                                  \
    int handle##_append_data(handle vec, data_type data, size_t size)                                                  \
    {                                                                                                                  \
        if (KILN_NO_HANDLE(vec, #handle)) return 1;                                                                    \
        return kind##_append_all(vec.ctx, data, size, __func__);                                                       \
    }                                                                                                                  \
    int handle##_append_value(handle vec, value_type val)                                                              \
    {                                                                                                                  \
        union kiln_item item = {0};                                                                                    \
        if (KILN_NO_HANDLE(vec, #handle)) return 1;                                                                    \
        if (item_of_##kind(&item, val, __func__)) return 1;                                                            \
        return append_items(&kind##_kind, vec.ctx, &item, 1);                                                          \
    }                                                                                                                  \
    size_t handle##_size(handle vec)                                                                                   \
    {                                                                                                                  \
        if (KILN_NO_HANDLE(vec, #handle)) return 0;                                                                    \
        return ((const struct kiln_vector *)vec.ctx)->size;                                                            \
    }                                                                                                                  \
    int handle##_get(out_type *res, const handle vec, size_t idx)                                                      \
    {                                                                                                                  \
        if (KILN_NO_POINTER(res) || KILN_NO_HANDLE(vec, #handle)) return 1;                                            \
        const union kiln_item *item = item_at(&kind##_kind, vec.ctx, idx);                                             \
        return item ? kind##_of_item(res, *item) : 1;                                                                  \
    }

KILN_VECTOR_FUNCTIONS(mlx_vector_array, array, const mlx_array *, const mlx_array, mlx_array)
KILN_VECTOR_FUNCTIONS(mlx_vector_vector_array, list, const mlx_vector_array *, const mlx_vector_array, mlx_vector_array)
KILN_VECTOR_FUNCTIONS(mlx_vector_int, number, int *, int, int)
KILN_VECTOR_FUNCTIONS(mlx_vector_string, text, const char **, const char *, char *)

int kiln__give_arrays(mlx_vector_array *res, struct kiln_array *const *arrays, size_t count)
{
    struct kiln_vector made;
    vector_init(&made);
    if (!vector_reserve(&made, count)) {
        for (size_t i = 0; i < count; i++) kiln__array_unref(arrays[i]);
        return KILN_FAIL_TEXT("out of memory: the items of a vector");
    }
    for (size_t i = 0; i < count; i++) made.data[i].array = arrays[i];
    made.size = count;
    return give(&array_kind, &res->ctx, &made);
}
