/*
 * resolve.h - the addresses of a host, by a deadline.
 *
 * getaddrinfo() waits as long as the system's configuration says, which may be minutes, so a name is looked up in a
 * thread that is left to itself when it takes too long. Addresses in digits need none.
 */
#ifndef KILN_REMOTE_RESOLVE_H
#define KILN_REMOTE_RESOLVE_H

#include <netdb.h>

#include "base/status.h"
#include "remote/deadline.h"

/* *out is to be freed with freeaddrinfo(). KILN_IO: there is no such host, or nobody says so in time. */
kiln_status kiln__resolve(const char *host, const char *port, struct kiln_deadline deadline, struct addrinfo **out,
                          kiln_error *err);

#endif
