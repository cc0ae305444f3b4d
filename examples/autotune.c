/*
 * autotune.c - an autotuner on kiln_store_get(): of two ways to transpose a matrix, which is faster on this machine?
 *
 * Measured once for each type of machine and size: by one process, while others that start at the same time wait for
 * its answer. Processes that come later, and hosts that share a remote, measure nothing.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "kiln.h"

enum { SIZE = 1500, BLOCK = 16, ROUNDS = 5 };

/* ---- what is tuned ---------------------------------------------------------------------------------------------- */

static void by_rows(const float *from, float *to)
{
    for (size_t row = 0; row < SIZE; row++)
        for (size_t column = 0; column < SIZE; column++) to[column * SIZE + row] = from[row * SIZE + column];
}

static size_t least(size_t a, size_t b)
{
    return a < b ? a : b;
}

/* Both matrices in pieces that fit into the cache. */
static void by_blocks(const float *from, float *to)
{
    for (size_t top = 0; top < SIZE; top += BLOCK)
        for (size_t left = 0; left < SIZE; left += BLOCK)
            for (size_t row = top; row < least(top + BLOCK, SIZE); row++)
                for (size_t column = left; column < least(left + BLOCK, SIZE); column++)
                    to[column * SIZE + row] = from[row * SIZE + column];
}

static const struct variant {
    const char *name;
    void (*run)(const float *from, float *to);
} variants[] = {{"by rows", by_rows}, {"by blocks", by_blocks}};

enum { VARIANTS = sizeof variants / sizeof *variants };

static double best_ms(const struct variant *variant, const float *from, float *to)
{
    double best = 1e9;
    for (int i = 0; i < ROUNDS; i++) {
        struct timespec start, end;
        clock_gettime(CLOCK_MONOTONIC, &start);
        variant->run(from, to);
        clock_gettime(CLOCK_MONOTONIC, &end);
        double ms = (double)(end.tv_sec - start.tv_sec) * 1e3 + (double)(end.tv_nsec - start.tv_nsec) / 1e6;
        if (ms < best) best = ms;
    }
    return best;
}

/* ---- the choice ------------------------------------------------------------------------------------------------- */

/* All that it depends on: the code, by a version that changes with it; the size; the machine. */
static kiln_bytes make_key(char *text, size_t size)
{
    char model[256] = "unknown", line[256];
    FILE *file = fopen("/proc/cpuinfo", "r");
    while (file && fgets(line, sizeof line, file))
        if (sscanf(line, "model name : %255[^\n]", model) == 1) break;
    if (file) fclose(file);
    int length = snprintf(text, size, "transpose 1, %d x %d of float32, %s", SIZE, SIZE, model);
    return (kiln_bytes){text, (size_t)length};
}

static const struct variant *find_variant(kiln_bytes name)
{
    for (size_t i = 0; i < VARIANTS; i++)
        if (strlen(variants[i].name) == name.size && !memcmp(variants[i].name, name.data, name.size))
            return &variants[i];
    return NULL; /* of another version of this program */
}

static const struct variant *measure(const float *from, float *to, char *about, size_t size)
{
    const struct variant *best = NULL;
    double best_so_far = 1e9;
    size_t length = 0;
    for (size_t i = 0; i < VARIANTS; i++) {
        double ms = best_ms(&variants[i], from, to);
        length += (size_t)snprintf(about + length, size - length, "%s\t%.2f ms\n", variants[i].name, ms);
        if (ms < best_so_far) best = &variants[i], best_so_far = ms;
    }
    return best;
}

static const struct variant *choose(kiln_cache *cache, const float *from, float *to, unsigned *measured)
{
    char text[512], about[256];
    const kiln_bytes key = make_key(text, sizeof text);
    kiln_store_options options = {.struct_size = sizeof options, .name = "examples/transpose"};
    kiln_store_value value = {{NULL, 0}, NULL};
    kiln_store_ticket *ticket = NULL;
    kiln_error err = {KILN_OK, ""};
    const struct variant *known = NULL;
    kiln_status status = kiln_store_get(cache, key, &options, &value, &ticket, &err);
    if (status == KILN_OK) known = find_variant(value.bytes);
    kiln_store_release(&value);
    if (known) return known;
    const struct variant *best = measure(from, to, about, sizeof about);
    *measured = VARIANTS;
    options.about = about;
    if (status >= 0)
        status = kiln_store_put(cache, key, (kiln_bytes){best->name, strlen(best->name)}, &options, ticket, &err);
    if (status < 0) fprintf(stderr, "autotune: the choice is not kept: %s\n", err.text);
    return best;
}

int main(void)
{
    unsigned measured = 0;
    size_t count = (size_t)SIZE * SIZE, wrong = 0;
    float *from = malloc(count * sizeof *from), *to = malloc(count * sizeof *to);
    if (!from || !to) return 2;
    for (size_t i = 0; i < count; i++) from[i] = (float)i, to[i] = -1;
    const struct variant *chosen = choose(kiln_cache_default(), from, to, &measured);
    chosen->run(from, to);
    for (size_t i = 0; i < count; i++) wrong += to[i] != from[i % SIZE * SIZE + i / SIZE];
    printf("transpose %s, %zu numbers wrong\n", chosen->name, wrong);
    printf("measured %u variants\n", measured);
    free(from), free(to);
    return wrong != 0;
}
