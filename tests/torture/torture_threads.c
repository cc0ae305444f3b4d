/*
 * torture_threads.c - threads that create, share, redefine and free functions of one cache while others call them.
 */
#include "torture/torture.h"

#include <pthread.h>
#include <stdatomic.h>

#include "torture/text_compiler.h"

enum { THREADS = 4, STEPS = 400, FUNCTIONS = 3 };

struct world {
    kiln_cache *cache;
    kiln_function *shared; /* redefined by all, called by all */
    uint64_t seed;
    _Atomic unsigned number;
};

/* The text names the argument, so that a result of another argument is seen. */
static kiln_status lower(void *payload, const kiln_request *request, kiln_text *text, kiln_error *err)
{
    (void)payload, (void)err;
    int64_t value;
    memcpy(&value, (const char *)kiln_request_arg(request, 0).data + sizeof(uint64_t),
           sizeof value); /* behind its head */
    return kiln_text_printf(text, "%lld", (long long)value);
}

static const kiln_function_options options = {
    .struct_size = sizeof options, .name = "f", .compiler = &text_compiler, .lower = lower};

/* `is_own`: no other thread redefines it, so what it gives can be looked at. */
static void call(kiln_function *function, int64_t value, bool is_own)
{
    kiln_error error = {KILN_OK, ""};
    void *executable = NULL;
    kiln_arg argument = {&kiln_const_i64, &value};
    kiln_status status = kiln_get(function, &argument, 1, NULL, &executable, &error);
    TORTURE_REQUIRE(status == KILN_OK, "%s", error.text);
    TORTURE_REQUIRE(executable != NULL, "value %lld", (long long)value);
    TORTURE_REQUIRE(!is_own || strtoll(executable, NULL, 10) == value, "code for %s, not for %lld",
                    (const char *)executable, (long long)value);
}

static void *live(void *context)
{
    struct world *world = context;
    uint64_t state = world->seed + atomic_fetch_add(&world->number, 1) * 1000003;
    kiln_function *own[FUNCTIONS] = {NULL};
    for (unsigned i = 0; i < STEPS; i++) {
        kiln_function **slot = &own[torture_below(&state, FUNCTIONS)];
        uint64_t choice = torture_below(&state, 8);
        if (choice == 0)
            TORTURE_REQUIRE(kiln_function_redefine(world->shared, &options, NULL) == KILN_OK, "step %u", i);
        else if (!*slot)
            TORTURE_REQUIRE(kiln_function_new(world->cache, &options, slot, NULL) == KILN_OK, "step %u", i);
        else if (choice == 1)
            kiln_function_free(*slot), *slot = NULL;
        else
            call(choice < 5 ? *slot : world->shared, (int64_t)torture_below(&state, 40), choice < 5);
    }
    for (unsigned i = 0; i < FUNCTIONS; i++) kiln_function_free(own[i]);
    return NULL;
}

static int share_and_free(uint64_t seed)
{
    struct world world = {.seed = seed};
    const kiln_cache_options in_memory = {.struct_size = sizeof in_memory, .folder = "", .max_results = 16};
    TORTURE_REQUIRE(kiln_cache_open(&in_memory, &world.cache, NULL) == KILN_OK, "open");
    TORTURE_REQUIRE(kiln_function_new(world.cache, &options, &world.shared, NULL) == KILN_OK, "new");
    pthread_t threads[THREADS];
    for (unsigned i = 0; i < THREADS; i++) pthread_create(&threads[i], NULL, live, &world);
    for (unsigned i = 0; i < THREADS; i++) pthread_join(threads[i], NULL);
    kiln_function_free(world.shared);
    kiln_cache_close(world.cache);
    return 0;
}

int main(int argc, char **argv)
{
    static const struct torture_attack attacks[] = {{.name = "share_and_free", .round = share_and_free}};
    return torture_main(argc, argv, attacks, sizeof attacks / sizeof *attacks);
}
