/*
 * safe_tensors.c - two arrays written through callbacks of ours into memory, and read back from it.
 *
 * Reading is lazy: the bytes of an array are asked for when it is printed, and the memory is given back after the last.
 */
#include <stdio.h>
#include <string.h>

#include "mlx/c/mlx.h"

/* ---- a file in memory ---------------------------------------------------------------------------------------------
 */

struct memory {
    char bytes[512];
    size_t at, size;
    bool failed;
};

static bool memory_is_open(void *file)
{
    puts("ISOPEN");
    return file != NULL;
}

static bool memory_good(void *file)
{
    puts("GOOD");
    return !((struct memory *)file)->failed;
}

static size_t memory_tell(void *file)
{
    puts("TELL");
    return ((struct memory *)file)->at;
}

static void memory_seek(void *file, int64_t offset, int whence)
{
    struct memory *memory = file;
    puts("SEEK");
    int64_t from = whence == SEEK_SET ? 0 : (int64_t)(whence == SEEK_CUR ? memory->at : memory->size);
    memory->failed |= from + offset < 0 || from + offset > (int64_t)memory->size;
    if (!memory->failed) memory->at = (size_t)(from + offset);
}

/* Whether `count` bytes from `at` on lie below `size`. */
static bool fits(struct memory *memory, size_t count, size_t at, size_t size)
{
    memory->failed |= at > size || count > size - at;
    return !memory->failed;
}

static void memory_read(void *file, char *data, size_t count)
{
    struct memory *memory = file;
    printf("READ %zu\n", count);
    if (!fits(memory, count, memory->at, memory->size)) return;
    memcpy(data, memory->bytes + memory->at, count);
    memory->at += count;
}

static void memory_read_at_offset(void *file, char *data, size_t count, size_t offset)
{
    printf("READ@OFFSET %zu\n", count);
    if (fits(file, count, offset, ((struct memory *)file)->size))
        memcpy(data, ((struct memory *)file)->bytes + offset, count);
}

static void memory_write(void *file, const char *data, size_t count)
{
    struct memory *memory = file;
    printf("WRITE %zu\n", count);
    if (!fits(memory, count, memory->at, sizeof memory->bytes)) return;
    memcpy(memory->bytes + memory->at, data, count);
    memory->at += count;
    if (memory->size < memory->at) memory->size = memory->at;
}

static const char *memory_label(void *file)
{
    (void)file;
    return "memory";
}

static void memory_free(void *file)
{
    (void)file;
    puts("FREE DATA");
}

static const mlx_io_vtable table = {memory_is_open,        memory_good,  memory_tell,  memory_seek, memory_read,
                                    memory_read_at_offset, memory_write, memory_label, memory_free};

/* ---- there and back -----------------------------------------------------------------------------------------------
 */

static int insert(mlx_map_string_to_array map, const char *key, float value)
{
    int count = 1;
    mlx_array array = mlx_array_new_data(&value, &count, 1, MLX_FLOAT32);
    int failed = mlx_map_string_to_array_insert(map, key, array);
    mlx_array_free(array);
    return failed;
}

static int save(struct memory *memory)
{
    mlx_map_string_to_array arrays = mlx_map_string_to_array_new();
    mlx_map_string_to_string texts = mlx_map_string_to_string_new();
    mlx_io_writer writer = mlx_io_writer_new(memory, table);
    int failed = insert(arrays, "a", 1) || insert(arrays, "b", 2) ||
                 mlx_map_string_to_string_insert(texts, "format", "mlx") ||
                 mlx_save_safetensors_writer(writer, arrays, texts);
    mlx_io_writer_free(writer);
    mlx_map_string_to_array_free(arrays);
    mlx_map_string_to_string_free(texts);
    return failed;
}

static int print_entry(const char *key, mlx_array array)
{
    mlx_string text = mlx_string_new();
    int failed = mlx_array_tostring(&text, array);
    if (!failed) printf("%s = %s\n", key, mlx_string_data(text));
    mlx_string_free(text);
    return failed;
}

static int print_all(mlx_map_string_to_array arrays)
{
    mlx_map_string_to_array_iterator iterator = mlx_map_string_to_array_iterator_new(arrays);
    mlx_array array = mlx_array_new();
    const char *key;
    int failed = 0, code = 0;
    while (!failed && !(code = mlx_map_string_to_array_iterator_next(&key, &array, iterator)))
        failed = print_entry(key, array);
    mlx_array_free(array);
    mlx_map_string_to_array_iterator_free(iterator);
    return failed || code != 2; /* 2: that was the last */
}

static int load(struct memory *memory)
{
    mlx_stream stream = mlx_default_cpu_stream_new();
    mlx_map_string_to_array arrays = {0};
    mlx_map_string_to_string texts = {0};
    mlx_io_reader reader = mlx_io_reader_new(memory, table);
    int failed = mlx_load_safetensors_reader(&arrays, &texts, reader, stream);
    mlx_io_reader_free(reader);
    if (!failed) failed = print_all(arrays);
    mlx_map_string_to_array_free(arrays);
    mlx_map_string_to_string_free(texts);
    mlx_stream_free(stream);
    return failed;
}

int main(void)
{
    static struct memory memory;
    if (save(&memory)) return 1;
    printf("position %zu\n%.*s\n", memory.at, (int)(memory.at - 16), memory.bytes + 8);
    memory.at = 0;
    return load(&memory);
}
