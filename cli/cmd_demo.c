/*
 * cmd_demo.c - `kiln demo`: three functions, cold in a fresh folder, without and with the base pack, then from disk in
 * a second process, warm, and on two threads. Prints one table: times, counters, what was saved. Fails when the second
 * process compiled anything.
 */
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli.h"
#include "demo_drift.h"
#include "demo_work.h"
#include "kiln/inspect.h"

enum row { COLD, COLD_WITH_PACK, DISK, WARM, THREADS, ROWS };

struct demo {
    struct demo_row rows[ROWS];
    struct drift_step drift[2][DRIFT_STEPS]; /* follow, strict */
    char pack[4096];                         /* the base pack; "": there is no row for it, and why not: */
    char why_no_pack[1024];
};

static const char *const row_titles[ROWS] = {"cold", "cold, base pack", "from disk, next process", "warm",
                                             "warm, two threads"};
static const char *const row_names[ROWS] = {"cold", "base_pack", "disk", "warm", "threads"};

static bool has_row(const struct demo *demo, int row)
{
    return row != COLD_WITH_PACK || *demo->pack;
}

/* Runs this program again as `kiln demo-process phases`; its standard output is `*out`. 0, or an error number. */
static int start_process(const char *phases, pid_t *process, FILE **out)
{
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0) return errno;
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
    char *words[] = {"kiln", "demo-process", (char *)phases, NULL};
    int error = posix_spawn(process, "/proc/self/exe", &actions, NULL, words, environ);
    posix_spawn_file_actions_destroy(&actions);
    close(ends[1]);
    *out = error ? NULL : fdopen(ends[0], "r");
    if (!*out) close(ends[0]);
    return error;
}

/* Fills in `expected` rows, from `first` on. */
static bool run_process(const char *phases, enum row first, int expected, struct demo *demo)
{
    pid_t process;
    FILE *out;
    if (start_process(phases, &process, &out) != 0) return false;
    char line[1024];
    int rows = 0;
    while (out && fgets(line, sizeof line, out))
        if (rows < expected && demo_row_parse(line, &demo->rows[first + rows])) rows++;
    if (out) fclose(out);
    int status = 0;
    while (waitpid(process, &status, 0) < 0 && errno == EINTR) {
    }
    return rows == expected && WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

static int remove_one(const char *path, const struct stat *info, int kind, struct FTW *walk)
{
    (void)info, (void)kind, (void)walk;
    return remove(path);
}

/* The pack that programs would use now. */
static void find_base_pack(struct demo *demo)
{
    kiln_error err = {0};
    kiln_status status = kiln_inspect_base_pack(demo->pack, sizeof demo->pack, &err);
    if (status == KILN_OK && *demo->pack) return;
    *demo->pack = '\0';
    snprintf(demo->why_no_pack, sizeof demo->why_no_pack, "%s",
             status == KILN_OK ? "KILN_BASE_PACK says that none is wanted" : err.text);
}

/* The children read the environment: folders of their own in it, and nothing that would change what they show. */
static bool make_folder(char *folder, size_t size)
{
    static const char *const unwanted[] = {"KILN_CACHE_PATH", "KILN_MODE", "KILN_DRIFT"};
    const char *parent = secure_getenv("TMPDIR");
    snprintf(folder, size, "%s/kiln-demo-XXXXXX", parent && *parent ? parent : "/tmp");
    if (!mkdtemp(folder)) return false;
    for (size_t i = 0; i < sizeof unwanted / sizeof *unwanted; i++) unsetenv(unwanted[i]);
    return true;
}

static bool use(const char *folder, const char *name, const char *pack)
{
    char path[4200];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    return setenv("KILN_CACHE_DIR", path, 1) == 0 && setenv("KILN_BASE_PACK", pack, 1) == 0;
}

static bool run_all(const char *folder, struct demo *demo)
{
    if (*demo->pack && !(use(folder, "with_pack", demo->pack) && run_process("first", COLD_WITH_PACK, 1, demo)))
        return false;
    return use(folder, "cache", "") && run_process("first", COLD, 1, demo) && run_process("all", DISK, 3, demo) &&
           demo_drift(false, demo->drift[0]) && demo_drift(true, demo->drift[1]);
}

/* ---- printing ------------------------------------------------------------------------------------------------ */

static void print_row(const struct demo_row *row, const char *title)
{
    char buffer[32];
    printf("%-24s", title);
    for (int i = 0; i < DEMO_FUNCTIONS; i++) printf(" %11s", format_ns(buffer, sizeof buffer, row->call_ns[i]));
    printf("  %7llu %7llu %9llu %6llu %9llu", (unsigned long long)row->counters.calls,
           (unsigned long long)row->counters.traces, (unsigned long long)row->counters.compiles,
           (unsigned long long)row->counters.disk_hits, (unsigned long long)row->counters.front_hits);
    printf(" %9s  %s\n", format_ns(buffer, sizeof buffer, row->counters.saved_ns), row->is_right ? "right" : "WRONG");
}

static void print_table(const struct demo *demo)
{
    printf("%-24s", "one call with result");
    for (int i = 0; i < DEMO_FUNCTIONS; i++) printf(" %11s", demo_function_names[i]);
    printf("  %7s %7s %9s %6s %9s %9s  %s\n", "calls", "traces", "compiles", "disk", "front", "saved", "values");
    for (int i = 0; i < ROWS; i++)
        if (has_row(demo, i)) print_row(&demo->rows[i], row_titles[i]);
    char spent[32], saved[32];
    printf("\ncompiling took %s, once; the next process compiled %llu kernels and saved %s.\n",
           format_ns(spent, sizeof spent, demo->rows[COLD].counters.compile_ns),
           (unsigned long long)demo->rows[DISK].counters.compiles,
           format_ns(saved, sizeof saved, demo->rows[DISK].counters.saved_ns));
    if (*demo->pack)
        printf("with the base pack, a first process on a new machine compiled %llu kernels.\n",
               (unsigned long long)demo->rows[COLD_WITH_PACK].counters.compiles);
    else
        printf("no row for the base pack: %s. `make base-pack` builds it.\n", clean(demo->why_no_pack));
}

static const char *outcome(const struct drift_step *step)
{
    return !step->is_right ? "WRONG" : step->is_refused ? "refused" : step->is_compiled ? "compiled" : "from memory";
}

static void print_drift(const struct demo *demo)
{
    printf("\n%-32s %-14s %s\n", "a watched variable changes", "follow", "strict");
    for (int i = 0; i < DRIFT_STEPS; i++) {
        const struct drift_step *follow = &demo->drift[0][i], *strict = &demo->drift[1][i];
        printf("scale is %-23d %-14s %s%s%s%s\n", follow->value, outcome(follow), outcome(strict),
               *strict->text ? " (" : "", strict->text, *strict->text ? ")" : "");
    }
}

static void print_json_row(const struct demo_row *row, const char *name)
{
    kiln__json_line(&json_out);
    kiln__json_open(&json_out, NULL, '{');
    kiln__json_text(&json_out, "row", name);
    kiln__json_bool(&json_out, "right", row->is_right);
    kiln__json_open(&json_out, "call_ns", '{');
    for (int i = 0; i < DEMO_FUNCTIONS; i++) kiln__json_number(&json_out, demo_function_names[i], row->call_ns[i]);
    kiln__json_close(&json_out, '}');
    json_counters("counters", &row->counters);
    kiln__json_close(&json_out, '}');
}

static void print_json_drift(const struct drift_step steps[DRIFT_STEPS], const char *mode)
{
    kiln__json_open(&json_out, mode, '[');
    for (int i = 0; i < DRIFT_STEPS; i++) {
        kiln__json_open(&json_out, NULL, '{');
        kiln__json_signed(&json_out, "scale", steps[i].value);
        kiln__json_text(&json_out, "outcome", outcome(&steps[i]));
        kiln__json_close(&json_out, '}');
    }
    kiln__json_close(&json_out, ']');
}

static void print_json(const struct demo *demo, bool is_fine)
{
    kiln__json_open(&json_out, NULL, '{');
    kiln__json_bool(&json_out, "fine", is_fine);
    kiln__json_open(&json_out, "rows", '[');
    for (int i = 0; i < ROWS; i++)
        if (has_row(demo, i)) print_json_row(&demo->rows[i], row_names[i]);
    kiln__json_close(&json_out, ']');
    kiln__json_line(&json_out);
    kiln__json_open(&json_out, "drift", '{');
    print_json_drift(demo->drift[0], "follow");
    print_json_drift(demo->drift[1], "strict");
    kiln__json_close(&json_out, '}');
    kiln__json_close(&json_out, '}');
    json_end();
}

/* NULL: all is as it should be. */
static const char *find_fault(const struct demo *demo)
{
    for (int i = 0; i < ROWS; i++)
        if (has_row(demo, i) && !demo->rows[i].is_right) return "a result differs from scalar C";
    if (demo->rows[COLD].counters.compiles == 0) return "the cold process compiled nothing";
    for (int i = DISK; i < ROWS; i++)
        if (demo->rows[i].counters.compiles != 0) return "the second process compiled again";
    for (int i = 0; i < DRIFT_STEPS; i++) {
        const struct drift_step *follow = &demo->drift[0][i], *strict = &demo->drift[1][i];
        if (!follow->is_right || !strict->is_right || follow->is_refused || strict->is_refused != (strict->value != 1))
            return "a watched variable that changed was neither followed nor refused";
    }
    return NULL;
}

static int run(const struct command *command, int count, char **words)
{
    struct options options;
    int status = parse_options(command, count, words, &options);
    if (status != EXIT_FINE || options.help) return status;
    char folder[4096];
    if (!make_folder(folder, sizeof folder))
        return failure(command, "no temporary folder could be made; TMPDIR says where");
    struct demo demo = {0};
    find_base_pack(&demo);
    bool is_run = run_all(folder, &demo);
    nftw(folder, remove_one, 16, FTW_DEPTH | FTW_PHYS);
    if (!is_run) return failure(command, "a process of the demo failed; `kiln doctor` may say why");
    const char *fault = find_fault(&demo);
    if (options.json)
        print_json(&demo, !fault);
    else
        print_table(&demo), print_drift(&demo);
    return fault ? failure(command, fault) : EXIT_FINE;
}

const struct command cmd_demo = {
    .name = "demo",
    .summary = "run three functions cold, with the base pack, from disk, warm and on two threads",
    .usage = "kiln demo [--json]",
    .help =
        "Compiles (a*b)*(a+b), x*sigmoid(x)*y and gelu in a fresh folder, without and with the base pack, if there is "
        "one;\n"
        "calls them from a second process, again, and from two threads. Shows the time of one call with its result, "
        "the counters, and the compile time saved. Then\n"
        "what a function does whose watched variable changes: the default follows it, a strict one refuses.\n"
        "Exit code 1: a result is wrong, or the second process compiled anything.\n\n"
        "  --json  one object with a list of rows\n",
    .takes = "",
    .run = run,
};
