/*
 * config_file.h - one file of settings: lines `name = value`, read at once, with what is wrong in it.
 *
 * The file is believed when it is ours or root's and nobody else can write it. A wrong line is a problem that names
 * file and line; the other lines count. Format: docs/settings.md.
 */
#ifndef KILN_BASE_SETTINGS_CONFIG_FILE_H
#define KILN_BASE_SETTINGS_CONFIG_FILE_H

#include "base/settings/setting.h"

enum { KILN_CONFIG_PROBLEMS = 16 }; /* that are kept of a file; the last one counts the rest */

struct kiln_config_line {
    char *value; /* NULL: the file does not set it */
    char *where; /* " (/etc/kiln/config:3)", for messages; in the memory of `value` */
    unsigned number;
};

struct kiln_config_file {
    char *path;                                       /* in memory of the struct */
    struct kiln_config_line lines[KILN_MAX_SETTINGS]; /* by the setting's index */
    char *problems[KILN_CONFIG_PROBLEMS];
    size_t problem_count; /* more than are kept, perhaps */
};

/* Reads the file at an absolute path. NULL: there is none, or no memory; most processes have none, and pay for no more
 * than looking. */
struct kiln_config_file *kiln__config_file_read(const char *path);
void kiln__config_file_free(struct kiln_config_file *file); /* NULL is fine */

/* What is to be said of a value that a setting can't have, without secrets; `prefix` is "KILN_MODE=" or
 * "file:3: mode = ". In memory of its own; NULL: out of memory. */
char *kiln__setting_complaint(const struct kiln_setting *setting, const char *prefix, const char *value);

#endif
