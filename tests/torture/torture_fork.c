/*
 * torture_fork.c - fork while other threads evaluate, multiply, compile or prune: the child has the right values, or an
 * error that says why it has none, and finds no lock taken. Under sanitizers the children do nothing (leave_support.h),
 * and only the parents are attacked.
 */
#include "leave_support.h"

#include <mlx/c/mlx.h>

enum { THREADS = 2, FORKS = 6, CHILD_S = 30 };

static _Atomic bool stop;

/* Runs `check` in a child and judges its end. */
static void in_child(void (*check)(void *context), void *context, const char *what)
{
    pid_t child = fork();
    TORTURE_REQUIRE(child >= 0, "fork");
    if (child == 0) {
        if (!UNDER_SANITIZER) check(context);
        _exit(0);
    }
    TORTURE_REQUIRE(end_of(child, CHILD_S, what) == 0, "%s: see above", what);
}

static pthread_t start(void *(*thread)(void *), void *context)
{
    pthread_t made;
    TORTURE_REQUIRE(pthread_create(&made, NULL, thread, context) == 0, "pthread_create");
    return made;
}

/* ---- evaluation ---------------------------------------------------------------------------------------------------
 */

enum { ELEMENTS = 1 << 21 };

static char last_error[1024];

static void keep_error(const char *text, void *data)
{
    (void)data;
    snprintf(last_error, sizeof last_error, "%s", text);
}

static int add_one(mlx_vector_array *res, const mlx_vector_array in, void *payload)
{
    mlx_array x = mlx_array_new(), one = mlx_array_new_float(1);
    mlx_vector_array_get(&x, in, 0);
    int failed = mlx_add(&x, x, one, *(mlx_stream *)payload) || mlx_vector_array_set_value(res, x);
    return mlx_array_free(x), mlx_array_free(one), failed;
}

struct chain {
    mlx_array last;
    unsigned links;
    bool is_async;
};

/* A chain of compiled calls, each of which may write its output over the input that nobody else holds. */
static struct chain make_chain(mlx_closure compiled, mlx_stream stream, unsigned links, bool is_async)
{
    struct chain chain = {mlx_array_new(), links, is_async};
    mlx_zeros(&chain.last, (int[]){ELEMENTS}, 1, MLX_FLOAT32, stream);
    for (unsigned i = 0; i < links; i++) {
        mlx_vector_array in = mlx_vector_array_new_value(chain.last), out = mlx_vector_array_new();
        TORTURE_REQUIRE(mlx_closure_apply(&out, compiled, in) == 0, "%s", last_error);
        mlx_vector_array_get(&chain.last, out, 0);
        mlx_vector_array_free(in), mlx_vector_array_free(out);
    }
    return chain;
}

static void check_chain(void *context)
{
    const struct chain *chain = context;
    last_error[0] = 0;
    if (mlx_array_eval(chain->last)) {
        TORTURE_REQUIRE(strstr(last_error, "forked"), "the child's error is \"%s\"", last_error);
        return;
    }
    const float *data = mlx_array_data_float32(chain->last);
    size_t wrong = 0;
    for (size_t i = 0; i < ELEMENTS; i++) wrong += data[i] != (float)chain->links;
    TORTURE_REQUIRE(wrong == 0, "%zu of %d elements are wrong after %u additions, the last one %g", wrong, ELEMENTS,
                    chain->links, data[ELEMENTS - 1]);
}

static void *evaluate(void *context)
{
    struct chain *chain = context;
    mlx_vector_array outputs = mlx_vector_array_new_value(chain->last);
    if (chain->is_async)
        mlx_async_eval(outputs);
    else
        mlx_eval(outputs);
    mlx_vector_array_free(outputs);
    return NULL;
}

static int fork_while_evaluating(uint64_t seed)
{
    uint64_t state = seed;
    mlx_set_error_handler(keep_error, NULL, NULL);
    mlx_stream stream = mlx_default_cpu_stream_new();
    mlx_closure plain = mlx_closure_new_func_payload(add_one, &stream, NULL), compiled = mlx_closure_new();
    mlx_compile(&compiled, plain, false);
    for (unsigned i = 0; i < FORKS; i++) {
        struct chain chain =
            make_chain(compiled, stream, 4 + (unsigned)torture_below(&state, 12), torture_below(&state, 2));
        pthread_t thread = start(evaluate, &chain);
        sleep_us(torture_below(&state, 12000));
        in_child(check_chain, &chain, "a child of a parent that evaluates");
        pthread_join(thread, NULL);
        check_chain(&chain);
        mlx_array_free(chain.last);
    }
    mlx_closure_free(compiled), mlx_closure_free(plain), mlx_stream_free(stream);
    return 0;
}

/* ---- products -----------------------------------------------------------------------------------------------------
 */

enum { SIDE = 256 };

static void multiply_once(void *context)
{
    mlx_stream stream = *(mlx_stream *)context;
    mlx_array a = mlx_array_new(), c = mlx_array_new();
    mlx_ones(&a, (int[]){SIDE, SIDE}, 2, MLX_FLOAT32, stream);
    TORTURE_REQUIRE(mlx_matmul(&c, a, a, stream) == 0 && mlx_array_eval(c) == 0, "%s", last_error);
    const float *data = mlx_array_data_float32(c);
    for (size_t i = 0; i < SIDE * SIDE; i++) TORTURE_REQUIRE(data[i] == SIDE, "element %zu is %g", i, data[i]);
    mlx_array_free(a), mlx_array_free(c);
}

static void *multiply_for_ever(void *context)
{
    while (!stop) multiply_once(context);
    return NULL;
}

static int fork_while_multiplying(uint64_t seed)
{
    uint64_t state = seed;
    pthread_t threads[THREADS];
    mlx_set_error_handler(keep_error, NULL, NULL);
    mlx_stream stream = mlx_default_cpu_stream_new();
    for (unsigned i = 0; i < THREADS; i++) threads[i] = start(multiply_for_ever, &stream);
    for (unsigned i = 0; i < 4 * FORKS; i++) {
        sleep_us(torture_below(&state, 20000));
        in_child(multiply_once, &stream, "a child of a parent that multiplies");
    }
    stop = true;
    for (unsigned i = 0; i < THREADS; i++) pthread_join(threads[i], NULL);
    mlx_stream_free(stream);
    return 0;
}

/* ---- compiles -----------------------------------------------------------------------------------------------------
 */

static unsigned steps = 40;

struct shop {
    kiln_cache *cache;
    kiln_function *function;
    _Atomic int64_t next;
};

static void get_next(void *context)
{
    struct shop *shop = context;
    kiln_error error = {KILN_OK, ""};
    void *executable;
    kiln_status status = get_value(shop->function, atomic_fetch_add(&shop->next, 1), &executable, &error);
    TORTURE_REQUIRE(status == KILN_OK, "%s", error.text);
}

static void *get_for_ever(void *context)
{
    while (!stop) get_next(context);
    return NULL;
}

static int fork_from_shop(uint64_t seed, struct shop *shop, unsigned pause_us)
{
    uint64_t state = seed;
    pthread_t threads[THREADS];
    for (unsigned i = 0; i < THREADS; i++) threads[i] = start(get_for_ever, shop);
    for (unsigned i = 0; i < FORKS; i++) {
        sleep_us(torture_below(&state, pause_us));
        in_child(get_next, shop, "a child of a parent that compiles and stores");
    }
    stop = true;
    for (unsigned i = 0; i < THREADS; i++) pthread_join(threads[i], NULL);
    kiln_function_free(shop->function);
    kiln_cache_close(shop->cache);
    return 0;
}

static int fork_while_compiling(uint64_t seed)
{
    const kiln_function_options options = {
        .struct_size = sizeof options, .name = "forking", .lower = lower_to_ir, .payload = &steps};
    struct shop shop = {.cache = open_folder(""), .next = (int64_t)seed * 1000};
    TORTURE_REQUIRE(kiln_function_new(shop.cache, &options, &shop.function, NULL) == KILN_OK, "new");
    return fork_from_shop(seed, &shop, 150000);
}

/* ---- prunes -------------------------------------------------------------------------------------------------------
 */

static kiln_status print_argument(void *payload, const kiln_request *request, kiln_text *text, kiln_error *err)
{
    (void)payload, (void)err;
    kiln_bytes argument = kiln_request_arg(request, 0);
    return kiln_text_append(text, argument.data, argument.size);
}

/* Nearly every put looks at the whole folder. */
static int fork_while_pruning(uint64_t seed)
{
    char folder[64];
    static const kiln_compiler compiler = {.struct_size = sizeof compiler,
                                           .name = "copy",
                                           .digest = "1",
                                           .compile = copy_text,
                                           .link = link_text,
                                           .unlink = unlink_text};
    const kiln_function_options options = {
        .struct_size = sizeof options, .name = "pruning", .compiler = &compiler, .lower = print_argument};
    make_folder(folder, sizeof folder);
    const kiln_cache_options bounded = {.struct_size = sizeof bounded, .folder = folder, .max_files = 40};
    struct shop shop = {.next = 0};
    TORTURE_REQUIRE(kiln_cache_open(&bounded, &shop.cache, NULL) == KILN_OK, "open");
    TORTURE_REQUIRE(kiln_function_new(shop.cache, &options, &shop.function, NULL) == KILN_OK, "new");
    int result = fork_from_shop(seed, &shop, 30000);
    remove_folder(folder);
    return result;
}

int main(int argc, char **argv)
{
    static const struct torture_attack attacks[] = {
        {.name = "fork_while_evaluating", .round = fork_while_evaluating},
        {.name = "fork_while_multiplying", .round = fork_while_multiplying, .seconds = 60},
        {.name = "fork_while_compiling", .round = fork_while_compiling},
        {.name = "fork_while_pruning", .round = fork_while_pruning},
    };
    return torture_main(argc, argv, attacks, sizeof attacks / sizeof *attacks);
}
