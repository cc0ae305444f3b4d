/*
 * abi_safetensors.c - the functions of io.h for safetensors. Loading reads the header; each array's data is read when
 * it is evaluated. Saving evaluates first and writes last, so that a file may be saved over the one its arrays come
 * from.
 */
#include "run/io/safetensors.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "mlxc/abi_io.h"
#include "mlxc/abi_map.h"
#include "run/eval.h"

enum { LENGTH_SIZE = 8 };

static uint64_t read_length(const unsigned char bytes[LENGTH_SIZE])
{
    uint64_t length = 0;
    for (int i = LENGTH_SIZE; i-- > 0;) length = length << 8 | bytes[i];
    return length;
}

static kiln_status check_length(uint64_t length, uint64_t size, kiln_error *err)
{
    bool fits = size >= LENGTH_SIZE && length <= size - LENGTH_SIZE;
    if (fits && length <= KILN_SAFETENSORS_MAX_HEADER) return KILN_OK;
    if (fits)
        return kiln__fail(err, KILN_INVALID, "[load_safetensors] a header of %llu bytes: the format allows %d",
                          (unsigned long long)length, KILN_SAFETENSORS_MAX_HEADER);
    return kiln__fail(err, KILN_INVALID,
                      "[load_safetensors] a header of %llu bytes does not fit a file of %llu bytes: it is damaged, cut "
                      "off, or not a safetensors file",
                      (unsigned long long)length, (unsigned long long)size);
}

/* ---- loading ----------------------------------------------------------------------------------------------------- */

static kiln_status fill_arrays(struct kiln_map *map, const struct kiln_safetensors *file, struct kiln_source *source,
                               uint64_t data, kiln_error *err)
{
    struct kiln_array *handle = NULL;
    kiln_status status = kiln__source_array(source, &handle, err);
    for (size_t i = 0; status == KILN_OK && i < file->tensor_count; i++) {
        const struct kiln_tensor *tensor = &file->tensors[i];
        struct kiln_array *array = NULL;
        status = kiln__source_load(handle, data + tensor->offset, KILN_LOAD_PLAIN, tensor->dtype, tensor->dims,
                                   tensor->ndim, &array, err);
        if (status == KILN_OK && !kiln__map_put_array(map, tensor->name, array))
            status = kiln__no_memory(err, "the arrays of a file");
    }
    kiln__array_unref(handle);
    return status;
}

static kiln_status fill_texts(struct kiln_map *map, const struct kiln_safetensors *file, kiln_error *err)
{
    for (size_t i = 0; i < file->metadata_count; i++)
        if (!kiln__map_put_text(map, file->metadata[i].name, file->metadata[i].text))
            return kiln__no_memory(err, "the texts of a file");
    return KILN_OK;
}

/* Fills both results from a header of `length` bytes. */
static int give_maps(mlx_map_string_to_array *res_0, mlx_map_string_to_string *res_1, struct kiln_source *source,
                     const char *header, size_t length)
{
    kiln_error err;
    struct kiln_safetensors file;
    uint64_t data = LENGTH_SIZE + length;
    if (kiln__safetensors_parse(header, length, source->size - data, &file, &err)) return KILN_FAIL(&err);
    struct kiln_map *arrays = kiln__map_new(), *texts = kiln__map_new();
    kiln_status status = arrays && texts ? KILN_OK : kiln__no_memory(&err, "a map");
    if (status == KILN_OK) status = fill_arrays(arrays, &file, source, data, &err);
    if (status == KILN_OK) status = fill_texts(texts, &file, &err);
    kiln__safetensors_release(&file);
    if (status != KILN_OK) {
        kiln__map_free(arrays);
        kiln__map_free(texts);
        return KILN_FAIL(&err);
    }
    kiln__give_map(&res_0->ctx, arrays);
    kiln__give_map(&res_1->ctx, texts);
    return 0;
}

static kiln_status read_file_header(struct kiln_source *source, char **header, size_t *length, kiln_error *err)
{
    unsigned char bytes[LENGTH_SIZE] = {0};
    kiln_status status = KILN_OK;
    if (source->size >= LENGTH_SIZE) status = source->read(source, 0, (char *)bytes, LENGTH_SIZE, err);
    if (status == KILN_OK) status = check_length(read_length(bytes), source->size, err);
    if (status != KILN_OK) return status;
    *length = (size_t)read_length(bytes);
    *header = malloc(*length + 1);
    if (!*header) return kiln__no_memory(err, "a header");
    return source->read(source, LENGTH_SIZE, *header, *length, err);
}

int mlx_load_safetensors(mlx_map_string_to_array *res_0, mlx_map_string_to_string *res_1, const char *file,
                         const mlx_stream s)
{
    kiln_error err;
    struct kiln_source *source = NULL;
    char *header = NULL;
    size_t length = 0;
    if (KILN_NO_POINTER(res_0) || KILN_NO_POINTER(res_1) || KILN_NO_POINTER(file) || KILN_NO_STREAM(s)) return 1;
    if (kiln__source_open(file, &source, &err)) return KILN_FAIL(&err);
    int code = read_file_header(source, &header, &length, &err) == KILN_OK
                   ? give_maps(res_0, res_1, source, header, length)
                   : KILN_FAIL(&err);
    free(header);
    kiln__source_unref(source);
    return code;
}

/* Calls of the reader, in this order: good, is_open, the length, the size of the file, the header. */
static kiln_status read_io_header(struct kiln_io *io, struct kiln_source *source, char **header, size_t *length,
                                  kiln_error *err)
{
    unsigned char bytes[LENGTH_SIZE] = {0};
    const mlx_io_vtable *table = &io->table;
    if (!table->good(io->desc) || !table->is_open(io->desc))
        return kiln__fail(err, KILN_INVALID, "[load_safetensors] the reader is not open");
    table->read(io->desc, (char *)bytes, LENGTH_SIZE);
    if (!table->good(io->desc)) return kiln__fail(err, KILN_INVALID, "[load_safetensors] the reader has no header");
    table->seek(io->desc, 0, SEEK_END);
    source->size = table->tell(io->desc);
    table->seek(io->desc, LENGTH_SIZE, SEEK_SET);
    kiln_status status = check_length(read_length(bytes), source->size, err);
    if (status != KILN_OK) return status;
    *length = (size_t)read_length(bytes);
    *header = malloc(*length + 1);
    if (!*header) return kiln__no_memory(err, "a header");
    table->read(io->desc, *header, *length);
    if (table->good(io->desc)) return KILN_OK;
    return kiln__fail(err, KILN_INVALID, "[load_safetensors] the reader failed in the header");
}

int mlx_load_safetensors_reader(mlx_map_string_to_array *res_0, mlx_map_string_to_string *res_1,
                                mlx_io_reader in_stream, const mlx_stream s)
{
    kiln_error err;
    struct kiln_source *source = NULL;
    char *header = NULL;
    size_t length = 0;
    if (KILN_NO_POINTER(res_0) || KILN_NO_POINTER(res_1) || KILN_NO_HANDLE(in_stream, "mlx_io_reader") ||
        KILN_NO_STREAM(s))
        return 1;
    struct kiln_io *io = kiln__unwrap_io(in_stream.ctx);
    if (kiln__io_source(io, &source, &err)) return KILN_FAIL(&err);
    int code = read_io_header(io, source, &header, &length, &err) == KILN_OK
                   ? give_maps(res_0, res_1, source, header, length)
                   : KILN_FAIL(&err);
    free(header);
    kiln__source_unref(source);
    return code;
}

/* ---- saving ------------------------------------------------------------------------------------------------------ */

struct saved {
    const struct kiln_map *arrays, *texts;
};

static kiln_status evaluate(const struct kiln_map *map, kiln_error *err)
{
    for (size_t i = 0; i < map->count; i++)
        if (strcmp(map->entries[i].key, "__metadata__") == 0)
            return kiln__fail(err, KILN_INVALID,
                              "[save_safetensors] an array can't have the name \"__metadata__\": the format keeps it");
    struct kiln_array **arrays = malloc((map->count + 1) * sizeof *arrays);
    if (!arrays) return kiln__no_memory(err, "saving");
    for (size_t i = 0; i < map->count; i++) arrays[i] = map->entries[i].array;
    kiln_status status = kiln__eval(arrays, map->count, err);
    free(arrays);
    return status;
}

static kiln_status print_header(const struct kiln_map *arrays, const struct kiln_map *texts, struct kiln_buffer *out,
                                kiln_error *err)
{
    struct kiln_tensor *tensors = calloc(arrays->count + 1, sizeof *tensors);
    struct kiln_text_pair *pairs = calloc(texts->count + 1, sizeof *pairs);
    uint64_t offset = 0;
    for (size_t i = 0; tensors && i < arrays->count; i++) {
        const struct kiln_array *array = arrays->entries[i].array;
        tensors[i] = (struct kiln_tensor){arrays->entries[i].key, array->dtype, array->ndim, {0}, offset};
        if (array->ndim) memcpy(tensors[i].dims, array->dims, array->ndim * sizeof *array->dims);
        offset += (uint64_t)array->size * kiln__dtype_size(array->dtype);
    }
    for (size_t i = 0; pairs && i < texts->count; i++)
        pairs[i] = (struct kiln_text_pair){texts->entries[i].key, texts->entries[i].text};
    kiln_status status = tensors && pairs
                             ? kiln__safetensors_print(tensors, arrays->count, pairs, texts->count, out, err)
                             : kiln__no_memory(err, "a header");
    free(tensors);
    free(pairs);
    return status;
}

/* A kiln_saver. */
static kiln_status write_all(const struct kiln_sink *sink, const void *what, kiln_error *err)
{
    const struct saved *saved = what;
    struct kiln_buffer header = {0};
    unsigned char length[LENGTH_SIZE];
    kiln_status status = print_header(saved->arrays, saved->texts, &header, err);
    for (int i = 0; i < LENGTH_SIZE; i++) length[i] = (unsigned char)((uint64_t)header.size >> 8 * i);
    if (status == KILN_OK) status = kiln__sink_write(sink, length, LENGTH_SIZE, err);
    if (status == KILN_OK) status = kiln__sink_write(sink, header.data, header.size, err);
    kiln__buffer_release(&header);
    for (size_t i = 0; status == KILN_OK && i < saved->arrays->count; i++)
        status = kiln__sink_write_array(sink, saved->arrays->entries[i].array, err);
    return status;
}

int mlx_save_safetensors(const char *file, const mlx_map_string_to_array param, const mlx_map_string_to_string metadata)
{
    kiln_error err;
    if (KILN_NO_POINTER(file) || KILN_NO_HANDLE(param, "mlx_map_string_to_array") ||
        KILN_NO_HANDLE(metadata, "mlx_map_string_to_string"))
        return 1;
    const struct saved saved = {param.ctx, metadata.ctx};
    kiln_status status = evaluate(param.ctx, &err);
    if (status == KILN_OK) status = kiln__save_file("save_safetensors", file, ".safetensors", write_all, &saved, &err);
    return status ? KILN_FAIL(&err) : 0;
}

int mlx_save_safetensors_writer(mlx_io_writer in_stream, const mlx_map_string_to_array param,
                                const mlx_map_string_to_string metadata)
{
    kiln_error err;
    if (KILN_NO_HANDLE(in_stream, "mlx_io_writer") || KILN_NO_HANDLE(param, "mlx_map_string_to_array") ||
        KILN_NO_HANDLE(metadata, "mlx_map_string_to_string"))
        return 1;
    const struct saved saved = {param.ctx, metadata.ctx};
    kiln_status status = evaluate(param.ctx, &err);
    if (status == KILN_OK)
        status = kiln__save_io("save_safetensors", kiln__unwrap_io(in_stream.ctx), write_all, &saved, &err);
    return status ? KILN_FAIL(&err) : 0;
}
