/*
 * test_run_backend.c - the tables of devices: the CPU has every operation, GPUs lack these and no others, and a device
 * that can't be entered leaves the active one as it was.
 */
#include "run/placement.h"
#include "support/check.h"

/* Run by plan.c, by nobody but transforms, and never: the CPU's function refuses them. */
static bool is_run_elsewhere(int op)
{
    return op == KILN_OP_PLAN || op == KILN_OP_DEFERRED || op == KILN_OP_CUSTOM;
}

static bool is_lacking_on_gpus(int op)
{
    static const int lacking[] = {
        KILN_OP_LOAD, KILN_OP_DONATED, KILN_OP_GATHER_MATMUL, KILN_OP_SEGMENTED_MATMUL, KILN_OP_CHOLESKY, KILN_OP_EIG,
        KILN_OP_EIGH, KILN_OP_FACTOR,  KILN_OP_FFT,           KILN_OP_INVERSE,          KILN_OP_LU,       KILN_OP_QR,
        KILN_OP_SVD};
    for (size_t i = 0; i < sizeof lacking / sizeof *lacking; i++)
        if (lacking[i] == op) return true;
    return false;
}

static void expect_entry(const struct kiln_backend *backend, const char *device, int op, bool expected)
{
    if (!backend->operations[op] == !expected) return;
    CHECK_FAIL("%s: the table of %s %s", kiln__ops[op].name, device, expected ? "lacks it" : "has it");
}
#define expect_entry(...) CHECK_CALL(expect_entry, __VA_ARGS__)

static void test_operations(void **state)
{
    (void)state;
    for (int op = 0; op < KILN_OP_COUNT; op++) {
        expect_entry(&kiln__cpu_backend, "the CPU", op, true);
        CHECK_EQ(kiln__cpu_backend.operations[op] == kiln__run_nothing, is_run_elsewhere(op));
        expect_entry(&kiln__gpu_backend, "GPUs", op, !is_run_elsewhere(op) && !is_lacking_on_gpus(op));
    }
}

static void test_refusal(void **state)
{
    (void)state;
    const struct kiln_node node = {.op = KILN_OP_PLAN};
    kiln_error err;
    CHECK_STATUS(kiln__run_nothing(&node, NULL, &err), KILN_INVALID, &err);
    CHECK_STR(err.text, "[compiled] This operation is not evaluated by itself.");
}

static void test_launches(void **state)
{
    (void)state;
    const struct kiln_backend *backends[] = {&kiln__cpu_backend, &kiln__gpu_backend};
    for (int i = 0; i < 2; i++) {
        const struct kiln_backend *backend = backends[i];
        CHECK_TRUE(backend->enter && backend->wait && backend->flush && backend->array_at);
        CHECK_TRUE(backend->launch && backend->launch_loop && backend->launch_reduction && backend->launch_rows);
        CHECK_TRUE(backend->can_launch && backend->longest_reduction && backend->copy);
    }
}

static void test_active(void **state)
{
    (void)state;
    struct kiln_placement before;
    kiln_error err;
    CHECK_EQ(kiln__active.backend, &kiln__cpu_backend);
    CHECK_OK(kiln__run_at(0, &before, &err), &err);
    CHECK_EQ(kiln__active.backend, &kiln__cpu_backend);
    CHECK_STATUS(kiln__run_at(1 + KILN_MAX_GPUS, &before, &err), KILN_INVALID);
    CHECK_EQ(kiln__active.backend, &kiln__cpu_backend);
    CHECK_EQ(kiln__active.device_index, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_operations),
        cmocka_unit_test(test_refusal),
        cmocka_unit_test(test_launches),
        cmocka_unit_test(test_active),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
