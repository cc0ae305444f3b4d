/*
 * config.h - settings: the value of each, from the environment or from a file.
 *
 * A setting is named by its variable, KILN_REMOTE for example; all of them are in base/settings/setting.c. Its value is
 * the variable's, else that of $XDG_CONFIG_HOME/kiln/config (~/.config/kiln/config), else that of /etc/kiln/config.
 * Variables are read live, as getenv() does, with its rule: no other thread may change the environment meanwhile. Files
 * are read once, when somebody first asks for a setting, and never again, so nothing here is for a warm path to fear.
 *
 * Where a process runs with other rights than those of who started it (AT_SECURE, base/trust.h), both files are
 * ignored, and so is the environment for settings that name files, servers or code.
 *
 * What is wrong in a file, or a value that a setting can't have, is logged once, naming file and line, and passed by:
 * the next place that has a value counts. Format of the files: docs/settings.md.
 */
#ifndef KILN_BASE_CONFIG_H
#define KILN_BASE_CONFIG_H

#include <stddef.h>
#include <stdint.h>

#include "base/settings/setting.h"

/*
 * The value; NULL: set nowhere. "" is a value: of most settings the default, of a few "none". It is the caller's until
 * the environment changes. A name that is no setting is looked up in the environment alone, as one that names a file.
 */
const char *kiln__config(const char *name);

/* The value of a setting that is a number, or its default. */
uint64_t kiln__config_number(const char *name);

/* For messages, right behind a setting's name: " (/etc/kiln/config:3)" when its value is that of a file; else "". */
const char *kiln__config_where(const char *name);

/* The same value, whether the setting can have it or not, and nothing is logged: for the log itself. */
const char *kiln__config_unchecked(const char *name);

/* ---- for `kiln config` ---------------------------------------------------------------------------------------- */

struct kiln_config_value {
    const char *text; /* NULL: nobody says anything */
    const char *file; /* NULL: the environment */
    unsigned line;
};

/* The variable's value, if this process may read it, whether the setting can have it or not. */
const char *kiln__config_variable(const struct kiln_setting *setting);
/* What kiln__config() takes; nothing is logged. */
struct kiln_config_value kiln__config_find(const struct kiln_setting *setting);

enum { KILN_CONFIG_FILES = 2 }; /* the user's, the system's */

/* The path of a file, be it there or not. False: this process reads none, or its path is too long. */
bool kiln__config_path(unsigned file, char *out, size_t size);
/* The text of a problem of the files, all in a row, as it was logged; NULL: there are no more. */
const char *kiln__config_problem(size_t index);

/* Test hook: reads these two instead, now; NULL: none. No other thread may ask for settings meanwhile. */
void kiln__config_reload(const char *user, const char *system);

#endif
