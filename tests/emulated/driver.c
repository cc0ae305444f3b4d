/*
 * driver.c - see driver.h. One GPU, its contexts, results with names, and failures that tests ask for.
 *
 * Invariant: a call does something only between emulated_enter() and emulated_leave(). A context is current per
 * thread, as at NVIDIA, so that code that forgets to enter a GPU fails here too.
 */
#include "emulated/driver.h"

#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MULTIPROCESSORS = 132, MAJOR = 9, MINOR = 0, VERSION = 12090, SPEC = 200 };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static char the_context;
static _Thread_local void *current;

/* Also makes sure that each one exists. */
static const struct {
    const char *name;
    void (*function)(void);
} calls[CALL_COUNT] = {
#define ROW(field, symbol, parameters) {#field, (void (*)(void))emulated_##field},
    KILN_CUDA_FUNCTIONS(ROW)
#undef ROW
};

static const bool needs_context[CALL_COUNT] = {
    [CALL_host_new] = true,      [CALL_memory_new] = true,     [CALL_memory_free] = true, [CALL_copy_to_device] = true,
    [CALL_copy_to_host] = true,  [CALL_copy_on_device] = true, [CALL_module_load] = true, [CALL_module_unload] = true,
    [CALL_link_new] = true,      [CALL_launch] = true,         [CALL_stream_new] = true,  [CALL_stream_wait] = true,
    [CALL_capture_begin] = true, [CALL_graph_launch] = true,
};
static const bool breaks_capture[CALL_COUNT] = {
    [CALL_memory_new] = true,   [CALL_memory_free] = true, [CALL_copy_to_device] = true,
    [CALL_copy_to_host] = true, [CALL_stream_wait] = true, [CALL_module_load] = true,
};

/* ---- failures for tests ------------------------------------------------------------------------------------------ */

static char failures[SPEC]; /* what `counts` belong to */
static unsigned long counts[CALL_COUNT];

/* The call that is counted now is in the list "name:number[+],...". */
static bool is_listed(enum emulated_call call)
{
    size_t length = strlen(calls[call].name);
    for (const char *at = failures; *at; at += strcspn(at, ","), at += *at == ',') {
        if (strncmp(at, calls[call].name, length) != 0 || at[length] != ':') continue;
        char *end;
        unsigned long number = strtoul(at + length + 1, &end, 10);
        if (counts[call] == number || (*end == '+' && counts[call] > number)) return true;
    }
    return false;
}

static bool is_to_fail(enum emulated_call call)
{
    const char *wanted = getenv("KILN_TEST_CUDA_FAIL");
    if (!wanted) wanted = "";
    if (strncmp(failures, wanted, SPEC - 1) != 0) {
        snprintf(failures, sizeof failures, "%s", wanted);
        memset(counts, 0, sizeof counts);
    }
    if (!failures[0]) return false;
    counts[call]++;
    return is_listed(call);
}

bool emulated_is_idle(void)
{
    static int idle = -1;
    if (idle < 0) idle = getenv("KILN_TEST_CUDA_IDLE") != NULL;
    return idle;
}

int emulated_refuse(int result, const char *why, ...)
{
    va_list list;
    va_start(list, why);
    fputs("emulated GPU: ", stderr);
    vfprintf(stderr, why, list);
    fputc('\n', stderr);
    va_end(list);
    return result;
}

int emulated_enter(enum emulated_call call)
{
    pthread_mutex_lock(&lock);
    if (is_to_fail(call)) return call == CALL_memory_new ? OUT_OF_MEMORY : UNKNOWN;
    if (needs_context[call] && current != &the_context)
        return emulated_refuse(INVALID_CONTEXT, "%s without a context", calls[call].name);
    if (breaks_capture[call] && emulated_is_capturing())
        return emulated_refuse(CAPTURE_UNSUPPORTED, "%s while this thread captures", calls[call].name);
    return SUCCESS;
}

int emulated_leave(int result)
{
    pthread_mutex_unlock(&lock);
    return result;
}

/* ---- results ------------------------------------------------------------------------------------------------------
 */

static const struct {
    int number;
    const char *name, *text;
} results[] = {
#define ROW(label, number, name, text) {number, name, text},
    EMULATED_RESULTS(ROW)
#undef ROW
};

int emulated_error_name(int result, const char **name)
{
    for (size_t i = 0; i < sizeof results / sizeof *results; i++)
        if (results[i].number == result) *name = results[i].name;
    return SUCCESS;
}

int emulated_error_text(int result, const char **text)
{
    for (size_t i = 0; i < sizeof results / sizeof *results; i++)
        if (results[i].number == result) *text = results[i].text;
    return SUCCESS;
}

/* ---- the GPU ------------------------------------------------------------------------------------------------------
 */

int emulated_init(unsigned flags)
{
    (void)flags;
    return emulated_leave(emulated_enter(CALL_init));
}

int emulated_driver_version(int *version)
{
    *version = VERSION;
    return emulated_leave(emulated_enter(CALL_driver_version));
}

int emulated_device_count(int *count)
{
    *count = 1;
    return emulated_leave(emulated_enter(CALL_device_count));
}

int emulated_device_get(int *device, int ordinal)
{
    int result = emulated_enter(CALL_device_get);
    if (!result && ordinal != 0) result = INVALID_DEVICE;
    *device = 0;
    return emulated_leave(result);
}

int emulated_device_name(char *name, int size, int device)
{
    (void)device;
    snprintf(name, (size_t)size, "Emulated GPU");
    return emulated_leave(emulated_enter(CALL_device_name));
}

int emulated_device_attribute(int *value, int attribute, int device)
{
    static const struct {
        int attribute, value;
    } attributes[] = {{KILN_CUDA_MULTIPROCESSORS, MULTIPROCESSORS},
                      {KILN_CUDA_MAJOR, MAJOR},
                      {KILN_CUDA_MINOR, MINOR},
                      {KILN_CUDA_PCI_DOMAIN, 0},
                      {KILN_CUDA_PCI_BUS, 0x3b},
                      {KILN_CUDA_PCI_DEVICE, 0}};
    int result = emulated_enter(CALL_device_attribute);
    bool is_known = false;
    (void)device;
    for (size_t i = 0; i < sizeof attributes / sizeof *attributes; i++)
        if (attributes[i].attribute == attribute) *value = attributes[i].value, is_known = true;
    return emulated_leave(result || is_known ? result : INVALID_VALUE);
}

int emulated_device_memory(size_t *bytes, int device)
{
    (void)device;
    int result = emulated_enter(CALL_device_memory);
    *bytes = emulated_memory_total();
    return emulated_leave(result);
}

int emulated_device_uuid(unsigned char uuid[16], int device)
{
    (void)device;
    for (int i = 0; i < 16; i++) uuid[i] = (unsigned char)(17 * i);
    return emulated_leave(emulated_enter(CALL_device_uuid));
}

int emulated_context_retain(void **context, int device)
{
    (void)device;
    *context = &the_context;
    return emulated_leave(emulated_enter(CALL_context_retain));
}

int emulated_context_get(void **context)
{
    *context = current;
    return SUCCESS; /* counted with context_set only: it has nothing that can fail */
}

int emulated_context_set(void *context)
{
    int result = emulated_enter(CALL_context_set);
    if (!result && context != &the_context && context) result = INVALID_CONTEXT;
    if (!result) current = context;
    return emulated_leave(result);
}
