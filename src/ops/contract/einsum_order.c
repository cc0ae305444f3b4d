/*
 * einsum_order.c - see einsum_order.h. What a product of some operands keeps, the letters that the output or another
 * operand has, does not depend on the order in which they were multiplied. So the least cost of a set of operands
 * follows from those of its subsets.
 */
#include "ops/contract/einsum_order.h"

#include <float.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/status.h"

static double elements(const int *sizes, uint64_t set)
{
    double count = 1;
    for (; set; set &= set - 1) count *= sizes[__builtin_ctzll(set)];
    return count;
}

/* ---- all orders: sets of operands as bits ------------------------------------------------------------------------ */

enum { SUBSETS = 1 << KILN_ORDER_ALL };

struct subset {
    uint64_t kept; /* letters of the product */
    double cost;
    uint32_t part;   /* the best way to make it: this part of it, and the rest */
    uint32_t number; /* of the factor, once it is made */
    bool is_needed;
};

static uint64_t letters_of(const uint64_t *sets, uint32_t subset)
{
    uint64_t letters = 0;
    for (; subset; subset &= subset - 1) letters |= sets[__builtin_ctz(subset)];
    return letters;
}

/* Parts have the lowest operand, so that each way is tried once. */
static void find_best(struct subset *subsets, uint32_t subset, const int *sizes)
{
    struct subset *whole = &subsets[subset];
    uint32_t lowest = subset & -subset, others = subset ^ lowest;
    whole->cost = DBL_MAX;
    for (uint32_t some = others; some;) {
        some = (some - 1) & others;
        const struct subset *part = &subsets[some | lowest], *rest = &subsets[others ^ some];
        double cost = part->cost + rest->cost + elements(sizes, part->kept | rest->kept);
        if (cost >= whole->cost) continue;
        whole->cost = cost;
        whole->part = some | lowest;
    }
}

/* Parts have smaller numbers than what they are parts of. */
static void list_pairs(struct subset *subsets, size_t count, struct kiln_pair *pairs)
{
    uint32_t all = (1u << count) - 1, made = (uint32_t)count;
    subsets[all].is_needed = true;
    for (uint32_t subset = all; subset; subset--) {
        if (!subsets[subset].is_needed || !(subset & (subset - 1))) continue;
        subsets[subsets[subset].part].is_needed = subsets[subset ^ subsets[subset].part].is_needed = true;
    }
    for (uint32_t subset = 1; subset <= all; subset++) {
        struct subset *whole = &subsets[subset];
        if (!whole->is_needed) continue;
        if (!(subset & (subset - 1))) {
            whole->number = (uint32_t)__builtin_ctz(subset);
            continue;
        }
        *pairs++ = (struct kiln_pair){subsets[whole->part].number, subsets[subset ^ whole->part].number};
        whole->number = made++;
    }
}

static double try_all(const uint64_t *sets, size_t count, uint64_t output, const int *sizes, struct subset *subsets,
                      struct kiln_pair *pairs)
{
    uint32_t all = (1u << count) - 1;
    for (uint32_t subset = 1; subset <= all; subset++) {
        uint64_t outside = output | letters_of(sets, all ^ subset);
        subsets[subset] = (struct subset){.kept = letters_of(sets, subset) & outside};
        if (!(subset & (subset - 1)))
            subsets[subset].kept = sets[__builtin_ctz(subset)];
        else
            find_best(subsets, subset, sizes);
    }
    list_pairs(subsets, count, pairs);
    return subsets[all].cost;
}

/* ---- one product ahead ------------------------------------------------------------------------------------------- */

/* A factor that is left, and its number. */
struct factor {
    uint64_t set;
    uint32_t number;
};

/* Letters that the product of two factors keeps: those of the output and of other factors. */
static uint64_t kept_by(const struct factor *factors, size_t count, size_t left, size_t right, uint64_t output)
{
    uint64_t others = output;
    for (size_t i = 0; i < count; i++)
        if (i != left && i != right) others |= factors[i].set;
    return (factors[left].set | factors[right].set) & others;
}

static double rate(const struct factor *factors, size_t count, size_t left, size_t right, uint64_t output,
                   const int *sizes, bool by_size)
{
    uint64_t a = factors[left].set, b = factors[right].set;
    if (!by_size) return elements(sizes, a | b);
    return elements(sizes, kept_by(factors, count, left, right, output)) - elements(sizes, a) - elements(sizes, b);
}

/* The best two, as positions. */
static struct kiln_pair choose(const struct factor *factors, size_t count, uint64_t output, const int *sizes,
                               bool by_size)
{
    struct kiln_pair best = {0, 1};
    double least = DBL_MAX;
    for (uint32_t left = 0; left < count; left++) {
        for (uint32_t right = left + 1; right < count; right++) {
            double rating = rate(factors, count, left, right, output, sizes, by_size);
            if (rating >= least) continue;
            least = rating;
            best = (struct kiln_pair){left, right};
        }
    }
    return best;
}

static double look_ahead(const uint64_t *sets, size_t count, uint64_t output, const int *sizes, bool by_size,
                         struct factor *factors, struct kiln_pair *pairs)
{
    double cost = 0;
    uint32_t made = (uint32_t)count;
    for (size_t i = 0; i < count; i++) factors[i] = (struct factor){sets[i], (uint32_t)i};
    for (; count > 1; count--) {
        struct kiln_pair best = choose(factors, count, output, sizes, by_size);
        struct factor *left = &factors[best.left], *right = &factors[best.right];
        *pairs++ = (struct kiln_pair){left->number, right->number};
        cost += elements(sizes, left->set | right->set);
        *left = (struct factor){kept_by(factors, count, best.left, best.right, output), made++};
        *right = factors[count - 1];
    }
    return cost;
}

static double look_ahead_twice(const uint64_t *sets, size_t count, uint64_t output, const int *sizes,
                               struct factor *factors, struct kiln_pair *pairs, struct kiln_pair *other)
{
    double cost = look_ahead(sets, count, output, sizes, false, factors, pairs);
    double by_size = look_ahead(sets, count, output, sizes, true, factors, other);
    if (by_size >= cost) return cost;
    memcpy(pairs, other, (count - 1) * sizeof *pairs);
    return by_size;
}

kiln_status kiln__einsum_order(const uint64_t *sets, size_t count, uint64_t output, const int *sizes,
                               struct kiln_pair *pairs, double *cost, kiln_error *err)
{
    bool all = count <= KILN_ORDER_ALL;
    struct subset *subsets = all ? malloc(SUBSETS * sizeof *subsets) : NULL;
    struct factor *factors = all ? NULL : malloc(count * sizeof *factors);
    struct kiln_pair *other = all ? NULL : malloc(count * sizeof *other);
    bool has_room = all ? subsets != NULL : factors && other;
    if (has_room)
        *cost = all ? try_all(sets, count, output, sizes, subsets, pairs)
                    : look_ahead_twice(sets, count, output, sizes, factors, pairs, other);
    free(subsets);
    free(factors);
    free(other);
    return has_room ? KILN_OK : kiln__no_memory(err, "the order of einsum");
}
