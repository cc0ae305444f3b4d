/*
 * drivers.h - the tables that libkiln-remote.so offers (kiln/remote.h).
 */
#ifndef KILN_REMOTE_DRIVERS_H
#define KILN_REMOTE_DRIVERS_H

#include "kiln/remote.h"

extern const kiln_remote_driver kiln__http_driver, kiln__https_driver;       /* http_driver.c */
extern const kiln_remote_driver kiln__s3_driver;                             /* s3_driver.c */
extern const kiln_remote_driver kiln__redis_driver, kiln__redis_unix_driver; /* redis_driver.c */

/* All of them, NULL at the end: the one name that the library exports. */
extern const kiln_remote_driver *const kiln_remote_drivers[];

#endif
