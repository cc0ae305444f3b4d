/*
 * test_ops_einsum_order.c - the order in which einsum multiplies: against all orders, by multiplications.
 */
#include "ops/contract/einsum_order.h"
#include "support/check.h"

#include <float.h>

#include "torture/torture.h"

enum { MOST = 14, LETTERS = 8 };

static kiln_error err;

static double product(const int *sizes, uint64_t set)
{
    double count = 1;
    for (int i = 0; i < 64; i++)
        if (set >> i & 1) count *= sizes[i];
    return count;
}

/* The least cost of all orders. */
static double least_cost(const uint64_t *sets, size_t count, uint64_t output, const int *sizes)
{
    double least = count < 2 ? 0 : DBL_MAX;
    for (size_t a = 0; a < count; a++) {
        for (size_t b = a + 1; b < count; b++) {
            uint64_t next[MOST], others = output;
            size_t left = 0;
            for (size_t i = 0; i < count; i++)
                if (i != a && i != b) next[left++] = sets[i], others |= sets[i];
            next[left++] = (sets[a] | sets[b]) & others;
            double cost = product(sizes, sets[a] | sets[b]) + least_cost(next, left, output, sizes);
            least = cost < least ? cost : least;
        }
    }
    return least;
}

/* What the pairs cost; each factor is used once. `pairs` NULL: from left to right. */
static double follow(const uint64_t *operands, size_t count, uint64_t output, const int *sizes,
                     const struct kiln_pair *pairs)
{
    uint64_t sets[2 * MOST];
    bool is_used[2 * MOST] = {false};
    double cost = 0;
    memcpy(sets, operands, count * sizeof *sets);
    for (size_t made = count; made < 2 * count - 1; made++) {
        struct kiln_pair pair = {made == count ? 0 : (uint32_t)made - 1, (uint32_t)(made - count) + 1};
        if (pairs) pair = pairs[made - count];
        uint64_t others = output;
        CHECK_LT(pair.left, made);
        CHECK_LT(pair.right, made);
        CHECK_FALSE(is_used[pair.left]);
        is_used[pair.left] = true;
        CHECK_FALSE(is_used[pair.right]);
        is_used[pair.right] = true;
        for (size_t i = 0; i < made; i++)
            if (!is_used[i]) others |= sets[i];
        cost += product(sizes, sets[pair.left] | sets[pair.right]);
        sets[made] = (sets[pair.left] | sets[pair.right]) & others;
    }
    return cost;
}

static void test_random_operands(void **state)
{
    (void)state;
    uint64_t random = 1;
    int cheaper = 0;
    for (int round = 0; round < 400; round++) {
        uint64_t sets[MOST], output = torture_below(&random, 1 << LETTERS);
        int sizes[64] = {0};
        size_t count = 1 + torture_below(&random, MOST);
        struct kiln_pair pairs[MOST];
        double cost = -1;
        for (int i = 0; i < LETTERS; i++) sizes[i] = 1 + (int)torture_below(&random, 9);
        for (size_t i = 0; i < count; i++) sets[i] = 1 + torture_below(&random, (1 << LETTERS) - 1);
        CHECK_CONTEXT("round %d, %zu operands", round, count);
        CHECK_OK(kiln__einsum_order(sets, count, output, sizes, pairs, &cost, &err), &err);
        CHECK_NEAR(follow(sets, count, output, sizes, pairs), cost, 0);
        double plainly = follow(sets, count, output, sizes, NULL);
        CHECK_LE(cost, plainly);
        cheaper += count > KILN_ORDER_ALL && cost < plainly;
        if (count <= 6) CHECK_NEAR(cost, least_cost(sets, count, output, sizes), 0);
    }
    CHECK_GT(cheaper, 50); /* also of those that are too many for all orders */
}

/* (((a b) c) d) ... costs n times as much from the left as from the right, where the last one is a vector. */
static void test_a_chain(void **state)
{
    (void)state;
    for (size_t count = 2; count <= MOST; count++) {
        uint64_t sets[MOST];
        int sizes[64];
        struct kiln_pair pairs[MOST];
        double cost = -1;
        for (int i = 0; i < 64; i++) sizes[i] = 50;
        for (size_t i = 0; i < count; i++) sets[i] = UINT64_C(3) << i;
        sets[count - 1] = UINT64_C(1) << (count - 1);
        CHECK_OK(kiln__einsum_order(sets, count, 1, sizes, pairs, &cost, &err), &err);
        CHECK_NEAR(cost, (double)(count - 1) * 50 * 50, 0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_random_operands), cmocka_unit_test(test_a_chain)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
