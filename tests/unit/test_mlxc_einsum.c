/*
 * test_mlxc_einsum.c - einsum against sums in float64 over all letters, written here; plain, compiled, shapeless,
 * mapped.
 */
#include "vmap_support.h"

enum { MAX_OPERANDS = 8, LETTERS = 128 };

static mlx_array input(const int *shape, int ndim, mlx_dtype dtype, int salt)
{
    float numbers[2048];
    int size = 1;
    for (int i = 0; i < ndim; i++) size *= shape[i];
    for (int i = 0; i < size; i++) numbers[i] = (float)((i * 7 + salt * 5 + i / 3) % 9 - 4);
    mlx_array plain = mlx_array_new_data(numbers, shape, ndim, MLX_FLOAT32), out = mlx_array_new();
    CHECK_EQ(mlx_astype(&out, plain, dtype, stream) || mlx_array_eval(out), 0);
    mlx_array_free(plain);
    return out;
}

struct call {
    const char *subscripts;
    int count;
};

static int run_einsum(const void *payload, const mlx_array *in, mlx_array *out)
{
    const struct call *call = payload;
    mlx_vector_array operands = mlx_vector_array_new_data(in, (size_t)call->count);
    int code = mlx_einsum(out, call->subscripts, operands, stream);
    return mlx_vector_array_free(operands), code;
}

/* ---- the sum in float64 ------------------------------------------------------------------------------------------ */

/* The same notation, spelled out: letters of each operand and of the output, no dots, no spaces. */
struct sum {
    const char *plain;
    int sizes[LETTERS];
};

static double element_at(mlx_array array, const char *letters, size_t count, const int *at)
{
    size_t offset = 0;
    for (size_t i = 0; i < count; i++) {
        int size = mlx_array_shape(array)[i];
        offset = offset * (size_t)size + (size_t)(size == 1 ? 0 : at[(unsigned char)letters[i]]);
    }
    return (double)mlx_array_data_float32(array)[offset];
}

/* Adds up all products with the letters of the output where `at` has them. */
static double sum_over(const struct sum *sum, const mlx_array *in, const char *letters, int *at)
{
    if (!*letters) {
        double product = 1;
        const char *part = sum->plain;
        for (int k = 0; k == 0 || (*part && *part != '-'); k++) {
            size_t count = strcspn(part, ",-");
            product *= element_at(in[k], part, count, at);
            part += count + (part[count] == ',');
        }
        return product;
    }
    double total = 0;
    for (int i = 0; i < sum->sizes[(unsigned char)*letters]; i++) {
        at[(unsigned char)*letters] = i;
        total += sum_over(sum, in, letters + 1, at);
    }
    return total;
}

static void find_letters(struct sum *sum, const mlx_array *in, char *summed)
{
    const char *part = sum->plain, *output = strstr(sum->plain, "->") + 2;
    memset(sum->sizes, 0, sizeof sum->sizes);
    *summed = '\0';
    for (int k = 0; k == 0 || (*part && *part != '-'); k++) {
        size_t count = strcspn(part, ",-");
        for (size_t i = 0; i < count; i++) {
            int size = mlx_array_shape(in[k])[i], *known = &sum->sizes[(unsigned char)part[i]];
            char letter[] = {part[i], '\0'};
            if (!strchr(output, part[i]) && !strchr(summed, part[i])) strcat(summed, letter);
            *known = *known > size ? *known : size;
        }
        part += count + (part[count] == ',');
    }
}

static void expect_sum(mlx_array got, const char *plain, const mlx_array *in)
{
    struct sum sum = {.plain = plain};
    const char *output = strstr(plain, "->") + 2;
    char summed[LETTERS];
    int at[LETTERS] = {0};
    mlx_array packed;
    find_letters(&sum, in, summed);
    CHECK_EQ(mlx_array_ndim(got), strlen(output));
    for (size_t i = 0; i < strlen(output); i++) CHECK_EQ(mlx_array_shape(got)[i], sum.sizes[(unsigned char)output[i]]);
    const float *data = (const float *)(const void *)bytes_of(got, &packed);
    for (size_t i = 0; i < mlx_array_size(got); i++) {
        size_t rest = i;
        for (size_t k = strlen(output); k-- > 0;) {
            size_t size = (size_t)sum.sizes[(unsigned char)output[k]];
            at[(unsigned char)output[k]] = (int)(rest % size), rest /= size;
        }
        CHECK_NEAR(data[i], sum_over(&sum, in, summed, at), 0); /* whole numbers */
    }
    mlx_array_free(packed);
}
#define expect_sum(...) CHECK_CALL(expect_sum, __VA_ARGS__)

/* ---- cases ------------------------------------------------------------------------------------------------------- */

static const struct {
    const char *subscripts, *plain;
    int count;
    struct {
        int shape[5], ndim;
    } inputs[MAX_OPERANDS];
} cases[] = {
    {"ij,jk->ik", "ij,jk->ik", 2, {{{2, 3}, 2}, {{3, 4}, 2}}},
    {" i j , jk -> k i ", "ij,jk->ki", 2, {{{2, 3}, 2}, {{3, 4}, 2}}},
    {"ij,jk", "ij,jk->ik", 2, {{{2, 3}, 2}, {{3, 4}, 2}}},
    {"ba", "ba->ab", 1, {{{2, 3}, 2}}},
    {"bA", "bA->Ab", 1, {{{2, 3}, 2}}},
    {"ij->", "ij->", 1, {{{2, 3}, 2}}},
    {"ij->i", "ij->i", 1, {{{2, 3}, 2}}},
    {"", "->", 1, {{{0}, 0}}},
    {",ij", ",ij->ij", 2, {{{0}, 0}, {{2, 3}, 2}}},
    {"ii", "ii->", 1, {{{3, 3}, 2}}},
    {"ii->i", "ii->i", 1, {{{3, 3}, 2}}},
    {"iij->ji", "iij->ji", 1, {{{3, 3, 2}, 3}}},
    {"ijiij->ij", "ijiij->ij", 1, {{{3, 2, 3, 3, 2}, 5}}},
    {"i,jj->j", "i,jj->j", 2, {{{3}, 1}, {{2, 2}, 2}}},
    {"i,j->ij", "i,j->ij", 2, {{{3}, 1}, {{2}, 1}}},
    {"i,i", "i,i->", 2, {{{3}, 1}, {{3}, 1}}},
    {"ij,kl->", "ij,kl->", 2, {{{2, 3}, 2}, {{3, 2}, 2}}},
    {"bij,bjk->bik", "bij,bjk->bik", 2, {{{2, 3, 4}, 3}, {{2, 4, 5}, 3}}},
    {"bij,bkj->ikb", "bij,bkj->ikb", 2, {{{2, 3, 4}, 3}, {{2, 5, 4}, 3}}},
    {"ij,ij->ij", "ij,ij->ij", 2, {{{2, 3}, 2}, {{1, 3}, 2}}},
    {"ij,ij->i", "ij,ij->i", 2, {{{2, 1}, 2}, {{1, 3}, 2}}},
    {"ij,ij->", "ij,ij->", 2, {{{2, 1}, 2}, {{2, 1}, 2}}},
    {"...ij->...j", "zij->zj", 1, {{{4, 2, 3}, 3}}},
    {"...ij->j", "zij->j", 1, {{{2, 2, 3}, 3}}},
    {"...i,i->...", "zi,i->z", 2, {{{2, 3}, 2}, {{3}, 1}}},
    {"i...j,j", "iyzj,j->yzi", 2, {{{2, 3, 4, 5}, 4}, {{5}, 1}}},
    {"...ij,...jk", "yzij,zjk->yzik", 2, {{{2, 3, 2, 3}, 4}, {{3, 3, 2}, 3}}},
    {"...ij,...jk->ik...", "yzij,zjk->ikyz", 2, {{{2, 1, 2, 3}, 4}, {{3, 3, 2}, 3}}},
    {"ij,jk,kl->il", "ij,jk,kl->il", 3, {{{2, 3}, 2}, {{3, 4}, 2}, {{4, 5}, 2}}},
    {"ab,bc,cd,de,ea", "ab,bc,cd,de,ea->", 5, {{{2, 3}, 2}, {{3, 4}, 2}, {{4, 2}, 2}, {{2, 3}, 2}, {{3, 2}, 2}}},
    {"a,a,a,a,ab,b,b,cb->c",
     "a,a,a,a,ab,b,b,cb->c",
     8,
     {{{2}, 1}, {{2}, 1}, {{2}, 1}, {{1}, 1}, {{2, 3}, 2}, {{3}, 1}, {{3}, 1}, {{2, 3}, 2}}},
    {"bhqd,bhkd,bhkv->bqhv", "bhqd,bhkd,bhkv->bqhv", 3, {{{2, 2, 3, 4}, 4}, {{2, 2, 5, 4}, 4}, {{2, 2, 5, 3}, 4}}},
    {"ij,jk", "ij,jk->ik", 2, {{{2, 0}, 2}, {{0, 4}, 2}}},
};
enum { CASES = sizeof cases / sizeof *cases };

static void make_inputs(int c, mlx_array *in)
{
    for (int i = 0; i < cases[c].count; i++)
        in[i] = input(cases[c].inputs[i].shape, cases[c].inputs[i].ndim, MLX_FLOAT32, i);
}

static void free_inputs(int c, mlx_array *in)
{
    for (int i = 0; i < cases[c].count; i++) mlx_array_free(in[i]);
}

static void expect_compiled(struct mapped_function *function, const mlx_array *in, int count, mlx_array want,
                            bool shapeless)
{
    mlx_closure plain = closure_of(function), compiled = mlx_closure_new();
    mlx_vector_array inputs = mlx_vector_array_new_data(in, (size_t)count), res = mlx_vector_array_new();
    mlx_array got = mlx_array_new();
    CHECK_EQ(mlx_compile(&compiled, plain, shapeless) || mlx_closure_apply(&res, compiled, inputs) ||
                 mlx_vector_array_get(&got, res, 0),
             0);
    expect_same_arrays(got, want);
    mlx_array_free(got), mlx_vector_array_free(inputs), mlx_vector_array_free(res);
    mlx_closure_free(plain), mlx_closure_free(compiled);
}
#define expect_compiled(...) CHECK_CALL(expect_compiled, __VA_ARGS__)

static void test_numbers(void **state)
{
    (void)state;
    for (int c = 0; c < CASES; c++) {
        CHECK_CONTEXT("%s, case %d", cases[c].subscripts, c);
        struct call call = {cases[c].subscripts, cases[c].count};
        struct mapped_function function = {run_einsum, &call, 0};
        mlx_array in[MAX_OPERANDS], got = mlx_array_new();
        make_inputs(c, in);
        CHECK_EQ(run_einsum(&call, in, &got), 0);
        expect_sum(got, cases[c].plain, in);
        expect_compiled(&function, in, cases[c].count, got, false);
        mlx_array_free(got), free_inputs(c, in);
    }
}

static void test_mapped(void **state)
{
    (void)state;
    for (int c = 0; c < CASES; c++) {
        CHECK_CONTEXT("%s, case %d", cases[c].subscripts, c);
        struct call call = {cases[c].subscripts, cases[c].count};
        struct mapped_function function = {run_einsum, &call, 0};
        mlx_array in[MAX_OPERANDS];
        int axes[MAX_OPERANDS];
        for (int i = 0; i < cases[c].count; i++) {
            int shape[6] = {3};
            axes[i] = i % 2 ? -1 : 0;
            memcpy(shape + 1, cases[c].inputs[i].shape, sizeof(int[5]));
            in[i] = input(shape + i % 2, cases[c].inputs[i].ndim + !(i % 2), MLX_FLOAT32, i);
        }
        expect_like_loop(&function, in, cases[c].count, axes, 0);
        free_inputs(c, in);
    }
}

/* One trace serves other sizes, where the sizes alone decide what is broadcast and which pair is multiplied first. */
static void test_shapeless(void **state)
{
    (void)state;
    static const int sizes[][4] = {{2, 3, 4, 5}, {5, 4, 3, 2}, {1, 7, 1, 9}};
    struct call call = {"ij,jk,k...->i...", 3};
    struct mapped_function function = {run_einsum, &call, 0};
    mlx_closure plain = closure_of(&function), compiled = mlx_closure_new();
    CHECK_EQ(mlx_compile(&compiled, plain, true), 0);
    for (int i = 0; i < 3; i++) {
        const int *n = sizes[i];
        mlx_array in[] = {input((int[]){n[0], n[1]}, 2, MLX_FLOAT32, 0), input((int[]){n[1], n[2]}, 2, MLX_FLOAT32, 1),
                          input((int[]){n[2], n[3], 2}, 3, MLX_FLOAT32, 2)};
        mlx_vector_array inputs = mlx_vector_array_new_data(in, 3), res = mlx_vector_array_new();
        mlx_array got = mlx_array_new();
        CHECK_EQ(mlx_closure_apply(&res, compiled, inputs) || mlx_vector_array_get(&got, res, 0), 0);
        expect_sum(got, "ij,jk,kyz->iyz", in);
        CHECK_EQ(function.calls, 1);
        for (int k = 0; k < 3; k++) mlx_array_free(in[k]);
        mlx_array_free(got), mlx_vector_array_free(inputs), mlx_vector_array_free(res);
    }
    mlx_closure_free(plain), mlx_closure_free(compiled);
}

static void test_dtypes(void **state)
{
    (void)state;
    static const struct {
        const char *subscripts;
        mlx_dtype left, right, result;
    } dtypes[] = {{"ij,jk", MLX_FLOAT16, MLX_FLOAT16, MLX_FLOAT16}, {"ij,jk", MLX_INT32, MLX_FLOAT32, MLX_FLOAT32},
                  {"ij,jk", MLX_INT32, MLX_INT8, MLX_INT32},        {"ij,jk->", MLX_BOOL, MLX_BOOL, MLX_INT32},
                  {"ij,ji->ij", MLX_UINT8, MLX_UINT8, MLX_UINT8},   {"ij,jk", MLX_BFLOAT16, MLX_FLOAT16, MLX_FLOAT32}};
    for (size_t i = 0; i < sizeof dtypes / sizeof *dtypes; i++) {
        CHECK_CONTEXT("case %zu", i);
        struct call call = {dtypes[i].subscripts, 2};
        mlx_array in[] = {input((int[]){2, 2}, 2, dtypes[i].left, 0), input((int[]){2, 2}, 2, dtypes[i].right, 1)},
                  out = mlx_array_new();
        CHECK_EQ(run_einsum(&call, in, &out) || mlx_array_eval(out), 0);
        CHECK_EQ(mlx_array_dtype(out), dtypes[i].result);
        mlx_array_free(in[0]), mlx_array_free(in[1]), mlx_array_free(out);
    }
}

/* ---- refusals ---------------------------------------------------------------------------------------------------- */

static void test_refusals(void **state)
{
    (void)state;
    static const struct {
        const char *subscripts;
        int count;
        const char *text;
    } wrong[] = {
        {"i1,jk", 2, "Subscripts must be letters, but got '1'."},
        {"ij->ij->", 1, "Nothing can follow the output, but got '-'."},
        {"ij.->", 1, "Subscripts must be letters, but got '.'."},
        {"......", 1, "\"...\" can stand once in an operand."},
        {"ij->ik", 1, "Subscript 'k' of the output is in no input."},
        {"ij->ii", 1, "Repeat indices not allowed in output: subscript 'i' stands twice."},
        {"ii", 1, "Subscript 'i' stands for dimensions of different sizes in input 0 with shape (2,3)."},
        {"ij,jk", 1, "Number of operands, 1, does not match number of input subscripts, 2."},
        {"ij", 2, "Number of operands, 2, does not match number of input subscripts, 1."},
        {"i", 1, "Invalid number of subscripts 1 for input 0 with 2 dimensions."},
        {"...ijk", 1, "Invalid number of subscripts 3 for input 0 with 2 dimensions."},
        {"ij,jk", 2,
         "Cannot broadcast dimension 0 of input 1 with shape (2,3) to size 3: subscript 'j' has that size."},
    };
    mlx_array a = input((int[]){2, 3}, 2, MLX_FLOAT32, 0);
    const mlx_array in[] = {a, a};
    mlx_vector_array none = mlx_vector_array_new();
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        CHECK_CONTEXT("%s", wrong[i].subscripts);
        mlx_array out = mlx_array_new();
        CHECK_EQ(run_einsum(&(struct call){wrong[i].subscripts, wrong[i].count}, in, &out), 1);
        expect_error(wrong[i].text);
        CHECK_NULL(out.ctx);
    }
    mlx_array out = mlx_array_new();
    CHECK_EQ(mlx_einsum(&out, "ij", none, stream), 1);
    expect_error("[einsum] Must provide at least one operand.");
    CHECK_EQ(run_einsum(&(struct call){NULL, 1}, in, &out), 1);
    expect_error("[einsum] expected subscripts, got NULL.");
    mlx_array_free(a), mlx_vector_array_free(none);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_numbers, install_handler),   cmocka_unit_test_setup(test_mapped, install_handler),
        cmocka_unit_test_setup(test_shapeless, install_handler), cmocka_unit_test_setup(test_dtypes, install_handler),
        cmocka_unit_test_setup(test_refusals, install_handler),
    };
    stream = mlx_default_cpu_stream_new();
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    mlx_stream_free(stream);
    return failed;
}
