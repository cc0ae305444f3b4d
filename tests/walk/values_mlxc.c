/*
 * values_mlxc.c - see values_mlxc.h.
 */
#include "walk/values_mlxc.h"

#include "support/dlpack_tensors.h"

static char said[1024];

void walk_handler(const char *text, void *data)
{
    (void)data;
    snprintf(said, sizeof said, "%s", text);
}

/* ---- values --------------------------------------------------------------------------------------------------- */

/* An array of this dtype, which is no result of an operation. */
static mlx_array made(const float *values, const int *dims, int ndim, mlx_dtype dtype)
{
    mlx_array plain = mlx_array_new_data(values, dims, ndim, MLX_FLOAT32);
    if (dtype == MLX_FLOAT32) return plain;
    mlx_array cast = mlx_array_new();
    mlx_astype(&cast, plain, dtype, mlx_default_cpu_stream_new());
    mlx_array_eval(cast);
    return cast;
}

enum { MOST_VALUES = 1 << 12 };

static int count_of(const int *dims, int ndim)
{
    int count = 1;
    for (int i = 0; i < ndim; i++) count *= dims[i];
    return count > MOST_VALUES ? 0 : count;
}

mlx_array walk_numbers(mlx_dtype dtype, const int *dims, int ndim)
{
    static float values[MOST_VALUES];
    for (int i = 0, count = count_of(dims, ndim); i < count; i++) values[i] = (float)(i % 2);
    return made(values, dims, ndim, dtype);
}

struct walk_data walk_data;
struct walk_results walk_results;

/* 9 on the diagonal, and little elsewhere: such a matrix has an inverse and all factors. */
mlx_array walk_data_of(mlx_dtype dtype, const int *dims, int ndim)
{
    static float values[MOST_VALUES];
    int columns = ndim ? dims[ndim - 1] : 1, count = count_of(dims, ndim), at = walk_data.count++;
    if (at < walk_data.given_count) {
        mlx_array res = mlx_array_new();
        mlx_array_set(&res, walk_data.given[at]);
        return res;
    }
    for (int i = 0; i < count; i++) values[i] = i % (columns + 1) == 0 ? 9 : (float)(1 + i % 3);
    mlx_array res = made(values, dims, ndim, walk_data.is_dtype_chosen ? walk_data.dtype : dtype);
    if (at < WALK_MOST_DATA) walk_data.made[at] = res;
    return res;
}

mlx_array walk_array(void)
{
    return DATA(2, 2);
}

mlx_vector_array walk_vector_array(void)
{
    return mlx_vector_array_new_value(walk_array());
}

mlx_vector_string walk_vector_string(void)
{
    return mlx_vector_string_new_value("text");
}

mlx_vector_int walk_vector_int(void)
{
    return mlx_vector_int_new_value(1);
}

mlx_vector_vector_array walk_vector_vector_array(void)
{
    return mlx_vector_vector_array_new_value(walk_vector_array());
}

mlx_map_string_to_array walk_map_string_to_array(void)
{
    mlx_map_string_to_array map = mlx_map_string_to_array_new();
    mlx_map_string_to_array_insert(map, "text", walk_array());
    return map;
}

mlx_map_string_to_string walk_map_string_to_string(void)
{
    mlx_map_string_to_string map = mlx_map_string_to_string_new();
    mlx_map_string_to_string_insert(map, "text", "text");
    return map;
}

static int copy_inputs(mlx_vector_array *res, const mlx_vector_array inputs)
{
    return mlx_vector_array_set(res, inputs);
}

mlx_closure walk_closure(void)
{
    return mlx_closure_new_func(copy_inputs);
}

mlx_distributed_group walk_group(void)
{
    mlx_distributed_group group = mlx_distributed_group_new();
    mlx_distributed_init(&group, false, NULL);
    return group;
}

mlx_imported_function walk_imported_function(void)
{
    mlx_export_function("function", walk_closure(), walk_vector_array(), false);
    return mlx_imported_function_new("function");
}

mlx_device_info walk_device_info(void)
{
    mlx_device_info info = mlx_device_info_new();
    mlx_device_info_get(&info, mlx_device_new_type(MLX_CPU, 0));
    return info;
}

mlx_io_gguf walk_gguf(const char *what)
{
    mlx_io_gguf io = mlx_io_gguf_new();
    if (strcmp(what, "array") == 0) mlx_io_gguf_set_array(io, "text", walk_array());
    if (strcmp(what, "metadata_array") == 0) mlx_io_gguf_set_metadata_array(io, "text", walk_array());
    if (strcmp(what, "metadata_string") == 0) mlx_io_gguf_set_metadata_string(io, "text", "text");
    if (strcmp(what, "metadata_vector_string") == 0)
        mlx_io_gguf_set_metadata_vector_string(io, "text", walk_vector_string());
    return io;
}

const char *walk_saved(const char *name)
{
    if (strstr(name, ".npy")) mlx_save(name, walk_array());
    if (strstr(name, ".gguf")) mlx_save_gguf(name, walk_gguf("array"));
    if (strstr(name, ".safetensors"))
        mlx_save_safetensors(name, walk_map_string_to_array(), walk_map_string_to_string());
    return name;
}

/* The trace of vmap over the first axis of an array: its inputs (0) and its outputs (1). */
mlx_vector_array walk_trace(int which)
{
    static mlx_vector_array traces[2];
    if (traces[which].ctx) return traces[which];
    traces[0] = mlx_vector_array_new(), traces[1] = mlx_vector_array_new();
    mlx_detail_vmap_trace(&traces[0], &traces[1], walk_closure(), walk_vector_array(), (int[]){0}, 1);
    return traces[which];
}

mlx_fast_cuda_kernel_config walk_cuda_config(void)
{
    mlx_fast_cuda_kernel_config config = mlx_fast_cuda_kernel_config_new();
    mlx_fast_cuda_kernel_config_add_output_arg(config, (int[]){2, 2}, 2, MLX_FLOAT32);
    mlx_fast_cuda_kernel_config_set_grid(config, 4, 1, 1);
    mlx_fast_cuda_kernel_config_set_thread_group(config, 4, 1, 1);
    return config;
}

mlx_fast_cuda_kernel walk_cuda_kernel(void)
{
    return mlx_fast_cuda_kernel_new("kernel", walk_vector_string(), mlx_vector_string_new_value("out"), "", "", true,
                                    0);
}

/* A stream of nothing. */
static bool is_good(void *self)
{
    (void)self;
    return true;
}

static size_t tell(void *self)
{
    (void)self;
    return 0;
}

static void seek(void *self, int64_t offset, int whence)
{
    (void)self, (void)offset, (void)whence;
}

static void read_nothing(void *self, char *data, size_t size)
{
    (void)self;
    memset(data, 0, size);
}

static void read_at(void *self, char *data, size_t size, size_t offset)
{
    (void)self, (void)offset;
    memset(data, 0, size);
}

static void write_nothing(void *self, const char *data, size_t size)
{
    (void)self, (void)data, (void)size;
}

static const char *label(void *self)
{
    (void)self;
    return "nothing";
}

static void ignore(void *self)
{
    (void)self;
}

mlx_io_vtable walk_vtable(void)
{
    return (mlx_io_vtable){is_good, is_good, tell, seek, read_nothing, read_at, write_nothing, label, ignore};
}

/* A stream of a file. */
static size_t tell_file(void *self)
{
    return (size_t)ftell(self);
}

static void seek_file(void *self, int64_t offset, int whence)
{
    fseek(self, (long)offset, whence);
}

static void read_file(void *self, char *data, size_t size)
{
    if (fread(data, 1, size, self) != size) memset(data, 0, size);
}

static void read_file_at(void *self, char *data, size_t size, size_t offset)
{
    fseek(self, (long)offset, SEEK_SET);
    read_file(self, data, size);
}

mlx_io_reader walk_file_reader(const char *name)
{
    const mlx_io_vtable table = {is_good,      is_good,       tell_file, seek_file, read_file,
                                 read_file_at, write_nothing, label,     ignore};
    return mlx_io_reader_new(fopen(walk_saved(name), "rb"), table);
}

/* Callbacks of each kind: what they give is what they get. */
static int copy_array(mlx_array *res, const mlx_array input)
{
    return mlx_array_set(res, input);
}

static int copy_twice(mlx_vector_array *values, mlx_vector_array *gradients, const mlx_vector_array inputs)
{
    return mlx_vector_array_set(values, inputs) || mlx_vector_array_set(gradients, inputs);
}

static int copy_second(mlx_vector_array *res, const mlx_vector_array inputs, const mlx_vector_array second)
{
    (void)inputs;
    return mlx_vector_array_set(res, second);
}

static int copy_mapped(mlx_vector_array *res, mlx_vector_int *axes, const mlx_vector_array inputs, const int *in_axes,
                       size_t count)
{
    return mlx_vector_array_set(res, inputs) || mlx_vector_int_set_data(axes, (int *)in_axes, count);
}

void *walk_function(const char *function, const char *parameter)
{
    if (strcmp(parameter, "dtor") == 0) return (void *)ignore;
    if (strstr(function, "unary")) return (void *)copy_array;
    if (strstr(function, "value_and_grad")) return (void *)copy_twice;
    if (strstr(function, "custom_vmap")) return (void *)copy_mapped;
    if (strstr(function, "custom")) return (void *)copy_second;
    return (void *)copy_inputs;
}

/* Of one float; nobody is told of its end. */
static const int64_t walk_shape[] = {1};
static float walk_number = 1;

struct DLManagedTensorVersioned *walk_tensor(void)
{
    static struct DLManagedTensorVersioned tensor;
    tensor = (struct DLManagedTensorVersioned){
        .version = {1, 0},
        .dl_tensor = {.data = &walk_number, .device = {1, 0}, .ndim = 1, .dtype = {2, 32, 1}, .shape = walk_shape}};
    return &tensor;
}

struct DLManagedTensor *walk_old_tensor(void)
{
    static struct DLManagedTensor tensor;
    tensor = (struct DLManagedTensor){.dl_tensor = walk_tensor()->dl_tensor};
    return &tensor;
}

/* ---- calls ---------------------------------------------------------------------------------------------------- */

void walk_call(const struct walk_row *row, uint32_t absent, struct walk_result *result)
{
    said[0] = '\0';
    mlx_set_error_handler(walk_handler, NULL, NULL);
    walk_data.count = 0;
    walk_results = (struct walk_results){0};
    row->call(absent, result);
}

bool walk_is_refused(const struct walk_row *row)
{
    return row->refusal && strstr(said, row->refusal);
}

/* What came out is there, and can be computed. */
static bool can_be_evaluated(void)
{
    const mlx_array *array = walk_results.array;
    const mlx_vector_array *list = walk_results.list;
    return (!array || (array->ctx && !mlx_array_eval(*array))) && (!list || (list->ctx && !mlx_eval(*list)));
}

static bool judge_good(const struct walk_row *row, const struct walk_result *got, FILE *out)
{
    bool is_code = strcmp(row->returns, "int") == 0, is_void = strcmp(row->returns, "void") == 0, is_right;
    if (walk_is_refused(row)) return true;
    if (row->refusal) return fprintf(out, "\"%s\", expected a refusal with \"%s\"", said, row->refusal), false;
    if (row->has_answer)
        is_right = !got->pointer && got->number == row->answer;
    else
        is_right = (is_void || (is_code ? !got->number : got->number || got->pointer)) && can_be_evaluated();
    is_right = is_right && !said[0];
    if (!is_right) fprintf(out, "it answers %lld, %p, \"%s\"", got->number, got->pointer, said);
    return is_right;
}

bool walk_judge(const struct walk_row *row, uint32_t absent, const struct walk_result *got, FILE *out)
{
    bool is_code = strcmp(row->returns, "int") == 0, is_void = strcmp(row->returns, "void") == 0;
    if (!absent) return judge_good(row, got, out);
    if (!(absent & row->pointers & ~row->fine) || is_void) return true; /* that it comes back is all */
    bool has_failed = is_code ? got->number != 0 : !got->number && !got->pointer;
    if (!has_failed) fprintf(out, "it answers %lld, %p\n", got->number, got->pointer);
    if (is_code && !said[0]) fprintf(out, "it says nothing\n");
    return has_failed && (!is_code || said[0]);
}
