/*
 * statistics.c - see statistics.h. The line is one write, so lines of several processes in one file do not mix.
 */
#include "cache/statistics.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
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

void kiln__counters_print(const kiln_counters *counters, struct kiln_buffer *out)
{
    const char *separator = "{";
#define ROW(field)                                                                                                     \
    kiln__buffer_printf(out, "%s\"" #field "\":%llu", separator, (unsigned long long)counters->field);                 \
    separator = ",";
    KILN_COUNTERS(ROW)
#undef ROW
    kiln__buffer_append(out, "}", 1);
}

/* Fields of GPUs follow, inside the same braces, once one was used. */
static void print_gpu_counters(struct kiln_buffer *out)
{
    struct kiln_gpu_counts counts;
    kiln__gpu_counts(&counts);
    if (!counts.launches && !counts.replays && !counts.driver_compiles) return;
    out->size--;
    kiln__buffer_printf(out,
                        ",\"gpu_launches\":%llu,\"gpu_replays\":%llu,\"gpu_driver_compiles\":%llu,"
                        "\"gpu_host_operations\":%llu,\"gpu_bytes_to_device\":%llu,\"gpu_bytes_to_host\":%llu}",
                        (unsigned long long)counts.launches, (unsigned long long)counts.replays,
                        (unsigned long long)counts.driver_compiles, (unsigned long long)counts.host_operations,
                        (unsigned long long)counts.bytes_to_device, (unsigned long long)counts.bytes_to_host);
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
    const char *where = kiln__getenv_trusted("KILN_STATS");
    if (!where || !*where || !strcmp(where, "0")) return KILN_OK;
    kiln_counters counters;
    kiln_error error;
    struct kiln_buffer line = {0};
    kiln__process_counters(&counters);
    kiln__counters_print(&counters, &line);
    if (!line.failed) print_gpu_counters(&line);
    kiln__buffer_append(&line, "\n", 1);
    kiln_status status = line.failed ? KILN_NO_MEMORY : KILN_OK;
    if (!status && !strcmp(where, "1"))
        status = kiln__write_all(STDERR_FILENO, line.data, line.size) ? KILN_OK : KILN_IO;
    else if (!status && (status = append_to_file(where, &line, &error)))
        kiln__log_once("KILN_STATS: %s", error.text);
    kiln__buffer_release(&line);
    return status;
}

static _Atomic bool registered;

/* Once: when the process leaves early (base/process/exit.h), or in its turn. */
static void at_exit(void)
{
    static _Atomic bool is_written;
    if (atomic_load(&registered) && !atomic_exchange(&is_written, true)) kiln_stats_write();
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
