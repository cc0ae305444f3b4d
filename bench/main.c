/*
 * main.c - `make bench`: every row with the floor of the same run, medians over repeats, as a table or as JSON.
 *
 * The bench works in a temporary folder of its own, so that it neither uses nor fills the user's cache.
 */
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/json.h"
#include "bench.h"
#include "child.h"

enum { MAX_ROWS = 256, MAX_WORKS = 8, DEFAULT_REPEATS = 11 };

void sample_add(struct samples *samples, double ns)
{
    if (samples->count < MAX_SAMPLES) samples->ns[samples->count++] = ns;
}

static int by_value(const void *a, const void *b)
{
    double left = *(const double *)a, right = *(const double *)b;
    return (left > right) - (left < right);
}

double sample_median(const struct samples *samples)
{
    struct samples sorted = *samples;
    if (sorted.count == 0) return 0;
    qsort(sorted.ns, (size_t)sorted.count, sizeof *sorted.ns, by_value);
    return sorted.ns[sorted.count / 2];
}

static double time_calls(const struct work *work, int calls)
{
    double start = now_ns();
    for (int i = 0; i < calls; i++) work->run(work->ctx);
    return (now_ns() - start) / calls;
}

void measure(struct work *works, int count, int calls, int repeats)
{
    struct samples samples[MAX_WORKS] = {{.count = 0}};
    for (int i = 0; i < count; i++) works[i].run(works[i].ctx);
    for (int k = 0; k < repeats; k++)
        for (int i = 0; i < count; i++) sample_add(&samples[i], time_calls(&works[i], calls));
    for (int i = 0; i < count; i++) works[i].ns = sample_median(&samples[i]);
}

/* ---- which rows ---------------------------------------------------------------------------------------------- */

static const char *only; /* NULL: all but the heavy ones */
static bool is_all;

bool is_wanted(const char *name)
{
    return !only || strstr(name, only);
}

bool is_heavy_wanted(const char *name)
{
    return only ? !!strstr(name, only) : is_all;
}

void row_fail(struct row *row, const char *format, ...)
{
    va_list list;
    va_start(list, format);
    vsnprintf(row->why, sizeof row->why, format, list);
    va_end(list);
    row->is_missing = true;
}

/* ---- printing ------------------------------------------------------------------------------------------------ */

/* One of a row's two numbers. */
static const char *format(char *buffer, size_t size, const struct row *row, double ns)
{
    if (row->bytes > 0)
        snprintf(buffer, size, "%.1f GB/s", row->bytes / ns);
    else if (row->tokens > 0)
        snprintf(buffer, size, "%.1f /s", row->tokens * 1e9 / ns);
    else if (row->is_size)
        snprintf(buffer, size, "%.1f MB", ns / 1e6);
    else if (ns >= 1e6)
        snprintf(buffer, size, "%.2f ms", ns / 1e6);
    else if (ns >= 1e3)
        snprintf(buffer, size, "%.2f us", ns / 1e3);
    else
        snprintf(buffer, size, "%.1f ns", ns);
    return buffer;
}

static void print_row(const struct row *row)
{
    char value[32], floor[32];
    if (row->is_missing) {
        printf("%-42s could not be measured%s%s\n", row->name, *row->why ? ": " : "", row->why);
        return;
    }
    double ratio = row->bytes > 0 || row->tokens > 0 ? row->floor_ns / row->ns : row->ns / row->floor_ns;
    printf("%-42s %11s  %11s  %7.2f  %-19s %s\n", row->name, format(value, sizeof value, row, row->ns),
           format(floor, sizeof floor, row, row->floor_ns), ratio, row->aim, row->floor_name);
}

static void print_table(const struct row *rows, int count)
{
    printf("%-42s %11s  %11s  %7s  %-19s %s\n", "", "Kiln", "floor", "ratio", "aim", "floor is");
    for (int i = 0; i < count; i++) print_row(&rows[i]);
    puts("\nMedians. Ratio: of times and sizes to the floor's, less is better; of GB/s and tokens/s, more is better.");
}

static void print_json_row(struct kiln_json *json, const struct row *row)
{
    kiln__json_line(json);
    kiln__json_open(json, NULL, '{');
    kiln__json_text(json, "row", row->name);
    kiln__json_text(json, "floor", row->floor_name ? row->floor_name : "");
    kiln__json_text(json, "aim", row->aim ? row->aim : "");
    if (row->is_missing) {
        kiln__json_bool(json, "missing", true);
        kiln__json_text(json, "why", row->why);
    } else {
        kiln__json_decimal(json, "ns", row->ns, 1);
        kiln__json_decimal(json, "floor_ns", row->floor_ns, 1);
        kiln__json_decimal(json, "bytes", row->bytes, 0);
        if (row->tokens > 0) kiln__json_decimal(json, "tokens", row->tokens, 0);
        if (row->is_size) kiln__json_bool(json, "size", true);
    }
    kiln__json_close(json, '}');
}

static void print_json(const struct row *rows, int count)
{
    struct kiln_buffer text = {0};
    struct kiln_json json = {.out = &text};
    kiln__json_open(&json, NULL, '[');
    for (int i = 0; i < count; i++) print_json_row(&json, &rows[i]);
    kiln__json_close(&json, ']');
    puts(text.failed ? "out of memory" : (const char *)text.data);
    kiln__buffer_release(&text);
}

/* ---- running ------------------------------------------------------------------------------------------------- */

static int usage(void)
{
    fputs("usage: kiln-bench [--repeats N] [--only TEXT] [--all] [--json]\n"
          "  --repeats N  1 to 64, 11 when not given\n"
          "  --only TEXT  rows whose names hold it, heavy ones as well\n"
          "  --all        heavy rows too, which take longer than 20 seconds or a gigabyte\n",
          stderr);
    return 2;
}

static int be_child(const char *phase)
{
    double out[3] = {0};
    bool is_done = processes_phase(phase, out) || cold_phase(phase, out) || disk_phase(phase, out) ||
                   plain_phase(phase, out) || model_phase(phase, out);
    printf("%.0f %.0f %.0f\n", out[0], out[1], out[2]);
    return is_done ? 0 : 1;
}

static int run_all(struct row rows[MAX_ROWS], int repeats)
{
    static int (*const parts[])(struct row *, int) = {
        bench_look_up,   bench_signatures, bench_processes, bench_cold,     bench_many_kernels,
        bench_disk,      bench_warm,       bench_memory,    bench_plain,    bench_fused,
        bench_gradients, bench_lasting,    bench_growth,    bench_products, bench_model};
    int used = 0;
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        int count = parts[i](rows + used, repeats), kept = 0;
        for (int k = 0; k < count; k++)
            if (is_wanted(rows[used + k].name)) rows[used + kept++] = rows[used + k];
        used += kept;
    }
    return used;
}

int main(int count, char **words)
{
    struct row rows[MAX_ROWS];
    int repeats = DEFAULT_REPEATS;
    bool json = false, is_missing = false;
    if (count == 3 && strcmp(words[1], "--child") == 0) return be_child(words[2]);
    for (int i = 1; i < count; i++) {
        if (strcmp(words[i], "--json") == 0)
            json = true;
        else if (strcmp(words[i], "--all") == 0)
            is_all = true;
        else if (strcmp(words[i], "--repeats") == 0 && i + 1 < count)
            repeats = atoi(words[++i]);
        else if (strcmp(words[i], "--only") == 0 && i + 1 < count)
            only = words[++i];
        else
            return usage();
    }
    if (repeats < 1 || repeats > MAX_SAMPLES) return usage();
    char folder[] = "/tmp/kiln-bench-XXXXXX";
    if (!mkdtemp(folder) || setenv("KILN_CACHE_DIR", folder, 1) != 0 || setenv("KILN_BASE_PACK", "", 1) != 0 ||
        setenv("KILN_TIER", "0", 1) != 0)
        return perror("kiln-bench"), 1;
    int used = run_all(rows, repeats);
    remove_folder(folder);
    for (int i = 0; i < used; i++) is_missing |= rows[i].is_missing;
    if (!used) return fprintf(stderr, "kiln-bench: no row's name holds '%s'\n", only), 2;
    (json ? print_json : print_table)(rows, used);
    return is_missing;
}
