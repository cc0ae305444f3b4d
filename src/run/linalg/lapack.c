/*
 * lapack.c - see lapack.h.
 */
#include "run/linalg/lapack.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>

#include "base/process/gate.h"
#include "run/cpu/blas.h"

static const struct {
    const char *name;
    size_t at;
} routines[] = {
#define REAL(name)                                                                                                     \
    {"s" #name "_", offsetof(struct kiln_lapacks, f32.name)},                                                          \
    {                                                                                                                  \
        "d" #name "_", offsetof(struct kiln_lapacks, f64.name)                                                         \
    }
#define COMPLEX(name) {"c" #name "_", offsetof(struct kiln_lapacks, c64.name)}
    REAL(potrf), REAL(trtri), REAL(getrf), REAL(getri),    REAL(geqrf),    REAL(orgqr),
    REAL(gesdd), REAL(syevd), REAL(geev),  COMPLEX(gesdd), COMPLEX(heevd), COMPLEX(geev),
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* guards finding; `lapacks` is read without it once found */
static atomic_bool found;
static struct kiln_lapacks lapacks;

static kiln_status find(kiln_error *err)
{
    void *library;
    kiln_status status = kiln__blas_library(&library, err);
    for (size_t i = 0; !status && i < sizeof routines / sizeof *routines; i++) {
        void *symbol = dlsym(library, routines[i].name);
        if (!symbol)
            return kiln__fail(err, KILN_LINK_FAILED, "the BLAS library has no %s: it was built without LAPACK",
                              routines[i].name);
        memcpy((char *)&lapacks + routines[i].at, &symbol, sizeof symbol);
    }
    atomic_store_explicit(&found, !status, memory_order_release);
    return status;
}

kiln_status kiln__lapack(const struct kiln_lapacks **out, kiln_error *err)
{
    kiln_status status = KILN_OK;
    if (!atomic_load_explicit(&found, memory_order_acquire)) {
        kiln__mutex_lock(&lock);
        if (!atomic_load_explicit(&found, memory_order_relaxed)) status = find(err);
        kiln__mutex_unlock(&lock);
    }
    *out = &lapacks;
    return status;
}
