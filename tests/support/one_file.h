/*
 * one_file.h - a folder of the test's own with one safetensors file in it: set-up and tear-down of a group, and the
 * file's path. Goes with support/arrays.h.
 */
#ifndef KILN_TESTS_SUPPORT_ONE_FILE_H
#define KILN_TESTS_SUPPORT_ONE_FILE_H

#include <unistd.h>

#include "support/arrays.h"

static char folder[] = "/tmp/kiln-file-XXXXXX";
static char path[64];

static inline int make_folder(void **state)
{
    (void)state;
    if (!mkdtemp(folder)) return 1;
    snprintf(path, sizeof path, "%s/file.safetensors", folder);
    return 0;
}

static inline int remove_folder(void **state)
{
    unlink(path);
    rmdir(folder);
    return tear_down(state);
}

#endif
