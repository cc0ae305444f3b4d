/*
 * abi_gguf.c - the functions of io.h and io_types.h for GGUF files. A handle's ctx is what a file has: arrays, and
 * values of three kinds. Loading reads what stands before the data; an array's bytes are mapped, or read and
 * rearranged, when it is evaluated. Saving evaluates first and writes last.
 */
#include "run/io/gguf.h"

#include <stdlib.h>
#include <string.h>

#include "mlxc/abi_map.h"
#include "mlxc/abi_vector.h"
#include "run/eval.h"

struct container {
    struct kiln_map *arrays, *values;
};

static struct container *new_container(void)
{
    struct container *made = calloc(1, sizeof *made);
    if (!made) return NULL;
    made->arrays = kiln__map_new();
    made->values = kiln__map_new();
    if (made->arrays && made->values) return made;
    mlx_io_gguf_free((mlx_io_gguf){made});
    return NULL;
}

mlx_io_gguf mlx_io_gguf_new(void)
{
    struct container *made = new_container();
    if (!made) KILN_FAIL_TEXT("out of memory: a GGUF container");
    return (mlx_io_gguf){made};
}

int mlx_io_gguf_free(mlx_io_gguf io)
{
    struct container *container = io.ctx;
    if (!container) return 0;
    kiln__map_free(container->arrays);
    kiln__map_free(container->values);
    free(container);
    return 0;
}

/* ---- what is in it ----------------------------------------------------------------------------------------------- */

static int fail_key(const char *function, const char *what, const char *key)
{
    _mlx_error(__FILE__, __LINE__, "[%s] there is no %s \"%.200s\"", function, what, key);
    return 1;
}

#define KILN_NO_GGUF(io, key) (KILN_NO_HANDLE(io, "mlx_io_gguf") || KILN_NO_POINTER(key))

static const struct kiln_map_entry *find_array(mlx_io_gguf io, const char *key)
{
    return kiln__map_get(((const struct container *)io.ctx)->arrays, key);
}

static const struct kiln_map_entry *find_value(mlx_io_gguf io, const char *key)
{
    return kiln__map_get(((const struct container *)io.ctx)->values, key);
}

int mlx_io_gguf_get_keys(mlx_vector_string *keys, mlx_io_gguf io)
{
    if (KILN_NO_POINTER(keys) || KILN_NO_HANDLE(io, "mlx_io_gguf")) return 1;
    const struct kiln_map *arrays = ((const struct container *)io.ctx)->arrays;
    mlx_vector_string made = mlx_vector_string_new();
    int code = made.ctx ? 0 : 1;
    for (size_t i = 0; i < arrays->count && !code; i++)
        code = mlx_vector_string_append_value(made, arrays->entries[i].key);
    if (!code) code = mlx_vector_string_set(keys, made);
    mlx_vector_string_free(made);
    return code;
}

int mlx_io_gguf_get_array(mlx_array *arr, mlx_io_gguf io, const char *key)
{
    if (KILN_NO_POINTER(arr) || KILN_NO_GGUF(io, key)) return 1;
    const struct kiln_map_entry *entry = find_array(io, key);
    return entry ? kiln__give(arr, kiln__array_ref(entry->array)) : fail_key("io_gguf_get_array", "array", key);
}

int mlx_io_gguf_get_metadata_array(mlx_array *arr, mlx_io_gguf io, const char *key)
{
    if (KILN_NO_POINTER(arr) || KILN_NO_GGUF(io, key)) return 1;
    const struct kiln_map_entry *entry = find_value(io, key);
    if (!entry || !entry->array)
        return fail_key("io_gguf_get_metadata_array", "value that is an array with the name", key);
    return kiln__give(arr, kiln__array_ref(entry->array));
}

int mlx_io_gguf_get_metadata_string(mlx_string *str, mlx_io_gguf io, const char *key)
{
    if (KILN_NO_POINTER(str) || KILN_NO_GGUF(io, key)) return 1;
    const struct kiln_map_entry *entry = find_value(io, key);
    if (!entry || !entry->text)
        return fail_key("io_gguf_get_metadata_string", "value that is a text with the name", key);
    return kiln__give_text(str, entry->text, strlen(entry->text));
}

int mlx_io_gguf_get_metadata_vector_string(mlx_vector_string *vstr, mlx_io_gguf io, const char *key)
{
    if (KILN_NO_POINTER(vstr) || KILN_NO_GGUF(io, key)) return 1;
    const struct kiln_map_entry *entry = find_value(io, key);
    if (!entry || !entry->list.ctx)
        return fail_key("io_gguf_get_metadata_vector_string", "value that is a list of texts with the name", key);
    return mlx_vector_string_set(vstr, entry->list);
}

#define KILN_GGUF_HAS(kind, condition)                                                                                 \
    int mlx_io_gguf_has_metadata_##kind(bool *flag, mlx_io_gguf io, const char *key)                                   \
    {                                                                                                                  \
        if (KILN_NO_POINTER(flag) || KILN_NO_GGUF(io, key)) return 1;                                                  \
        const struct kiln_map_entry *entry = find_value(io, key);                                                      \
        *flag = entry && (condition);                                                                                  \
        return 0;                                                                                                      \
    }

KILN_GGUF_HAS(array, entry->array)
KILN_GGUF_HAS(string, entry->text)
KILN_GGUF_HAS(vector_string, entry->list.ctx)

static int done_or_full(bool done)
{
    return done ? 0 : KILN_FAIL_TEXT("out of memory: an entry of a GGUF container");
}

int mlx_io_gguf_set_array(mlx_io_gguf io, const char *key, const mlx_array arr)
{
    if (KILN_NO_GGUF(io, key) || KILN_NO_ARRAY(arr)) return 1;
    struct container *container = io.ctx;
    return done_or_full(kiln__map_put_array(container->arrays, key, kiln__array_ref(kiln__unwrap(arr))));
}

int mlx_io_gguf_set_metadata_array(mlx_io_gguf io, const char *key, const mlx_array marr)
{
    if (KILN_NO_GGUF(io, key) || KILN_NO_ARRAY(marr)) return 1;
    struct container *container = io.ctx;
    return done_or_full(kiln__map_put_array(container->values, key, kiln__array_ref(kiln__unwrap(marr))));
}

int mlx_io_gguf_set_metadata_string(mlx_io_gguf io, const char *key, const char *mstr)
{
    if (KILN_NO_GGUF(io, key) || KILN_NO_POINTER(mstr)) return 1;
    return done_or_full(kiln__map_put_text(((struct container *)io.ctx)->values, key, mstr));
}

int mlx_io_gguf_set_metadata_vector_string(mlx_io_gguf io, const char *key, const mlx_vector_string mvstr)
{
    mlx_vector_string copy = {NULL};
    if (KILN_NO_GGUF(io, key) || KILN_NO_HANDLE(mvstr, "mlx_vector_string") || mlx_vector_string_set(&copy, mvstr))
        return 1;
    return done_or_full(kiln__map_put_list(((struct container *)io.ctx)->values, key, copy));
}

/* ---- loading ----------------------------------------------------------------------------------------------------- */

static bool put_value(struct kiln_map *values, struct kiln_gguf_value *value)
{
    if (value->array) return kiln__map_put_array(values, value->name, kiln__array_ref(value->array));
    if (value->text) return kiln__map_put_text(values, value->name, value->text);
    mlx_vector_string list = mlx_vector_string_new_data((const char **)value->texts, value->text_count);
    return list.ctx && kiln__map_put_list(values, value->name, list);
}

static kiln_status fill(struct container *container, const struct kiln_gguf *file, struct kiln_source *source,
                        kiln_error *err)
{
    struct kiln_array *handle = NULL;
    kiln_status status = kiln__source_array(source, &handle, err);
    for (size_t i = 0; i < file->array_count && !status; i++) {
        const struct kiln_gguf_array *entry = &file->arrays[i];
        struct kiln_array *array = NULL;
        status =
            kiln__source_load(handle, entry->offset, entry->form, entry->dtype, entry->dims, entry->ndim, &array, err);
        if (!status && !kiln__map_put_array(container->arrays, entry->name, array))
            status = kiln__no_memory(err, "the arrays of a file");
    }
    for (size_t i = 0; i < file->value_count && !status; i++)
        if (!put_value(container->values, &file->values[i])) status = kiln__no_memory(err, "the values of a file");
    kiln__array_unref(handle);
    return status;
}

static kiln_status load(const char *path, struct container *container, kiln_error *err)
{
    struct kiln_source *source = NULL;
    struct kiln_gguf file;
    kiln_status status = kiln__source_open_mapped(path, &source, err);
    if (!status) status = kiln__gguf_read(source, &file, err);
    if (!status) {
        status = fill(container, &file, source, err);
        kiln__gguf_release(&file);
    }
    kiln__source_unref(source);
    return status;
}

int mlx_load_gguf(mlx_io_gguf *gguf, const char *file, const mlx_stream s)
{
    kiln_error err;
    if (KILN_NO_POINTER(gguf) || KILN_NO_POINTER(file) || KILN_NO_STREAM(s)) return 1;
    struct container *made = new_container(), old, *box = gguf->ctx;
    kiln_status status = made ? load(file, made, &err) : kiln__no_memory(&err, "a GGUF container");
    if (!status && !box) {
        gguf->ctx = made;
        return 0;
    }
    if (!status) {
        old = *box;
        *box = *made;
        *made = old;
    }
    mlx_io_gguf_free((mlx_io_gguf){made});
    return status ? KILN_FAIL(&err) : 0;
}

/* ---- saving ------------------------------------------------------------------------------------------------------ */

/* What is evaluated and written; the lists are malloc'ed, what they hold is the container's. */
struct saved {
    struct kiln_gguf_value *values;
    struct kiln_array **arrays;
    const char **names;
};

static bool list_saved(const struct container *container, struct saved *out, struct kiln_gguf_content *content)
{
    const struct kiln_map *arrays = container->arrays, *values = container->values;
    out->values = calloc(values->count + 1, sizeof *out->values);
    out->arrays = calloc(arrays->count + values->count + 1, sizeof *out->arrays);
    out->names = calloc(arrays->count + 1, sizeof *out->names);
    if (!out->values || !out->arrays || !out->names) return false;
    for (size_t i = 0; i < arrays->count; i++) {
        out->arrays[i] = arrays->entries[i].array;
        out->names[i] = arrays->entries[i].key;
    }
    for (size_t i = 0; i < values->count; i++) {
        const struct kiln_map_entry *entry = &values->entries[i];
        const struct kiln_vector *list = entry->list.ctx;
        out->values[i] = (struct kiln_gguf_value){.name = entry->key, .array = entry->array, .text = entry->text};
        if (!list) continue;
        out->values[i].texts = (const char **)list->data; /* an item of such a vector is a pointer to a text */
        out->values[i].text_count = list->size;
    }
    *content = (struct kiln_gguf_content){out->values, out->arrays, out->names, values->count, arrays->count};
    return true;
}

static kiln_status evaluate(const struct kiln_gguf_content *content, struct kiln_array **arrays, kiln_error *err)
{
    size_t count = content->array_count;
    for (size_t i = 0; i < content->value_count; i++)
        if (content->values[i].array) arrays[count++] = content->values[i].array;
    return kiln__eval(arrays, count, err);
}

int mlx_save_gguf(const char *file, mlx_io_gguf gguf)
{
    kiln_error err;
    struct saved saved = {0};
    struct kiln_gguf_content content;
    if (KILN_NO_POINTER(file) || KILN_NO_HANDLE(gguf, "mlx_io_gguf")) return 1;
    kiln_status status = list_saved(gguf.ctx, &saved, &content) ? KILN_OK : kiln__no_memory(&err, "saving");
    if (!status) status = kiln__gguf_check(&content, &err);
    if (!status) status = evaluate(&content, saved.arrays, &err);
    if (!status) status = kiln__save_file("save_gguf", file, ".gguf", kiln__gguf_write, &content, &err);
    free(saved.values);
    free(saved.arrays);
    free(saved.names);
    return status ? KILN_FAIL(&err) : 0;
}
