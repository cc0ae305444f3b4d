/*
 * trust_library.c - see trust_library.h.
 */
#include "store/keys/trust_library.h"

#include <stdatomic.h>

#include "base/beside.h"

/* Two threads may open it at once: the loader gives both the same table. */
kiln_status kiln__trust_library(const struct kiln_trust_plugin **out, kiln_error *err)
{
    static _Atomic(const struct kiln_trust_plugin *) opened;
    const void *found = atomic_load_explicit(&opened, memory_order_acquire);
    if (!found) {
        kiln_status status = kiln__open_beside(KILN_TRUST_LIBRARY, KILN_TRUST_SYMBOL, &found, err);
        if (status != KILN_OK) return status;
        if (((const struct kiln_trust_plugin *)found)->version != KILN_TRUST_VERSION)
            return kiln__fail(err, KILN_IO, "%s beside libkiln.so is not of this version", KILN_TRUST_LIBRARY);
        atomic_store_explicit(&opened, found, memory_order_release);
    }
    *out = found;
    return KILN_OK;
}
