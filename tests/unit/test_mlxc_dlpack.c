/*
 * test_mlxc_dlpack.c - arrays from and to tensors of DLPack: the same bytes, each deleter called once and not before
 * its time, and a refusal of everything that arrays can't be. On GPUs: tests/emulated/test_dlpack.c.
 */
#include <pthread.h>
#include <stdatomic.h>

#include "kiln/compile.h"
#include "kiln/dlpack.h"
#include "mlxc_support.h"
#include "support/dlpack_tensors.h"

static mlx_stream cpu;

static int set_up(void **state)
{
    if (!cpu.ctx) cpu = mlx_default_cpu_stream_new();
    return install_handler(state);
}

static int tear_down(void **state)
{
    (void)state;
    mlx_stream_free(cpu);
    return 0;
}

/* ---- a producer -------------------------------------------------------------------------------------------------- */

/* A tensor that counts how often it is deleted, and the memory behind it, which ASan watches. */
struct produced {
    struct DLManagedTensorVersioned tensor;
    struct DLManagedTensor old;
    int64_t shape[3], strides[3];
    _Atomic int deleted;
    char *bytes;
};

static void delete_produced(struct produced *produced)
{
    atomic_fetch_add(&produced->deleted, 1);
    free(produced->bytes);
    produced->bytes = NULL;
}

static void delete_tensor(struct DLManagedTensorVersioned *self)
{
    delete_produced(self->manager_ctx);
}

static void delete_old(struct DLManagedTensor *self)
{
    delete_produced(self->manager_ctx);
}

/* 2 x 3 packed floats 1 to 6, on the host. */
static void produce(struct produced *out)
{
    *out = (struct produced){.shape = {2, 3}, .bytes = malloc(6 * sizeof(float))};
    for (int i = 0; i < 6; i++) ((float *)(void *)out->bytes)[i] = (float)(i + 1);
    out->tensor = (struct DLManagedTensorVersioned){
        .version = {1, 1},
        .manager_ctx = out,
        .deleter = delete_tensor,
        .dl_tensor = {
            .data = out->bytes, .device = {DL_CPU, 0}, .ndim = 2, .dtype = {DL_FLOAT, 32, 1}, .shape = out->shape}};
    out->old = (struct DLManagedTensor){.dl_tensor = out->tensor.dl_tensor, .manager_ctx = out, .deleter = delete_old};
}

/* ---- import ------------------------------------------------------------------------------------------------------ */

static void an_import_shows_the_producers_bytes(void **state)
{
    (void)state;
    struct produced produced;
    mlx_array x = mlx_array_new(), other = mlx_array_new(), sum = mlx_array_new();
    produce(&produced);
    CHECK_EQ(kiln_dlpack_import(&x, &produced.tensor, -1), 0);
    CHECK_TRUE((const void *)mlx_array_data_float32(x) == produced.bytes);
    CHECK_EQ(mlx_array_dim(x, 1), 3);
    expect_text(x, "array([[1, 2, 3],\n       [4, 5, 6]], dtype=float32)");
    CHECK_EQ(mlx_transpose(&other, x, cpu) || mlx_add(&sum, x, x, cpu), 0);
    mlx_array_free(x);
    CHECK_EQ(produced.deleted, 0); /* a view and a lazy sum still look at it */
    expect_floats(sum, (const float[]){2, 4, 6, 8, 10, 12}, 6);
    CHECK_EQ(produced.deleted, 0);
    mlx_array_free(other), mlx_array_free(sum);
    CHECK_EQ(produced.deleted, 1);
    produce(&produced);
    x = mlx_array_new();
    CHECK_EQ(mlx_kiln_dlpack_import_old(&x, &produced.old, -1), 0);
    CHECK_TRUE((const void *)mlx_array_data_float32(x) == produced.bytes);
    mlx_array_free(x);
    CHECK_EQ(produced.deleted, 1);
    expect_no_error();
}

/* Updates and donations write into storage that nobody else has: not into the producer's. */
static void bytes_of_the_producer_are_never_written(void **state)
{
    (void)state;
    struct produced produced;
    mlx_array x = mlx_array_new(), nine = mlx_array_new_float(9), row = mlx_array_new();
    produce(&produced);
    CHECK_EQ(kiln_dlpack_import(&x, &produced.tensor, -1), 0);
    CHECK_EQ(mlx_broadcast_to(&row, nine, (int[]){1, 3}, 2, cpu), 0);
    CHECK_EQ(mlx_slice_update(&x, x, row, (int[]){0, 0}, 2, (int[]){1, 3}, 2, (int[]){1, 1}, 2, cpu), 0);
    float *kept = (float *)(void *)produced.bytes;
    struct DLManagedTensorVersioned *again;
    CHECK_EQ(kiln_dlpack_export(&again, x, false, -1), 0); /* evaluates */
    CHECK_TRUE(again->dl_tensor.data != (void *)kept);
    expect_floats(x, (const float[]){9, 9, 9, 4, 5, 6}, 6);
    again->deleter(again);
    mlx_array_free(x), mlx_array_free(nine), mlx_array_free(row);
    CHECK_EQ(produced.deleted, 1);
}

static void expect_strided(const int64_t shape[2], const int64_t strides[2], uint64_t byte_offset, const float *wanted)
{
    struct produced produced;
    mlx_array x = mlx_array_new(), packed = mlx_array_new(), zero = mlx_array_new_float(0);
    produce(&produced);
    for (int i = 0; i < 2; i++) produced.shape[i] = shape[i], produced.strides[i] = strides[i];
    produced.tensor.dl_tensor.strides = produced.strides;
    produced.tensor.dl_tensor.byte_offset = byte_offset;
    CHECK_EQ(kiln_dlpack_import(&x, &produced.tensor, -1), 0);
    CHECK_EQ(mlx_add(&packed, x, zero, cpu), 0);
    expect_floats(packed, wanted, (int)(shape[0] * shape[1]));
    mlx_array_free(x), mlx_array_free(packed), mlx_array_free(zero);
    CHECK_EQ(produced.deleted, 1);
}
#define expect_strided(...) CHECK_CALL(expect_strided, __VA_ARGS__)

static void any_strides_and_offsets(void **state)
{
    (void)state;
    expect_strided((const int64_t[]){3, 2}, (const int64_t[]){1, 3}, 0, (const float[]){1, 4, 2, 5, 3, 6});
    expect_strided((const int64_t[]){2, 3}, (const int64_t[]){-3, -1}, 20, (const float[]){6, 5, 4, 3, 2, 1});
    expect_strided((const int64_t[]){2, 2}, (const int64_t[]){0, 2}, 4, (const float[]){2, 4, 2, 4});
    expect_strided((const int64_t[]){1, 2}, (const int64_t[]){INT64_MAX, 5}, 0, (const float[]){1, 6});
    expect_strided((const int64_t[]){2, 1}, (const int64_t[]){-2, INT64_MIN}, 8, (const float[]){3, 1});
}

static void empty_tensors_and_scalars(void **state)
{
    (void)state;
    struct produced produced;
    mlx_array x = mlx_array_new();
    float number = 0;
    produce(&produced);
    produced.shape[0] = 0;
    produced.strides[0] = produced.strides[1] = INT64_MIN;
    produced.tensor.dl_tensor.strides = produced.strides;
    produced.tensor.dl_tensor.data = NULL;
    CHECK_EQ(kiln_dlpack_import(&x, &produced.tensor, 5), 0);
    CHECK_EQ(mlx_array_size(x), 0);
    mlx_array_free(x);
    CHECK_EQ(produced.deleted, 1);
    produce(&produced);
    x = mlx_array_new();
    produced.tensor.dl_tensor.ndim = 0;
    produced.tensor.dl_tensor.shape = NULL;
    produced.tensor.dl_tensor.device.type = DL_CUDA_HOST;
    CHECK_EQ(kiln_dlpack_import(&x, &produced.tensor, -1), 0);
    CHECK_EQ(mlx_array_item_float32(&number, x), 0);
    CHECK_EQ(number, 1);
    mlx_array_free(x);
    CHECK_EQ(produced.deleted, 1);
    produce(&produced); /* nobody is to be told */
    produced.tensor.deleter = NULL;
    x = mlx_array_new();
    CHECK_EQ(kiln_dlpack_import(&x, &produced.tensor, -1), 0);
    mlx_array_free(x);
    free(produced.bytes);
}

static void every_dtype_there_and_back(void **state)
{
    (void)state;
    static const struct {
        mlx_dtype dtype;
        uint8_t code, bits;
    } rows[] = {
        {MLX_BOOL, DL_BOOL, 8},        {MLX_UINT8, DL_UINT, 8},         {MLX_UINT16, DL_UINT, 16},
        {MLX_UINT32, DL_UINT, 32},     {MLX_UINT64, DL_UINT, 64},       {MLX_INT8, DL_INT, 8},
        {MLX_INT16, DL_INT, 16},       {MLX_INT32, DL_INT, 32},         {MLX_INT64, DL_INT, 64},
        {MLX_FLOAT16, DL_FLOAT, 16},   {MLX_FLOAT32, DL_FLOAT, 32},     {MLX_FLOAT64, DL_FLOAT, 64},
        {MLX_BFLOAT16, DL_BFLOAT, 16}, {MLX_COMPLEX64, DL_COMPLEX, 64},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct DLManagedTensorVersioned *tensor;
        mlx_array x = mlx_array_new(), y = mlx_array_new();
        bool equal = false;
        mlx_array same = mlx_array_new();
        CHECK_EQ(mlx_ones(&x, (int[]){5}, 1, rows[i].dtype, cpu), 0);
        CHECK_EQ(kiln_dlpack_export(&tensor, x, false, -1), 0);
        CHECK_EQ(tensor->dl_tensor.dtype.code, rows[i].code);
        CHECK_EQ(tensor->dl_tensor.dtype.bits, rows[i].bits);
        CHECK_EQ(tensor->dl_tensor.dtype.lanes, 1);
        CHECK_EQ(kiln_dlpack_import(&y, tensor, -1), 0);
        CHECK_EQ(mlx_array_dtype(y), rows[i].dtype);
        CHECK_EQ(mlx_array_equal(&same, x, y, false, cpu) || mlx_array_item_bool(&equal, same), 0);
        CHECK_TRUE(equal);
        mlx_array_free(x), mlx_array_free(y), mlx_array_free(same);
    }
    expect_no_error();
}

/* ---- refusals: the tensor stays the caller's --------------------------------------------------------------------- */

static void expect_refused(struct produced *produced, const char *text)
{
    mlx_array x = mlx_array_new_int(7);
    int was = 0;
    CHECK_EQ(kiln_dlpack_import(&x, &produced->tensor, -1), 1);
    expect_error(text);
    CHECK_EQ(mlx_array_item_int32(&was, x), 0);
    CHECK_EQ(was, 7);
    CHECK_EQ(produced->deleted, 0);
    mlx_array_free(x);
    delete_produced(produced);
}
#define expect_refused(...) CHECK_CALL(expect_refused, __VA_ARGS__)

static void what_arrays_cannot_be_is_refused(void **state)
{
    (void)state;
    struct produced p;
    struct dl_tensor *t = &p.tensor.dl_tensor;
    produce(&p), p.tensor.version.major = 2, expect_refused(&p, "not of DLPack's version 1");
    produce(&p), p.tensor.version.major = 0, expect_refused(&p, "not of DLPack's version 1");
    produce(&p), t->dtype.lanes = 4, expect_refused(&p, "4 lanes is none that arrays have");
    produce(&p), t->dtype.bits = 128, expect_refused(&p, "128 bits");
    produce(&p), t->dtype.code = 3, expect_refused(&p, "a dtype of code 3");
    produce(&p), t->dtype.code = DL_COMPLEX, expect_refused(&p, "a dtype of code 5, 32 bits");
    produce(&p), t->device.type = 10, expect_refused(&p, "device type 10");
    produce(&p), t->device.type = DL_CUDA, t->device.id = -1, expect_refused(&p, "device type 2, number -1");
    produce(&p), t->device.type = DL_CUDA, t->device.id = 62, expect_refused(&p, "[dlpack_import] GPU 62: ");
    produce(&p), t->ndim = -1, expect_refused(&p, "-1 dimensions");
    produce(&p), t->ndim = 33, expect_refused(&p, "33 dimensions");
    produce(&p), t->shape = NULL, expect_refused(&p, "the tensor has no shape");
    produce(&p), p.shape[1] = -3, expect_refused(&p, "dimension 1 has size -3");
    produce(&p), p.shape[1] = (int64_t)1 << 31, expect_refused(&p, "dimension 1 has size 2147483648");
    produce(&p), t->data = NULL, expect_refused(&p, "elements and no data");
    produce(&p), t->byte_offset = 2, expect_refused(&p, "not aligned to 4 bytes");
    produce(&p), t->strides = p.strides, p.strides[0] = INT64_MAX, p.strides[1] = 1;
    expect_refused(&p, "stride 9223372036854775807 of dimension 0");
    produce(&p), t->strides = p.strides, p.strides[0] = 1, p.strides[1] = INT64_MIN / 8;
    expect_refused(&p, "stride -1152921504606846976 of dimension 1");
}

/* ---- export ------------------------------------------------------------------------------------------------------ */

static void an_export_shows_the_arrays_bytes(void **state)
{
    (void)state;
    struct DLManagedTensorVersioned *tensor;
    struct DLManagedTensor *old;
    int32_t type = -1, id = -1;
    mlx_array x = floats((const float[]){1, 2, 3, 4, 5, 6}, 6), y = mlx_array_new();
    CHECK_EQ(mlx_reshape(&x, x, (int[]){2, 3}, 2, cpu) || mlx_transpose(&y, x, cpu), 0);
    CHECK_EQ(kiln_dlpack_device(&type, &id, y), 0);
    CHECK_EQ(type, DL_CPU);
    CHECK_EQ(id, 0);
    CHECK_EQ(kiln_dlpack_export(&tensor, y, false, -1), 0);
    CHECK_EQ(tensor->version.major, 1);
    CHECK_EQ(tensor->flags, DL_READ_ONLY);
    CHECK_EQ(tensor->dl_tensor.ndim, 2);
    CHECK_MEM(tensor->dl_tensor.shape, ((const int64_t[]){3, 2}), 16);
    CHECK_MEM(tensor->dl_tensor.strides, ((const int64_t[]){1, 3}), 16);
    CHECK_EQ(tensor->dl_tensor.device.type, DL_CPU);
    const float *data = (const float *)tensor->dl_tensor.data;
    CHECK_EQ(mlx_array_eval(x), 0);
    CHECK_TRUE(data == mlx_array_data_float32(x));
    CHECK_EQ(kiln_dlpack_export_old(&old, x, false, -1), 0);
    mlx_array_free(x), mlx_array_free(y);
    CHECK_EQ(data[tensor->dl_tensor.byte_offset + 5], 6); /* the tensors keep it alive */
    tensor->deleter(tensor);
    CHECK_EQ(((const float *)old->dl_tensor.data)[5], 6);
    CHECK_MEM(old->dl_tensor.shape, ((const int64_t[]){2, 3}), 16);
    old->deleter(old);
    expect_no_error();
}

static void a_copy_is_the_consumers(void **state)
{
    (void)state;
    struct DLManagedTensorVersioned *tensor;
    struct DLManagedTensor *old;
    mlx_array x = floats((const float[]){1, 2, 3, 4, 5, 6}, 6), y = mlx_array_new(), none = mlx_array_new();
    CHECK_EQ(mlx_reshape(&x, x, (int[]){2, 3}, 2, cpu) || mlx_transpose(&y, x, cpu), 0);
    CHECK_EQ(kiln_dlpack_export(&tensor, y, true, -1), 0);
    CHECK_EQ(tensor->flags, DL_IS_COPIED);
    CHECK_MEM(tensor->dl_tensor.strides, ((const int64_t[]){2, 1}), 16);
    CHECK_MEM(tensor->dl_tensor.data, ((const float[]){1, 4, 2, 5, 3, 6}), 24);
    memset(tensor->dl_tensor.data, 0, 24);
    tensor->deleter(tensor);
    CHECK_EQ(kiln_dlpack_export_old(&old, x, true, -1), 0);
    memset(old->dl_tensor.data, 0, 24);
    old->deleter(old);
    expect_floats(x, (const float[]){1, 2, 3, 4, 5, 6}, 6);
    CHECK_EQ(mlx_zeros(&none, (int[]){0, 4}, 2, MLX_FLOAT32, cpu) || kiln_dlpack_export(&tensor, none, true, -1), 0);
    CHECK_MEM(tensor->dl_tensor.shape, ((const int64_t[]){0, 4}), 16);
    tensor->deleter(tensor);
    mlx_array_free(x), mlx_array_free(y), mlx_array_free(none);
}

/* Inside of a trace there are no bytes; a donated array has lost them. */
static int export_inside(mlx_array *res, const mlx_array x, void *failed)
{
    struct DLManagedTensorVersioned *tensor = NULL;
    *(int *)failed = kiln_dlpack_export(&tensor, x, false, -1) && !tensor;
    return mlx_add(res, x, x, cpu);
}

static void what_has_no_bytes_is_not_shown(void **state)
{
    (void)state;
    int failed = 0;
    struct DLManagedTensorVersioned *tensor = NULL;
    mlx_array x = floats((const float[]){1, 2}, 2), y = mlx_array_new(), empty = mlx_array_new();
    mlx_closure fun = mlx_closure_new();
    CHECK_EQ(kiln_dlpack_export(&tensor, empty, false, -1), 1);
    expect_error("expected a non-empty mlx_array");
    CHECK_EQ(kiln_compile_unary(&fun, "exports", export_inside, &failed, NULL, false), 0);
    CHECK_EQ(kiln_call_unary(&y, fun, x), 0);
    CHECK_EQ(failed, 1);
    expect_error("during function transformations");
    mlx_vector_array out = mlx_vector_array_new();
    CHECK_EQ(kiln_call_donating(&out, fun, &x, 1, (const bool[]){true}), 0);
    CHECK_EQ(kiln_dlpack_export(&tensor, x, false, -1), 1);
    expect_error("donated");
    CHECK_NULL(tensor);
    mlx_array_free(x), mlx_array_free(y), mlx_closure_free(fun), mlx_vector_array_free(out);
}

/* ---- threads ----------------------------------------------------------------------------------------------------- */

static void *delete_there(void *tensor)
{
    struct DLManagedTensorVersioned *exported = tensor;
    exported->deleter(exported);
    return NULL;
}

static void *free_there(void *array)
{
    mlx_array_free(*(mlx_array *)array);
    return NULL;
}

static void deleters_run_on_any_thread(void **state)
{
    (void)state;
    enum { THREADS = 4 };
    struct produced produced;
    pthread_t threads[2 * THREADS];
    mlx_array views[THREADS], x = mlx_array_new();
    struct DLManagedTensorVersioned *tensors[THREADS];
    produce(&produced);
    CHECK_EQ(kiln_dlpack_import(&x, &produced.tensor, -1), 0);
    for (int i = 0; i < THREADS; i++) {
        views[i] = mlx_array_new();
        CHECK_EQ(mlx_array_set(&views[i], x) || kiln_dlpack_export(&tensors[i], x, false, -1), 0);
    }
    mlx_array_free(x);
    for (int i = 0; i < THREADS; i++) {
        pthread_create(&threads[2 * i], NULL, delete_there, tensors[i]);
        pthread_create(&threads[2 * i + 1], NULL, free_there, &views[i]);
    }
    for (int i = 0; i < 2 * THREADS; i++) pthread_join(threads[i], NULL);
    CHECK_EQ(produced.deleted, 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(an_import_shows_the_producers_bytes, set_up),
        cmocka_unit_test_setup(bytes_of_the_producer_are_never_written, set_up),
        cmocka_unit_test_setup(any_strides_and_offsets, set_up),
        cmocka_unit_test_setup(empty_tensors_and_scalars, set_up),
        cmocka_unit_test_setup(every_dtype_there_and_back, set_up),
        cmocka_unit_test_setup(what_arrays_cannot_be_is_refused, set_up),
        cmocka_unit_test_setup(an_export_shows_the_arrays_bytes, set_up),
        cmocka_unit_test_setup(a_copy_is_the_consumers, set_up),
        cmocka_unit_test_setup(what_has_no_bytes_is_not_shown, set_up),
        cmocka_unit_test_setup(deleters_run_on_any_thread, set_up),
    };
    return cmocka_run_group_tests(tests, NULL, tear_down);
}
