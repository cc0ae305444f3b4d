/*
 * torture_eviction.c - executables that run while their results are evicted, and while unrelated functions come and go.
 */
#include "torture/torture.h"

#include <pthread.h>
#include <stdatomic.h>

#include "kiln.h"

/* ---- machine code that runs while its result is evicted ------------------------------------------------------- */

enum { SIGNATURES = 6000, SWEEPS = 40 };

typedef int64_t kernel(void);

struct world {
    kiln_cache *cache;
    kiln_function *function;
    uint64_t seed;
    _Atomic bool running, evicted, stop;
    _Atomic unsigned sweeps;
};

/* Argument 0 has code of its own, all others share one kernel: eviction leaves the first one with nobody else. */
static kiln_status lower(void *payload, const kiln_request *request, kiln_text *text, kiln_error *err)
{
    (void)payload, (void)err;
    kiln_bytes argument = kiln_request_arg(request, 0);
    int64_t words[2] = {0, 0};
    memcpy(words, argument.data, argument.size < sizeof words ? argument.size : sizeof words);
    return kiln_text_printf(text, "define i64 @kernel() {\n  ret i64 %d\n}\n", words[1] ? 2 : 1);
}

static kernel *get(kiln_function *function, int64_t value)
{
    kiln_error error = {KILN_OK, ""};
    kiln_arg argument = {&kiln_const_i64, &value};
    void *executable = NULL;
    kernel *result;
    TORTURE_REQUIRE(kiln_get(function, &argument, 1, NULL, &executable, &error) == KILN_OK, "%s", error.text);
    memcpy(&result, &executable, sizeof result);
    return result;
}

static void *run_one(void *context)
{
    struct world *world = context;
    kernel *one = get(world->function, 0);
    while (!world->stop) {
        for (unsigned i = 0; i < 1000; i++) {
            int64_t result = one();
            TORTURE_REQUIRE(result == 1, "it gave %lld", (long long)result);
        }
        world->running = true;
    }
    return NULL;
}

static void *ask_for_others(void *context)
{
    struct world *world = context;
    uint64_t state = world->seed;
    while (!world->running) {
    }
    for (unsigned i = 0; i < SIGNATURES; i++) get(world->function, (int64_t)(torture_next(&state) | 1));
    world->evicted = true;
    return NULL;
}

static void *come_and_go(void *context)
{
    struct world *world = context;
    while (!world->evicted || world->sweeps < SWEEPS) {
        const kiln_function_options options = {.struct_size = sizeof options,
                                               .name = "unrelated",
                                               .text = {"define void @kernel() {\n  ret void\n}\n", 37}};
        kiln_function *function = NULL;
        TORTURE_REQUIRE(kiln_function_new(world->cache, &options, &function, NULL) == KILN_OK, "new");
        if (world->sweeps % 8 == 0) {
            void *executable;
            TORTURE_REQUIRE(kiln_get(function, NULL, 0, NULL, &executable, NULL) == KILN_OK, "get");
        }
        kiln_function_free(function);
        if (world->evicted) world->sweeps++;
    }
    world->stop = true;
    return NULL;
}

static int run_while_evicted(uint64_t seed)
{
    struct world world = {.seed = seed};
    const kiln_cache_options in_memory = {.struct_size = sizeof in_memory, .folder = ""};
    const kiln_function_options options = {.struct_size = sizeof options, .name = "f", .lower = lower};
    TORTURE_REQUIRE(kiln_cache_open(&in_memory, &world.cache, NULL) == KILN_OK, "open");
    TORTURE_REQUIRE(kiln_function_new(world.cache, &options, &world.function, NULL) == KILN_OK, "new");
    static void *(*const parts[])(void *) = {run_one, ask_for_others, come_and_go};
    pthread_t threads[3];
    for (unsigned i = 0; i < 3; i++) pthread_create(&threads[i], NULL, parts[i], &world);
    for (unsigned i = 0; i < 3; i++) pthread_join(threads[i], NULL);
    kiln_counters counters;
    kiln_cache_counters(world.cache, &counters);
    TORTURE_REQUIRE(counters.evictions > 1024, "%llu evictions", (unsigned long long)counters.evictions);
    kiln_function_free(world.function);
    kiln_cache_close(world.cache);
    return 0;
}

int main(int argc, char **argv)
{
    static const struct torture_attack attacks[] = {
        {.name = "run_while_evicted", .round = run_while_evicted},
    };
    return torture_main(argc, argv, attacks, sizeof attacks / sizeof *attacks);
}
