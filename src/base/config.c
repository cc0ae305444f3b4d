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
#include <sys/auxv.h>

#include "base/log.h"
#include "base/settings/config_file.h"
#include "base/trust.h"

static pthread_once_t read_once = PTHREAD_ONCE_INIT;
static struct kiln_config_file *files[KILN_CONFIG_FILES]; /* NULL: not there; written once, by read_files() */
static _Atomic bool has_news;                             /* of problems that nobody was told yet */

/* ---- files ---------------------------------------------------------------------------------------------------- */

static int print_user_path(char *out, size_t size)
{
    const char *folder = kiln__getenv_trusted("XDG_CONFIG_HOME"), *home = kiln__getenv_trusted("HOME");
    if (folder && *folder == '/') return snprintf(out, size, "%s/kiln/config", folder);
    return home && *home == '/' ? snprintf(out, size, "%s/.config/kiln/config", home) : 0;
}

bool kiln__config_path(unsigned file, char *out, size_t size)
{
    if (file >= KILN_CONFIG_FILES || getauxval(AT_SECURE)) return false;
    int length = file == 0 ? print_user_path(out, size) : snprintf(out, size, "/etc/kiln/config");
    return length > 0 && (size_t)length < size;
}

static void read_file(unsigned index, const char *path)
{
    files[index] = kiln__config_file_read(path);
    if (files[index] && files[index]->problem_count) has_news = true;
}

/* A child of fork() does it all again if its parent was in the middle. */
static void read_files(void)
{
    char path[PATH_MAX];
    for (unsigned i = 0; i < KILN_CONFIG_FILES; i++)
        if (kiln__config_path(i, path, sizeof path)) read_file(i, path);
}

void kiln__config_reload(const char *user, const char *system)
{
    const char *const paths[KILN_CONFIG_FILES] = {user, system};
    pthread_once(&read_once, read_files);
    has_news = false;
    for (unsigned i = 0; i < KILN_CONFIG_FILES; i++) {
        kiln__config_file_free(files[i]);
        files[i] = NULL;
        if (paths[i]) read_file(i, paths[i]);
    }
}

const char *kiln__config_problem(size_t index)
{
    pthread_once(&read_once, read_files);
    for (int i = 0; i < KILN_CONFIG_FILES; i++) {
        size_t count = files[i] ? files[i]->problem_count : 0;
        if (index < count) return files[i]->problems[index] ? files[i]->problems[index] : "out of memory";
        index -= count;
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

const char *kiln__config_variable(const struct kiln_setting *setting)
{
    return setting->is_guarded ? kiln__getenv_trusted(setting->name) : getenv(setting->name);
}

static const struct kiln_config_file *file_with(const struct kiln_setting *setting)
{
    for (int i = 0; i < KILN_CONFIG_FILES; i++)
        if (files[i] && files[i]->lines[kiln__setting_index(setting)].value) return files[i];
    return NULL;
}

static struct kiln_config_value from_files(const struct kiln_setting *setting)
{
    const struct kiln_config_file *file = file_with(setting);
    if (!file) return (struct kiln_config_value){0};
    const struct kiln_config_line *line = &file->lines[kiln__setting_index(setting)];
    return (struct kiln_config_value){line->value, file->path, line->number};
}

struct kiln_config_value kiln__config_find(const struct kiln_setting *setting)
{
    const char *value = kiln__config_variable(setting);
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
    const char *value = kiln__config_variable(setting);
    pthread_once(&read_once, read_files);
    if (__builtin_expect(atomic_load_explicit(&has_news, memory_order_relaxed), 0)) tell_news();
    if (value && kiln__setting_fits(setting, value)) return value;
    if (value) tell_of_value(setting, value);
    return from_files(setting).text;
}

const char *kiln__config_unchecked(const char *name)
{
    const struct kiln_setting *setting = kiln__setting_find(name);
    const char *value = setting ? kiln__config_variable(setting) : kiln__getenv_trusted(name);
    if (value || !setting) return value;
    pthread_once(&read_once, read_files);
    return from_files(setting).text;
}

const char *kiln__config_where(const char *name)
{
    const struct kiln_setting *setting = kiln__setting_find(name);
    if (!setting || !kiln__config_find(setting).file) return "";
    return file_with(setting)->lines[kiln__setting_index(setting)].where;
}

uint64_t kiln__config_number(const char *name)
{
    const struct kiln_setting *setting = kiln__setting_find(name);
    const char *value = kiln__config(name);
    uint64_t number = 0;
    if ((!value || !kiln__parse_number(value, &number)) && setting) kiln__parse_number(setting->fallback, &number);
    return number;
}
