/*
 * cmd_warm.c - `kiln warm FILE...`: compiles kernels into a folder that can be shipped and then used read-only.
 *
 * The jobs are all pairs of a file and a target; threads take them in order from a counter. Results are printed by the
 * main thread when all are done, in the order of the command line.
 */
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli.h"
#include "kiln/maintain.h"

enum { MOST_THREADS = 16, LONGEST_TEXT = 256 << 20 };

struct source {
    const char *path, *name; /* the name for people: without folders and the ending .ll */
    char *text;
    size_t size;
};

struct outcome {
    kiln_status status;
    kiln_warmed warmed;
    char text[1020];
};

struct work {
    kiln_cache *cache;
    const struct options *options;
    struct source *sources;
    struct outcome *outcomes; /* one per file and target: all targets of the first file, then of the second, ... */
    size_t count;
    _Atomic size_t next;
    pthread_mutex_t lock; /* guards `done` and `progress` */
    size_t done;
    struct progress progress;
};

/* ---- reading ------------------------------------------------------------------------------------------------- */

static bool read_file(FILE *file, struct source *source)
{
    for (size_t cap = 0;;) {
        if (source->size == cap) {
            cap = cap ? cap * 2 : 65536;
            char *grown = cap <= LONGEST_TEXT ? realloc(source->text, cap) : NULL;
            if (!grown) return errno = cap <= LONGEST_TEXT ? ENOMEM : EFBIG, false;
            source->text = grown;
        }
        size_t got = fread(source->text + source->size, 1, cap - source->size, file);
        source->size += got;
        if (!got) return !ferror(file);
    }
}

/* "kernels/swiglu.ll" is swiglu. */
static char *name_of(const char *path)
{
    const char *slash = strrchr(path, '/'), *start = slash ? slash + 1 : path;
    size_t size = strlen(start);
    if (size > 3 && strcmp(start + size - 3, ".ll") == 0) size -= 3;
    return strndup(start, size);
}

static int read_source(const struct command *command, const char *path, struct source *source)
{
    bool is_stdin = strcmp(path, "-") == 0;
    char text[512];
    *source = (struct source){.path = path, .name = is_stdin ? strdup("stdin") : name_of(path)};
    FILE *file = is_stdin ? stdin : fopen(path, "r");
    bool is_read = file && source->name && read_file(file, source);
    if (!is_read) snprintf(text, sizeof text, "%.400s: %s", path, strerror(errno));
    if (file && !is_stdin) fclose(file);
    if (!is_read) return failure(command, text);
    if (source->size) return EXIT_FINE;
    snprintf(text, sizeof text,
             "%.400s is empty; LLVM IR text is needed, such as kiln show DIGEST --section text prints", path);
    return failure(command, text);
}

/* ---- compiling ----------------------------------------------------------------------------------------------- */

static void warm_one(struct work *work, size_t index)
{
    size_t targets = (size_t)work->options->target_count;
    const struct source *source = &work->sources[index / targets];
    struct outcome *outcome = &work->outcomes[index];
    kiln_error err = {0};
    outcome->status = kiln_warm(work->cache, work->options->targets[index % targets], source->name,
                                (kiln_bytes){source->text, source->size}, &outcome->warmed, &err);
    snprintf(outcome->text, sizeof outcome->text, "%s", err.text);
}

static void *warm_some(void *context)
{
    struct work *work = context;
    for (size_t index; (index = atomic_fetch_add(&work->next, 1)) < work->count;) {
        warm_one(work, index);
        pthread_mutex_lock(&work->lock);
        progress_report(&work->progress, "compiling", ++work->done, work->count);
        pthread_mutex_unlock(&work->lock);
    }
    return NULL;
}

/* With as many threads as there are processors; those that can't be started leave their share to the others. */
static void warm_all(struct work *work)
{
    pthread_t threads[MOST_THREADS];
    long processors = sysconf(_SC_NPROCESSORS_ONLN);
    size_t wanted = processors > 0 ? (size_t)processors - 1 : 0, started = 0;
    if (wanted > MOST_THREADS) wanted = MOST_THREADS;
    while (started < wanted && started + 1 < work->count &&
           pthread_create(&threads[started], NULL, warm_some, work) == 0)
        started++;
    warm_some(work);
    for (size_t i = 0; i < started; i++) pthread_join(threads[i], NULL);
    progress_end(&work->progress);
}

/* ---- telling ------------------------------------------------------------------------------------------------- */

static const char *word_of(const struct outcome *outcome)
{
    if (outcome->status != KILN_OK) return "failed";
    return outcome->warmed == KILN_WARM_COMPILED ? "compiled" : "there";
}

static void print_one(const struct work *work, size_t index)
{
    size_t targets = (size_t)work->options->target_count;
    const struct source *source = &work->sources[index / targets];
    const struct outcome *outcome = &work->outcomes[index];
    const char *target = work->options->targets[index % targets];
    if (!work->options->json) {
        if (outcome->status == KILN_OK) {
            printf("%-8s  %-16s  %s\n", word_of(outcome), target, clean(source->path));
            return;
        }
        fprintf(stderr, "kiln warm: %s for %s: ", clean(source->path), target);
        print_lines(stderr, outcome->text, strlen(outcome->text));
        fputs("\n", stderr);
        return;
    }
    kiln__json_line(&json_out);
    kiln__json_open(&json_out, NULL, '{');
    kiln__json_text(&json_out, "file", source->path);
    kiln__json_text(&json_out, "target", target);
    kiln__json_text(&json_out, "outcome", word_of(outcome));
    kiln__json_text(&json_out, "error", outcome->text);
    kiln__json_close(&json_out, '}');
}

static int tell(const struct work *work)
{
    bool has_failed = false;
    if (work->options->json) kiln__json_open(&json_out, NULL, '[');
    for (size_t i = 0; i < work->count; i++) {
        print_one(work, i);
        has_failed |= work->outcomes[i].status != KILN_OK;
    }
    if (work->options->json) {
        kiln__json_close(&json_out, ']');
        json_end();
    }
    return has_failed ? EXIT_WRONG : EXIT_FINE;
}

/* ---- the command --------------------------------------------------------------------------------------------- */

static int warm(const struct command *command, const struct options *options, struct work *work)
{
    kiln_error err = {0};
    char folder[4096];
    const kiln_cache_options cache = {.struct_size = sizeof cache, .folder = folder};
    if (options->folder)
        snprintf(folder, sizeof folder, "%s", options->folder);
    else if (kiln_inspect_default_folder(folder, sizeof folder, &err) != KILN_OK)
        return failure(command, err.text);
    if (kiln_inspect_check_folder(folder, &err) != KILN_OK) return failure(command, err.text);
    if (kiln_cache_open(&cache, &work->cache, &err) != KILN_OK) return failure(command, err.text);
    warm_all(work);
    int status = tell(work);
    kiln_cache_close(work->cache);
    return status;
}

static void release(struct work *work, size_t sources)
{
    for (size_t i = 0; work->sources && i < sources; i++) {
        free((char *)work->sources[i].name);
        free(work->sources[i].text);
    }
    free(work->sources);
    free(work->outcomes);
    pthread_mutex_destroy(&work->lock);
}

static int run(const struct command *command, int count, char **words)
{
    struct options options;
    int status = parse_options(command, count, words, &options);
    if (status != EXIT_FINE || options.help) return status;
    if (!options.operand_count)
        return usage_error(command, "which kernels? Name files of LLVM IR text, or - for stdin");
    const char *own = setting_value("KILN_TARGET");
    if (!options.target_count) options.targets[options.target_count++] = *own ? own : "native";
    size_t sources = (size_t)options.operand_count;
    struct work work = {.options = &options, .count = sources * (size_t)options.target_count};
    pthread_mutex_init(&work.lock, NULL);
    progress_begin(&work.progress, command);
    work.sources = calloc(sources, sizeof *work.sources);
    work.outcomes = calloc(work.count, sizeof *work.outcomes);
    if (!work.sources || !work.outcomes) status = failure(command, "out of memory");
    for (size_t i = 0; i < sources && status == EXIT_FINE; i++)
        status = read_source(command, options.operands[i], &work.sources[i]);
    if (status == EXIT_FINE) status = warm(command, &options, &work);
    release(&work, sources);
    return status;
}

const struct command cmd_warm = {
    .name = "warm",
    .summary = "compile kernels into a folder, to be shipped",
    .usage = "kiln warm FILE... [--target TARGET]... [--folder DIR] [--json]",
    .help =
        "Compiles each FILE for each TARGET into a folder, unless it is there already. A FILE holds LLVM IR text, as\n"
        "`kiln show DIGEST --section text` prints it; - is stdin. Nothing is run, so targets may be those of other "
        "machines.\n"
        "A process that lowers to the same text, for the same target and with the same KILN_OPT_LEVEL and\n"
        "KILN_FAST_MATH, then compiles nothing. The folder can be copied, and used read-only:\n\n"
        "    kiln warm kernels/*.ll --target x86-64-v3 --target x86-64-v4 --folder cache\n"
        "    KILN_CACHE_PATH=cache ./program\n\n"
        "It must belong to root or the user of the program, and be writable by its owner only. The program's machine "
        "needs\n"
        "no compiler: the file `toolchain` in the folder names the one that filled it.\n"
        "Exit code 1: a file can't be read, and nothing was compiled; or some did not compile or could not be "
        "stored.\n\n"
        "  --target TARGET  native (or KILN_TARGET) when not given; x86-64-v3, znver4, ...; up to 16 of them\n"
        "  --folder DIR     instead of KILN_CACHE_DIR, XDG_CACHE_HOME/kiln or ~/.cache/kiln\n"
        "  --json           a list of {file, target, outcome, error}; outcome is compiled, there or failed\n",
    .takes = "--target --folder",
    .max_operands = MANY_OPERANDS,
    .run = run,
};
