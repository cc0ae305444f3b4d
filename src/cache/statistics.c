/*
 * statistics.c - see statistics.h. The line is one write, so lines of several processes in one file do not mix.
 */
#include "cache/statistics.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/config.h"
#include "base/file.h"
#include "base/json.h"
#include "base/log.h"
#include "base/process/callback.h"
#include "base/process/exit.h"
#include "base/trust.h"
#include "cache/cache.h"
#include "device/gpu.h"

void kiln__counters_add(kiln_counters *to, const kiln_counters *from)
{
#define ROW(field) to->field += from->field;
    KILN_COUNTERS(ROW)
#undef ROW
}

static void print_counters(struct kiln_json *json, const kiln_counters *counters)
{
#define ROW(field) kiln__json_number(json, #field, counters->field);
    KILN_COUNTERS(ROW)
#undef ROW
}

/* Only once a GPU was used. */
static void print_gpu_counters(struct kiln_json *json)
{
    struct kiln_gpu_counts counts;
    kiln__gpu_counts(&counts);
    if (!counts.launches && !counts.replays && !counts.driver_compiles) return;
    kiln__json_number(json, "gpu_launches", counts.launches);
    kiln__json_number(json, "gpu_replays", counts.replays);
    kiln__json_number(json, "gpu_driver_compiles", counts.driver_compiles);
    kiln__json_number(json, "gpu_host_operations", counts.host_operations);
    kiln__json_number(json, "gpu_bytes_to_device", counts.bytes_to_device);
    kiln__json_number(json, "gpu_bytes_to_host", counts.bytes_to_host);
    kiln__json_number(json, "gpu_graphs", counts.graphs);
    kiln__json_number(json, "gpu_graph_updates", counts.graph_updates);
}

/* {"calls":1,...} and a newline. */
static void print_line(struct kiln_buffer *line)
{
    kiln_counters counters;
    struct kiln_json json = {.out = line};
    kiln__process_counters(&counters);
    kiln__json_open(&json, NULL, '{');
    print_counters(&json, &counters);
    print_gpu_counters(&json);
    kiln__json_close(&json, '}');
    kiln__buffer_append(line, "\n", 1);
}

/* The same file wherever the program has gone since it was started. */
static kiln_status append_to_file(const char *where, const struct kiln_buffer *line, kiln_error *err)
{
    char *path = kiln__path_absolute(where, kiln__folder_at_load());
    kiln_status status = path ? kiln__file_append(path, line->data, line->size, err)
                              : kiln__fail(err, KILN_IO, "the folder that %s is relative to can't be told", where);
    free(path);
    return status;
}

kiln_status kiln_stats_write(void)
{
    KILN_HOLD_CANCEL;
    const char *where = kiln__config("KILN_STATS");
    if (!where || !*where || !strcmp(where, "0")) return KILN_OK;
    kiln_error error;
    struct kiln_buffer line = {0};
    print_line(&line);
    kiln_status status = line.failed ? KILN_NO_MEMORY : KILN_OK;
    if (!status && !strcmp(where, "1"))
        status = kiln__write_all(STDERR_FILENO, line.data, line.size) ? KILN_OK : KILN_IO;
    else if (!status && (status = append_to_file(where, &line, &error)))
        kiln__log_once("KILN_STATS%s: %s", kiln__config_where("KILN_STATS"), error.text);
    kiln__buffer_release(&line);
    return status;
}

static _Atomic bool registered;

/* Once: when the process leaves early (base/process/exit.h), or in its turn. */
static void at_exit(void)
{
    static _Atomic bool is_written;
    if (!atomic_load(&registered) || atomic_exchange(&is_written, true)) return;
    kiln_stats_write();
    kiln__tell_usage_of_all();
}

__attribute__((constructor)) static void write_when_leaving_early(void)
{
    kiln__exit_add_writer(at_exit);
}

void kiln__statistics_at_exit(void)
{
    if (atomic_exchange(&registered, true)) return;
    atexit(at_exit);
    kiln__exit_watch();
}
