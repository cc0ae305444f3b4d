/*
 * config.c - see config.h.
 *
 * Invariant: the two files are read by whoever first asks, under a pthread_once, and are constant from then on. What is
 * wrong in them is told after that, not while, since the program's log function may ask for settings too.
 */
#include "base/config.h"

#include <limits.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>

#include "base/log.h"
#include "base/settings/config_file.h"
#include "base/trust.h"

static pthread_once_t read_once = PTHREAD_ONCE_INIT;
static struct kiln_config_file files[KILN_CONFIG_FILES]; /* the user's, the system's; written once, by read_files() */
static char paths[KILN_CONFIG_FILES][PATH_MAX];          /* "": none; written by it too */
static _Atomic bool has_news;                            /* of problems that nobody was told yet */

/* ---- files ---------------------------------------------------------------------------------------------------- */

static void find_user_file(char out[PATH_MAX])
{
    const char *folder = kiln__getenv_trusted("XDG_CONFIG_HOME"), *home = kiln__getenv_trusted("HOME");
    int size = 0;
    if (folder && *folder == '/')
        size = snprintf(out, PATH_MAX, "%s/kiln/config", folder);
    else if (home && *home == '/')
        size = snprintf(out, PATH_MAX, "%s/.config/kiln/config", home);
    if (size >= PATH_MAX) out[0] = '\0';
}

static void read_both(void)
{
    for (int i = 0; i < KILN_CONFIG_FILES; i++) {
        if (paths[i][0]) kiln__config_file_read(&files[i], paths[i]);
        if (files[i].problem_count) has_news = true;
    }
}

static void read_files(void)
{
    memset(files, 0, sizeof files); /* a child of fork() begins again if its parent was in the middle */
    if (getauxval(AT_SECURE)) return;
    find_user_file(paths[0]);
    snprintf(paths[1], PATH_MAX, "/etc/kiln/config");
    read_both();
}

void kiln__config_reload(const char *user, const char *system)
{
    pthread_once(&read_once, read_files);
    for (int i = 0; i < KILN_CONFIG_FILES; i++) kiln__config_file_release(&files[i]);
    snprintf(paths[0], PATH_MAX, "%s", user ? user : "");
    snprintf(paths[1], PATH_MAX, "%s", system ? system : "");
    has_news = false;
    read_both();
}

const char *kiln__config_path(unsigned file)
{
    pthread_once(&read_once, read_files);
    return file < KILN_CONFIG_FILES && paths[file][0] ? paths[file] : NULL;
}

const char *kiln__config_problem(size_t index)
{
    pthread_once(&read_once, read_files);
    for (int i = 0; i < KILN_CONFIG_FILES; i++) {
        if (index < files[i].problem_count)
            return files[i].problems[index] ? files[i].problems[index] : "out of memory";
        index -= files[i].problem_count;
    }
    return NULL;
}

static void tell_news(void)
{
    const char *problem;
    if (!atomic_exchange(&has_news, false)) return;
    for (size_t i = 0; (problem = kiln__config_problem(i)); i++) kiln__log_once("%s", problem);
}

/* ---- values --------------------------------------------------------------------------------------------------- */

static const char *from_environment(const struct kiln_setting *setting)
{
    return setting->is_guarded ? kiln__getenv_trusted(setting->name) : getenv(setting->name);
}

static struct kiln_config_value from_files(const struct kiln_setting *setting)
{
    for (int i = 0; i < KILN_CONFIG_FILES; i++) {
        const struct kiln_config_line *line = &files[i].lines[kiln__setting_index(setting)];
        if (line->value) return (struct kiln_config_value){line->value, files[i].path, line->number};
    }
    return (struct kiln_config_value){0};
}

struct kiln_config_value kiln__config_find(const struct kiln_setting *setting)
{
    const char *value = from_environment(setting);
    pthread_once(&read_once, read_files);
    if (value && kiln__setting_fits(setting, value)) return (struct kiln_config_value){.text = value};
    return from_files(setting);
}

static void tell_of_value(const struct kiln_setting *setting, const char *value)
{
    char prefix[64];
    snprintf(prefix, sizeof prefix, "%s=", setting->name);
    char *text = kiln__setting_complaint(setting, prefix, value);
    if (text) kiln__log_once("%s", text);
    free(text);
}

const char *kiln__config(const char *name)
{
    const struct kiln_setting *setting = kiln__setting_find(name);
    if (!setting) return kiln__getenv_trusted(name);
    const char *value = from_environment(setting);
    pthread_once(&read_once, read_files);
    if (__builtin_expect(atomic_load_explicit(&has_news, memory_order_relaxed), 0)) tell_news();
    if (value && kiln__setting_fits(setting, value)) return value;
    if (value) tell_of_value(setting, value);
    return from_files(setting).text;
}

const char *kiln__config_unchecked(const char *name)
{
    const struct kiln_setting *setting = kiln__setting_find(name);
    const char *value = setting ? from_environment(setting) : kiln__getenv_trusted(name);
    if (value || !setting) return value;
    pthread_once(&read_once, read_files);
    return from_files(setting).text;
}

const char *kiln__config_where(const char *name)
{
    const struct kiln_setting *setting = kiln__setting_find(name);
    if (!setting || !kiln__config_find(setting).file) return "";
    for (int i = 0; i < KILN_CONFIG_FILES; i++) {
        const struct kiln_config_line *line = &files[i].lines[kiln__setting_index(setting)];
        if (line->value) return line->where;
    }
    return "";
}

uint64_t kiln__config_number(const char *name)
{
    const struct kiln_setting *setting = kiln__setting_find(name);
    const char *value = kiln__config(name);
    uint64_t number = 0;
    if ((!value || !kiln__parse_number(value, &number)) && setting) kiln__parse_number(setting->fallback, &number);
    return number;
}
