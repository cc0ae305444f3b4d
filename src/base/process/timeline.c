/*
 * timeline.c - see timeline.h. Invariant: what is in `text` is whole lines, of this process and of no parent's.
 *
 * The file is a JSON list whose end is open, which the format allows: each line is an object and a comma.
 */
#include "base/process/timeline.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/buffer.h"
#include "base/config.h"
#include "base/file.h"
#include "base/json.h"
#include "base/log.h"
#include "base/process/exit.h"
#include "base/process/fork.h"
#include "base/trust.h"

enum { WRITTEN_AT = 1 << 18, DEVICE_LINES = 1 << 30 };

_Atomic bool kiln__timeline_is_on;

KILN_LEAF_LOCK(lock); /* guards what follows */
static struct kiln_buffer text;
static char *path; /* absolute */
static unsigned forks;
static pid_t process; /* as of `forks` */
static bool is_named; /* the process has its name in the file */

static uint32_t this_thread(void)
{
    static _Thread_local uint32_t number;
    static _Thread_local unsigned known_at;
    if (!number || known_at != kiln__forks()) number = (uint32_t)syscall(SYS_gettid);
    known_at = kiln__forks();
    return number;
}

/* ---- the file -------------------------------------------------------------------------------------------------- */

/* Without the lock: the program's log may call Kiln. */
static void give_up(const char *why)
{
    atomic_store(&kiln__timeline_is_on, false);
    kiln__log_once("KILN_TRACE%s: %s; nothing is recorded from here on", kiln__config_where("KILN_TRACE"), why);
}

/* Needs the lock. */
static kiln_status write_out(kiln_error *err)
{
    kiln_status status = KILN_OK;
    if (text.failed) status = kiln__no_memory(err, "what was recorded");
    if (!status && text.size) status = kiln__file_append(path, text.data, text.size, err);
    if (status)
        kiln__buffer_release(&text);
    else
        kiln__buffer_clear(&text);
    return status;
}

void kiln__timeline_flush(void)
{
    kiln_error err;
    kiln_status status = KILN_OK;
    if (!atomic_load(&kiln__timeline_is_on)) return;
    pthread_mutex_lock(&lock);
    if (forks == kiln__forks()) status = write_out(&err);
    pthread_mutex_unlock(&lock);
    if (status) give_up(err.text);
}

/* ---- lines ----------------------------------------------------------------------------------------------------- */

static void open_line(struct kiln_json *json, const char *name, const char *kind, const char *phase, uint32_t thread)
{
    kiln__json_open(json, NULL, '{');
    kiln__json_text(json, "name", name);
    if (kind) kiln__json_text(json, "cat", kind);
    kiln__json_text(json, "ph", phase);
    kiln__json_number(json, "pid", (uint64_t)process);
    kiln__json_number(json, "tid", thread);
}

static void close_line(struct kiln_json *json)
{
    kiln__json_close(json, '}');
    kiln__buffer_append(json->out, ",\n", 2);
    json->is_next = false;
}

/* `what`: "process_name" or "thread_name". */
static void print_name(struct kiln_json *json, const char *what, uint32_t thread, const char *name)
{
    open_line(json, what, NULL, "M", thread);
    kiln__json_open(json, "args", '{');
    kiln__json_text(json, "name", name);
    kiln__json_close(json, '}');
    close_line(json);
}

static void print_facts(struct kiln_json *json, const struct kiln_event *event)
{
    const struct {
        const char *key, *text;
    } facts[] = {{"function", event->function},
                 {"reason", event->reason},
                 {"where", event->where},
                 {"outcome", event->outcome},
                 {"target", event->target}};
    kiln__json_open(json, "args", '{');
    for (size_t i = 0; i < sizeof facts / sizeof *facts; i++)
        if (facts[i].text && *facts[i].text) kiln__json_text(json, facts[i].key, facts[i].text);
    if (event->digest) {
        char hex[KILN_DIGEST_HEX];
        kiln__digest_hex(event->digest, hex);
        kiln__json_text(json, "key", hex);
    }
    if (event->bytes) kiln__json_number(json, "bytes", event->bytes);
    if (event->count) kiln__json_number(json, "count", event->count);
    kiln__json_close(json, '}');
}

/* A line of the viewer for work that no thread does, by its name. */
static uint32_t line_number(struct kiln_json *json, const char *name)
{
    enum { MOST = 16 };
    static char *known[MOST];
    for (uint32_t i = 0; i < MOST; i++) {
        if (known[i] && strcmp(known[i], name)) continue;
        if (!known[i] && (known[i] = strdup(name))) print_name(json, "thread_name", DEVICE_LINES + i, name);
        return DEVICE_LINES + i;
    }
    return DEVICE_LINES + MOST;
}

/* A child has nothing of what its parent recorded. */
static void begin_process(struct kiln_json *json)
{
    if (forks != kiln__forks()) {
        forks = kiln__forks();
        process = getpid();
        kiln__buffer_clear(&text);
        is_named = false;
    }
    if (!is_named) print_name(json, "process_name", 0, program_invocation_short_name);
    is_named = true;
}

static void print_span(struct kiln_json *json, uint64_t start_ns, uint64_t end_ns, const char *line,
                       const struct kiln_event *event)
{
    begin_process(json);
    uint32_t thread = line ? line_number(json, line) : this_thread();
    open_line(json, event->name ? event->name : event->kind, event->kind, "X", thread);
    kiln__json_thousandths(json, "ts", start_ns); /* microseconds */
    kiln__json_thousandths(json, "dur", end_ns > start_ns ? end_ns - start_ns : 0);
    print_facts(json, event);
    close_line(json);
}

void kiln__timeline_span(uint64_t start_ns, uint64_t end_ns, const char *line, const struct kiln_event *event)
{
    kiln_error err;
    kiln_status status = KILN_OK;
    struct kiln_json json = {.out = &text};
    if (!start_ns) return;
    pthread_mutex_lock(&lock);
    print_span(&json, start_ns, end_ns, line, event);
    if (text.size >= WRITTEN_AT || text.failed) status = write_out(&err);
    pthread_mutex_unlock(&lock);
    if (status) give_up(err.text);
}

void kiln__timeline_end(uint64_t start_ns, const struct kiln_event *event)
{
    if (start_ns) kiln__timeline_span(start_ns, kiln__clock_ns(), NULL, event);
}

/* ---- start ----------------------------------------------------------------------------------------------------- */

/* The list is opened by whoever finds no file, or an empty one. */
static kiln_status open_list(kiln_error *err)
{
    struct stat info;
    if (stat(path, &info) == 0 && info.st_size) return kiln__file_append(path, "", 0, err);
    return kiln__file_append(path, "[\n", 2, err);
}

static void start(void)
{
    kiln_error err;
    const char *named = kiln__config("KILN_TRACE");
    if (!named || !*named || !strcmp(named, "0")) return;
    path = kiln__path_absolute(named, kiln__folder_at_load());
    if (!path) return give_up("the folder that it is relative to can't be told");
    if (open_list(&err)) return give_up(err.text);
    forks = kiln__forks();
    process = getpid();
    atomic_store(&kiln__timeline_is_on, true);
    atexit(kiln__timeline_flush);
}

void kiln__timeline_start(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, start);
}

__attribute__((constructor)) static void write_when_leaving_early(void)
{
    kiln__exit_add_writer(kiln__timeline_flush);
}
