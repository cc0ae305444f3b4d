/*
 * abi_export.c - export.h of the ABI: functions in files. An exporter writes the whole file after each signature that
 * it was applied to, so that the file is complete at any time; an imported function is what was read, and immutable.
 */
#include <stdlib.h>
#include <string.h>

#include "mlxc/abi_closure.h"
#include "mlxc/abi_map.h"
#include "run/function/function_file.h"
#include "run/io/source.h"

/* ---- inputs of a call -------------------------------------------------------------------------------------------- */

/* All inputs in one list; what it holds is the caller's. */
struct gathered {
    struct kiln_inputs inputs;
    struct kiln_array **arrays;
    const char **names;
};

static void release_gathered(struct gathered *gathered)
{
    free(gathered->arrays);
    free(gathered->names);
}

static int compare_entries(const void *a, const void *b)
{
    return strcmp((*(const struct kiln_map_entry *const *)a)->key, (*(const struct kiln_map_entry *const *)b)->key);
}

static kiln_status gather(struct gathered *out, mlx_vector_array listed, const struct kiln_map *named, kiln_error *err)
{
    size_t count = kiln__vector_size(listed), named_count = named ? named->count : 0;
    const struct kiln_map_entry **sorted = calloc(named_count + 1, sizeof *sorted);
    *out = (struct gathered){.arrays = calloc(count + named_count + 1, sizeof *out->arrays),
                             .names = calloc(named_count + 1, sizeof *out->names)};
    if (!sorted || !out->arrays || !out->names) {
        free(sorted);
        release_gathered(out);
        return kiln__no_memory(err, "the inputs of a function");
    }
    for (size_t i = 0; i < count; i++) out->arrays[i] = kiln__vector_data(listed)[i];
    for (size_t i = 0; i < named_count; i++) sorted[i] = &named->entries[i];
    qsort(sorted, named_count, sizeof *sorted, compare_entries);
    for (size_t i = 0; i < named_count; i++) {
        out->arrays[count + i] = sorted[i]->array;
        out->names[i] = sorted[i]->key;
    }
    free(sorted);
    out->inputs = (struct kiln_inputs){out->arrays, count, named_count, out->names};
    return KILN_OK;
}

/* ---- exporting --------------------------------------------------------------------------------------------------- */

struct exporter {
    char *path;
    mlx_closure plain;
    bool is_shapeless;
    struct kiln_function_file file;
};

/* A closure with named arrays and the names of a call, as the payload of a trace. */
struct named_call {
    mlx_closure_kwargs closure;
    const struct kiln_inputs *inputs;
};

static bool fill_map(mlx_map_string_to_array map, const struct named_call *call, struct kiln_array *const *inputs)
{
    bool done = map.ctx;
    for (size_t i = 0; i < call->inputs->named && done; i++)
        done = kiln__map_put_array(map.ctx, call->inputs->names[i], kiln__array_ref(inputs[call->inputs->listed + i]));
    return done;
}

/* A kiln_callback. */
static kiln_status call_named(void *payload, struct kiln_array *const *inputs, size_t count,
                              struct kiln_array ***outputs, size_t *output_count, kiln_error *err)
{
    const struct named_call *call = payload;
    mlx_vector_array listed = {NULL}, res = {NULL};
    mlx_map_string_to_array named = {kiln__map_new()};
    (void)count;
    for (size_t i = 0; i < call->inputs->listed; i++) kiln__array_ref(inputs[i]);
    bool is_filled = kiln__give_arrays(&listed, inputs, call->inputs->listed) == 0 && fill_map(named, call, inputs);
    kiln_status status = is_filled ? kiln__closure_kwargs_run(call->closure, listed, named, &res, err)
                                   : kiln__no_memory(err, "the inputs of a closure");
    if (!status) status = kiln__take_outputs(res, outputs, output_count, err);
    mlx_vector_array_free(listed);
    mlx_vector_array_free(res);
    kiln__map_free(named.ctx);
    return status;
}

static kiln_status save(const char *path, const struct kiln_function_file *file, kiln_error *err)
{
    return kiln__save_file("export_function", path, "", kiln__function_write, file, err);
}

/* `callback` on what was gathered, added to the file on disk; `file` is as before on failure. */
static int export(const char *path, struct kiln_function_file *file, kiln_callback callback, void *payload,
                  const struct kiln_inputs *inputs, bool is_shapeless)
{
    kiln_error err;
    kiln_status status = kiln__function_add(file, callback, payload, inputs, is_shapeless, &err);
    if (status) return KILN_FAIL(&err);
    status = save(path, file, &err);
    if (!status) return 0;
    kiln__function_drop_last(file);
    return KILN_FAIL(&err);
}

static int export_gathered(const char *path, struct kiln_function_file *file, mlx_closure fun, mlx_vector_array args,
                           const struct kiln_map *kwargs, bool is_shapeless)
{
    kiln_error err;
    struct gathered gathered;
    if (gather(&gathered, args, kwargs, &err)) return KILN_FAIL(&err);
    int code = export(path, file, kiln__closure_callback, kiln__unwrap_closure(fun), &gathered.inputs, is_shapeless);
    release_gathered(&gathered);
    return code;
}

int mlx_export_function(const char *file, const mlx_closure fun, const mlx_vector_array args, bool shapeless)
{
    struct kiln_function_file functions = {0};
    if (KILN_NO_POINTER(file) || KILN_NO_CLOSURE(fun) || KILN_NO_VECTOR(args)) return 1;
    int code = export_gathered(file, &functions, fun, args, NULL, shapeless);
    kiln__function_release(&functions);
    return code;
}

int mlx_export_function_kwargs(const char *file, const mlx_closure_kwargs fun, const mlx_vector_array args,
                               const mlx_map_string_to_array kwargs, bool shapeless)
{
    kiln_error err;
    struct kiln_function_file functions = {0};
    struct gathered gathered;
    if (KILN_NO_POINTER(file) || KILN_NO_HANDLE(fun, "mlx_closure_kwargs") || KILN_NO_VECTOR(args) ||
        KILN_NO_HANDLE(kwargs, "mlx_map_string_to_array"))
        return 1;
    if (gather(&gathered, args, kwargs.ctx, &err)) return KILN_FAIL(&err);
    struct named_call call = {fun, &gathered.inputs};
    int code = export(file, &functions, call_named, &call, &gathered.inputs, shapeless);
    release_gathered(&gathered);
    kiln__function_release(&functions);
    return code;
}

mlx_function_exporter mlx_function_exporter_new(const char *file, const mlx_closure fun, bool shapeless)
{
    if (KILN_NO_POINTER(file) || KILN_NO_CLOSURE(fun)) return (mlx_function_exporter){NULL};
    struct exporter *made = calloc(1, sizeof *made);
    mlx_function_exporter handle = {made};
    if (made) made->path = strdup(file);
    if (!made || !made->path) {
        KILN_FAIL_TEXT("out of memory: an exporter");
    } else if (mlx_closure_set(&made->plain, fun) == 0) {
        made->is_shapeless = shapeless;
        return handle;
    }
    mlx_function_exporter_free(handle);
    return (mlx_function_exporter){NULL};
}

int mlx_function_exporter_free(mlx_function_exporter xfunc)
{
    struct exporter *exporter = xfunc.ctx;
    if (!exporter) return 0;
    mlx_closure_free(exporter->plain);
    kiln__function_release(&exporter->file);
    free(exporter->path);
    free(exporter);
    return 0;
}

int mlx_function_exporter_apply(const mlx_function_exporter xfunc, const mlx_vector_array args)
{
    if (KILN_NO_HANDLE(xfunc, "mlx_function_exporter") || KILN_NO_VECTOR(args)) return 1;
    struct exporter *exporter = xfunc.ctx;
    return export_gathered(exporter->path, &exporter->file, exporter->plain, args, NULL, exporter->is_shapeless);
}

/* The function has no names: it gets the named arrays behind the listed ones, in the order of their names. */
int mlx_function_exporter_apply_kwargs(const mlx_function_exporter xfunc, const mlx_vector_array args,
                                       const mlx_map_string_to_array kwargs)
{
    if (KILN_NO_HANDLE(xfunc, "mlx_function_exporter") || KILN_NO_VECTOR(args) ||
        KILN_NO_HANDLE(kwargs, "mlx_map_string_to_array"))
        return 1;
    struct exporter *exporter = xfunc.ctx;
    return export_gathered(exporter->path, &exporter->file, exporter->plain, args, kwargs.ctx, exporter->is_shapeless);
}

/* ---- importing --------------------------------------------------------------------------------------------------- */

static kiln_status read_file(const char *path, struct kiln_function_file *out, kiln_error *err)
{
    struct kiln_source *source = NULL;
    kiln_status status = kiln__source_open(path, &source, err);
    if (status) return status;
    size_t size = (size_t)source->size;
    unsigned char *bytes = malloc(size + 1);
    status = bytes ? source->read(source, 0, (char *)bytes, size, err) : kiln__no_memory(err, "a file");
    kiln__source_unref(source);
    if (!status) status = kiln__function_read(bytes, size, out, err);
    free(bytes);
    return status;
}

mlx_imported_function mlx_imported_function_new(const char *file)
{
    kiln_error err;
    const mlx_imported_function none = {NULL};
    if (KILN_NO_POINTER(file)) return none;
    struct kiln_function_file *made = calloc(1, sizeof *made);
    kiln_status status = made ? read_file(file, made, &err) : kiln__no_memory(&err, "an imported function");
    if (!status) return (mlx_imported_function){made};
    free(made);
    KILN_FAIL(&err);
    return none;
}

int mlx_imported_function_free(mlx_imported_function xfunc)
{
    if (xfunc.ctx) kiln__function_release(xfunc.ctx);
    free(xfunc.ctx);
    return 0;
}

static int apply(mlx_vector_array *res, const struct kiln_function_file *file, mlx_vector_array args,
                 const struct kiln_map *kwargs)
{
    kiln_error err;
    struct gathered gathered;
    struct kiln_array **outputs = NULL;
    size_t count = 0;
    if (gather(&gathered, args, kwargs, &err)) return KILN_FAIL(&err);
    kiln__choose_device_index(KILN_NO_DEVICE_INDEX); /* the default device: there is no stream */
    kiln_status status = kiln__function_apply(file, &gathered.inputs, &outputs, &count, &err);
    release_gathered(&gathered);
    if (status) return KILN_FAIL(&err);
    int code = kiln__give_arrays(res, outputs, count);
    free(outputs);
    return code;
}

int mlx_imported_function_apply(mlx_vector_array *res, const mlx_imported_function xfunc, const mlx_vector_array args)
{
    if (KILN_NO_POINTER(res) || KILN_NO_HANDLE(xfunc, "mlx_imported_function") || KILN_NO_VECTOR(args)) return 1;
    return apply(res, xfunc.ctx, args, NULL);
}

int mlx_imported_function_apply_kwargs(mlx_vector_array *res, const mlx_imported_function xfunc,
                                       const mlx_vector_array args, const mlx_map_string_to_array kwargs)
{
    if (KILN_NO_POINTER(res) || KILN_NO_HANDLE(xfunc, "mlx_imported_function") || KILN_NO_VECTOR(args) ||
        KILN_NO_HANDLE(kwargs, "mlx_map_string_to_array"))
        return 1;
    return apply(res, xfunc.ctx, args, kwargs.ctx);
}
