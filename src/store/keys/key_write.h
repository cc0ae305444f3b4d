/*
 * key_write.h - files of keys, written so that they survive: whole, on disk, and never one over another.
 */
#ifndef KILN_STORE_KEYS_KEY_WRITE_H
#define KILN_STORE_KEYS_KEY_WRITE_H

#include <sys/stat.h>

#include "base/status.h"

/* A new file with this very mode, whatever the umask. KILN_IO: there is one of that name, or it can't be written. */
kiln_status kiln__key_file_create(const char *path, mode_t mode, kiln_bytes text, kiln_error *err);
/* The file, or a new one; links are followed. KILN_IO: it can't be written, and is what it was. */
kiln_status kiln__key_file_replace(const char *path, mode_t mode, kiln_bytes text, kiln_error *err);

/* Waits until no other process changes a file in the folder of `path`, which is made if need be. Ended by close(). */
kiln_status kiln__key_folder_lock(const char *path, int *out, kiln_error *err);

#endif
