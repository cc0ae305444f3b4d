/*
 * version.c - the version of the library: that of kiln.h when the library was built.
 */
#include "kiln.h"

const char *kiln_version(void)
{
    return KILN_VERSION;
}

int kiln_version_number(void)
{
    return KILN_VERSION_NUMBER;
}
