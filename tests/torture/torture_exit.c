/*
 * torture_exit.c - a process that leaves while others of its threads compile, multiply or run kernels.
 *
 * Each round makes a child, which leaves at a random moment with a random status; the parent, which has opened nothing,
 * judges how it ended: the status it gave, within seconds, its counters written and its output flushed.
 */
#include "leave_support.h"

#include <mlx/c/mlx.h>

enum { THREADS = 3, PATIENCE_S = 20 };

static unsigned steps = 100;

/* ---- the child's threads ----------------------------------------------------------------------------------------- */

static const kiln_function_options ir_options = {
    .struct_size = sizeof ir_options, .name = "leaving", .lower = lower_to_ir, .payload = &steps};

static void *compile_for_ever(void *context)
{
    static _Atomic int64_t next;
    kiln_cache *cache = context;
    kiln_function *function = NULL;
    void *executable;
    if (kiln_function_new(cache, &ir_options, &function, NULL)) return NULL;
    while (get_value(function, atomic_fetch_add(&next, 1), &executable, NULL) == KILN_OK) {
    }
    return NULL;
}

static void start(void *(*thread)(void *), void *context)
{
    pthread_t made;
    TORTURE_REQUIRE(pthread_create(&made, NULL, thread, context) == 0, "pthread_create");
    pthread_detach(made);
}

/* ---- judging ------------------------------------------------------------------------------------------------------
 */

struct leaving {
    char folder[64], stats[96], output[96];
    int status;
};

static size_t size_of(const char *path)
{
    struct stat info;
    return stat(path, &info) == 0 ? (size_t)info.st_size : 0;
}

/* Runs `life` in a child, which leaves with leaving->status. */
static int judge(uint64_t seed, void (*life)(uint64_t *state, const struct leaving *leaving), bool writes_counters)
{
    struct leaving leaving;
    uint64_t state = seed;
    make_folder(leaving.folder, sizeof leaving.folder);
    snprintf(leaving.stats, sizeof leaving.stats, "%s/stats", leaving.folder);
    snprintf(leaving.output, sizeof leaving.output, "%s/output", leaving.folder);
    leaving.status = (int)(1 + torture_below(&state, 100));
    pid_t child = fork();
    TORTURE_REQUIRE(child >= 0, "fork");
    if (child == 0) {
        setenv("KILN_STATS", leaving.stats, 1);
        TORTURE_REQUIRE(freopen(leaving.output, "w", stdout) != NULL, "freopen");
        printf("not flushed");
        life(&state, &leaving);
        exit(leaving.status);
    }
    int status = end_of(child, PATIENCE_S, "the process that leaves");
    TORTURE_REQUIRE(status == leaving.status, "it left with %d instead of %d", status, leaving.status);
    if (writes_counters) {
        TORTURE_REQUIRE(size_of(leaving.stats) > 0, "the line of KILN_STATS is missing");
        TORTURE_REQUIRE(size_of(leaving.output) > 0, "what was printed is missing");
    }
    remove_folder(leaving.folder);
    return 0;
}

/* ---- attacks ------------------------------------------------------------------------------------------------------
 */

/* From the loading of LLVM on: any moment of the first 100 ms, or a later one. */
static void leave_at_any_time(uint64_t *state)
{
    sleep_us(torture_below(state, torture_below(state, 4) ? 100000 : 400000));
}

static void compile_and_leave(uint64_t *state, const struct leaving *leaving)
{
    (void)leaving;
    kiln_cache *cache = open_folder("");
    for (unsigned i = 0; i < THREADS; i++) start(compile_for_ever, cache);
    leave_at_any_time(state);
}

static int exit_while_compiling(uint64_t seed)
{
    return judge(seed, compile_and_leave, true);
}

/* The thread that leaves is one that the library has never seen. */
static void *leave_later(void *context)
{
    const struct leaving *leaving = context;
    uint64_t state = (uint64_t)leaving->status + 77;
    leave_at_any_time(&state);
    exit(leaving->status);
}

static void compile_and_leave_elsewhere(uint64_t *state, const struct leaving *leaving)
{
    (void)state;
    kiln_cache *cache = open_folder("");
    start(leave_later, (void *)leaving);
    for (unsigned i = 0; i < THREADS - 1; i++) start(compile_for_ever, cache);
    compile_for_ever(cache);
    pause();
}

static int exit_on_another_thread(uint64_t seed)
{
    return judge(seed, compile_and_leave_elsewhere, true);
}

static kiln_cache *late_cache;
static kiln_function *late_function;

/* Compiled, or refused with a text that says why. */
static void *compile_late_here(void *unused)
{
    static int64_t next = 1000;
    kiln_error error = {KILN_OK, ""};
    void *executable;
    kiln_status status = get_value(late_function, next++, &executable, &error);
    TORTURE_REQUIRE(status == KILN_OK || strstr(error.text, "leaving"), "%s: %s", kiln_status_name(status), error.text);
    return unused;
}

/* On a thread of its own, which has no code generator yet. */
static void compile_late(void)
{
    pthread_t thread;
    TORTURE_REQUIRE(pthread_create(&thread, NULL, compile_late_here, NULL) == 0, "pthread_create");
    pthread_join(thread, NULL);
    compile_late_here(NULL);
}

static void compile_at_exit(uint64_t *state, const struct leaving *leaving)
{
    (void)leaving;
    void *executable;
    late_cache = open_folder("");
    TORTURE_REQUIRE(kiln_function_new(late_cache, &ir_options, &late_function, NULL) == KILN_OK, "new");
    uint64_t choice = torture_below(state, 4);
    if (choice < 3) atexit(compile_late);
    if (choice < 2) TORTURE_REQUIRE(get_value(late_function, 1, &executable, NULL) == KILN_OK, "compile");
    if (choice == 1) start(compile_for_ever, late_cache);
    if (choice != 2) atexit(compile_late);
}

static int compile_in_atexit(uint64_t seed)
{
    return judge(seed, compile_at_exit, true);
}

struct leaver {
    const struct leaving *leaving;
    kiln_cache *cache;
    bool in_compile;
};

static kiln_status lower_and_exit(void *payload, const kiln_request *request, kiln_text *text, kiln_error *err)
{
    (void)request, (void)err;
    const struct leaver *leaver = payload;
    if (!leaver->in_compile) exit(leaver->leaving->status);
    return kiln_text_append(text, "text", 4);
}

static kiln_status compile_and_exit(void *self, const kiln_request *request, kiln_bytes text, kiln_artifact *out,
                                    kiln_error *err)
{
    (void)request, (void)text, (void)out, (void)err;
    exit(((const struct leaver *)self)->leaving->status);
}

static void leave_in_callback(uint64_t *state, const struct leaving *leaving)
{
    kiln_cache *cache = open_folder("");
    struct leaver leaver = {leaving, cache, torture_below(state, 2) != 0};
    kiln_compiler compiler = {.struct_size = sizeof compiler,
                              .name = "exit",
                              .digest = "1",
                              .compile = compile_and_exit,
                              .link = link_text,
                              .unlink = unlink_text,
                              .self = &leaver};
    const kiln_function_options options = {.struct_size = sizeof options,
                                           .name = "exit",
                                           .compiler = &compiler,
                                           .lower = lower_and_exit,
                                           .payload = &leaver};
    kiln_function *function = NULL;
    void *executable;
    if (torture_below(state, 2)) start(compile_for_ever, cache);
    sleep_us(torture_below(state, 50000));
    TORTURE_REQUIRE(kiln_function_new(cache, &options, &function, NULL) == KILN_OK, "new");
    get_value(function, 1, &executable, NULL);
    TORTURE_REQUIRE(false, "the callback returned");
}

static int exit_in_callback(uint64_t seed)
{
    return judge(seed, leave_in_callback, true);
}

static _Atomic bool is_compiling;

/* A compile that takes minutes does not keep the process. */
static kiln_status compile_for_minutes(void *self, const kiln_request *request, kiln_bytes text, kiln_artifact *out,
                                       kiln_error *err)
{
    (void)self, (void)request, (void)text, (void)out, (void)err;
    atomic_store(&is_compiling, true);
    while (pause()) {
    }
    return KILN_COMPILE_FAILED;
}

static void *wait_for_minutes(void *function)
{
    void *executable;
    get_value(function, 1, &executable, NULL);
    return NULL;
}

static void skipped_handler(void)
{
    _exit(124);
}

static void *hold_stdin(void *unused)
{
    flockfile(stdin);
    for (;;) pause();
    return unused;
}

static void leave_a_long_compile(uint64_t *state, const struct leaving *leaving)
{
    (void)leaving;
    static const kiln_compiler compiler = {.struct_size = sizeof compiler,
                                           .name = "slow",
                                           .digest = "1",
                                           .compile = compile_for_minutes,
                                           .link = link_text,
                                           .unlink = unlink_text};
    const kiln_function_options options = {
        .struct_size = sizeof options, .name = "slow", .compiler = &compiler, .text = {"text", 4}};
    kiln_cache *cache = open_folder("");
    kiln_function *function = NULL;
    atexit(skipped_handler);
    TORTURE_REQUIRE(kiln_function_new(cache, &options, &function, NULL) == KILN_OK, "new");
    start(wait_for_minutes, function);
    if (torture_below(state, 2)) start(hold_stdin, NULL);
    while (!atomic_load(&is_compiling)) sleep_us(1000);
    sleep_us(torture_below(state, 20000));
}

static int exit_while_a_compile_hangs(uint64_t seed)
{
    return judge(seed, leave_a_long_compile, true);
}

/* ---- arrays -------------------------------------------------------------------------------------------------------
 */

static void say_nothing(const char *text, void *data)
{
    (void)text, (void)data;
}

/* Products, fused kernels and asynchronous evaluations, over and over. */
static void *calculate_for_ever(void *unused)
{
    mlx_stream stream = mlx_default_cpu_stream_new();
    const int shape[] = {512, 512};
    for (unsigned i = 0;; i++) {
        mlx_array a = mlx_array_new(), b = mlx_array_new(), c = mlx_array_new();
        mlx_ones(&a, shape, 2, MLX_FLOAT32, stream);
        mlx_exp(&b, a, stream), mlx_add(&b, b, a, stream);
        mlx_matmul(&c, a, b, stream), mlx_softmax_axis(&c, c, -1, true, stream);
        mlx_vector_array outputs = mlx_vector_array_new_value(c);
        if (i % 2)
            mlx_async_eval(outputs);
        else
            mlx_eval(outputs);
        mlx_vector_array_free(outputs);
        mlx_array_free(a), mlx_array_free(b), mlx_array_free(c);
    }
    return unused;
}

static void calculate_and_leave(uint64_t *state, const struct leaving *leaving)
{
    (void)leaving;
    mlx_set_error_handler(say_nothing, NULL, NULL);
    for (unsigned i = 0; i < THREADS; i++) start(calculate_for_ever, NULL);
    leave_at_any_time(state);
}

static int exit_while_running_kernels(uint64_t seed)
{
    return judge(seed, calculate_and_leave, false);
}

static void leave_quickly(uint64_t *state, const struct leaving *leaving)
{
    compile_and_leave(state, leaving);
    quick_exit(leaving->status);
}

static int quick_exit_while_compiling(uint64_t seed)
{
    return judge(seed, leave_quickly, false);
}

int main(int argc, char **argv)
{
    static const struct torture_attack attacks[] = {
        {.name = "exit_while_compiling", .round = exit_while_compiling},
        {.name = "exit_on_another_thread", .round = exit_on_another_thread},
        {.name = "compile_in_atexit", .round = compile_in_atexit},
        {.name = "exit_in_callback", .round = exit_in_callback},
        {.name = "exit_while_a_compile_hangs", .round = exit_while_a_compile_hangs},
        {.name = "exit_while_running_kernels", .round = exit_while_running_kernels},
        {.name = "quick_exit_while_compiling", .round = quick_exit_while_compiling},
    };
    return torture_main(argc, argv, attacks, sizeof attacks / sizeof *attacks);
}
