/*
 * abi_npy.c - the functions of io.h for one array in a file (.npy). Loading reads the header; the elements are read
 * when the array is evaluated. Saving evaluates first and writes last, so that a file may be saved over the one its
 * array comes from.
 */
#include "run/io/npy.h"

#include <stdio.h>
#include <stdlib.h>

#include "graph/node.h"
#include "mlxc/abi_io.h"
#include "run/eval.h"

/* ---- loading ----------------------------------------------------------------------------------------------------- */

/* The array of a parsed file; in Fortran order that with reversed axes, transposed. */
static kiln_status make_array(struct kiln_source *source, const struct kiln_npy *npy, uint64_t data,
                              struct kiln_array **out, kiln_error *err)
{
    struct kiln_array *handle = NULL, *plain = NULL;
    int dims[KILN_MAX_NDIM];
    int64_t order[KILN_MAX_NDIM];
    for (size_t i = 0; i < npy->ndim; i++) {
        dims[i] = npy->dims[npy->is_fortran ? npy->ndim - 1 - i : i];
        order[i] = (int64_t)(npy->ndim - 1 - i);
    }
    kiln_status status = kiln__source_array(source, &handle, err);
    if (!status) status = kiln__source_load(handle, data, npy->form, npy->dtype, dims, npy->ndim, &plain, err);
    kiln__array_unref(handle);
    if (status || !npy->is_fortran || npy->ndim < 2) {
        *out = plain;
        return status;
    }
    status = kiln__apply(KILN_OP_TRANSPOSE, &plain, 1, order, npy->ndim, out, err);
    kiln__array_unref(plain);
    return status;
}

static kiln_status load(struct kiln_source *source, struct kiln_array **out, kiln_error *err)
{
    unsigned char start[KILN_NPY_START];
    struct kiln_npy npy;
    uint64_t header = 0, data = 0;
    size_t size = source->size < sizeof start ? (size_t)source->size : sizeof start;
    kiln_status status = source->read(source, 0, (char *)start, size, err);
    if (!status) status = kiln__npy_header(start, size, source->size, &header, &data, err);
    if (status) return status;
    char *text = malloc((size_t)(data - header) + 1);
    if (!text) return kiln__no_memory(err, "a header");
    status = source->read(source, header, text, (size_t)(data - header), err);
    if (!status) status = kiln__npy_parse(text, header, data, source->size, &npy, err);
    free(text);
    return status ? status : make_array(source, &npy, data, out, err);
}

int mlx_load(mlx_array *res, const char *file, const mlx_stream s)
{
    kiln_error err;
    struct kiln_source *source = NULL;
    struct kiln_array *array = NULL;
    if (KILN_NO_POINTER(res) || KILN_NO_POINTER(file) || KILN_NO_STREAM(s)) return 1;
    kiln_status status = kiln__source_open(file, &source, &err);
    if (!status) status = load(source, &array, &err);
    kiln__source_unref(source);
    return status ? KILN_FAIL(&err) : kiln__give(res, array);
}

int mlx_load_reader(mlx_array *res, mlx_io_reader in_stream, const mlx_stream s)
{
    kiln_error err;
    struct kiln_source *source = NULL;
    struct kiln_array *array = NULL;
    if (KILN_NO_POINTER(res) || KILN_NO_HANDLE(in_stream, "mlx_io_reader") || KILN_NO_STREAM(s)) return 1;
    kiln_status status = kiln__io_open(kiln__unwrap_io(in_stream.ctx), &source, &err);
    if (!status) status = load(source, &array, &err);
    kiln__source_unref(source);
    return status ? KILN_FAIL(&err) : kiln__give(res, array);
}

/* ---- saving ------------------------------------------------------------------------------------------------------ */

/* A kiln_saver. */
static kiln_status save(const struct kiln_sink *sink, const void *what, kiln_error *err)
{
    struct kiln_array *array = *(struct kiln_array *const *)what;
    struct kiln_buffer header = {0};
    kiln__npy_print(array, &header);
    kiln_status status =
        header.failed ? kiln__no_memory(err, "a header") : kiln__sink_write(sink, header.data, header.size, err);
    kiln__buffer_release(&header);
    return status ? status : kiln__sink_write_array(sink, array, err);
}

int mlx_save(const char *file, const mlx_array a)
{
    kiln_error err;
    if (KILN_NO_POINTER(file) || KILN_NO_ARRAY(a)) return 1;
    struct kiln_array *array = kiln__unwrap(a);
    kiln_status status = kiln__eval(&array, 1, &err);
    if (!status) status = kiln__save_file("save", file, ".npy", save, &array, &err);
    return status ? KILN_FAIL(&err) : 0;
}

int mlx_save_writer(mlx_io_writer out_stream, const mlx_array a)
{
    kiln_error err;
    if (KILN_NO_HANDLE(out_stream, "mlx_io_writer") || KILN_NO_ARRAY(a)) return 1;
    struct kiln_array *array = kiln__unwrap(a);
    kiln_status status = kiln__eval(&array, 1, &err);
    if (!status) status = kiln__save_io("save", kiln__unwrap_io(out_stream.ctx), save, &array, &err);
    return status ? KILN_FAIL(&err) : 0;
}
