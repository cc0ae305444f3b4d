/*
 * signatures.c - look-ups over many signatures, and from two threads at once. The floor is a bare table: the same dims
 * are hashed and compared, and nothing else is done.
 *
 * A bare look-up is so short that the processor works on several at once, while each waits for memory. A look-up of
 * Kiln's is longer than what a processor keeps in flight (about 500 instructions), so that over many signatures its
 * floor is the wait itself: for a slot, and then for the entry it names.
 *
 * Signatures are spread over functions of a thousand each, which is within what a function keeps by default.
 */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "bench.h"
#include "fake.h"

enum { FEW = 64, MANY = 1000000, PER_FUNCTION = 1000, TENSORS = 3, CALLS = 20000, MANY_CALLS = 200000 };

/* ---- Kiln ---------------------------------------------------------------------------------------------------- */

struct set {
    struct fake fake;
    kiln_cache *cache;
    kiln_function **functions;
    uint32_t count;
    kiln_error err;
};

static void set_close(struct set *set)
{
    uint32_t functions = (set->count + PER_FUNCTION - 1) / PER_FUNCTION;
    for (uint32_t i = 0; set->functions && i < functions; i++) kiln_function_free(set->functions[i]);
    free(set->functions);
    kiln_cache_close(set->cache);
}

static bool set_open(struct set *set, uint32_t count)
{
    const kiln_cache_options memory_only = {.struct_size = sizeof memory_only, .folder = ""};
    uint32_t functions = (count + PER_FUNCTION - 1) / PER_FUNCTION;
    fake_init(&set->fake);
    set->count = count;
    set->functions = calloc(functions, sizeof *set->functions);
    if (!set->functions || kiln_cache_open(&memory_only, &set->cache, &set->err) != KILN_OK) return false;
    for (uint32_t i = 0; i < functions; i++)
        if (!(set->functions[i] = fake_function(set->cache, &set->fake, &set->err))) return false;
    return true;
}

static kiln_status get(const struct set *set, uint32_t index)
{
    static _Alignas(64) char data[64];
    int64_t shape[] = {index + 1, 256}, strides[] = {256, 1};
    struct tensor tensor = {data, 1, 0, 2, 2, 32, 1, shape, strides, 0};
    const kiln_arg args[TENSORS] = {{&kiln_tensor, &tensor}, {&kiln_tensor, &tensor}, {&kiln_tensor, &tensor}};
    void *executable;
    return kiln_get(set->functions[index / PER_FUNCTION], args, TENSORS, NULL, &executable, NULL);
}

static bool set_fill(struct set *set)
{
    for (uint32_t i = 0; i < set->count; i++)
        if (get(set, i) != KILN_OK) return false;
    return true;
}

/* ---- the bare table ------------------------------------------------------------------------------------------ */

struct entry {
    uint64_t key[2 * TENSORS + 1], value;
};

struct table {
    struct entry *entries;
    uint32_t *slots; /* entry + 1; 0: empty */
    uint32_t mask;
};

static void make_key(uint32_t index, uint64_t key[2 * TENSORS + 1])
{
    key[0] = index / PER_FUNCTION;
    for (int i = 0; i < TENSORS; i++) key[1 + 2 * i] = index + 1, key[2 + 2 * i] = 256;
}

static uint64_t hash_key(const uint64_t key[2 * TENSORS + 1])
{
    uint64_t hash = 0;
    for (int i = 0; i < 2 * TENSORS + 1; i++) hash = (hash ^ key[i]) * 0x9e3779b97f4a7c15u;
    return hash ^ hash >> 32;
}

static uint64_t table_find(const struct table *table, uint32_t index)
{
    uint64_t key[2 * TENSORS + 1];
    make_key(index, key);
    for (uint32_t at = (uint32_t)hash_key(key) & table->mask; table->slots[at]; at = (at + 1) & table->mask) {
        const struct entry *entry = &table->entries[table->slots[at] - 1];
        if (memcmp(entry->key, key, sizeof key) == 0) return entry->value;
    }
    return 0;
}

static bool table_init(struct table *table, uint32_t count)
{
    uint32_t size = 8;
    while (size < 2 * count) size *= 2;
    *table = (struct table){calloc(count, sizeof *table->entries), calloc(size, sizeof *table->slots), size - 1};
    if (!table->entries || !table->slots) return false;
    for (uint32_t i = 0; i < count; i++) {
        make_key(i, table->entries[i].key);
        table->entries[i].value = i + 1;
        uint32_t at = (uint32_t)hash_key(table->entries[i].key) & table->mask;
        while (table->slots[at]) at = (at + 1) & table->mask;
        table->slots[at] = i + 1;
    }
    return true;
}

static void table_release(struct table *table)
{
    free(table->entries);
    free(table->slots);
}

/* ---- two waits for memory ------------------------------------------------------------------------------------ */

enum { LINE = 64, ENTRY_LINES = 4, HUGE_PAGE = 2 << 20 }; /* an entry: 27 words of key, and what goes with them */

struct waits {
    uint32_t *slots; /* as many bytes as Kiln's: two slots of 8 bytes to an entry, rounded up */
    char *entries;   /* all zero, like the slots */
    size_t slot_count;
    uint64_t last; /* 0, but the processor has to wait for it to know */
};

static void *huge_new(size_t bytes)
{
    void *memory = aligned_alloc(HUGE_PAGE, bytes);
    if (!memory) return NULL;
    madvise(memory, bytes, MADV_HUGEPAGE);
    return memset(memory, 0, bytes);
}

static bool waits_init(struct waits *waits, uint32_t count)
{
    size_t slot_bytes = HUGE_PAGE, entry_bytes = (size_t)count * ENTRY_LINES * LINE;
    while (slot_bytes < 2 * (size_t)count * 8) slot_bytes *= 2;
    waits->slot_count = slot_bytes / sizeof *waits->slots;
    waits->slots = huge_new(slot_bytes);
    waits->entries = huge_new((entry_bytes + HUGE_PAGE - 1) / HUGE_PAGE * HUGE_PAGE);
    return waits->slots && waits->entries;
}

static void waits_release(struct waits *waits)
{
    free(waits->slots);
    free(waits->entries);
}

/* Slot `at` says 0, so that entry `index` is the one; each address depends on what was read before. */
static void wait_twice(struct waits *waits, uint32_t index)
{
    size_t at = (index * 0x9e3779b97f4a7c15u >> 16) % waits->slot_count;
    const char *entry = waits->entries + (size_t)(index + waits->slots[at + waits->last]) * ENTRY_LINES * LINE;
    uint64_t all = 0;
    for (int i = 0; i < ENTRY_LINES; i++) all |= (unsigned char)entry[(size_t)i * LINE];
    waits->last = all;
}

/* ---- works --------------------------------------------------------------------------------------------------- */

struct walk {
    const struct set *set;
    const struct table *table;
    struct waits *waits;
    uint32_t count;
    uint64_t random; /* 0: round robin */
    uint32_t at;
    int failures;
};

static uint32_t next_index(struct walk *walk)
{
    if (!walk->random) return walk->at = walk->at + 1 < walk->count ? walk->at + 1 : 0;
    walk->random ^= walk->random << 13, walk->random ^= walk->random >> 7, walk->random ^= walk->random << 17;
    return (uint32_t)((walk->random >> 32) * walk->count >> 32);
}

static void walk_set(void *ctx)
{
    struct walk *walk = ctx;
    walk->failures += get(walk->set, next_index(walk)) != KILN_OK;
}

static void walk_table(void *ctx)
{
    struct walk *walk = ctx;
    walk->failures += table_find(walk->table, next_index(walk)) == 0;
}

static void walk_waits(void *ctx)
{
    struct walk *walk = ctx;
    wait_twice(walk->waits, next_index(walk));
}

/* `waits_row`, when not NULL, is the same beside the other floor. */
static void measure_walk(struct row *row, struct row *waits_row, uint32_t count, uint64_t seed, int calls, int repeats)
{
    struct set set = {.cache = NULL};
    struct table table = {0};
    struct waits waits = {0};
    struct walk walks[] = {{.set = &set, .count = count, .random = seed},
                           {.table = &table, .count = count, .random = seed},
                           {.waits = &waits, .count = count, .random = seed}};
    struct work works[] = {{walk_set, &walks[0], 0}, {walk_table, &walks[1], 0}, {walk_waits, &walks[2], 0}};
    if (!set_open(&set, count) || !set_fill(&set) || !table_init(&table, count) ||
        (waits_row && !waits_init(&waits, count))) {
        row_fail(row, "%s", set.err.text);
    } else {
        kiln_counters before, after;
        kiln_cache_counters(set.cache, &before);
        measure(works, waits_row ? 3 : 2, calls, repeats);
        kiln_cache_counters(set.cache, &after);
        row->ns = works[0].ns;
        row->floor_ns = works[1].ns;
        if (walks[0].failures || walks[1].failures) row_fail(row, "a look-up failed");
        if (after.traces != before.traces)
            row_fail(row, "%llu look-ups were misses", (unsigned long long)(after.traces - before.traces));
    }
    if (waits_row) {
        waits_row->ns = row->ns;
        waits_row->floor_ns = works[2].ns;
        waits_row->is_missing = row->is_missing;
    }
    waits_release(&waits);
    table_release(&table);
    set_close(&set);
}

/* ---- two threads --------------------------------------------------------------------------------------------- */

struct runner {
    pthread_t thread;
    struct walk walk;
    double ns;
};

/* Of the processor: what threads do to each other shows there, what else the machine does shows less. */
static double thread_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return (double)now.tv_sec * 1e9 + (double)now.tv_nsec;
}

static void *run_walk(void *context)
{
    struct runner *runner = context;
    for (int i = 0; i < FEW; i++) walk_set(&runner->walk); /* fills this thread's front */
    double start = thread_ns();
    for (int i = 0; i < MANY_CALLS; i++) walk_set(&runner->walk);
    runner->ns = (thread_ns() - start) / MANY_CALLS;
    return NULL;
}

/* Time of one look-up when `threads` look up at once; 0: it failed. */
static double time_threads(const struct set *set, int threads)
{
    struct runner runners[2];
    double ns = 0;
    bool is_fine = true;
    for (int i = 0; i < threads; i++) {
        runners[i].walk = (struct walk){.set = set, .count = set->count};
        if (pthread_create(&runners[i].thread, NULL, run_walk, &runners[i]) != 0) return 0;
    }
    for (int i = 0; i < threads; i++) {
        pthread_join(runners[i].thread, NULL);
        is_fine &= runners[i].walk.failures == 0;
        ns += runners[i].ns / threads;
    }
    return is_fine ? ns : 0;
}

static void measure_threads(struct row *row, int repeats)
{
    struct set set = {.cache = NULL};
    struct samples one = {.count = 0}, two = {.count = 0};
    bool is_fine = set_open(&set, FEW) && set_fill(&set);
    for (int i = 0; i < repeats && is_fine; i++) {
        double alone = time_threads(&set, 1), together = time_threads(&set, 2);
        is_fine = alone > 0 && together > 0;
        sample_add(&one, alone);
        sample_add(&two, together);
    }
    row->ns = sample_median(&two);
    row->floor_ns = sample_median(&one);
    if (!is_fine) row_fail(row, "%s", set.err.text);
    set_close(&set);
}

int bench_signatures(struct row *rows, int repeats)
{
    static const char few[] = "look-up, round robin over 64 signatures", many[] = "look-up, random over 1,000,000",
                      waits[] = "look-up, random over 1,000,000, its waits", threads[] = "look-up, 2 threads at once";
    int count = 0;
    if (is_wanted(few)) {
        rows[count] = (struct row){.name = few, .floor_name = "bare table", .aim = "100 ns"};
        measure_walk(&rows[count++], NULL, FEW, 0, CALLS, repeats);
    }
    if (is_heavy_wanted(many)) {
        rows[count] = (struct row){.name = many, .floor_name = "bare table", .aim = "250 ns"};
        rows[count + 1] = (struct row){.name = waits, .floor_name = "slot, then entry", .aim = "none"};
        measure_walk(&rows[count], &rows[count + 1], MANY, 88172645463325252u, MANY_CALLS, repeats);
        count += 2;
    }
    if (is_wanted(threads)) {
        rows[count] = (struct row){.name = threads, .floor_name = "1 thread", .aim = "1.0 of the floor"};
        measure_threads(&rows[count++], repeats);
    }
    return count;
}
