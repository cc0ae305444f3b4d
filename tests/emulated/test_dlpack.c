/*
 * test_dlpack.c - tensors of DLPack in the memory of a GPU: the same address, nothing copied, and the streams of others
 * in the right order with ours.
 *
 * On the emulated GPU a stream runs only when somebody waits for it, and then no more of the others than events ask
 * for. So a missing event leaves garbage where a result should be.
 */
#include <dlfcn.h>

#include "gpu_program.h"
#include "kiln/dlpack.h"
#include "support/dlpack_tensors.h"

enum { ROWS = 4, BYTES = ROWS * COLUMNS * (int)sizeof(float) };

/* The driver, as another library of the process calls it. */
static struct {
    int (*memory_new)(uint64_t *address, size_t size);
    int (*memory_free)(uint64_t address);
    int (*copy_to_device)(uint64_t to, const void *from, size_t size);
    int (*copy_to_host)(void *to, uint64_t from, size_t size);
    int (*copy_on_device)(uint64_t to, uint64_t from, size_t size, void *stream);
    int (*stream_new)(void **stream, unsigned flags);
    int (*stream_wait)(void *stream);
} driver;

static void find(void *library, const char *name, void *field)
{
    void *found = dlsym(library, name);
    CHECK_NOT_NULL(found);
    memcpy(field, &found, sizeof found);
}

static int open_driver(void **state)
{
    void *library = dlopen("libcuda.so.1", RTLD_NOW);
    CHECK_NOT_NULL(library);
    find(library, "cuMemAlloc_v2", &driver.memory_new);
    find(library, "cuMemFree_v2", &driver.memory_free);
    find(library, "cuMemcpyHtoD_v2", &driver.copy_to_device);
    find(library, "cuMemcpyDtoH_v2", &driver.copy_to_host);
    find(library, "cuMemcpyDtoDAsync_v2", &driver.copy_on_device);
    find(library, "cuStreamCreate", &driver.stream_new);
    find(library, "cuStreamSynchronize", &driver.stream_wait);
    int code = set_up(state);
    mlx_array warm = make_rows(ROWS, 0), res = mlx_array_new(); /* so that the GPU's context is this thread's */
    CHECK_EQ(mlx_add(&res, warm, warm, gpu) || mlx_array_eval(res) || mlx_synchronize(gpu), 0);
    mlx_array_free(warm), mlx_array_free(res);
    return code;
}

/* ---- a producer -------------------------------------------------------------------------------------------------- */

struct produced {
    struct DLManagedTensorVersioned tensor;
    int64_t shape[2];
    uint64_t source, address; /* what will be copied, and where it is shown */
    void *stream;
    int deleted;
};

/* The memory is free at once: whoever still reads it then would fail. */
static void delete_produced(struct DLManagedTensorVersioned *self)
{
    struct produced *produced = self->manager_ctx;
    produced->deleted++;
    CHECK_EQ(driver.copy_to_device(produced->address, (const char[BYTES]){0}, BYTES), 0);
    CHECK_EQ(driver.memory_free(produced->address), 0);
}

/* Rows that the producer's stream has yet to bring. */
static void produce(struct produced *out, int salt)
{
    mlx_array rows = make_rows(ROWS, salt);
    *out = (struct produced){.shape = {ROWS, COLUMNS}};
    CHECK_EQ(driver.memory_new(&out->source, BYTES) || driver.memory_new(&out->address, BYTES) ||
                 driver.stream_new(&out->stream, 1) ||
                 driver.copy_to_device(out->source, mlx_array_data_float32(rows), BYTES),
             0);
    CHECK_EQ(driver.copy_on_device(out->address, out->source, BYTES, out->stream), 0);
    out->tensor = (struct DLManagedTensorVersioned){.version = {1, 0},
                                                    .manager_ctx = out,
                                                    .deleter = delete_produced,
                                                    .dl_tensor = {.data = (void *)(uintptr_t)out->address,
                                                                  .device = {DL_CUDA, 0},
                                                                  .ndim = 2,
                                                                  .dtype = {DL_FLOAT, 32, 1},
                                                                  .shape = out->shape}};
    mlx_array_free(rows);
}
#define produce(...) CHECK_CALL(produce, __VA_ARGS__)

/* Launched, and not waited for on the GPU. */
static void begin(mlx_array array)
{
    mlx_vector_array list = mlx_vector_array_new_value(array);
    CHECK_EQ(mlx_async_eval(list) || mlx_synchronize(cpu), 0);
    mlx_vector_array_free(list);
}
#define begin(...) CHECK_CALL(begin, __VA_ARGS__)

static int64_t stream_of(const struct produced *produced)
{
    return (int64_t)(intptr_t)produced->stream;
}

/* ---- import ------------------------------------------------------------------------------------------------------ */

static void an_import_waits_for_the_producers_stream(void **state)
{
    (void)state;
    struct produced produced;
    mlx_array x = mlx_array_new(), res = mlx_array_new();
    produce(&produced, 3);
    kiln_gpu_counters before = gpu_counters(), after;
    CHECK_EQ(kiln_dlpack_import(&x, &produced.tensor, stream_of(&produced)), 0);
    CHECK_EQ(chain(&res, x, NULL) || mlx_array_eval(res), 0);
    after = gpu_counters();
    CHECK_EQ(after.bytes_to_host - before.bytes_to_host, 0);
    CHECK_LE(after.bytes_to_device - before.bytes_to_device, 64); /* the numbers of the chain, not the rows */
    mlx_array_free(x);
    expect_chain(res, ROWS, 3);
    mlx_array_free(res);
    CHECK_EQ(produced.deleted, 1);
    CHECK_EQ(driver.memory_free(produced.source), 0);
}

static void expect_twice(mlx_array twice, int salt)
{
    const float *data = mlx_array_data_float32(twice);
    CHECK_NOT_NULL(data);
    for (int i = 0; i < ROWS * COLUMNS; i++) CHECK_EQ(data[i], 2 * number_at(i, salt));
}
#define expect_twice(...) CHECK_CALL(expect_twice, __VA_ARGS__)

/* ... and so does a stream of ours that is not the default one, after that has been waited for before. */
static void every_stream_of_ours_waits(void **state)
{
    (void)state;
    const mlx_device device = mlx_device_new_type(MLX_GPU, 0);
    mlx_stream mine = mlx_stream_new_device(device);
    for (int salt = 1; salt < 4; salt++) {
        struct produced produced;
        mlx_array x = mlx_array_new(), res = mlx_array_new();
        produce(&produced, salt);
        CHECK_EQ(kiln_dlpack_import(&x, &produced.tensor, stream_of(&produced)), 0);
        CHECK_EQ(mlx_add(&res, x, x, mine), 0);
        begin(res);
        CHECK_EQ(mlx_synchronize(mine), 0); /* what the default stream waits for has not run by then */
        expect_twice(res, salt);
        mlx_array_free(x), mlx_array_free(res);
        CHECK_EQ(produced.deleted, 1);
        CHECK_EQ(driver.memory_free(produced.source), 0);
    }
    mlx_stream_free(mine), mlx_device_free(device);
}

/* The last reference goes while a launch that reads the bytes stands in a queue: the deleter comes after it. */
static void a_deleter_waits_for_readers(void **state)
{
    (void)state;
    const mlx_device device = mlx_device_new_type(MLX_GPU, 0);
    mlx_stream mine = mlx_stream_new_device(device);
    for (int i = 0; i < 2; i++) {
        struct produced produced;
        mlx_array x = mlx_array_new(), sum = mlx_array_new();
        produce(&produced, 5);
        CHECK_EQ(kiln_dlpack_import(&x, &produced.tensor, stream_of(&produced)), 0);
        CHECK_EQ(mlx_add(&sum, x, x, i ? mine : gpu), 0);
        begin(sum);
        mlx_array_free(x); /* the node of the sum has let go of it */
        CHECK_EQ(produced.deleted, 1);
        expect_twice(sum, 5);
        mlx_array_free(sum);
        CHECK_EQ(driver.memory_free(produced.source), 0);
    }
    mlx_stream_free(mine), mlx_device_free(device);
}

/* The host's look at it is a copy, as of any array there; the memory is counted as the producer's, not as ours. */
static void the_host_may_look(void **state)
{
    (void)state;
    struct produced produced;
    size_t active = 0, now = 0;
    mlx_array x = mlx_array_new();
    produce(&produced, 7);
    CHECK_EQ(driver.stream_wait(produced.stream), 0);
    CHECK_EQ(mlx_get_active_memory(&active), 0);
    CHECK_EQ(kiln_dlpack_import(&x, &produced.tensor, -1), 0); /* it is there already */
    CHECK_EQ(mlx_get_active_memory(&now), 0);
    CHECK_EQ(now, active);
    const float *data = mlx_array_data_float32(x);
    CHECK_NOT_NULL(data);
    for (int k = 0; k < ROWS * COLUMNS; k++) CHECK_EQ(data[k], number_at(k, 7));
    mlx_array_free(x);
    CHECK_EQ(produced.deleted, 1);
    CHECK_EQ(mlx_get_active_memory(&now), 0);
    CHECK_EQ(now, active);
    CHECK_EQ(driver.memory_free(produced.source), 0);
}

/* The elements from the last to the first: what a view shows lies in front of where it begins. */
static void any_strides(void **state)
{
    (void)state;
    const int64_t back[] = {-COLUMNS, -1};
    struct produced produced;
    mlx_array x = mlx_array_new(), res = mlx_array_new();
    produce(&produced, 4);
    produced.tensor.dl_tensor.strides = back;
    produced.tensor.dl_tensor.byte_offset = BYTES - sizeof(float);
    CHECK_EQ(kiln_dlpack_import(&x, &produced.tensor, stream_of(&produced)), 0);
    CHECK_EQ(mlx_add(&res, x, x, gpu) || mlx_array_eval(res), 0);
    const float *twice = mlx_array_data_float32(res), *data = mlx_array_data_float32(x);
    CHECK_NOT_NULL(data);
    for (int k = 0; k < ROWS * COLUMNS; k++) {
        CHECK_EQ(data[-k], number_at(ROWS * COLUMNS - 1 - k, 4));
        CHECK_EQ(twice[k], 2 * number_at(ROWS * COLUMNS - 1 - k, 4));
    }
    mlx_array_free(x), mlx_array_free(res);
    CHECK_EQ(produced.deleted, 1);
    CHECK_EQ(driver.memory_free(produced.source), 0);
}

/* A stream that the driver does not know: the tensor stays the caller's. */
static void a_failure_leaves_the_tensor_alone(void **state)
{
    (void)state;
    struct produced produced;
    int other;
    mlx_array x = mlx_array_new();
    produce(&produced, 1);
    CHECK_EQ(kiln_dlpack_import(&x, &produced.tensor, (int64_t)(intptr_t)&other), 1);
    expect_error("a stream can't wait for another");
    produced.tensor.dl_tensor.device.id = 1;
    CHECK_EQ(kiln_dlpack_import(&x, &produced.tensor, -1), 1);
    expect_error("[dlpack_import] GPU 1: ");
    CHECK_EQ(produced.deleted, 0);
    delete_produced(&produced.tensor);
    CHECK_EQ(driver.memory_free(produced.source), 0);
    mlx_array_free(x);
}

/* ---- export ------------------------------------------------------------------------------------------------------ */

/* What the consumer's stream copies out of the tensor. */
static void expect_consumed(struct DLManagedTensorVersioned *tensor, void *stream, int salt)
{
    uint64_t copy;
    float got[ROWS * COLUMNS];
    CHECK_EQ(tensor->dl_tensor.device.type, DL_CUDA);
    CHECK_EQ(tensor->dl_tensor.device.id, 0);
    CHECK_EQ(driver.memory_new(&copy, BYTES), 0);
    CHECK_EQ(driver.copy_on_device(copy, (uint64_t)(uintptr_t)tensor->dl_tensor.data, BYTES, stream), 0);
    CHECK_EQ(driver.stream_wait(stream), 0);
    CHECK_EQ(driver.copy_to_host(got, copy, BYTES), 0);
    for (int i = 0; i < ROWS * COLUMNS; i++) CHECK_EQ(got[i], 2 * number_at(i, salt));
    tensor->deleter(tensor);
    CHECK_EQ(driver.memory_free(copy), 0);
}
#define expect_consumed(...) CHECK_CALL(expect_consumed, __VA_ARGS__)

static void the_consumers_stream_waits_for_what_was_queued(void **state)
{
    (void)state;
    const mlx_device device = mlx_device_new_type(MLX_GPU, 0);
    mlx_stream mine = mlx_stream_new_device(device);
    void *consumer;
    CHECK_EQ(driver.stream_new(&consumer, 1), 0);
    for (int i = 0; i < 4; i++) { /* of both streams, and as a copy */
        struct DLManagedTensorVersioned *tensor, *again;
        mlx_array rows = make_rows(ROWS, i), x = mlx_array_new();
        CHECK_EQ(mlx_add(&x, rows, rows, i % 2 ? mine : gpu), 0);
        begin(x);
        kiln_gpu_counters before = gpu_counters(), after;
        CHECK_EQ(kiln_dlpack_export(&tensor, x, i >= 2, (int64_t)(intptr_t)consumer), 0);
        after = gpu_counters();
        CHECK_EQ(after.bytes_to_host - before.bytes_to_host, 0);
        CHECK_EQ(after.bytes_to_device - before.bytes_to_device, 0);
        CHECK_EQ(tensor->flags, (i >= 2 ? DL_IS_COPIED : DL_READ_ONLY));
        CHECK_EQ(kiln_dlpack_export(&again, x, false, -1), 0);
        CHECK_EQ(tensor->dl_tensor.data == again->dl_tensor.data, i < 2);
        again->deleter(again);
        mlx_array_free(rows);
        if (i < 2) mlx_array_free(x);
        expect_consumed(tensor, consumer, i);
        if (i >= 2) mlx_array_free(x);
    }
    expect_no_error();
    mlx_stream_free(mine), mlx_device_free(device);
}

/* There and back: the same address, and nothing is copied. */
static void there_and_back(void **state)
{
    (void)state;
    struct DLManagedTensorVersioned *tensor, *again;
    mlx_array rows = make_rows(ROWS, 2), x = mlx_array_new(), y = mlx_array_new();
    int32_t type = 0, id = -1;
    CHECK_EQ(mlx_add(&x, rows, rows, gpu) || kiln_dlpack_device(&type, &id, x), 0);
    CHECK_EQ(type, DL_CUDA);
    CHECK_EQ(id, 0);
    kiln_gpu_counters before = gpu_counters(), after;
    CHECK_EQ(kiln_dlpack_export(&tensor, x, false, 0), 0);
    CHECK_EQ(kiln_dlpack_import(&y, tensor, 0), 0);
    mlx_array_free(x), mlx_array_free(rows);
    CHECK_EQ(kiln_dlpack_export(&again, y, false, -1), 0);
    CHECK_TRUE(again->dl_tensor.data == tensor->dl_tensor.data);
    after = gpu_counters();
    CHECK_EQ(after.bytes_to_host - before.bytes_to_host, 0);
    CHECK_EQ(after.bytes_to_device - before.bytes_to_device, 0);
    CHECK_EQ(after.launches - before.launches, 0);
    again->deleter(again);
    expect_twice(y, 2);
    mlx_array_free(y);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(an_import_waits_for_the_producers_stream, set_up),
        cmocka_unit_test_setup(every_stream_of_ours_waits, set_up),
        cmocka_unit_test_setup(a_deleter_waits_for_readers, set_up),
        cmocka_unit_test_setup(the_host_may_look, set_up),
        cmocka_unit_test_setup(any_strides, set_up),
        cmocka_unit_test_setup(a_failure_leaves_the_tensor_alone, set_up),
        cmocka_unit_test_setup(the_consumers_stream_waits_for_what_was_queued, set_up),
        cmocka_unit_test_setup(there_and_back, set_up),
    };
    return cmocka_run_group_tests(tests, open_driver, tear_down);
}
