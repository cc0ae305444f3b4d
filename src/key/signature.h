/*
 * signature.h - a call key (K1) while it is written.
 *
 * A key is a run of 64-bit words made of items. Each item starts with a header word, (tag, info, words that follow), so
 * that neighbours can't merge: "ab"+"c" is not "a"+"bc", a missing argument is not a zero. Keys live on the caller's
 * stack and spill to the heap only when they outgrow it; a key that could not grow is marked and never matches. A key
 * is valid in its process only: it holds ids and addresses of types. explain.c turns it into words for people.
 */
#ifndef KILN_KEY_SIGNATURE_H
#define KILN_KEY_SIGNATURE_H

#include <stdlib.h>
#include <string.h>

#include "base/status.h"
#include "key/dlpack.h"
#include "key/segments.h"

enum {
    KILN_SIGNATURE_WORDS = 96,                        /* on the stack: 11 matrices */
    KILN_SIGNATURE_LARGEST = 1 << 20,                 /* words: 8 MiB of key is a mistake, not a call */
    KILN_MOST_ARGUMENTS = KILN_SIGNATURE_LARGEST / 2, /* each takes two words */
};

enum kiln_item {
    KILN_ITEM_HEAD = 1, /* memo table's id, generation, device */
    KILN_ITEM_OPTIONS,  /* thread's pushed options: names and values */
    KILN_ITEM_ARGUMENT, /* address of the type, then the items its sign() wrote */
    KILN_ITEM_U64,
    KILN_ITEM_F64,
    KILN_ITEM_BYTES,  /* info: bytes in the last word (0: full) */
    KILN_ITEM_TENSOR, /* info: enum kiln_tensor_form */
    KILN_ITEM_LIST,
    KILN_ITEM_ARRAY,       /* of the engine: info holds dtype and rank, then dims two to a word */
    KILN_ITEM_DEPENDENCY,  /* generation of a function this one uses */
    KILN_ITEM_MEMORY,      /* a watched variable's bytes */
    KILN_ITEM_ENVIRONMENT, /* info 1: set, with a NUL at the end; 0: unset */
    KILN_ITEM_VARIABLE,    /* a kiln_var's bytes */
    KILN_ITEM_FILE,        /* digest of a watched file's content; no words: there is no such file */
};

/* First word: what is the same in all forms. Then, STATIC: dims, strides. DYNAMIC: 2 bits per axis, enum
 * kiln_stride_class, in two words. RULED: per axis (kind << 32 | divisor) of the dim, the dim, the same of the stride,
 * the stride. */
enum kiln_tensor_form { KILN_TENSOR_STATIC, KILN_TENSOR_DYNAMIC, KILN_TENSOR_RULED };

/* What of a stride a kernel for any dims can rely on: 0, 1, the packed value, or nothing. */
enum kiln_stride_class { KILN_STRIDE_ANY, KILN_STRIDE_ZERO, KILN_STRIDE_ONE, KILN_STRIDE_PACKED };

struct kiln_signature {
    uint64_t *words; /* `few`, or the heap */
    uint32_t count, cap;
    uint32_t epoch;     /* of the memo table the key belongs to, when it was begun; not part of the key */
    kiln_status status; /* KILN_OK, or why this key can't be used */
    uint32_t depth;     /* of lists within lists, while they are signed */
    uint64_t few[KILN_SIGNATURE_WORDS];
};

static inline uint64_t kiln__item(enum kiln_item tag, uint32_t info, uint32_t words)
{
    return (uint64_t)tag << 56 | (uint64_t)(info & 0xffffff) << 32 | words;
}

static inline enum kiln_item kiln__item_tag(uint64_t header)
{
    return (enum kiln_item)(header >> 56);
}

static inline uint32_t kiln__item_info(uint64_t header)
{
    return (uint32_t)(header >> 32) & 0xffffff;
}

static inline uint32_t kiln__item_words(uint64_t header)
{
    return (uint32_t)header;
}

static inline void kiln__signature_init(struct kiln_signature *signature)
{
    signature->words = signature->few;
    signature->count = 0;
    signature->cap = KILN_SIGNATURE_WORDS;
    signature->status = KILN_OK;
    signature->depth = 0;
}

static inline void kiln__signature_release(struct kiln_signature *signature)
{
    if (signature->words != signature->few) free(signature->words);
}

bool kiln__signature_spill(struct kiln_signature *signature, uint32_t more);

/* Room for `count` words, counted as written; NULL when out of memory (then status says so). */
static inline uint64_t *kiln__signature_grow(struct kiln_signature *signature, uint32_t count)
{
    if (signature->count + count > signature->cap && !kiln__signature_spill(signature, count)) return NULL;
    uint64_t *words = signature->words + signature->count;
    signature->count += count;
    return words;
}

static inline void kiln__signature_word(struct kiln_signature *signature, uint64_t word)
{
    uint64_t *words = kiln__signature_grow(signature, 1);
    if (words) *words = word;
}

static inline void kiln__signature_u64(struct kiln_signature *signature, uint64_t value)
{
    uint64_t *words = kiln__signature_grow(signature, 2);
    if (!words) return;
    words[0] = kiln__item(KILN_ITEM_U64, 0, 1);
    words[1] = value;
}

/* An item of bytes, zero-padded to whole words, under `tag`. */
void kiln__signature_bytes(struct kiln_signature *signature, enum kiln_item tag, uint32_t info, const void *data,
                           size_t size);

/* The error for an argument that could not be signed. */
kiln_status kiln__signature_refuse(const struct kiln_signature *signature, const kiln_arg *arg, size_t position,
                                   kiln_error *err);

enum { KILN_TENSOR_MAX_NDIM = 64 };

static inline bool kiln__tensor_is_sound(const struct kiln_dltensor *tensor)
{
    return tensor && (uint32_t)tensor->ndim <= KILN_TENSOR_MAX_NDIM && (tensor->shape || !tensor->ndim) &&
           (uint32_t)tensor->device.type <= UINT16_MAX;
}

/* dtype, rank, alignment and device type in one word: all a tensor has besides dims and strides. */
static inline uint64_t kiln__tensor_facts(const struct kiln_dltensor *tensor, bool with_alignment)
{
    uint64_t address = (uint64_t)(uintptr_t)tensor->data + tensor->byte_offset;
    uint64_t alignment = with_alignment ? (uint64_t)__builtin_ctzll(address | 64) : 0;
    return (uint64_t)tensor->dtype.code << 56 | (uint64_t)tensor->dtype.bits << 48 |
           (uint64_t)tensor->dtype.lanes << 32 | (uint64_t)tensor->device.type << 16 | alignment << 8 |
           (uint64_t)tensor->ndim;
}

/* The words of a TENSOR item with static dims and strides, 2 + 2 * ndim of them. Plain loops, since ranks are small and
 * a call of memcpy costs more than four words. Packed strides are written out, so that NULL and explicit packed strides
 * are one key. */
static inline void kiln__tensor_write(const struct kiln_dltensor *tensor, uint64_t *words)
{
    uint32_t ndim = (uint32_t)tensor->ndim;
    const int64_t *shape = tensor->shape, *strides = tensor->strides;
    words[0] = kiln__item(KILN_ITEM_TENSOR, KILN_TENSOR_STATIC, 1 + 2 * ndim);
    words[1] = kiln__tensor_facts(tensor, true);
    words += 2;
    for (uint32_t i = 0; i < ndim; i++) words[i] = (uint64_t)shape[i];
    words += ndim;
    uint64_t stride = 1;
    if (strides)
        for (uint32_t i = 0; i < ndim; i++) words[i] = (uint64_t)strides[i];
    else
        for (uint32_t i = ndim; i-- > 0; stride *= (uint64_t)shape[i]) words[i] = stride;
}

/* The same as below, in one piece, for the type that most calls are made of. False: let the long way say what is wrong.
 */
static inline bool kiln__signature_tensor(struct kiln_signature *signature, const struct kiln_dltensor *tensor)
{
    if (__builtin_expect(!kiln__tensor_is_sound(tensor), 0)) return false;
    uint32_t count = 4 + 2 * (uint32_t)tensor->ndim;
    if (__builtin_expect(signature->count + count > signature->cap, 0)) return false;
    uint64_t *words = signature->words + signature->count;
    words[0] = kiln__item(KILN_ITEM_ARGUMENT, 0, count - 1);
    words[1] = (uint64_t)(uintptr_t)&kiln_tensor;
    kiln__tensor_write(tensor, words + 2);
    signature->count += count;
    return true;
}

/* One argument: ARGUMENT item around what the type signs. `position` is for the error text. */
static inline kiln_status kiln__signature_argument(struct kiln_signature *signature, const kiln_arg *arg,
                                                   size_t position, kiln_error *err)
{
    const kiln_type *type = arg->type;
    uint32_t start = signature->count;
    if (KILN_SEGMENT_ARGUMENTS && type == &kiln_tensor && kiln__signature_tensor(signature, arg->value)) return KILN_OK;
    if (__builtin_expect(!type || !type->sign, 0)) return kiln__signature_refuse(signature, arg, position, err);
    uint64_t *words = kiln__signature_grow(signature, 2);
    if (__builtin_expect(!words || type->sign(signature, arg->value) != KILN_OK || signature->status, 0))
        return kiln__signature_refuse(signature, arg, position, err);
    words = signature->words + start; /* it may have moved */
    if (!KILN_SEGMENT_ARGUMENTS) signature->count = start + 2;
    words[0] = kiln__item(KILN_ITEM_ARGUMENT, 0, signature->count - start - 1);
    words[1] = (uint64_t)(uintptr_t)type;
    return KILN_OK;
}

/*
 * Word by word on purpose: the words of a key were stored just now, one by one, and a wider load of several of them
 * would have to wait until the stores have left the store buffer.
 */
static inline bool kiln__key_equal(const uint64_t *a, const uint64_t *b, uint32_t count)
{
    uint64_t differ = 0, more = 0;
    for (const uint64_t *end = a + (count & ~3u); a != end; a += 4, b += 4) {
        differ |= (a[0] ^ b[0]) | (a[1] ^ b[1]);
        more |= (a[2] ^ b[2]) | (a[3] ^ b[3]);
    }
    for (const uint64_t *end = a + (count & 3); a != end; a++, b++) differ |= *a ^ *b;
    return !(differ | more);
}

#endif
