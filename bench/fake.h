/*
 * fake.h - a compiler that compiles nothing, as long as it is told to, and tensors to look up with: what is measured is
 * the cache alone.
 */
#ifndef KILN_BENCH_FAKE_H
#define KILN_BENCH_FAKE_H

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

#include "kiln.h"

struct tensor { /* the layout of a DLTensor */
    void *data;
    int32_t device_type, device_id;
    int32_t ndim;
    uint8_t code, bits;
    uint16_t lanes;
    int64_t *shape, *strides;
    uint64_t byte_offset;
};

struct fake {
    kiln_compiler compiler;
    double busy_ns; /* a compile keeps its processor busy for so long */
    _Atomic int compiles;
};

/* `fake` must stay where it is as long as functions use its compiler. */
void fake_init(struct fake *fake);

/* A function of which every signature gives the text "nothing", so that all share one kernel. NULL on failure. */
kiln_function *fake_function(kiln_cache *cache, const struct fake *fake, kiln_error *err);

#endif
