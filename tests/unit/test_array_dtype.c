/*
 * test_array_dtype.c - the table of dtypes, promotion against its rules, and 16-bit floats against the compiler's.
 */
#include "array/dtype.h"
#include "support/check.h"

static enum kiln_dtype of_kind(enum kiln_dtype_kind kind, size_t size)
{
    for (int i = 0; i < KILN_DTYPE_COUNT; i++)
        if (kiln__dtypes[i].kind == kind && kiln__dtypes[i].size == size && i != KILN_BFLOAT16)
            return (enum kiln_dtype)i;
    CHECK_FAIL("no dtype of %zu bytes", size);
    return KILN_BOOL;
}

/* The rules in words of the ABI's description, independent of the table; `a` has the lower kind. */
static enum kiln_dtype expected_promotion(enum kiln_dtype a, enum kiln_dtype b)
{
    const struct kiln_dtype_info *x = &kiln__dtypes[a], *y = &kiln__dtypes[b];
    if (x->kind > y->kind) return expected_promotion(b, a);
    if (y->kind == KILN_KIND_COMPLEX || x->kind == KILN_KIND_BOOL) return b;
    if (a == b) return a;
    if (y->kind == KILN_KIND_FLOAT && x->kind != KILN_KIND_FLOAT) return b;
    if (y->kind == KILN_KIND_FLOAT) return a == KILN_FLOAT64 || b == KILN_FLOAT64 ? KILN_FLOAT64 : KILN_FLOAT32;
    if (x->kind == y->kind) return x->size > y->size ? a : b;
    if (a == KILN_UINT64) return KILN_FLOAT32;
    return y->size > x->size ? b : of_kind(KILN_KIND_SIGNED, 2 * x->size);
}

static void test_promotion(void **state)
{
    (void)state;
    for (int a = 0; a < KILN_DTYPE_COUNT; a++) {
        for (int b = 0; b < KILN_DTYPE_COUNT; b++) {
            enum kiln_dtype got = kiln__dtype_promote((enum kiln_dtype)a, (enum kiln_dtype)b);
            CHECK_EQ(got, expected_promotion((enum kiln_dtype)a, (enum kiln_dtype)b));
            CHECK_EQ(got, kiln__dtype_promote((enum kiln_dtype)b, (enum kiln_dtype)a));
            CHECK_EQ(kiln__dtype_promote(got, (enum kiln_dtype)a), got);
        }
    }
    CHECK_EQ(kiln__dtype_promote(KILN_UINT64, KILN_INT8), KILN_FLOAT32);
    CHECK_EQ(kiln__dtype_promote(KILN_UINT8, KILN_INT8), KILN_INT16);
    CHECK_EQ(kiln__dtype_promote(KILN_FLOAT16, KILN_BFLOAT16), KILN_FLOAT32);
}

static void test_table(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        size_t size;
    } expected[] = {{"bool", 1},    {"uint8", 1},   {"uint16", 2},   {"uint32", 4},   {"uint64", 8},
                    {"int8", 1},    {"int16", 2},   {"int32", 4},    {"int64", 8},    {"float16", 2},
                    {"float32", 4}, {"float64", 8}, {"bfloat16", 2}, {"complex64", 8}};
    for (int i = 0; i < KILN_DTYPE_COUNT; i++) {
        CHECK_STR(kiln__dtypes[i].name, expected[i].name);
        CHECK_EQ(kiln__dtype_size((enum kiln_dtype)i), expected[i].size);
        CHECK_TRUE(kiln__dtype_is_valid(i));
    }
    CHECK_FALSE(kiln__dtype_is_valid(-1));
    CHECK_FALSE(kiln__dtype_is_valid(KILN_DTYPE_COUNT));
    CHECK_TRUE(kiln__dtype_is_float(KILN_BFLOAT16));
    CHECK_FALSE(kiln__dtype_is_float(KILN_COMPLEX64));
}

static uint32_t bits_of(float value)
{
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

static float float_of(uint32_t bits)
{
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

static float compiler_half(uint16_t bits)
{
    _Float16 half;
    memcpy(&half, &bits, sizeof half);
    return (float)half;
}

static uint16_t compiler_to_half(float value)
{
    _Float16 half = (_Float16)value;
    uint16_t bits;
    memcpy(&bits, &half, sizeof bits);
    return bits;
}

static void test_half_all_patterns(void **state)
{
    (void)state;
    for (uint32_t bits = 0; bits < 65536; bits++) {
        bool nan = (bits & 0x7fff) > 0x7c00;
        float value = kiln__half_to_float((unsigned short)bits);
        if (!nan) CHECK_EQ(bits_of(value), bits_of(compiler_half((uint16_t)bits)));
        if (nan) CHECK_NE(value, value);
        CHECK_EQ(kiln__float_to_half(value), nan ? bits | 0x200 : bits);
    }
}

static void test_bfloat_all_patterns(void **state)
{
    (void)state;
    for (uint32_t bits = 0; bits < 65536; bits++) {
        bool nan = (bits & 0x7fff) > 0x7f80;
        float value = kiln__bfloat_to_float((unsigned short)bits);
        CHECK_EQ(bits_of(value), bits << 16);
        CHECK_EQ(kiln__float_to_bfloat(value), nan ? bits | 0x40 : bits);
    }
}

/* Around every half value and between neighbours, so every tie is met, and a walk over all floats. */
static void test_half_rounding(void **state)
{
    (void)state;
    for (uint32_t bits = 0; bits < 0x7c00; bits++) {
        float low = kiln__half_to_float((unsigned short)bits), high = kiln__half_to_float((unsigned short)(bits + 1));
        float middle = bits == 0x7bff ? 65520.0f : (low + high) / 2;
        for (int step = -1; step <= 1; step++) {
            float value = float_of(bits_of(middle) + (uint32_t)step);
            CHECK_EQ(kiln__float_to_half(value), compiler_to_half(value));
            CHECK_EQ(kiln__float_to_half(-value), compiler_to_half(-value));
        }
    }
    for (uint64_t bits = 0; bits < UINT32_MAX; bits += 9973) {
        float value = float_of((uint32_t)bits);
        if (value == value) CHECK_EQ(kiln__float_to_half(value), compiler_to_half(value));
    }
}

static void test_bfloat_rounding(void **state)
{
    (void)state;
    CHECK_EQ(kiln__float_to_bfloat(float_of(0x3f808000)), 0x3f80); /* a tie goes to even */
    CHECK_EQ(kiln__float_to_bfloat(float_of(0x3f818000)), 0x3f82);
    CHECK_EQ(kiln__float_to_bfloat(float_of(0x3f808001)), 0x3f81);
    CHECK_EQ(kiln__float_to_bfloat(float_of(0x7f7fffff)), 0x7f80); /* beyond the largest: infinity */
    CHECK_EQ(kiln__float_to_bfloat(float_of(0x00008001)), 0x0001); /* denormals are kept */
    CHECK_EQ(kiln__float_to_bfloat(float_of(0xff800001)), 0xffc0); /* NaN stays NaN */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_promotion),         cmocka_unit_test(test_table),
        cmocka_unit_test(test_half_all_patterns), cmocka_unit_test(test_bfloat_all_patterns),
        cmocka_unit_test(test_half_rounding),     cmocka_unit_test(test_bfloat_rounding),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
