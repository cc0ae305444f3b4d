/*
 * audit.c - see audit.h. KILN_AUDIT is read once, on first use.
 */
#include "cache/audit.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "base/buffer.h"
#include "base/config.h"
#include "base/file.h"
#include "base/log.h"
#include "base/process/exit.h"
#include "base/trust.h"

static pthread_once_t once = PTHREAD_ONCE_INIT;
static _Atomic bool is_on;
static char *file; /* NULL: stderr only; written once, by read_variable() */
static _Atomic uint64_t audit_count, difference_count;

static void append(const struct kiln_buffer *line)
{
    kiln_error error;
    if (file && !line->failed && kiln__file_append(file, line->data, line->size, &error))
        kiln__log_once("KILN_AUDIT%s: %s", kiln__config_where("KILN_AUDIT"), error.text);
}

/* Once: when the process leaves early (base/process/exit.h), or in its turn. */
static void at_exit(void)
{
    static _Atomic bool is_written;
    struct kiln_buffer line = {0};
    if (atomic_exchange(&is_written, true)) return;
    kiln__buffer_printf(&line, "audited %llu\n", (unsigned long long)atomic_load(&audit_count));
    append(&line);
    kiln__buffer_release(&line);
}

static void read_variable(void)
{
    const char *value = kiln__config("KILN_AUDIT");
    if (!value || !*value || !strcmp(value, "0")) return;
    is_on = true;
    if (!strcmp(value, "1")) return;
    file = kiln__path_absolute(value, kiln__folder_at_load());
    atexit(at_exit);
    kiln__exit_add_writer(at_exit);
}

bool kiln__audit_on(void)
{
    pthread_once(&once, read_variable);
    return is_on;
}

void kiln__audit_set(bool on)
{
    pthread_once(&once, read_variable);
    is_on = on;
}

void kiln__audit_report(const char *function, const char *difference)
{
    atomic_fetch_add_explicit(&audit_count, 1, memory_order_relaxed);
    if (!difference) return;
    atomic_fetch_add_explicit(&difference_count, 1, memory_order_relaxed);
    kiln__log_once("audit: %s: the same key gives something else now, so something it reads is not in its key: %s",
                   function, difference);
    struct kiln_buffer line = {0};
    kiln__buffer_printf(&line, "difference %s: %s", function, difference);
    for (size_t i = 0; i < line.size; i++)
        if (line.data[i] == '\n') line.data[i] = ' ';
    kiln__buffer_append(&line, "\n", 1);
    if (file) append(&line);
    kiln__buffer_release(&line);
}

void kiln__audit_counts(uint64_t *audits, uint64_t *differences)
{
    *audits = atomic_load(&audit_count);
    *differences = atomic_load(&difference_count);
}
