/*
 * roots.h - how modules and files are named in keys: by where they stand below a root, not by where a machine keeps
 * them.
 *
 * A root is a name and a folder, set by the program for the whole process (kiln_set_root). What is below the folder is
 * known as NAME/rest, or just rest when the name is ""; the root with the longest folder counts. Paths are compared as
 * text, folder by folder, without repeated slashes and "." between them; links are not followed, and nothing has to
 * exist: sources are seldom where the program runs.
 *
 * Safe for many threads. Used on misses only.
 */
#ifndef KILN_KEY_ROOTS_H
#define KILN_KEY_ROOTS_H

#include <stdint.h>

#include "base/buffer.h"
#include "base/status.h"

/* Appends how a module is known: that of a variable, as a rule a __FILE__. One that is below no root is known as given.
 */
void kiln__module_name(const char *module, struct kiln_buffer *out);
/* Is this the module that is known as `name`? */
bool kiln__module_is(const char *module, const char *name);

/* How a file is known, by an absolute path: appends the root's name and what is below it. Below no root: "" and the
 * path itself, which begins with a slash. */
void kiln__path_name(const char *path, struct kiln_buffer *root, struct kiln_buffer *rest);
/* The same as one text, for people. */
void kiln__path_print(const char *path, struct kiln_buffer *out);
/* *out: the file that is known by this name here, to be freed. KILN_MISS: there is no such root. KILN_FAILED: out of
 * memory. */
enum kiln_outcome kiln__path_of(const char *root, const char *rest, char **out);
/* `path` as seen from the current folder, without repeated slashes and "."; to be freed. NULL: out of memory, or the
 * current folder is gone. */
char *kiln__path_simple(const char *path);

/* Another number each time a root was set: names that were made before may mean something else. */
uint64_t kiln__roots_version(void);

/* A module of which something is watched. While two of them are referred to, they are not known by one name. */
struct kiln_module;

/* *out is the caller's reference; a module given by the same text is the same. KILN_INVALID: another one is known by
 * this name, and the text names both. */
kiln_status kiln__module_ref(const char *module, struct kiln_module **out, kiln_error *err);
void kiln__module_unref(struct kiln_module *module); /* NULL is fine */

#endif
