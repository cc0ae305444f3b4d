/*
 * cuda.c - see cuda.h. The library is opened under pthread_once and never closed; what is found does not change.
 */
#include "device/cuda.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

static struct kiln_cuda table;
static pthread_once_t once = PTHREAD_ONCE_INIT;
static char problem[300]; /* "": the table is complete and the driver is up */

static const struct {
    const char *symbol;
    size_t offset;
} fields[] = {
#define KILN_CUDA_ROW(field, symbol, parameters) {symbol, offsetof(struct kiln_cuda, field)},
    KILN_CUDA_FUNCTIONS(KILN_CUDA_ROW)
#undef KILN_CUDA_ROW
};

static bool fill(void *library)
{
    for (size_t i = 0; i < sizeof fields / sizeof *fields; i++) {
        void *address = dlsym(library, fields[i].symbol);
        if (!address) {
            snprintf(problem, sizeof problem,
                     "libcuda.so.1 has no %s: the driver is too old (CUDA 12 or newer is needed)", fields[i].symbol);
            return false;
        }
        memcpy((char *)&table + fields[i].offset, &address, sizeof address);
    }
    return true;
}

static void open_driver(void)
{
    void *library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
    const char *name = "?";
    if (!library) {
        snprintf(problem, sizeof problem, "there is no NVIDIA driver: libcuda.so.1 can't be opened");
        return;
    }
    if (!fill(library)) return;
    int result = table.init(0);
    if (result) {
        table.error_name(result, &name);
        snprintf(problem, sizeof problem, "the NVIDIA driver does not start: %s", name);
    }
}

kiln_status kiln__cuda(const struct kiln_cuda **out, kiln_error *err)
{
    pthread_once(&once, open_driver);
    if (problem[0]) return kiln__fail(err, KILN_INVALID, "%s", problem);
    *out = &table;
    return KILN_OK;
}

kiln_status kiln__cuda_fail(kiln_error *err, kiln_status status, int result, const char *what)
{
    const char *name = NULL, *text = NULL;
    table.error_name(result, &name);
    table.error_text(result, &text);
    return kiln__fail(err, status, "%s: the NVIDIA driver says %s (%d): %s", what, name ? name : "?", result,
                      text ? text : "no text");
}
