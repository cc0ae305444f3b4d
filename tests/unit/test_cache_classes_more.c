/*
 * test_cache_classes_more.c - failure classes 13 to 41: arguments, hits that work, failures, re-entrancy, options,
 * order.
 */
#include "classes_support.h"

#include <linux/seccomp.h>
#include <math.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "key/dlpack.h"

#ifdef __SANITIZE_THREAD__
#define SANITIZED_THREADS
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define SANITIZED_THREADS
#endif
#endif

static kiln_status print_nothing(void *payload, const kiln_request *request, kiln_text *text, kiln_error *err)
{
    (void)payload, (void)request, (void)err;
    return kiln_text_printf(text, "nothing");
}

/* The text is fixed, so arguments are content: other arguments, another executable. */
static kiln_function *fixed(struct world *world)
{
    return new_text(world->cache, &world->fake.compiler, "f", "fixed");
}

static void all_differ(kiln_function *f, const kiln_arg *args, size_t count)
{
    const struct image *images[32];
    CHECK_LE(count, 32);
    for (size_t i = 0; i < count; i++) {
        images[i] = get(f, &args[i], 1);
        for (size_t k = 0; k < i; k++)
            if (images[i] == images[k]) CHECK_FAIL("arguments %zu and %zu give the same code", k, i);
    }
    for (size_t i = 0; i < count; i++) CHECK_EQ(get(f, &args[i], 1), images[i]);
}
#define all_differ(...) CHECK_CALL(all_differ, __VA_ARGS__)

/* ---- 13 to 16: arguments -------------------------------------------------------------------------------------- */

static void test_key_class_13_scalars(void **state)
{
    struct world *world = *state;
    kiln_function *f = fixed(world);
    int64_t one = 1, zero = 0;
    double one_point = 1.0, plus_zero = 0.0, minus_zero = -0.0, nans[2];
    const uint64_t bits[2] = {0x7ff8000000000000, 0x7ff8000000000001};
    memcpy(nans, bits, sizeof nans);
    bool yes = true, no = false;
    all_differ(f, ARGS({&kiln_const_i64, &one}, {&kiln_const_i64, &zero}, {&kiln_const_f64, &one_point},
                       {&kiln_const_f64, &plus_zero}, {&kiln_const_f64, &minus_zero}, {&kiln_const_f64, &nans[0]},
                       {&kiln_const_f64, &nans[1]}, {&kiln_const_bool, &yes}, {&kiln_const_bool, &no},
                       {&kiln_scalar_i64, &one}, {&kiln_scalar_f64, &one_point}, {&kiln_none, NULL}));
    unsigned compiles = world->fake.compiles;
    for (int i = 0; i < 1000; i++) get(f, ARGS({&kiln_const_f64, &(const double){nans[0]}}));
    CHECK_EQ(world->fake.compiles, compiles);
    for (int64_t i = 0; i < 100; i++) get(f, ARGS({&kiln_scalar_i64, &i})); /* only its type is part of the key */
    CHECK_EQ(world->fake.compiles, compiles);
    kiln_function_free(f);
}

static struct kiln_dltensor tensor_of(int64_t *shape, int64_t *strides, int ndim)
{
    static _Alignas(64) char data[64];
    return (struct kiln_dltensor){
        .data = data, .device = {1, 0}, .ndim = ndim, .dtype = {2, 32, 1}, .shape = shape, .strides = strides};
}

/* Neighbours do not merge: {12,3} is not {1,23}, "ab"+"c" is not "a"+"bc", nothing is not zero. */
static void test_key_class_14_neighbours(void **state)
{
    struct world *world = *state;
    kiln_function *f = fixed(world);
    int64_t wide[] = {12, 3}, tall[] = {1, 23}, flat[] = {123};
    struct kiln_dltensor a = tensor_of(wide, NULL, 2), b = tensor_of(tall, NULL, 2), c = tensor_of(flat, NULL, 1);
    const kiln_arg ab[] = {{&kiln_const_string, "ab"}, {&kiln_const_string, "c"}},
                   bc[] = {{&kiln_const_string, "a"}, {&kiln_const_string, "bc"}};
    const kiln_args first = {ab, 2}, second = {bc, 2}, only = {ab, 1}, none = {NULL, 0};
    const kiln_arg inner[] = {{&kiln_list, &only}, {&kiln_const_string, "c"}}, lists[] = {{&kiln_list, &first}};
    const kiln_args mixed = {inner, 2}, nested = {lists, 1};
    all_differ(f, ARGS({&kiln_tensor, &a}, {&kiln_tensor, &b}, {&kiln_tensor, &c}, {&kiln_list, &first},
                       {&kiln_list, &second}, {&kiln_list, &only}, {&kiln_list, &none}, {&kiln_list, &mixed},
                       {&kiln_list, &nested}, I64(0), {&kiln_none, NULL}, {&kiln_const_string, ""},
                       {&kiln_const_string, "a"}));
    struct image *missing = get(f, NO_ARGS), *zero = get(f, ARGS(I64(0))), *two = get(f, ARGS(I64(0), I64(0)));
    CHECK_TRUE(missing != zero && zero != two && two != missing);
    kiln_function_free(f);
}

static void test_key_class_15_layout(void **state)
{
    struct world *world = *state;
    kiln_function *f = fixed(world);
    int64_t shape[] = {8, 16}, empty[] = {0, 16}, one[] = {1, 16}, packed[] = {16, 1}, turned[] = {1, 8},
            back[] = {-8, 1}, repeated[] = {0, 1};
    struct kiln_dltensor plain = tensor_of(shape, NULL, 2), permuted = tensor_of(shape, turned, 2),
                         negative = tensor_of(shape, back, 2), broadcast = tensor_of(shape, repeated, 2),
                         nothing = tensor_of(empty, NULL, 2), single = tensor_of(one, NULL, 2);
    const kiln_rule fixed_rules[] = {{KILN_STATIC, 0}, {KILN_STATIC, 0}},
                    by_eight[] = {{KILN_DIVISIBLE, 8}, {KILN_STATIC, 0}},
                    by_four[] = {{KILN_DIVISIBLE, 4}, {KILN_STATIC, 0}},
                    dynamic[] = {{KILN_DYNAMIC, 0}, {KILN_STATIC, 0}};
    const kiln_tensor_spec minus_eight = {&negative, NULL, fixed_rules, 2}, divisible = {&negative, NULL, by_eight, 2},
                           by_another = {&negative, NULL, by_four, 2}, any = {&negative, NULL, dynamic, 2},
                           any_dim = {&negative, dynamic, NULL, 2};
    all_differ(f, ARGS({&kiln_tensor, &plain}, {&kiln_tensor, &permuted}, {&kiln_tensor, &negative},
                       {&kiln_tensor, &broadcast}, {&kiln_tensor, &nothing}, {&kiln_tensor, &single},
                       {&kiln_tensor_dynamic, &plain}, {&kiln_tensor_dynamic, &permuted},
                       {&kiln_tensor_dynamic, &negative}, {&kiln_tensor_dynamic, &broadcast},
                       {&kiln_tensor_ruled, &minus_eight}, {&kiln_tensor_ruled, &divisible},
                       {&kiln_tensor_ruled, &by_another}, {&kiln_tensor_ruled, &any}, {&kiln_tensor_ruled, &any_dim}));
    struct kiln_dltensor explicit_strides = tensor_of(shape, packed, 2);
    CHECK_EQ(get(f, ARGS({&kiln_tensor, &explicit_strides})), get(f, ARGS({&kiln_tensor, &plain})));
    /* under a rule: other sizes of the same divisibility are the same code, others are not */
    int64_t sixteen[] = {16, 16}, twelve[] = {12, 16};
    struct kiln_dltensor more = tensor_of(sixteen, packed, 2), fewer = tensor_of(twelve, packed, 2),
                         same = tensor_of(shape, packed, 2);
    const kiln_tensor_spec rows = {&same, by_eight, NULL, 2}, more_rows = {&more, by_eight, NULL, 2},
                           odd_rows = {&fewer, by_eight, NULL, 2};
    struct image *eight = get(f, ARGS({&kiln_tensor_ruled, &rows}));
    CHECK_EQ(get(f, ARGS({&kiln_tensor_ruled, &more_rows})), eight);
    CHECK_NE(get(f, ARGS({&kiln_tensor_ruled, &odd_rows})), eight);
    const kiln_rule wrong[] = {{KILN_DIVISIBLE, 0}, {KILN_STATIC, 0}};
    const kiln_tensor_spec short_list = {&plain, by_eight, NULL, 1}, no_divisor = {&plain, wrong, NULL, 2},
                           no_tensor = {NULL, NULL, NULL, 0};
    get_fails(f, ARGS({&kiln_tensor_ruled, &short_list}), KILN_UNSIGNED, "tensor_ruled");
    get_fails(f, ARGS({&kiln_tensor_ruled, &no_divisor}), KILN_UNSIGNED, "tensor_ruled");
    get_fails(f, ARGS({&kiln_tensor_ruled, &no_tensor}), KILN_UNSIGNED, "tensor_ruled");
    kiln_function_free(f);
}

struct padded {
    char small;
    int64_t large;
    char last;
};

static kiln_status sign_padded(kiln_signature *signature, const void *value)
{
    const struct padded *padded = value;
    kiln_sign_u64(signature, (uint64_t)padded->small);
    kiln_sign_u64(signature, (uint64_t)padded->large);
    kiln_sign_u64(signature, (uint64_t)padded->last);
    return KILN_OK;
}

/* A struct is signed by its fields: garbage between them is a hit, another field is not. */
static void test_key_class_16_padding(void **state)
{
    struct world *world = *state;
    static const kiln_type type = {"padded", sign_padded};
    kiln_function *f = fixed(world);
    struct padded values[3];
    memset(&values[0], 0x00, sizeof *values);
    memset(&values[1], 0xff, sizeof *values);
    memset(&values[2], 0x00, sizeof *values);
    for (int i = 0; i < 3; i++) values[i].small = 1, values[i].large = 2, values[i].last = (char)(i == 2 ? 4 : 3);
    struct image *first = get(f, ARGS({&type, &values[0]}));
    CHECK_EQ(get(f, ARGS({&type, &values[1]})), first);
    CHECK_NE(get(f, ARGS({&type, &values[2]})), first);
    CHECK_EQ(world->fake.compiles, 2);
    kiln_function_free(f);
}

/* ---- 17 to 20: hits ------------------------------------------------------------------------------------------- */

static void test_key_class_17_hits_do_no_work(void **state)
{
    struct world *world = *state;
    kiln_function *f = lowered(world, "f", print_nothing, NULL);
    for (int i = 0; i <= 100000; i++) get(f, ARGS(I64(1)));
    CHECK_COUNTERS(world->cache, .calls = 100001, .front_hits = 100000, .traces = 1, .compiles = 1, .links = 1);
    kiln_function_free(f);
}

/* With watches of every kind: a system call in a hit would end the process. Allocations and locks: test_cache_hit.c. */
static void test_key_class_18_hits_make_no_system_call(void **state)
{
    struct world *world = *state;
#ifdef SANITIZED_THREADS
    CHECK_SKIP(); /* the sanitizer itself makes system calls */
#endif
    kiln_function *f = lowered(world, "f", print_nothing, NULL);
    int64_t shape[] = {8, 16}, number = 1;
    struct kiln_dltensor tensor = tensor_of(shape, NULL, 2);
    kiln_var *var = NULL;
    CHECK_STATUS(kiln_var_new("tile", "8", 1, &var, NULL), KILN_OK);
    CHECK_STATUS(kiln_watch(f, "m", "number", &number, sizeof number, NULL), KILN_OK);
    CHECK_STATUS(kiln_watch_env(f, "KILN_TEST_A", NULL), KILN_OK);
    CHECK_STATUS(kiln_watch_var(f, var, NULL), KILN_OK);
    get(f, ARGS({&kiln_tensor, &tensor}));
    pid_t child = fork();
    if (!child) {
        void *executable;
        get(f, ARGS({&kiln_tensor, &tensor}));
        if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT)) _exit(0); /* not allowed here: nothing to be seen */
        int failures = 0;
        for (int i = 0; i < 1000; i++)
            failures += kiln_get(f, ARGS({&kiln_tensor, &tensor}), NULL, &executable, NULL) != KILN_OK;
        syscall(SYS_exit, failures != 0);
    }
    int status = -1;
    waitpid(child, &status, 0);
    CHECK_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    kiln_function_free(f);
    kiln_var_free(var);
}

/* Built with all hashes equal as well: the full key decides. */
static void test_key_class_19_collisions(void **state)
{
    struct world *world = *state;
    kiln_function *f = fixed(world);
    const struct image *images[64];
    for (int round = 0; round < 3; round++)
        for (int64_t i = 0; i < 64; i++) {
            const struct image *image = get(f, ARGS(I64(i)));
            if (round == 0) images[i] = image;
            CHECK_EQ(image, images[i]);
            for (int64_t k = 0; k < i; k++) CHECK_NE(images[k], image);
        }
    CHECK_EQ(world->fake.compiles, 64);
    kiln_function_free(f);
}

static char found_paths[4][512];
static int found_count;

static int collect(const char *path, const struct stat *info, int kind, struct FTW *walk)
{
    (void)info, (void)kind, (void)walk;
    size_t size = strlen(path);
    if (size > 5 && !strcmp(path + size - 5, ".kiln") && found_count < 4)
        snprintf(found_paths[found_count++], sizeof *found_paths, "%s", path);
    return 0;
}

static void copy_file(const char *from, const char *to)
{
    char bytes[65536];
    FILE *in = fopen(from, "r"), *out = NULL;
    CHECK_NOT_NULL(in);
    size_t size = fread(bytes, 1, sizeof bytes, in);
    fclose(in);
    chmod(to, 0600);
    CHECK_NOT_NULL(out = fopen(to, "w"));
    fwrite(bytes, 1, size, out);
    fclose(out);
}

/* The file of A under the name of B: B is compiled, A is not run. */
static void test_key_class_20_misplaced(void **state)
{
    struct world *world = *state;
    reopen(world);
    int one = 1, two = 2;
    kiln_function *a = lowered(world, "a", print_int, &one), *b = lowered(world, "b", print_int, &two);
    gives(a, NO_ARGS, "1");
    gives(b, NO_ARGS, "2");
    kiln_function_free(a);
    kiln_function_free(b);
    found_count = 0;
    nftw(world->folder, collect, 16, FTW_PHYS);
    CHECK_EQ(found_count, 2);
    copy_file(found_paths[0], found_paths[1]);
    reopen(world);
    a = lowered(world, "a", print_int, &one), b = lowered(world, "b", print_int, &two);
    gives(a, NO_ARGS, "1");
    gives(b, NO_ARGS, "2");
    CHECK_EQ(counters_of(world).compiles, 1);
    CHECK_EQ(counters_of(world).disk_hits, 1);
    CHECK_EQ(counters_of(world).corrupt, 1);
    kiln_function_free(a);
    kiln_function_free(b);
}

/* ---- 30: device ----------------------------------------------------------------------------------------------- */

static kiln_device *other_device;

static kiln_status switch_device(void *payload, const kiln_request *request, kiln_text *text, kiln_error *err)
{
    (void)payload, (void)err;
    kiln_set_current_device(other_device); /* in the middle of the call */
    return kiln_text_printf(text, "for %s", kiln_device_name(kiln_request_device(request)));
}

static void test_key_class_30_device(void **state)
{
    struct world *world = *state;
    kiln_device *first = NULL;
    CHECK_STATUS(kiln_device_find("cpu:native#8", &first, NULL), KILN_OK);
    CHECK_STATUS(kiln_device_find("cpu:native#9", &other_device, NULL), KILN_OK);
    kiln_function *f = lowered(world, "f", switch_device, NULL);
    kiln_set_current_device(first);
    CHECK_EQ(get(f, NO_ARGS)->device, first); /* what was current at its entry */
    CHECK_EQ(get(f, NO_ARGS)->device, other_device);
    kiln_set_current_device(first);
    CHECK_EQ(get(f, NO_ARGS)->device, first);
    kiln_set_current_device(NULL);
    kiln_function_free(f);
}

/* ---- 32, 33: failures ----------------------------------------------------------------------------------------- */

/* Allocation failures at every point: test_cache_memory.c. */
static void test_key_class_32_half_filled(void **state)
{
    struct world *world = *state;
    struct program program = {.text = "add"};
    kiln_function *f = lowered(world, "f", program_lower, &program);
    program.fails = true;
    get_fails(f, NO_ARGS, KILN_LOWER_FAILED, "cannot lower that");
    program.fails = false;
    world->fake.fails_to_compile = true;
    get_fails(f, NO_ARGS, KILN_COMPILE_FAILED, "no such instruction");
    world->fake.fails_to_compile = false;
    world->fake.fails_to_link = true;
    get_fails(f, NO_ARGS, KILN_LINK_FAILED, "no room");
    world->fake.fails_to_link = false;
    gives(f, NO_ARGS, "add");
    gives(f, NO_ARGS, "add");
    CHECK_COUNTERS(world->cache, .calls = 5, .front_hits = 1, .traces = 4, .compiles = 2,
                   .links = 2); /* what was compiled stays */
    kiln_function_free(f);
}

static void *try_other_key(void *function)
{
    void *executable = NULL;
    return kiln_get(function, ARGS(I64(2)), NULL, &executable, NULL) == KILN_OK ? executable : NULL;
}

static void test_key_class_33_failures_are_not_kept(void **state)
{
    struct world *world = *state;
    struct program program = {.text = "add"};
    kiln_function *f = lowered(world, "f", program_lower, &program);
    world->fake.fails_to_compile = true;
    for (int i = 0; i < 10; i++) get_fails(f, ARGS(I64(1)), KILN_COMPILE_FAILED, "no such instruction");
    world->fake.fails_to_compile = false;
    pthread_t thread;
    void *executable = NULL;
    pthread_create(&thread, NULL, try_other_key, f); /* no lock was left behind */
    pthread_join(thread, &executable);
    CHECK_NOT_NULL(executable);
    gives(f, ARGS(I64(1)), "add");
    CHECK_EQ(world->fake.compiles, 11);
    kiln_function_free(f);
}

/* ---- 34: functions of functions ------------------------------------------------------------------------------- */

struct caller {
    kiln_function *callee;
    kiln_status status;
};

static kiln_status lower_callee(void *payload, const kiln_request *request, kiln_text *text, kiln_error *err)
{
    (void)request;
    struct caller *caller = payload;
    void *executable = NULL;
    caller->status = kiln_get(caller->callee, NO_ARGS, NULL, &executable, err);
    if (caller->status) err->text[0] = '\0';
    return kiln_text_printf(text, "calls %s", caller->status ? "itself" : ((struct image *)executable)->text);
}

static void redefine(struct world *world, kiln_function *function,
                     kiln_status (*lower)(void *, const kiln_request *, kiln_text *, kiln_error *), void *payload)
{
    const kiln_function_options options = {.struct_size = sizeof options,
                                           .name = "again",
                                           .compiler = &world->fake.compiler,
                                           .lower = lower,
                                           .payload = payload};
    CHECK_STATUS(kiln_function_redefine(function, &options, NULL), KILN_OK);
}
#define redefine(...) CHECK_CALL(redefine, __VA_ARGS__)

static void test_key_class_34_reentrant(void **state)
{
    struct world *world = *state;
    int one = 1;
    struct caller to_g = {0}, to_itself = {0};
    kiln_function *f = lowered(world, "f", lower_callee, &to_g), *g = lowered(world, "g", print_int, &one),
                  *h = lowered(world, "h", lower_callee, &to_itself);
    to_g.callee = g, to_itself.callee = h;
    gives(f, NO_ARGS, "calls 1");
    gives(h, NO_ARGS, "calls itself"); /* told, not deadlocked */
    CHECK_EQ(to_itself.status, KILN_INVALID);
    kiln_function_free(f), kiln_function_free(g), kiln_function_free(h);
}

static void test_key_class_34_callee_watches(void **state)
{
    struct world *world = *state;
    int scale = 1;
    struct caller to_g = {0};
    kiln_function *f = lowered(world, "f", lower_callee, &to_g), *g = lowered(world, "g", print_int, &scale);
    to_g.callee = g;
    CHECK_STATUS(kiln_depends(f, g, NULL), KILN_OK);
    gives(f, NO_ARGS, "calls 1");
    WATCHES_INT(g, "scale", scale); /* after the caller's first call */
    gives(f, NO_ARGS, "calls 1");
    scale = 2;
    gives(f, NO_ARGS, "calls 2");
    kiln_function_free(f), kiln_function_free(g);
}

static void test_key_class_34_redefined(void **state)
{
    struct world *world = *state;
    int one = 1, two = 2;
    struct caller to_g = {0};
    kiln_function *f = lowered(world, "f", lower_callee, &to_g), *g = lowered(world, "g", print_int, &one),
                  *h = lowered(world, "h", print_int, &one);
    to_g.callee = g;
    CHECK_STATUS(kiln_depends(f, g, NULL), KILN_OK);
    gives(f, NO_ARGS, "calls 1");
    gives(h, NO_ARGS, "1");
    redefine(world, g, print_int, &two);
    gives(f, NO_ARGS, "calls 2");
    unsigned long long traces = counters_of(world).traces;
    gives(h, NO_ARGS, "1"); /* and nothing else */
    CHECK_EQ(counters_of(world).traces, traces);
    kiln_function_free(f), kiln_function_free(g), kiln_function_free(h);
}

struct half {
    const struct half *other;
    int value;
};

static kiln_status print_both(void *payload, const kiln_request *request, kiln_text *text, kiln_error *err)
{
    (void)request, (void)err;
    const struct half *half = payload;
    return kiln_text_printf(text, "%d and %d", half->value, half->other->value);
}

/* A mutually recursive pair: editing one of them concerns both, whichever is called first afterwards. */
static void test_key_class_34_mutual(void **state)
{
    struct world *world = *state;
    for (int order = 0; order < 4; order++) {
        struct half halves[2] = {{&halves[1], 1}, {&halves[0], 1}};
        kiln_function *pair[2];
        for (int i = 0; i < 2; i++) pair[i] = lowered(world, i ? "odd" : "even", print_both, &halves[i]);
        for (int i = 0; i < 2; i++) CHECK_STATUS(kiln_depends(pair[i], pair[1 - i], NULL), KILN_OK);
        for (int i = 0; i < 2; i++) gives(pair[i], NO_ARGS, "1 and 1");
        int edited = order & 1, first = order >> 1;
        halves[edited].value = 2;
        redefine(world, pair[edited], print_both, &halves[edited]);
        for (int i = 0; i < 2; i++) {
            int called = i ? 1 - first : first;
            gives(pair[called], NO_ARGS, called == edited ? "2 and 1" : "1 and 2");
        }
        for (int i = 0; i < 2; i++) kiln_function_free(pair[i]);
    }
}

/* ---- 35 to 37: options, order, what does not matter ----------------------------------------------------------- */

static kiln_status print_option(void *payload, const kiln_request *request, kiln_text *text, kiln_error *err)
{
    (void)payload;
    const char *value = kiln_request_option(request, "unroll");
    if (value && !strcmp(value, "wrong")) {
        snprintf(err->text, sizeof err->text, "wrong");
        return KILN_INVALID;
    }
    return kiln_text_printf(text, "%s %s", value ? value : "-", kiln_request_option(request, "opt_level"));
}

static void *get_option(void *function)
{
    return try_other_key(function);
}

static void test_key_class_35_options(void **state)
{
    struct world *world = *state;
    kiln_function *f = lowered(world, "f", print_option, NULL);
    gives(f, NO_ARGS, "- 2");
    kiln_option_push("unroll", "4");
    gives(f, NO_ARGS, "4 2");
    kiln_option_push("unroll", "8"); /* nested */
    gives(f, NO_ARGS, "8 2");
    pthread_t thread;
    void *executable = NULL;
    pthread_create(&thread, NULL, get_option, f); /* others do not see it */
    pthread_join(thread, &executable);
    CHECK_STR(((struct image *)executable)->text, "- 2");
    kiln_option_push("unroll", "wrong");
    get_fails(f, NO_ARGS, KILN_LOWER_FAILED, "wrong");
    kiln_option_pop(); /* restored after the error */
    gives(f, NO_ARGS, "8 2");
    kiln_option_pop();
    gives(f, NO_ARGS, "4 2");
    setenv("KILN_OPT_LEVEL", "3", 1);
    gives(f, NO_ARGS, "4 3");
    kiln_option_pop();
    gives(f, NO_ARGS, "- 3");
    unsetenv("KILN_OPT_LEVEL");
    gives(f, NO_ARGS, "- 2");
    kiln_function_free(f);
}

/* Watches, options and functions in another order: the same content key. */
static void test_key_class_36_order(void **state)
{
    struct world *world = *state;
    int a = 1, b = 2;
    for (int round = 0; round < 4; round++) {
        reopen(world);
        kiln_function *f = fixed(world), *callees[2] = {fixed(world), fixed(world)};
        kiln_option_push(round & 1 ? "y" : "x", round & 1 ? "2" : "1");
        kiln_option_push(round & 1 ? "x" : "y", round & 1 ? "1" : "2");
        for (int i = 0; i < 3; i++) {
            int what = round & 2 ? 2 - i : i;
            if (what == 0) WATCHES_INT(f, "a", a);
            if (what == 1) WATCHES_INT(callees[0], "b", b);
            if (what == 2) CHECK_STATUS(kiln_watch_env(callees[1], "KILN_TEST_A", NULL), KILN_OK);
        }
        for (int i = 0; i < 2; i++) CHECK_STATUS(kiln_depends(f, callees[round & 2 ? 1 - i : i], NULL), KILN_OK);
        get(f, NO_ARGS);
        kiln_option_pop(), kiln_option_pop();
        CHECK_EQ(counters_of(world).compiles, round == 0);
        for (int i = 0; i < 2; i++) kiln_function_free(callees[i]);
        kiln_function_free(f);
    }
}

static void test_key_class_37_nothing_spurious(void **state)
{
    struct world *world = *state;
    kiln_function *f = fixed(world), *g = NULL;
    int64_t shape[] = {8, 16};
    struct kiln_dltensor tensor = tensor_of(shape, NULL, 2);
    static _Alignas(64) char elsewhere[64];
    int watched = 1, unrelated = 1, streams[2];
    WATCHES_INT(f, "watched", watched);
    get(f, ARGS({&kiln_tensor, &tensor}, {&kiln_stream, &streams[0]}, {&kiln_pointer, &streams[0]}));
    tensor.data = elsewhere;
    get(f, ARGS({&kiln_tensor, &tensor}, {&kiln_stream, &streams[1]}, {&kiln_pointer, &streams[1]}));
    g = new_text(world->cache, &world->fake.compiler, "g", "another");
    WATCHES_INT(g, "unrelated", unrelated);
    setenv("KILN_TEST_B", "unrelated", 1);
    unrelated = 2;
    get(f, ARGS({&kiln_tensor, &tensor}, {&kiln_stream, &streams[1]}, {&kiln_pointer, &streams[1]}));
    kiln_function_free(g);
    get(f, ARGS({&kiln_tensor, &tensor}, {&kiln_stream, NULL}, {&kiln_pointer, NULL}));
    CHECK_COUNTERS(world->cache, .calls = 4, .front_hits = 3, .compiles = 1, .links = 1);
    kiln_function_free(f);
}

/* ---- 41: declared and bound ----------------------------------------------------------------------------------- */

static struct image *get_values(kiln_function *function, const void *const *values, size_t count)
{
    void *executable = NULL;
    kiln_error err = {0};
    CHECK_OK(kiln_get_values(function, values, count, NULL, &executable, &err), &err);
    return executable;
}

static kiln_function *
bound(struct world *world, kiln_status (*lower)(void *, const kiln_request *, kiln_text *, kiln_error *), void *payload)
{
    static const kiln_type *const types[] = {&kiln_const_i64, &kiln_scalar_f64};
    kiln_function *base = lowered(world, "f", lower, NULL), *owner = NULL;
    CHECK_STATUS(kiln_function_declare(base, types, 2, NULL), KILN_OK);
    CHECK_STATUS(kiln_function_bind(base, payload, NULL, &owner, NULL), KILN_OK);
    kiln_function_free(base);
    return owner;
}

static kiln_status print_first(void *payload, const kiln_request *request, kiln_text *text, kiln_error *err)
{
    (void)payload, (void)err;
    int64_t first;
    memcpy(&first, (const char *)kiln_request_arg(request, 0).data + 8, sizeof first);
    return kiln_text_printf(text, "%d", (int)first);
}

static void test_key_class_41_bound_argument(void **state)
{
    struct world *world = *state;
    kiln_function *f = bound(world, print_first, NULL);
    int64_t number = 3;
    double scalar = 0.5;
    const void *const values[] = {&number, &scalar};
    CHECK_STR(get_values(f, values, 2)->text, "3");
    number = 5; /* the same place, another value */
    CHECK_STR(get_values(f, values, 2)->text, "5");
    scalar = 1.5; /* only its type counts */
    CHECK_STR(get_values(f, values, 2)->text, "5");
    CHECK_EQ(world->fake.compiles, 2);
    kiln_error err = {0};
    void *executable = NULL;
    CHECK_STATUS(kiln_get_values(f, values, 1, NULL, &executable, &err), KILN_INVALID, &err);
    CHECK_CONTAINS(err.text, "1 values were given, 2 parameters are declared");
    kiln_function *undeclared = lowered(world, "g", print_first, NULL);
    CHECK_STATUS(kiln_get_values(undeclared, values, 2, NULL, &executable, &err), KILN_INVALID, &err);
    CHECK_CONTAINS(err.text, "not declared");
    CHECK_STATUS(kiln_function_declare(undeclared, (const kiln_type *const[]){NULL}, 1, &err), KILN_INVALID, &err);
    CHECK_STATUS(kiln_function_declare(NULL, NULL, 0, &err), KILN_INVALID, &err);
    CHECK_OK(kiln_function_declare(undeclared, NULL, 0, &err), &err);
    const kiln_type *many[20];
    const void *many_values[20];
    for (int i = 0; i < 20; i++) many[i] = &kiln_const_i64, many_values[i] = &number;
    CHECK_OK(kiln_function_declare(undeclared, many, 20, &err), &err); /* again, and more than fit on the stack */
    CHECK_STR(get_values(undeclared, many_values, 20)->text, "5");
    kiln_function_free(undeclared);
    kiln_function_free(f);
}

static void test_key_class_41_bound_global(void **state)
{
    struct world *world = *state;
    int scale = 1;
    kiln_function *f = bound(world, print_int, &scale);
    int64_t number = 3;
    double scalar = 0.5;
    const void *const values[] = {&number, &scalar};
    WATCHES_INT(f, "scale", scale);
    CHECK_STR(get_values(f, values, 2)->text, "1");
    scale = 2;
    CHECK_STR(get_values(f, values, 2)->text, "2");
    kiln_function_free(f);
}

static kiln_status print_environment(void *payload, const kiln_request *request, kiln_text *text, kiln_error *err)
{
    (void)payload, (void)err;
    const char *value = kiln_request_env(request, "KILN_TEST_A");
    return kiln_text_printf(text, "%s", value ? value : "(unset)");
}

static void test_key_class_41_bound_environment(void **state)
{
    struct world *world = *state;
    kiln_function *f = bound(world, print_environment, NULL);
    int64_t number = 3;
    double scalar = 0.5;
    const void *const values[] = {&number, &scalar};
    CHECK_STATUS(kiln_watch_env(f, "KILN_TEST_A", NULL), KILN_OK);
    CHECK_STR(get_values(f, values, 2)->text, "(unset)");
    setenv("KILN_TEST_A", "x", 1);
    CHECK_STR(get_values(f, values, 2)->text, "x");
    kiln_function_free(f);
}

int main(int count, char **words)
{
    const struct CMUnitTest tests[] = {
        WITH_WORLD(test_key_class_13_scalars),
        WITH_WORLD(test_key_class_14_neighbours),
        WITH_WORLD(test_key_class_15_layout),
        WITH_WORLD(test_key_class_16_padding),
        WITH_WORLD(test_key_class_17_hits_do_no_work),
        WITH_WORLD(test_key_class_18_hits_make_no_system_call),
        WITH_WORLD(test_key_class_19_collisions),
        WITH_WORLD(test_key_class_20_misplaced),
        WITH_WORLD(test_key_class_30_device),
        WITH_WORLD(test_key_class_32_half_filled),
        WITH_WORLD(test_key_class_33_failures_are_not_kept),
        WITH_WORLD(test_key_class_34_reentrant),
        WITH_WORLD(test_key_class_34_callee_watches),
        WITH_WORLD(test_key_class_34_redefined),
        WITH_WORLD(test_key_class_34_mutual),
        WITH_WORLD(test_key_class_35_options),
        WITH_WORLD(test_key_class_36_order),
        WITH_WORLD(test_key_class_37_nothing_spurious),
        WITH_WORLD(test_key_class_41_bound_argument),
        WITH_WORLD(test_key_class_41_bound_global),
        WITH_WORLD(test_key_class_41_bound_environment),
    };
    only_named(count, words);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
