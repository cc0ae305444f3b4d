/*
 * kiln/config.h - settings, for tools: which there are, what each is now and who says so, and whether the library can
 * use it.
 *
 * A setting is named by its variable, KILN_CACHE_DIR for example. Its value is the variable's, else that of
 * $XDG_CONFIG_HOME/kiln/config (~/.config/kiln/config), else that of /etc/kiln/config, else the default. Files are read
 * once in a process. Every function may be called from any thread; for the environment the rule is that of getenv().
 * NULL is as in kiln.h.
 */
#ifndef KILN_CONFIG_H
#define KILN_CONFIG_H

#include "kiln.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The names of all settings, in order; NULL: there are no more. They live as long as the process. */
const char *kiln_setting_name(size_t index);

typedef enum kiln_setting_origin {
    KILN_SETTING_BY_DEFAULT,
    KILN_SETTING_BY_ENVIRONMENT,
    KILN_SETTING_BY_FILE,
} kiln_setting_origin;

typedef struct kiln_setting_info {
    size_t struct_size;         /* sizeof(kiln_setting_info), set by the caller */
    const char *help;           /* one line */
    kiln_setting_origin origin; /* of the value that counts */
    const char *file;           /* of KILN_SETTING_BY_FILE; else NULL */
    unsigned line;
    char value[8192]; /* cut at its size; names and passwords in URLs are *** */
} kiln_setting_info;  /* strings live as long as the process */

/* What counts now. KILN_INVALID: there is no such setting; the text names the nearest. `out` is untouched then. */
kiln_status kiln_setting_describe(const char *name, kiln_setting_info *out, kiln_error *err);

/*
 * Can the library use what somebody has set? It does what a cache would do, short of writing, and waits for no remote.
 * KILN_OK: it can, or nobody has set anything. Otherwise the text is what a program would log, with the file and the
 * line. Of several paths, the first that is wrong. KILN_INVALID is also that there is no such setting.
 */
kiln_status kiln_setting_check(const char *name, kiln_error *err);

/* What is wrong in the files, one line each, as it is logged; NULL: there is no more. Lives as long as the process. */
const char *kiln_config_problem(size_t index);

/* The path of a file, be it there or not: 0 the user's, 1 the system's. KILN_INVALID: there is none for this process
 * (its rights are not those of who started it, or HOME is not set), or `size` is too small. */
kiln_status kiln_config_file(unsigned index, char *path, size_t size, kiln_error *err);

#ifdef __cplusplus
}
#endif
#endif
