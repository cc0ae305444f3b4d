/*
 * settings.h - what the settings say about folders: where the default one is, and how large it may become.
 *
 * Read anew on each call, as the environment is; caches and the tools for their folders ask here, so that they agree.
 */
#ifndef KILN_STORE_SETTINGS_H
#define KILN_STORE_SETTINGS_H

#include "base/buffer.h"
#include "kiln/maintain.h"

/* Appends KILN_CACHE_DIR, XDG_CACHE_HOME/kiln or ~/.cache/kiln; nothing when there is none of them, or KILN_CACHE_DIR
 * is empty: memory only. */
void kiln__default_folder(struct kiln_buffer *out);

/* KILN_CACHE_UMASK: what others are not given of the files and folders that are made; 077 when not set. */
unsigned kiln__cache_mask(void);

#endif
