/*
 * test_cache_hostile.c - arguments that make no sense: sizes of structs, numbers that count nothing, names that are
 * empty, long or hold control characters. Each is KILN_INVALID with a text that says what was wrong, or is used.
 */
#include "cache_support.h"

#include "kiln/gpu.h"
#include "kiln/maintain.h"

/* Every size from 0 to a little more than the struct's: fields that are not whole are never read. */
static void test_sizes_of_cache_options(void **state)
{
    (void)state;
    for (size_t size = 0; size < sizeof(kiln_cache_options) + 40; size++) {
        kiln_cache_options options = {.struct_size = size, .folder = ""};
        kiln_error error = {KILN_OK, ""};
        kiln_cache *cache = NULL;
        bool is_whole = size && size <= sizeof options && size % sizeof(void *) == 0;
        kiln_status status = kiln_cache_open(&options, &cache, &error);
        if (status != (is_whole ? KILN_OK : KILN_INVALID)) CHECK_FAIL("struct_size %zu: %s", size, error.text);
        if (!is_whole) CHECK_CONTAINS(error.text, "struct_size");
        CHECK_EQ(is_whole, (cache != NULL));
        kiln_cache_close(cache);
    }
    const kiln_cache_options absurd = {.struct_size = SIZE_MAX};
    kiln_cache *cache = NULL;
    CHECK_STATUS(kiln_cache_open(&absurd, &cache, NULL), KILN_INVALID);
}

static void test_sizes_of_others(void **state)
{
    static const size_t sizes[] = {0, 1, 7, 8, 12, sizeof(kiln_function_options) - 1, SIZE_MAX};
    kiln_cache *cache = open_cache("");
    (void)state;
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        kiln_error error = {KILN_OK, ""};
        kiln_function *function = NULL;
        const kiln_compiler compiler = {.struct_size = sizes[i]};
        kiln_function_options options = {.struct_size = sizes[i], .name = "f", .text = {"t", 1}};
        CHECK_STATUS(kiln_function_new(cache, &options, &function, &error), KILN_INVALID, &error);
        CHECK_CONTAINS(error.text, "struct_size");
        options.struct_size = sizeof options;
        options.compiler = &compiler;
        CHECK_STATUS(kiln_function_new(cache, &options, &function, &error), KILN_INVALID, &error);
        CHECK_CONTAINS(error.text, "struct_size");
        CHECK_NULL(function);
        const kiln_prune_options prune = {.struct_size = sizes[i]};
        kiln_prune_report report = {.kept_files = 7};
        CHECK_STATUS(kiln_prune("/nowhere", &prune, &report, &error), KILN_INVALID, &error);
        CHECK_EQ(report.kept_files, 7);
        if (sizes[i] >= sizeof(kiln_gpu_info)) continue; /* a later version's: only what is known is written */
        kiln_gpu_info info = {.struct_size = sizes[i], .multiprocessors = 7};
        CHECK_STATUS(kiln_gpu_describe(0, &info, &error), KILN_INVALID, &error);
        CHECK_EQ(info.multiprocessors, 7);
    }
    kiln_gpu_counters counters = {.struct_size = 0, .launches = 7};
    kiln_gpu_counters_read(&counters);
    CHECK_EQ(counters.launches, 7);
    kiln_cache_close(cache);
}

static void test_counts(void **state)
{
    static const size_t counts[] = {SIZE_MAX, SIZE_MAX / 16 + 1, SIZE_MAX / 8 + 2, (size_t)1 << 40, 1 << 20};
    static const int64_t one = 1;
    const kiln_arg args[] = {{&kiln_const_i64, &one}};
    const kiln_type *const types[] = {&kiln_const_i64};
    struct fake fake;
    fake_init(&fake);
    kiln_cache *cache = open_cache("");
    kiln_function *function = NULL;
    const kiln_function_options options = {
        .struct_size = sizeof options, .name = "f", .compiler = &fake.compiler, .text = {"t", 1}};
    CHECK_STATUS(kiln_function_new(cache, &options, &function, NULL), KILN_OK);
    (void)state;
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++) {
        kiln_error error = {KILN_OK, ""};
        void *executable = &fake;
        kiln_var *var = NULL;
        CHECK_STATUS(kiln_get(function, args, counts[i], NULL, &executable, &error), KILN_INVALID, &error);
        CHECK_CONTAINS(error.text, "arguments");
        CHECK_EQ(executable, &fake);
        CHECK_STATUS(kiln_function_declare(function, types, counts[i], &error), KILN_INVALID, &error);
        if (counts[i] < (size_t)1 << 23) continue;
        CHECK_STATUS(kiln_watch(function, "m", "n", &one, counts[i], &error), KILN_INVALID, &error);
        CHECK_STATUS(kiln_var_new("v", &one, counts[i], &var, &error), KILN_INVALID, &error);
    }
    void *executable = NULL;
    CHECK_STATUS(kiln_get(function, args, 1, NULL, &executable, NULL), KILN_OK); /* as before */
    CHECK_STATUS(kiln_get(function, NULL, 0, NULL, &executable, NULL), KILN_OK);
    kiln_function_free(function);
    kiln_cache_close(cache);
}

/* ---- names ---------------------------------------------------------------------------------------------------- */

static char *long_name(size_t size)
{
    char *name = malloc(size + 1);
    memset(name, 'n', size);
    name[size] = '\0';
    return name;
}

static kiln_status lower_option(void *payload, const kiln_request *request, kiln_text *text, UNUSED kiln_error *err)
{
    const char *value = kiln_request_option(request, payload);
    return kiln_text_append(text, value ? value : "unset", value ? strlen(value) : 5);
}

/* What a function, a variable, an option and a watch are called is for people: any bytes do, and none is special. */
static void use_name(kiln_cache *cache, const char *name)
{
    static const int number = 5;
    struct fake fake;
    fake_init(&fake);
    kiln_error error = {KILN_OK, ""};
    kiln_function *function = NULL;
    kiln_var *var = NULL;
    void *executable = NULL;
    const kiln_function_options options = {.struct_size = sizeof options,
                                           .name = name,
                                           .compiler = &fake.compiler,
                                           .lower = lower_option,
                                           .payload = (void *)(uintptr_t)name};
    if (kiln_function_new(cache, &options, &function, &error)) CHECK_FAIL("%.20s: %s", name, error.text);
    CHECK_OK(kiln_var_new(name, "value", 5, &var, &error), &error);
    CHECK_OK(kiln_watch_var(function, var, &error), &error);
    CHECK_OK(kiln_watch(function, name, name, &number, sizeof number, &error), &error);
    CHECK_EQ(kiln_watch_env(function, name, &error), strchr(name, '=') ? KILN_INVALID : KILN_OK);
    CHECK_STATUS(kiln_option_push(name, name), KILN_OK);
    if (kiln_get(function, NULL, 0, NULL, &executable, &error)) CHECK_FAIL("%.20s: %s", name, error.text);
    CHECK_STR(((struct image *)executable)->text, name);
    kiln_option_pop();
    if (kiln_get(function, NULL, 0, NULL, &executable, &error)) CHECK_FAIL("%.20s: %s", name, error.text);
    CHECK_STR(((struct image *)executable)->text, "unset");
    kiln_function_free(function);
    kiln_var_free(var);
}
#define use_name(...) CHECK_CALL(use_name, __VA_ARGS__)

static void test_names(void **state)
{
    char folder[] = "/tmp/kiln-hostile-XXXXXX";
    char *longest = long_name(1 << 20);
    const char *const names[] = {"plain",        "two\nlines", "\ttab",    "%s%n%999999d",
                                 "\xff\xfe\x80", "../../etc",  "\x1b[31m", "a=b",
                                 "\r\n\r",       " ",          longest};
    (void)state;
    CHECK_NOT_NULL(mkdtemp(folder));
    const kiln_cache_options options = {.struct_size = sizeof options, .folder = folder};
    kiln_cache *cache = NULL, *memory = open_cache("");
    CHECK_STATUS(kiln_cache_open(&options, &cache, NULL), KILN_OK);
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) use_name(i % 2 ? memory : cache, names[i]);
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) use_name(cache, names[i]);
    kiln_cache_close(memory);
    kiln_cache_close(cache);
    remove_folder(folder);
    free(longest);
}

static void test_empty_names(void **state)
{
    kiln_cache *cache = open_cache("");
    kiln_function *function = NULL;
    kiln_error error = {KILN_OK, ""};
    kiln_var *var = NULL;
    kiln_device *device = NULL;
    struct fake fake;
    fake_init(&fake);
    kiln_function_options options = {
        .struct_size = sizeof options, .name = "", .compiler = &fake.compiler, .text = {"t", 1}};
    (void)state;
    CHECK_STATUS(kiln_function_new(cache, &options, &function, &error), KILN_INVALID, &error);
    options.name = "f";
    CHECK_OK(kiln_function_new(cache, &options, &function, &error), &error);
    CHECK_OK(kiln_watch(function, "", "n", &fake, 1, &error), &error); /* a module may have no name */
    CHECK_STATUS(kiln_watch(function, "m", "", &fake, 1, &error), KILN_INVALID, &error);
    CHECK_STATUS(kiln_watch_env(function, "", &error), KILN_INVALID, &error);
    CHECK_STATUS(kiln_var_new("", "v", 1, &var, &error), KILN_INVALID, &error);
    CHECK_STATUS(kiln_option_push("", "v"), KILN_INVALID);
    CHECK_STATUS(kiln_option_push("n", ""), KILN_OK);
    kiln_option_pop();
    static const char *const devices[] = {
        "",        ":",          "cpu:",       "cpu:#",    "cpu:native#4294967297",
        "cuda:-1", "cuda:",      "cudax",      "cpu:%s%n", "cpu:native#99999999999999999999",
        "cpu#",    "cuda:1e9",   "cuda: 0",    "cuda:+0",  "cuda:99999999999999999999999",
        "cpu\n",   "\xff\xfe\n", "cpu:native "};
    for (size_t i = 0; i < sizeof devices / sizeof *devices; i++) {
        error.text[0] = '\0';
        if (kiln_device_find(devices[i], &device, &error) != KILN_INVALID || !error.text[0])
            CHECK_FAIL("a device was found for \"%s\"", devices[i]);
        CHECK_NULL(device);
    }
    kiln_function_free(function);
    kiln_cache_close(cache);
}

/* ---- callbacks ------------------------------------------------------------------------------------------------ */

static kiln_status lower_with_a_hole(UNUSED void *payload, UNUSED const kiln_request *request, kiln_text *text,
                                     UNUSED kiln_error *err)
{
    kiln_text_append(text, "before", 6);
    kiln_text_append(text, NULL, 6); /* and nobody looks */
    return kiln_text_append(text, "after", 5);
}

static kiln_status sign_nothing(kiln_signature *signature, UNUSED const void *value)
{
    kiln_sign_bytes(signature, NULL, 3);
    return KILN_OK;
}

/* NULL for bytes fails the call, also when the callback does not look: there is no code from half a text or key. */
static void test_holes(void **state)
{
    static const kiln_type type = {"hole", sign_nothing};
    const kiln_arg arg = {&type, NULL};
    kiln_cache *cache = open_cache("");
    kiln_function *function = NULL;
    kiln_error error;
    struct fake fake;
    fake_init(&fake);
    void *executable = NULL;
    const kiln_function_options options = {
        .struct_size = sizeof options, .name = "f", .compiler = &fake.compiler, .lower = lower_with_a_hole};
    (void)state;
    CHECK_STATUS(kiln_function_new(cache, &options, &function, NULL), KILN_OK);
    CHECK_STATUS(kiln_get(function, NULL, 0, NULL, &executable, &error), KILN_LOWER_FAILED, &error);
    CHECK_CONTAINS(error.text, "NULL");
    CHECK_STATUS(kiln_get(function, &arg, 1, NULL, &executable, &error), KILN_INVALID, &error);
    CHECK_CONTAINS(error.text, "kiln_sign_bytes");
    CHECK_EQ(fake.compiles, 0);
    kiln_function_free(function);
    kiln_cache_close(cache);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_sizes_of_cache_options),
        cmocka_unit_test(test_sizes_of_others),
        cmocka_unit_test(test_counts),
        cmocka_unit_test(test_names),
        cmocka_unit_test(test_empty_names),
        cmocka_unit_test(test_holes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
