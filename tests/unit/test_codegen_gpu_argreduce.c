/*
 * test_codegen_gpu_argreduce.c - kernels of argmin and argmax, run by the emulator, against the keys of
 * run/ops/sort_keys.h: every dtype, rows of one chunk and several, through places, 32- and 64-bit indices; and what is
 * no such kernel.
 */
#include "gpu_support.h"

#include "run/ops/sort_keys.h"

enum { ROWS = 11, LONGEST = 700, ITEM = 8 };

static _Alignas(64) char data[ROWS * LONGEST * 2 * ITEM];
static uint64_t keys[ROWS * LONGEST * 2];

struct case_of {
    uint8_t op, dtype;
    int64_t n, chunk, step; /* step: elements from one to the next */
    bool through, is_long;
};

static const uint32_t places[] = {0, 3, 4, 9, 17}; /* with `through`: elements of each row, of which there are n */

static uint32_t place_at(const struct case_of *k, int64_t position)
{
    return k->through ? places[position] : (uint32_t)position;
}

static uint64_t key_at(const struct case_of *k, int64_t row, int64_t position)
{
    uint64_t key = keys[row * LONGEST * 2 + place_at(k, position) * k->step];
    bool is_nan = kiln__order_nan(k->dtype) && key == kiln__order_nan(k->dtype);
    return is_nan ? UINT64_MAX : k->op == KILN_OP_ARGMIN ? ~key : key;
}

static uint32_t expected(const struct case_of *k, int64_t row, int64_t first)
{
    int64_t end = first + k->chunk < k->n ? first + k->chunk : k->n, best = first;
    for (int64_t i = first; i < end; i++)
        if (key_at(k, row, i) > key_at(k, row, best)) best = i;
    return place_at(k, best);
}

static void print(const struct case_of *k, struct kiln_buffer *text)
{
    uint8_t dtypes[] = {k->dtype, KILN_UINT32};
    uint32_t output = 2;
    struct kiln_instr instr = {k->op, KILN_UINT32, {0}};
    const struct kiln_group group = {.operand_count = 2,
                                     .instr_count = 1,
                                     .output_count = 1,
                                     .operand_dtypes = dtypes,
                                     .instrs = &instr,
                                     .outputs = &output};
    const struct kiln_gpu_config config = {KILN_GPU_ARGREDUCE, 1, false, k->is_long};
    const char layouts[] = {k->step == 1 ? 'c' : 'v', k->through ? 'i' : 's', 0};
    kiln_error err = {0};
    CHECK_OK(kiln__gpu_print(&group, layouts, &config, text, &err), &err);
}

static void check(const struct case_of *k)
{
    static uint32_t out[ROWS * LONGEST];
    struct kiln_buffer text = {0};
    uint64_t chunks = (uint64_t)((k->n + k->chunk - 1) / k->chunk), item = kiln__dtype_size(k->dtype);
    uint64_t step = (uint64_t)k->step * item, row = 2 * LONGEST * item;
    const uint64_t words[] = {(uintptr_t)out,
                              (uintptr_t)data,
                              (uintptr_t)places,
                              ROWS,
                              (uint64_t)k->n,
                              (uint64_t)k->chunk,
                              chunks,
                              step,
                              ROWS,
                              4 * chunks,
                              row,
                              0};
    kiln__order_keys[k->dtype](data, (int64_t)item, ROWS * LONGEST * 2, keys);
    memset(out, 0xee, sizeof out);
    print(k, &text);
    launch_gpu(load_gpu_text(&text), (uint32_t)(ROWS * chunks + KILN_GPU_WARPS - 1) / KILN_GPU_WARPS, words);
    for (int64_t i = 0; i < ROWS * (int64_t)chunks; i++) {
        uint32_t want = expected(k, i / (int64_t)chunks, i % (int64_t)chunks * k->chunk);
        if (out[i] != want)
            CHECK_FAIL("%s of %s, n %d, chunk %d: place %u of chunk %d, expected %u", kiln__ops[k->op].name,
                       kiln__dtypes[k->dtype].name, (int)k->n, (int)k->chunk, out[i], (int)i, want);
    }
    CHECK_EQ(out[ROWS * chunks], 0xeeeeeeee);
}
#define check(...) CHECK_CALL(check, __VA_ARGS__)

/* Bytes of few values: ties everywhere, and with the specials NaN, infinities and zeros of either sign. */
static void fill(uint8_t dtype, int salt)
{
    static const unsigned char few[] = {0x00, 0x80, 0xff, 0x7f, 0x01};
    static const float specials[] = {0.0f, -0.0f, 1.0f, -1.0f};
    for (size_t i = 0; i < sizeof data; i++) data[i] = (char)few[(i * 7 + i / 5 + (size_t)salt) % (i % 3 ? 2 : 5)];
    if (dtype == KILN_FLOAT32)
        for (size_t i = (size_t)salt; i < sizeof data / 4; i += 3) memcpy(data + 4 * i, &specials[i % 4], 4);
    if (dtype == KILN_BOOL)
        for (size_t i = 0; i < sizeof data; i++) data[i] &= 1;
}

static void places_are_found(void **state)
{
    (void)state;
    static const int64_t sizes[][2] = {{1, 1}, {31, 31}, {33, 33}, {256, 256}, {257, 300}, {700, 100}, {600, 256}};
    int turn = 0;
    for (uint8_t op = KILN_OP_ARGMIN; op <= KILN_OP_ARGMAX; op++)
        for (uint8_t dtype = 0; dtype < KILN_DTYPE_COUNT; dtype++)
            for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++, turn++) {
                fill(dtype, turn % 3);
                check(&(struct case_of){op, dtype, sizes[i][0], sizes[i][1], 1 + turn % 2, false, turn % 3 == 0});
            }
}

static void places_are_found_through_places(void **state)
{
    (void)state;
    for (uint8_t op = KILN_OP_ARGMIN; op <= KILN_OP_ARGMAX; op++)
        for (uint8_t dtype = 0; dtype < KILN_DTYPE_COUNT; dtype++) {
            fill(dtype, dtype % 3);
            check(&(struct case_of){op, dtype, 5, 5, 1 + dtype % 2, true, dtype % 4 < 2});
            check(&(struct case_of){op, dtype, 5, 2, 1 + dtype % 2, true, dtype % 4 < 2});
        }
}

/* Rows of one value, NaN too: the first wins. */
static void the_first_of_equals_is_found(void **state)
{
    (void)state;
    for (int c = 0; c < 3; c++)
        for (uint8_t dtype = 0; dtype < KILN_DTYPE_COUNT; dtype++) {
            memset(data, dtype == KILN_BOOL ? c % 2 : c == 0 ? 0 : c == 1 ? 0xff : 0x3c, sizeof data);
            check(&(struct case_of){KILN_OP_ARGMIN, dtype, 300, 300, 1, false, false});
            check(&(struct case_of){KILN_OP_ARGMAX, dtype, 300, 100, 2, false, false});
        }
}

static void expect_invalid(const struct kiln_group *group, const char *layouts)
{
    const struct kiln_gpu_config config = {KILN_GPU_ARGREDUCE, 1, false, false};
    struct kiln_buffer text = {0};
    kiln_error err = {0};
    CHECK_STATUS(kiln__gpu_print(group, layouts, &config, &text, &err), KILN_INVALID, &err);
    if (!strstr(err.text, "an argreduce kernel has one instruction, argmin or argmax")) CHECK_FAIL("%s", err.text);
    kiln__buffer_release(&text);
}
#define expect_invalid(...) CHECK_CALL(expect_invalid, __VA_ARGS__)

static void other_groups_are_refused(void **state)
{
    (void)state;
    uint8_t right[] = {KILN_FLOAT32, KILN_UINT32}, wrong[] = {KILN_FLOAT32, KILN_INT64};
    uint32_t output = 2, zero = 0;
    struct kiln_instr instr = {KILN_OP_ARGMAX, KILN_UINT32, {0}}, other = {KILN_OP_MAX, KILN_UINT32, {0}};
    const struct kiln_group good = {.operand_count = 2,
                                    .instr_count = 1,
                                    .output_count = 1,
                                    .operand_dtypes = right,
                                    .instrs = &instr,
                                    .outputs = &output};
    struct kiln_group group = good;
    expect_invalid(&good, "sc");
    expect_invalid(&good, "vv");
    expect_invalid(&good, "ii");
    group.operand_dtypes = wrong;
    expect_invalid(&group, "vs");
    group = good, group.instrs = &other;
    expect_invalid(&group, "vs");
    group = good, group.outputs = &zero;
    expect_invalid(&group, "vs");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(places_are_found),
        cmocka_unit_test(places_are_found_through_places),
        cmocka_unit_test(the_first_of_equals_is_found),
        cmocka_unit_test(other_groups_are_refused),
    };
    return cmocka_run_group_tests(tests, open_plugin, NULL);
}
