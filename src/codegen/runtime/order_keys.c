/*
 * order_keys.c - the keys of order_keys.h, for kernels.
 */
#include "order_keys.h"

#include "runtime.h"

#define DEFINE_ORDER(name, word)                                                                                       \
    word kiln_order_##name(word bits)                                                                                  \
    {                                                                                                                  \
        return (word)key_##name(bits);                                                                                 \
    }

DEFINE_ORDER(b1, uint32_t)
DEFINE_ORDER(u8, uint32_t)
DEFINE_ORDER(u16, uint32_t)
DEFINE_ORDER(u32, uint32_t)
DEFINE_ORDER(u64, uint64_t)
DEFINE_ORDER(i8, uint32_t)
DEFINE_ORDER(i16, uint32_t)
DEFINE_ORDER(i32, uint32_t)
DEFINE_ORDER(i64, uint64_t)
DEFINE_ORDER(f16, uint32_t)
DEFINE_ORDER(f32, uint32_t)
DEFINE_ORDER(f64, uint64_t)
DEFINE_ORDER(bf16, uint32_t)
DEFINE_ORDER(c64, uint64_t)
