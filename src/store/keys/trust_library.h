/*
 * trust_library.h - libkiln-trust.so, opened by the first signature that is made or checked.
 */
#ifndef KILN_STORE_KEYS_TRUST_LIBRARY_H
#define KILN_STORE_KEYS_TRUST_LIBRARY_H

#include "base/status.h"
#include "trust/trust_plugin.h"

/* KILN_IO: it is not there or of another version; not remembered, so one that is installed later is found. */
kiln_status kiln__trust_library(const struct kiln_trust_plugin **out, kiln_error *err);

#endif
