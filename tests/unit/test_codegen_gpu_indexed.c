/*
 * test_codegen_gpu_indexed.c - kernels that read or write through indices, run by the emulator, against plain C:
 * elements of every size, indices of every dtype with and without sign, 32- and 64-bit places; and what is no such
 * kernel.
 */
#include "gpu_support.h"

enum { AXES = 3, DATA_ROWS = 11, DATA_COLUMNS = 9, MOST = 16 };

static const int64_t sizes[AXES] = {4, 9, 5}; /* of the index space: more than half a block */

/* Row from index 1, which varies along axes 0 and 2; column from index 2, along axis 1. */
struct case_of {
    uint8_t row, column; /* dtypes */
    uint8_t data;        /* dtype */
    struct kiln_gpu_config config;
};

static _Alignas(64) unsigned char data[DATA_ROWS * DATA_COLUMNS * MOST], out[4 * 9 * 5 * MOST], want[sizeof out];
_Static_assert(sizeof out >= sizeof data, "both ways");
static uint64_t records[4]; /* of rows and columns: what was reported, and the index */
static _Alignas(64) char rows[4 * 5 * 8], columns[9 * 8];

static bool has_sign(uint8_t dtype)
{
    return kiln__dtypes[dtype].kind == KILN_KIND_SIGNED;
}

/* `count` indices, every third of which counts from the end if it can; meaning[i] is where they lead. */
static void fill(char *indices, uint8_t dtype, int count, int size, int *meaning)
{
    size_t item = kiln__dtype_size(dtype);
    for (int i = 0; i < count; i++) {
        meaning[i] = (i * 7 + 3) % size;
        int64_t value = has_sign(dtype) && i % 3 == 0 ? meaning[i] - size : meaning[i];
        memcpy(indices + (size_t)i * item, &value, item);
    }
}

static void expect(const int *row, const int *column, size_t item)
{
    for (int a = 0; a < 4; a++)
        for (int b = 0; b < 9; b++)
            for (int c = 0; c < 5; c++)
                memcpy(want + (size_t)((a * 9 + b) * 5 + c) * item,
                       data + (size_t)(row[a * 5 + c] * DATA_COLUMNS + column[b]) * item, item);
}

static void check(const struct case_of *k)
{
    uint8_t dtypes[] = {k->data, k->row, k->column};
    uint32_t output = 0;
    struct kiln_group group = {.operand_count = 3, .output_count = 1, .operand_dtypes = dtypes, .outputs = &output};
    struct kiln_buffer text = {0};
    kiln_error err = {0};
    int row[20], column[9];
    int64_t item = k->config.wide ? 16 : (int64_t)kiln__dtype_size(k->data);
    int64_t r = (int64_t)kiln__dtype_size(k->row), c = (int64_t)kiln__dtype_size(k->column);
    fill(rows, k->row, 20, DATA_ROWS, row);
    fill(columns, k->column, 9, DATA_COLUMNS, column);
    memset(out, 0xee, sizeof out);
    memset(want, 0xee, sizeof want);
    expect(row, column, (size_t)item);
    CHECK_OK(kiln__gpu_print(&group, "vii", &k->config, &text, &err), &err);
    const uint64_t words[] = {
        (uintptr_t)out,
        (uintptr_t)data,
        (uintptr_t)rows,
        (uintptr_t)columns,
        4 * 9 * 5,
        DATA_ROWS,
        (uint64_t)(DATA_COLUMNS * item),
        DATA_ROWS,
        (uintptr_t)&records[0],
        DATA_COLUMNS,
        (uint64_t)item,
        DATA_COLUMNS,
        (uintptr_t)&records[2],
        (uint64_t)sizes[0],
        (uint64_t)(45 * item),
        0,
        (uint64_t)(5 * r),
        0,
        (uint64_t)sizes[1],
        (uint64_t)(5 * item),
        0,
        0,
        (uint64_t)c,
        (uint64_t)sizes[2],
        (uint64_t)item,
        0,
        (uint64_t)r,
        0,
    };
    memset(records, 0, sizeof records);
    launch_gpu(load_gpu_text(&text), 1, words);
    CHECK_MEM(out, want, sizeof out);
    CHECK_TRUE(!records[0] && !records[2]);
}

static void elements_are_found(void **state)
{
    (void)state;
    static const uint8_t elements[] = {KILN_UINT8, KILN_UINT16, KILN_UINT32, KILN_UINT64, KILN_UINT64};
    for (size_t i = 0; i < sizeof data; i++) data[i] = (unsigned char)(i * 37 % 251);
    for (uint8_t row = KILN_UINT8; row <= KILN_INT64; row++) {
        for (int size = 0; size < 5; size++) {
            uint8_t column = (uint8_t)(KILN_UINT8 + (row + 3 * size) % 8);
            struct case_of k = {row, column, elements[size], {KILN_GPU_INDEXED, AXES, size == 4, row % 2 == size % 2}};
            check(&k);
        }
    }
}

/* The other way round: what reads `data` through indices, but for places that are named twice, writes there. */
static void elements_are_placed(void **state)
{
    (void)state;
    enum { ROWS = 3, COLUMNS = 4 };
    for (int wide = 0; wide < 2; wide++) {
        uint8_t dtypes[] = {KILN_UINT64, KILN_INT32, KILN_UINT8};
        uint32_t output = 0;
        struct kiln_group group = {.operand_count = 3, .output_count = 1, .operand_dtypes = dtypes, .outputs = &output};
        const struct kiln_gpu_config config = {KILN_GPU_PLACED, 2, wide, !wide};
        struct kiln_buffer text = {0};
        kiln_error err = {0};
        int32_t row = -5;
        uint8_t column = 4;
        uint64_t item = wide ? 16 : 8, line = DATA_COLUMNS * item;
        memset(out, 0xee, sizeof out);
        memset(want, 0xee, sizeof want);
        for (size_t i = 0; i < ROWS * COLUMNS; i++)
            memcpy(want + (DATA_ROWS - 5 + i / COLUMNS) * line + (4 + i % COLUMNS) * item, data + i * item, item);
        CHECK_OK(kiln__gpu_print(&group, "vii", &config, &text, &err), &err);
        const uint64_t words[] = {(uintptr_t)out,
                                  (uintptr_t)data,
                                  (uintptr_t)&row,
                                  (uintptr_t)&column,
                                  ROWS * COLUMNS,
                                  DATA_ROWS,
                                  line,
                                  DATA_ROWS - ROWS + 1,
                                  (uintptr_t)&records[0],
                                  DATA_COLUMNS,
                                  item,
                                  DATA_COLUMNS - COLUMNS + 1,
                                  (uintptr_t)&records[2],
                                  ROWS,
                                  line,
                                  COLUMNS * item,
                                  0,
                                  0,
                                  COLUMNS,
                                  item,
                                  item,
                                  0,
                                  0};
        gpu_emulator_thread kernel = load_gpu_text(&text);
        memset(records, 0, sizeof records);
        launch_gpu(kernel, 1, words);
        CHECK_MEM(out, want, sizeof out);
        CHECK_TRUE(!records[0] && !records[2]);
        column = DATA_COLUMNS - COLUMNS + 1; /* one too far: nothing is written */
        launch_gpu(kernel, 1, words);
        CHECK_MEM(out, want, sizeof out);
        CHECK_TRUE(!records[0] && records[2] == 1 && records[3] == column);
    }
}

/* An element whose index is none is zero, and the index is reported; the others are read. */
static void indices_out_of_range_are_reported(void **state)
{
    (void)state;
    static const int64_t wrong[] = {5, -6, INT64_MAX, INT64_MIN, 4};
    for (int wide = 0; wide < 2; wide++)
        for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
            uint8_t dtypes[] = {KILN_UINT32, KILN_INT64};
            uint32_t output = 0;
            struct kiln_group group = {
                .operand_count = 2, .output_count = 1, .operand_dtypes = dtypes, .outputs = &output};
            const struct kiln_gpu_config config = {KILN_GPU_INDEXED, 1, wide, !wide};
            struct kiln_buffer text = {0};
            kiln_error err = {0};
            int64_t indices[] = {1, wrong[i], -5, 3};
            size_t item = wide ? 16 : 4;
            bool is_wrong = wrong[i] != 4;
            memset(out, 0xee, sizeof out);
            memset(want, 0, sizeof want);
            memset(records, 0, sizeof records);
            memcpy(want, data + item, item), memcpy(want + 2 * item, data, item);
            memcpy(want + 3 * item, data + 3 * item, item);
            if (!is_wrong) memcpy(want + item, data + 4 * item, item);
            CHECK_OK(kiln__gpu_print(&group, "vi", &config, &text, &err), &err);
            const uint64_t words[] = {
                (uintptr_t)out, (uintptr_t)data, (uintptr_t)indices, 4, 5, item, 5, (uintptr_t)records, 4, item, 0,
                sizeof *indices};
            launch_gpu(load_gpu_text(&text), 1, words);
            CHECK_MEM(out, want, 4 * item);
            CHECK_EQ(records[0], is_wrong);
            if (is_wrong) CHECK_EQ((int64_t)records[1], wrong[i]);
        }
}

static void expect_invalid(const uint8_t *dtypes, uint32_t count, uint32_t output, const char *layouts)
{
    struct kiln_group group = {
        .operand_count = count, .output_count = 1, .operand_dtypes = (uint8_t *)dtypes, .outputs = &output};
    const struct kiln_gpu_config config = {KILN_GPU_INDEXED, 1, false, false};
    struct kiln_buffer text = {0};
    kiln_error err = {0};
    CHECK_STATUS(kiln__gpu_print(&group, layouts, &config, &text, &err), KILN_INVALID, &err);
    CHECK_CONTAINS(err.text, "an indexed kernel copies its operand 0");
    kiln__buffer_release(&text);
}
#define expect_invalid(...) CHECK_CALL(expect_invalid, __VA_ARGS__)

static void other_groups_are_refused(void **state)
{
    (void)state;
    static const uint8_t integers[] = {KILN_UINT32, KILN_INT32}, floats[] = {KILN_UINT32, KILN_FLOAT32};
    expect_invalid(integers, 2, 0, "vv");
    expect_invalid(integers, 2, 0, "ii");
    expect_invalid(integers, 2, 1, "vi");
    expect_invalid(floats, 2, 0, "vi");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(elements_are_found),
        cmocka_unit_test(elements_are_placed),
        cmocka_unit_test(indices_out_of_range_are_reported),
        cmocka_unit_test(other_groups_are_refused),
    };
    return cmocka_run_group_tests(tests, open_plugin, NULL);
}
