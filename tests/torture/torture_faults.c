/*
 * torture_faults.c - one call of malloc, mmap, open, read, write, rename, link or dlopen fails, at a random place of a
 * program that compiles with LLVM and runs a compiled function of arrays: no crash, no wrong result; an error says what
 * was wrong; and what goes wrong with the folder fails nothing.
 */
#include "torture/folder_support.h"

#include <mlx/c/mlx.h>

enum { RIGHT = 0, TOLD = 3, WRONG = 4, SILENT = 5 };

/* ---- the program under attack --------------------------------------------------------------------------------------
 */

static char mlx_text[1024];

static void note_error(const char *text, void *data)
{
    (void)data;
    snprintf(mlx_text, sizeof mlx_text, "%s", text);
}

static int tell(const char *where, const char *text)
{
    fprintf(stderr, "%s: %s\n", where, text);
    return text[0] ? TOLD : SILENT;
}

static int call_kernel(void)
{
    static const char text[] = "define i64 @kernel(i64 %x) {\n  %y = mul i64 %x, 3\n  ret i64 %y\n}\n";
    const kiln_function_options options = {
        .struct_size = sizeof options, .name = "triple", .text = {text, sizeof text - 1}};
    kiln_function *function = NULL;
    kiln_cache *cache = kiln_cache_default();
    void *executable = NULL;
    kiln_error err = {KILN_OK, ""};
    int64_t (*kernel)(int64_t);
    if (!cache) return tell("kiln_cache_default", "there is none");
    if (kiln_function_new(cache, &options, &function, &err)) return tell("kiln_function_new", err.text);
    kiln_status status = kiln_get(function, NULL, 0, NULL, &executable, &err);
    if (!status) memcpy(&kernel, &executable, sizeof kernel);
    int result = status ? tell("kiln_get", err.text) : kernel(14) == 42 ? RIGHT : WRONG;
    kiln_function_free(function);
    return result;
}

/* x*x + y*y */
static int norm2(mlx_vector_array *res, const mlx_vector_array in, void *stream)
{
    mlx_array x = mlx_array_new(), y = mlx_array_new();
    int failed = mlx_vector_array_get(&x, in, 0) || mlx_vector_array_get(&y, in, 1) ||
                 mlx_multiply(&x, x, x, *(mlx_stream *)stream) || mlx_multiply(&y, y, y, *(mlx_stream *)stream) ||
                 mlx_add(&x, x, y, *(mlx_stream *)stream) || mlx_vector_array_set_value(res, x);
    return mlx_array_free(x), mlx_array_free(y), failed;
}

static int call_compiled(void)
{
    mlx_stream stream = mlx_default_cpu_stream_new();
    mlx_closure plain = mlx_closure_new_func_payload(norm2, &stream, NULL), fast = mlx_closure_new();
    mlx_array xy[] = {mlx_array_new_data((float[]){3, 5}, (int[]){2}, 1, MLX_FLOAT32), mlx_array_new_float(4)};
    mlx_vector_array in = mlx_vector_array_new_data(xy, 2), out = mlx_vector_array_new();
    mlx_array sum = mlx_array_new();
    mlx_text[0] = '\0';
    int failed = mlx_compile(&fast, plain, false) || mlx_closure_apply(&out, fast, in) ||
                 mlx_vector_array_get(&sum, out, 0) || mlx_array_eval(sum);
    const float *values = failed ? NULL : mlx_array_data_float32(sum);
    int result = !values ? tell("mlx", mlx_text) : values[0] == 25 && values[1] == 41 ? RIGHT : WRONG;
    mlx_array_free(sum), mlx_array_free(xy[0]), mlx_array_free(xy[1]), mlx_vector_array_free(in);
    mlx_vector_array_free(out), mlx_closure_free(fast), mlx_closure_free(plain), mlx_stream_free(stream);
    return result;
}

static int be_victim(void)
{
    mlx_set_error_handler(note_error, NULL, NULL);
    int kernel = call_kernel(), compiled = call_compiled();
    int worst = kernel > compiled ? kernel : compiled;
    /* One call has failed: the next ones find nothing half done. What was decided once for the process may stay. */
    int again = call_kernel(), compiled_again = call_compiled();
    if (again >= WRONG || compiled_again >= WRONG) return WRONG;
    return worst;
}

/* ---- the attack
 * ------------------------------------------------------------------------------------------------------ */

static const struct function {
    const char *name;
    bool is_of_folder; /* then nothing may fail */
    int codes[4];
} functions[] = {
    {"malloc", false, {ENOMEM, ENOMEM, ENOMEM, ENOMEM}},  {"mmap", false, {ENOMEM, EAGAIN, ENOMEM, EPERM}},
    {"open", true, {EMFILE, EACCES, EIO, ENOSPC}},        {"read", true, {EIO, EINTR, ESTALE, EISDIR}},
    {"write", true, {ENOSPC, EIO, EDQUOT, EINTR}},        {"rename", true, {EACCES, ENOSPC, EXDEV, EIO}},
    {"link", true, {EPERM, EMLINK, EIO, ENOSPC}},         {"dlopen", false, {ENOENT, ENOMEM, ENOENT, ENOENT}},
    {"open_other", false, {EMFILE, EACCES, ENOENT, EIO}}, {"read_other", false, {EIO, EINTR, EIO, EIO}},
};

/* The exit code of a victim in `folder` with this fault, whose counts go to `counts`. Its words are in `said`. */
static int run_victim(const char *root, const char *folder, const char *fault, char *said, size_t size)
{
    char line[PATH_MAX * 3];
    snprintf(line, sizeof line,
             "KILN_CACHE_DIR=%s/%s KILN_FAULT=%s KILN_FAULT_COUNTS=%s/counts LD_PRELOAD=%s/tests/torture/faults.so "
             "exec /proc/%d/exe --victim 2>&1",
             root, folder, fault, root, KILN_TEST_BUILD, (int)getpid());
    FILE *pipe = popen(line, "r");
    TORTURE_REQUIRE(pipe, "%s", strerror(errno));
    size_t got = fread(said, 1, size - 1, pipe);
    said[got] = '\0';
    int status = pclose(pipe);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

static uint64_t count_of(const char *root, const char *name)
{
    char path[PATH_MAX], found[32];
    unsigned long long count;
    snprintf(path, sizeof path, "%s/counts", root);
    FILE *file = fopen(path, "r");
    TORTURE_REQUIRE(file, "%s", path);
    while (fscanf(file, "%31s %llu", found, &count) == 2)
        if (!strcmp(found, name)) return fclose(file), count;
    return fclose(file), 0;
}

/* Cold or warm, one function, two places at which it fails. */
static int nth_call_fails(uint64_t seed)
{
    char root[FOLDER_SIZE], fault[64], said[4096];
    bool is_warm = torture_below(&seed, 2);
    const struct function *function = &functions[torture_below(&seed, sizeof functions / sizeof *functions)];
    make_folder(root);
    int status = run_victim(root, "first", "none:0:0", said, sizeof said);
    if (is_warm && status == RIGHT) status = run_victim(root, "first", "none:0:0", said, sizeof said);
    TORTURE_REQUIRE(status == RIGHT, "without a fault: %d: %s", status, said);
    uint64_t calls = count_of(root, function->name);
    for (unsigned i = 0; i < 2 && calls > 0; i++) {
        char folder[16];
        snprintf(folder, sizeof folder, is_warm ? "first" : "cold%u", i);
        snprintf(fault, sizeof fault, "%s:%llu:%d", function->name,
                 (unsigned long long)(1 + torture_below(&seed, calls)), function->codes[torture_below(&seed, 4)]);
        status = run_victim(root, folder, fault, said, sizeof said);
        TORTURE_REQUIRE(status == RIGHT || (status == TOLD && !function->is_of_folder), "%s, %s: %s%d: %s", fault,
                        is_warm ? "warm" : "cold", status > 128 ? "signal " : "", status > 128 ? status - 128 : status,
                        said);
        snprintf(fault, sizeof fault, "%s/%s", root, folder);
        if (function->is_of_folder) require_nothing_left(fault);
    }
    remove_folder(root);
    return 0;
}

int main(int argc, char **argv)
{
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
    return printf("skipped: a sanitizer has functions of its own in the place of those that would fail\n"), 0;
#endif
    static const struct torture_attack attacks[] = {{.name = "nth_call_fails", .round = nth_call_fails}};
    if (argc > 1 && !strcmp(argv[1], "--victim")) return be_victim();
    return torture_main(argc, argv, attacks, sizeof attacks / sizeof *attacks);
}
