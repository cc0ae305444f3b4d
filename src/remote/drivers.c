/*
 * drivers.c - what libkiln-remote.so exports.
 */
#include "remote/drivers.h"

const kiln_remote_driver *const kiln_remote_drivers[] = {
    &kiln__http_driver, &kiln__https_driver, &kiln__s3_driver, &kiln__redis_driver, &kiln__redis_unix_driver, NULL,
};
