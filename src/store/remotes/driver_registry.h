/*
 * driver_registry.h - which driver knows how to talk to a remote: by the scheme of its URL.
 *
 * Those that the program has added come first (kiln_remote_add in kiln/remote.h), then those of libkiln-remote.so, then
 * libkiln-remote-SCHEME.so; both are opened beside libkiln.so, when somebody asks, and stay open.
 */
#ifndef KILN_STORE_REMOTES_DRIVER_REGISTRY_H
#define KILN_STORE_REMOTES_DRIVER_REGISTRY_H

#include "kiln/remote.h"

enum { KILN_SCHEME_SIZE = 32 }; /* with its NUL */

/* What stands before "://" of a URL. False: that is no scheme. */
bool kiln__scheme_of(const char *url, char out[KILN_SCHEME_SIZE]);

/* KILN_INVALID: there is none; the text says which there are. From every thread. */
kiln_status kiln__driver_find(const char *scheme, const kiln_remote_driver **out, kiln_error *err);

#endif
