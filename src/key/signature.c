/*
 * signature.c - writing items, and signing one argument by its type.
 *
 * An argument's item holds the address of its type and whatever its sign() wrote, counted, so no two argument lists
 * encode alike unless they are alike.
 */
#include "key/signature.h"

bool kiln__signature_spill(struct kiln_signature *signature, uint32_t more)
{
    enum { LARGEST = KILN_SIGNATURE_LARGEST };
    uint32_t cap = signature->cap * 2;
    if (signature->status || more > LARGEST || signature->count > LARGEST - more) goto failed;
    while (cap < signature->count + more) cap *= 2;
    if (cap > LARGEST) cap = LARGEST;
    uint64_t *words = malloc((size_t)cap * sizeof *words);
    if (!words) goto failed;
    memcpy(words, signature->words, (size_t)signature->count * sizeof *words);
    kiln__signature_release(signature);
    signature->words = words;
    signature->cap = cap;
    return true;
failed:
    if (!signature->status) signature->status = KILN_NO_MEMORY;
    return false;
}

void kiln__signature_bytes(struct kiln_signature *signature, enum kiln_item tag, uint32_t info, const void *data,
                           size_t size)
{
    if (size > (size_t)1 << 24) { /* spill would refuse it; keep the count below from wrapping */
        signature->status = KILN_NO_MEMORY;
        return;
    }
    uint32_t count = (uint32_t)((size + 7) / 8);
    uint64_t *words = kiln__signature_grow(signature, 1 + count);
    if (!words) return;
    words[0] = kiln__item(tag, info << 8 | (uint32_t)(size & 7), count);
    if (!count) return;
    words[count] = 0;
    memcpy(words + 1, data, size);
}

void kiln_sign_u64(kiln_signature *signature, uint64_t value)
{
    if (signature) kiln__signature_u64(signature, value);
}

void kiln_sign_f64(kiln_signature *signature, double value)
{
    uint64_t *words = signature ? kiln__signature_grow(signature, 2) : NULL;
    if (!words) return;
    words[0] = kiln__item(KILN_ITEM_F64, 0, 1);
    memcpy(words + 1, &value, sizeof value);
}

void kiln_sign_bytes(kiln_signature *signature, const void *data, size_t size)
{
    if (!signature) return;
    if (data || !size)
        kiln__signature_bytes(signature, KILN_ITEM_BYTES, 0, data, size);
    else
        signature->status = KILN_INVALID;
}

kiln_status kiln__signature_refuse(const struct kiln_signature *signature, const kiln_arg *arg, size_t position,
                                   kiln_error *err)
{
    const kiln_type *type = arg->type;
    const char *name = type && type->name ? type->name : "(unnamed)";
    if (!type || !type->sign)
        return kiln__fail(err, KILN_UNSIGNED, "argument %zu: type %s can't sign itself; give its kiln_type a sign()",
                          position, name);
    if (signature->status == KILN_INVALID)
        return kiln__fail(err, KILN_INVALID,
                          "argument %zu: sign() of type %s called kiln_sign_bytes() with NULL for data", position,
                          name);
    if (signature->status)
        return kiln__fail(err, signature->status, "argument %zu: key too large or out of memory", position);
    return kiln__fail(err, KILN_UNSIGNED, "argument %zu: signing a value of type %s failed", position, name);
}
