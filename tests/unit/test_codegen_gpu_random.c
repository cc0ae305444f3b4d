/*
 * test_codegen_gpu_random.c - kernels of random words, run by the emulator, against array/threefry.h: odd and even
 * counts around a block, keys with any stride, 32- and 64-bit places; and what is no such kernel.
 */
#include "gpu_support.h"

#include "array/threefry.h"

enum { MOST = 2 * 2 * KILN_GPU_BLOCK + 3 };

static uint8_t dtype = KILN_UINT32;
static uint32_t output = 1;
static struct kiln_instr instr = {KILN_OP_RANDOM_BITS, KILN_UINT32, {0}};
static const struct kiln_group group = {.operand_count = 1,
                                        .instr_count = 1,
                                        .output_count = 1,
                                        .operand_dtypes = &dtype,
                                        .instrs = &instr,
                                        .outputs = &output};

static void words_are_those_of_threefry(void **state)
{
    (void)state;
    static const size_t counts[] = {1, 2, 3, 255, 256, 511, 512, 513, 514, 1024, MOST};
    static uint32_t out[MOST + 1], want[MOST + 1];
    for (int is_long = 0; is_long < 2; is_long++) {
        const struct kiln_gpu_config config = {.schedule = KILN_GPU_RANDOM, .is_long = is_long};
        struct kiln_buffer text = {0};
        kiln_error err = {0};
        CHECK_OK(kiln__gpu_print(&group, "v", &config, &text, &err), &err);
        gpu_emulator_thread kernel = load_gpu_text(&text);
        for (size_t i = 0; i < sizeof counts / sizeof *counts; i++) {
            size_t count = counts[i], pairs = count - count / 2, stride = i % 3;
            const uint32_t keys[3] = {0x9e3779b9u * (uint32_t)(i + 1), 7, 0xdeadbeefu};
            const uint32_t key[2] = {keys[0], keys[stride]};
            memset(out, 0xee, sizeof out);
            memset(want, 0xee, sizeof want);
            kiln__threefry_fill(key, want, count);
            const uint64_t words[] = {(uintptr_t)out, (uintptr_t)keys, pairs, count / 2, stride * sizeof *keys};
            launch_gpu(kernel, (uint32_t)((pairs + KILN_GPU_BLOCK - 1) / KILN_GPU_BLOCK), words);
            CHECK_MEM(out, want, sizeof out);
        }
    }
}

static void expect_invalid(const struct kiln_group *other, const char *message)
{
    const struct kiln_gpu_config config = {.schedule = KILN_GPU_RANDOM};
    struct kiln_buffer text = {0};
    kiln_error err = {0};
    CHECK_STATUS(kiln__gpu_print(other, "v", &config, &text, &err), KILN_INVALID, &err);
    if (!strstr(err.text, message)) CHECK_FAIL("%s", err.text);
    kiln__buffer_release(&text);
}
#define expect_invalid(...) CHECK_CALL(expect_invalid, __VA_ARGS__)

static void other_groups_are_refused(void **state)
{
    (void)state;
    static const char message[] = "a random kernel has one instruction, random_bits";
    uint8_t wide = KILN_UINT64;
    uint32_t zero = 0;
    struct kiln_instr sum = {KILN_OP_SUM, KILN_UINT32, {0}}, twice[] = {instr, instr}, none = {9999, KILN_UINT32, {0}};
    struct kiln_group other = group;
    other.operand_dtypes = &wide;
    expect_invalid(&other, message);
    other = group, other.outputs = &zero;
    expect_invalid(&other, message);
    other = group, other.instrs = &sum;
    expect_invalid(&other, message);
    other = group, other.instr_count = 0, other.outputs = &zero;
    expect_invalid(&other, message);
    other = group, other.instrs = twice, other.instr_count = 2;
    expect_invalid(&other, "is not element-wise");
    other = group, other.instrs = &none;
    expect_invalid(&other, "is not element-wise");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(words_are_those_of_threefry),
        cmocka_unit_test(other_groups_are_refused),
    };
    return cmocka_run_group_tests(tests, open_plugin, NULL);
}
