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

mlx_array walk_array(void)
{
    static const float data[] = {1, 2, 3, 4};
    static const int shape[] = {2, 2};
    return mlx_array_new_data(data, shape, 2, MLX_FLOAT32);
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

/* A callback of whatever kind: it leaves its result empty. */
static int do_nothing(void)
{
    return 0;
}

void *walk_function(const char *function, const char *parameter)
{
    (void)function;
    return strcmp(parameter, "dtor") == 0 ? (void *)ignore : (void *)do_nothing;
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
    row->call(absent, result);
}

bool walk_judge(const struct walk_row *row, uint32_t absent, const struct walk_result *got, FILE *out)
{
    bool is_code = strcmp(row->returns, "int") == 0, is_void = strcmp(row->returns, "void") == 0;
    if (!(absent & row->pointers & ~row->fine) || is_void) return true; /* that it comes back is all */
    bool has_failed = is_code ? got->number != 0 : !got->number && !got->pointer;
    if (!has_failed) fprintf(out, "it answers %lld, %p\n", got->number, got->pointer);
    if (is_code && !said[0]) fprintf(out, "it says nothing\n");
    return has_failed && (!is_code || said[0]);
}
