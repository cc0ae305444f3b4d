/*
 * torture_cancel.c - threads that leave inside of lower(), compile(), link() or a traced function: cancelled, by
 * pthread_exit, or by a jump over the library's frames, which is forbidden and must hurt nobody else all the same.
 *
 * Others ask for the same keys meanwhile: each of them gets its executable, and no lock file is left.
 */
#include "leave_support.h"

#include <mlx/c/mlx.h>
#include <setjmp.h>
#include <sys/syscall.h>

enum { KEYS = 3, VICTIMS = 3, WITNESSES = 3, CALLS = 40 };
enum leaving { BY_CANCEL, BY_EXIT, BY_JUMP };
enum place { IN_LOWER, IN_COMPILE, IN_LINK };

struct world {
    kiln_cache *cache;
    kiln_function *function;
    enum leaving leaving;
    uint64_t seed;
    _Atomic bool is_over;
    _Atomic unsigned left, number;
};

static const char result[] = "a result";
static _Thread_local bool is_victim;
static _Thread_local enum place place;
static _Thread_local jmp_buf outside;
static _Thread_local uint64_t choices; /* outlives a jump */
static struct world world;

/* A point at which this thread can be cancelled. A sanitizer loses track of a thread that is cancelled in a function
 * that it stands in for, such as nanosleep. */
static void wait_to_be_cancelled(void)
{
    if (!UNDER_SANITIZER) sleep_us(1000);
    syscall(SYS_nanosleep, &(struct timespec){0, 100000}, NULL);
    pthread_testcancel();
}

/* A victim leaves here, if this is the place; a cancelled one waits for that. */
static void leave_here(enum place here)
{
    if (!is_victim || place != here) return;
    if (world.leaving == BY_EXIT) pthread_exit((void *)result);
    if (world.leaving == BY_JUMP) longjmp(outside, 1);
    for (unsigned i = 0; i < 20000; i++) wait_to_be_cancelled();
}

static kiln_status lower(void *payload, const kiln_request *request, kiln_text *text, kiln_error *err)
{
    (void)payload, (void)err;
    kiln_bytes argument = kiln_request_arg(request, 0);
    char *memory = malloc(64); /* the victim's own; leaving loses it */
    kiln_text_append(text, argument.data, argument.size);
    free(memory);
    leave_here(IN_LOWER);
    return KILN_OK;
}

static kiln_status compile(void *self, const kiln_request *request, kiln_bytes text, kiln_artifact *out,
                           kiln_error *err)
{
    leave_here(IN_COMPILE);
    return copy_text(self, request, text, out, err);
}

static kiln_status link_here(void *self, const kiln_artifact *artifact, kiln_device *device, void **executable,
                             kiln_error *err)
{
    leave_here(IN_LINK);
    return link_text(self, artifact, device, executable, err);
}

static const kiln_compiler compiler = {.struct_size = sizeof compiler,
                                       .name = "leave",
                                       .digest = "1",
                                       .compile = compile,
                                       .link = link_here,
                                       .unlink = unlink_text};

static void get_key(int64_t key)
{
    kiln_error error = {KILN_OK, ""};
    void *executable = NULL;
    kiln_status status = get_value(world.function, key, &executable, &error);
    TORTURE_REQUIRE(status == KILN_OK, "key %lld: %s: %s", (long long)key, kiln_status_name(status), error.text);
}

/* ---- victims ------------------------------------------------------------------------------------------------------
 */

/* Asks for keys until a callback of its own takes it away; after a jump it asks on, or ends. */
static void *be_victim(void *context)
{
    choices = world.seed + 17 * (uintptr_t)context;
    is_victim = true;
    place = (enum place)torture_below(&choices, 3);
    volatile bool goes_on = torture_below(&choices, 2);
    volatile unsigned jumps = 0;
    if (setjmp(outside)) {
        if (!goes_on || ++jumps == 3) return NULL;
        if (torture_below(&choices, 2)) is_victim = false;
    }
    for (int64_t i = 0; !world.is_over; i++) get_key(i % KEYS + (int64_t)torture_below(&choices, 2) * 1000 * i);
    return NULL;
}

static void *be_witness(void *context)
{
    uint64_t state = world.seed + 31 * (uintptr_t)context;
    for (unsigned i = 0; i < CALLS; i++) {
        get_key((int64_t)torture_below(&state, KEYS));
        if (torture_below(&state, 4) == 0) kiln_function_trim(world.function);
    }
    return NULL;
}

static void check_end(pthread_t victim)
{
    void *end = NULL;
    pthread_join(victim, &end);
    bool is_right = world.leaving == BY_CANCEL ? !end || end == PTHREAD_CANCELED
                    : world.leaving == BY_EXIT ? !end || end == result
                                               : !end;
    TORTURE_REQUIRE(is_right, "a victim ended with %p", end);
}

/* Rounds of victims, one after the other, while witnesses ask for the same keys. */
static int leave_and_look(uint64_t seed, enum leaving leaving)
{
    char folder[64];
    uint64_t state = seed;
    const kiln_function_options options = {
        .struct_size = sizeof options, .name = "leaving", .compiler = &compiler, .lower = lower};
    make_folder(folder, sizeof folder);
    world.cache = open_folder(folder);
    world.leaving = leaving;
    world.seed = seed;
    TORTURE_REQUIRE(kiln_function_new(world.cache, &options, &world.function, NULL) == KILN_OK, "new");
    pthread_t victims[VICTIMS], witnesses[WITNESSES];
    for (uintptr_t i = 0; i < VICTIMS; i++) pthread_create(&victims[i], NULL, be_victim, (void *)(i + 1));
    for (uintptr_t i = 0; i < WITNESSES; i++) pthread_create(&witnesses[i], NULL, be_witness, (void *)(i + 1));
    sleep_us(torture_below(&state, 5000));
    for (unsigned i = 0; leaving == BY_CANCEL && i < VICTIMS; i++) {
        pthread_cancel(victims[i]);
        sleep_us(torture_below(&state, 2000));
    }
    for (unsigned i = 0; i < WITNESSES; i++) pthread_join(witnesses[i], NULL);
    world.is_over = true;
    for (unsigned i = 0; i < VICTIMS; i++) check_end(victims[i]);
    for (int64_t i = 0; i < KEYS; i++) get_key(i);
    pid_t child = fork(); /* no gate is left closed or entered */
    if (child == 0) {
        if (!UNDER_SANITIZER) get_key(77777);
        _exit(0);
    }
    TORTURE_REQUIRE(end_of(child, 5, "a child of the process") == 0, "see above");
    TORTURE_REQUIRE(count_locks(folder) == 0, "%u lock files are left in %s", locks_found, folder);
    kiln_function_free(world.function);
    kiln_cache_close(world.cache);
    remove_folder(folder);
    if (leaving == BY_JUMP) _exit(0); /* memory that a jump lost is no finding */
    return 0;
}

static int cancel_in_callbacks(uint64_t seed)
{
    return leave_and_look(seed, BY_CANCEL);
}

static int exit_thread_in_callbacks(uint64_t seed)
{
    return leave_and_look(seed, BY_EXIT);
}

static int jump_out_of_callbacks(uint64_t seed)
{
    return leave_and_look(seed, BY_JUMP);
}

/* ---- anywhere -----------------------------------------------------------------------------------------------------
 */

static _Atomic int64_t next_key;

/* Misses that go to disk and back, with cancellation points only where this program has them: nowhere. */
static void *get_everything(void *unused)
{
    kiln_function *own = NULL;
    const kiln_function_options options = {
        .struct_size = sizeof options, .name = "anywhere", .compiler = &compiler, .lower = lower};
    while (!world.is_over) {
        get_key(atomic_fetch_add(&next_key, 1) % 50);
        pthread_testcancel();
        TORTURE_REQUIRE(kiln_function_new(world.cache, &options, &own, NULL) == KILN_OK, "new");
        get_key(atomic_load(&next_key) % 7);
        kiln_function_free(own);
    }
    return unused;
}

static int cancel_anywhere(uint64_t seed)
{
    char folder[64];
    uint64_t state = seed;
    const kiln_function_options options = {
        .struct_size = sizeof options, .name = "anywhere", .compiler = &compiler, .lower = lower};
    make_folder(folder, sizeof folder);
    const kiln_cache_options bounded = {
        .struct_size = sizeof bounded, .folder = folder, .max_results = 8, .max_files = 30};
    TORTURE_REQUIRE(kiln_cache_open(&bounded, &world.cache, NULL) == KILN_OK, "open");
    TORTURE_REQUIRE(kiln_function_new(world.cache, &options, &world.function, NULL) == KILN_OK, "new");
    for (unsigned i = 0; i < 20; i++) {
        pthread_t threads[3];
        void *end = NULL;
        for (unsigned k = 0; k < 3; k++) pthread_create(&threads[k], NULL, get_everything, NULL);
        for (unsigned k = 0; k < 3; k++) {
            sleep_us(torture_below(&state, 3000));
            pthread_cancel(threads[k]);
        }
        for (unsigned k = 0; k < 3; k++) {
            pthread_join(threads[k], &end);
            TORTURE_REQUIRE(end == PTHREAD_CANCELED, "a thread ended with %p", end);
        }
    }
    for (int64_t i = 0; i < 60; i++) get_key(i);
    TORTURE_REQUIRE(count_locks(folder) == 0, "%u lock files are left in %s", locks_found, folder);
    kiln_function_free(world.function);
    kiln_cache_close(world.cache);
    remove_folder(folder);
    return 0;
}

/* ---- traces -------------------------------------------------------------------------------------------------------
 */

static mlx_stream stream;
static mlx_closure compiled;

static int twice(mlx_vector_array *res, const mlx_vector_array in)
{
    mlx_array x = mlx_array_new();
    mlx_vector_array_get(&x, in, 0);
    leave_here(IN_LOWER);
    int failed = mlx_add(&x, x, x, stream) || mlx_vector_array_set_value(res, x);
    mlx_array_free(x);
    return failed;
}

static void call_twice(int size)
{
    mlx_array x = mlx_array_new();
    mlx_ones(&x, &size, 1, MLX_FLOAT32, stream);
    mlx_vector_array in = mlx_vector_array_new_value(x), out = mlx_vector_array_new();
    TORTURE_REQUIRE(mlx_closure_apply(&out, compiled, in) == 0, "apply");
    mlx_vector_array_get(&x, out, 0);
    TORTURE_REQUIRE(mlx_array_eval(x) == 0 && mlx_array_data_float32(x)[size - 1] == 2, "size %d", size);
    mlx_array_free(x), mlx_vector_array_free(in), mlx_vector_array_free(out);
}

static void *trace_as_victim(void *context)
{
    volatile int size = (int)(uintptr_t)context;
    is_victim = true;
    place = IN_LOWER;
    if (setjmp(outside)) is_victim = false;
    call_twice(size);
    return NULL;
}

static void *trace_as_witness(void *context)
{
    call_twice((int)(uintptr_t)context);
    return NULL;
}

static int leave_a_trace(uint64_t seed)
{
    uint64_t state = seed;
    stream = mlx_default_cpu_stream_new();
    compiled = mlx_closure_new();
    mlx_compile(&compiled, mlx_closure_new_func(twice), false);
    for (uintptr_t i = 1; i < 12; i++) {
        pthread_t victim, witness;
        world.leaving = (enum leaving)torture_below(&state, 3);
        pthread_create(&victim, NULL, trace_as_victim, (void *)i);
        pthread_create(&witness, NULL, trace_as_witness, (void *)i);
        sleep_us(torture_below(&state, 3000));
        if (world.leaving == BY_CANCEL) pthread_cancel(victim);
        pthread_join(witness, NULL);
        check_end(victim);
        call_twice((int)i);
    }
    _exit(0); /* the arrays of those who left are no finding */
}

int main(int argc, char **argv)
{
    static const struct torture_attack attacks[] = {
        {.name = "cancel_in_callbacks", .round = cancel_in_callbacks, .seconds = 15},
        {.name = "exit_thread_in_callbacks", .round = exit_thread_in_callbacks, .seconds = 15},
        {.name = "jump_out_of_callbacks", .round = jump_out_of_callbacks, .seconds = 15},
        {.name = "cancel_anywhere", .round = cancel_anywhere, .seconds = 15},
        {.name = "leave_a_trace", .round = leave_a_trace, .seconds = 15},
    };
    return torture_main(argc, argv, attacks, sizeof attacks / sizeof *attacks);
}
