/*
 * torture_environment.c - every variable of the environment with values that nobody would set on purpose: huge and
 * negative numbers, other units, spaces, formats, bytes that are no text, a mebibyte of them, devices for files.
 *
 * A call either gives the right result, or fails with a text where the variable says what the call must have (a target,
 * a compiler). Nothing is said twice.
 */
#include "torture/torture.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <sys/stat.h>
#include <unistd.h>

#include "kiln.h"
#include "mlx/c/mlx.h"

enum { LONG = 1 << 20, SOME = 7 };

/* ---- values --------------------------------------------------------------------------------------------------- */

static const char *const values[] = {
    "",
    " ",
    "0",
    "1",
    "2",
    "3",
    "4",
    "-1",
    "+1",
    " 1",
    "1 ",
    "01",
    "0x10",
    "1e9",
    "5G",
    "5g",
    "5GB",
    "16M",
    "0K",
    "18446744073709551615",
    "18446744073709551616",
    "16777216T",
    "99999999999999999999999999999999",
    "-9223372036854775809",
    "NaN",
    "true",
    "on",
    "error",
    "normal",
    "off",
    "all",
    "miss,fault",
    ",,,,",
    ":::",
    "a:b:c",
    "%s%n%s%n%999999d",
    "\xff\xfe\x80",
    "\x1b[2J\x1b]0;title\a",
    "two\nlines\r",
    "native",
    "x86-64",
    "cpu",
    "cpu:native#1",
    "cuda:0",
    "cuda:99999999999999999999",
    "sm_90",
    "/dev/null",
    "/dev/full",
    "/dev/zero",
    "/proc/self/mem",
    "/proc/self/environ",
    "/proc/nowhere/at/all",
    "/dev/null/below",
    "fifo",
    "file",
    "folder",
    "open",
    "link",
    "./././folder/../new",
    NULL, /* a mebibyte of a letter */
    NULL, /* and of separators */
};

static const char *const names[] = {"KILN_AUDIT",  "KILN_CACHE_DIR",   "KILN_CACHE_PATH", "KILN_CACHE_SIZE",
                                    "KILN_DEVICE", "KILN_DRIFT",       "KILN_FAST_MATH",  "KILN_GPU_TARGET",
                                    "KILN_LOG",    "KILN_MODE",        "KILN_OPT_LEVEL",  "KILN_PLUGIN",
                                    "KILN_STATS",  "KILN_TARGET",      "KILN_TRACE",      "XDG_CACHE_HOME",
                                    "HOME",        "KILN_NO_SUCH_ONE", "KILN_BASE_PACK"};
enum { NAMES = sizeof names / sizeof *names, VALUES = sizeof values / sizeof *values };

/* Those with which a call may fail, since it can't do what they ask for. */
static bool may_fail(const char *name)
{
    return !strcmp(name, "KILN_TARGET") || !strcmp(name, "KILN_PLUGIN");
}

static const char *draw_value(uint64_t *state)
{
    static char letters[LONG + 1], separators[LONG + 1];
    uint64_t index = torture_below(state, VALUES);
    if (values[index]) return values[index];
    memset(letters, 'A', LONG);
    for (size_t i = 0; i < LONG; i += 2) memcpy(separators + i, index % 2 ? ".:" : ".,", 2);
    return index == VALUES - 1 ? separators : letters;
}

/* Most rounds set a few; each is printed with what a round finds wrong. */
static bool draw_environment(uint64_t *state)
{
    bool fails = false;
    for (unsigned i = 0; i < NAMES; i++) {
        if (torture_below(state, 3)) continue;
        const char *value = draw_value(state);
        printf("%s=%.80s\n", names[i], value);
        setenv(names[i], value, 1);
        fails |= may_fail(names[i]);
    }
    fflush(stdout);
    return fails;
}

/* ---- a small program ------------------------------------------------------------------------------------------ */

static char said[1024];

static void keep_error(const char *text, void *data)
{
    (void)data;
    snprintf(said, sizeof said, "%s", text);
}

static int square_and_add(mlx_vector_array *res, const mlx_vector_array inputs)
{
    mlx_array x = mlx_array_new(), y = mlx_array_new();
    mlx_stream stream = mlx_default_cpu_stream_new();
    int code = mlx_vector_array_get(&x, inputs, 0) || mlx_multiply(&y, x, x, stream) || mlx_add(&y, y, x, stream) ||
               mlx_vector_array_append_value(*res = mlx_vector_array_new(), y);
    mlx_array_free(x);
    mlx_array_free(y);
    mlx_stream_free(stream);
    return code;
}

/* False: it failed, and said why. */
static bool compute_arrays(void)
{
    const float data[SOME] = {0, 1, 2, 3, 4, 5, 6};
    const int shape[] = {SOME};
    mlx_array x = mlx_array_new_data(data, shape, 1, MLX_FLOAT32), y = mlx_array_new();
    mlx_closure plain = mlx_closure_new_func(square_and_add), fast = mlx_closure_new();
    mlx_vector_array inputs = mlx_vector_array_new_value(x), outputs = mlx_vector_array_new();
    bool done = false;
    for (int i = 0; i < 3; i++) {
        done = !mlx_compile(&fast, plain, false) && !mlx_closure_apply(&outputs, fast, inputs) &&
               !mlx_vector_array_get(&y, outputs, 0) && !mlx_array_eval(y);
        if (!done) break;
        for (int k = 0; k < SOME; k++)
            TORTURE_REQUIRE(mlx_array_data_float32(y)[k] == data[k] * data[k] + data[k], "element %d is %g", k,
                            (double)mlx_array_data_float32(y)[k]);
    }
    TORTURE_REQUIRE(done || said[0], "a call failed and said nothing");
    mlx_vector_array_free(inputs);
    mlx_vector_array_free(outputs);
    mlx_closure_free(plain);
    mlx_closure_free(fast);
    mlx_array_free(x);
    mlx_array_free(y);
    return done;
}

static bool compute_kernel(void)
{
    static const char text[] = "define i64 @kernel() {\n  ret i64 42\n}\n";
    const kiln_function_options options = {
        .struct_size = sizeof options, .name = "answer", .text = {text, sizeof text - 1}};
    kiln_error error = {KILN_OK, ""};
    kiln_function *function = NULL;
    int64_t (*kernel)(void) = NULL;
    bool done = !kiln_function_new(kiln_cache_default(), &options, &function, &error) &&
                !kiln_get(function, NULL, 0, NULL, (void **)&kernel, &error);
    TORTURE_REQUIRE(done || error.text[0], "a call failed and said nothing");
    if (done) TORTURE_REQUIRE(kernel() == 42, "it is %lld", (long long)kernel());
    if (!done) snprintf(said, sizeof said, "%s", error.text);
    kiln_function_free(function);
    return done;
}

/* ---- what it says --------------------------------------------------------------------------------------------- */

static int compare_lines(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

/* Lines about variables are there once each, whole, and of a length that can be read. */
static void check_lines(int fd)
{
    static char text[LONG];
    char *lines[1000];
    size_t count = 0;
    ssize_t size = pread(fd, text, sizeof text - 1, 0);
    TORTURE_REQUIRE(size >= 0 && size < LONG - 1, "%zd bytes were said", size);
    for (char *line = strtok(text, "\n"); line && count < 1000; line = strtok(NULL, "\n")) {
        TORTURE_REQUIRE(strlen(line) < 4096, "a line of %zu bytes: %.80s", strlen(line), line);
        if (!strncmp(line, "kiln: KILN_", 11) || !strncmp(line, "kiln: folder", 12)) lines[count++] = line;
    }
    qsort(lines, count, sizeof *lines, compare_lines);
    for (size_t i = 1; i < count; i++)
        TORTURE_REQUIRE(strcmp(lines[i - 1], lines[i]) != 0, "said twice: %.200s", lines[i]);
}

static const char own_variable[] = "TORTURE_FOLDER"; /* of the program that runs in a folder of its own */

static int remove_one(const char *path, const struct stat *info, int kind, struct FTW *walk)
{
    (void)info, (void)kind, (void)walk;
    return remove(path);
}

/* Relative paths are seen from where the library is loaded: the program starts again, in an empty folder. */
static void start_again(char **argv)
{
    char folder[] = "/tmp/kiln-environment-XXXXXX";
    TORTURE_REQUIRE(mkdtemp(folder) && chdir(folder) == 0, "%s: %s", folder, strerror(errno));
    setenv(own_variable, folder, 1);
    setenv("HOME", folder, 1);
    unsetenv("KILN_CACHE_DIR");
    execv("/proc/self/exe", argv);
    TORTURE_REQUIRE(false, "%s", strerror(errno));
}

static void make_files(void)
{
    TORTURE_REQUIRE(mkfifo("fifo", 0600) == 0 && mkdir("folder", 0700) == 0 && mkdir("open", 0777) == 0 &&
                        chmod("open", 0777) == 0 && symlink("link", "link") == 0,
                    "%s", strerror(errno));
    close(open("file", O_CREAT | O_WRONLY, 0600));
}

static int hostile_values(uint64_t seed)
{
    uint64_t state = seed;
    const char *folder = getenv(own_variable);
    make_files();
    bool fails = draw_environment(&state);
    int own = dup(STDERR_FILENO), fd = open("said", O_CREAT | O_RDWR | O_APPEND, 0600);
    dup2(fd, STDERR_FILENO);
    mlx_set_error_handler(keep_error, NULL, NULL);
    bool done = compute_kernel() && compute_arrays();
    kiln_stats_write();
    dup2(own, STDERR_FILENO);
    TORTURE_REQUIRE(done || fails, "a call failed: %s", said);
    check_lines(fd);
    if (chdir("/") == 0) nftw(folder, remove_one, 16, FTW_DEPTH | FTW_PHYS);
    unsetenv("KILN_STATS"); /* what exit handlers would write */
    return 0;
}

int main(int argc, char **argv)
{
    bool is_round = argc > 1 && !strcmp(argv[argc - 1], "--here");
    if (is_round && !getenv(own_variable)) start_again(argv);
    static const struct torture_attack attacks[] = {{.name = "hostile_values", .round = hostile_values}};
    return torture_main(argc, argv, attacks, sizeof attacks / sizeof *attacks);
}
