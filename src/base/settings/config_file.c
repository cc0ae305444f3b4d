/*
 * config_file.c - see config_file.h.
 *
 * Invariant: what a line sets has passed every check that can be made without looking at the machine; a line that has
 * not leaves one problem and nothing else.
 */
#include "base/settings/config_file.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/trust.h"
#include "base/url.h"

enum { MOST_BYTES = 1 << 20, SHOWN = 64 };

struct text {
    const char *data;
    size_t size;
};

/* ---- problems ------------------------------------------------------------------------------------------------- */

static void keep_problem(struct kiln_config_file *file, char *text)
{
    size_t index = file->problem_count++;
    if (index < KILN_CONFIG_PROBLEMS)
        file->problems[index] = text;
    else
        free(text);
}

/* `line` 0: of the whole file. */
static void __attribute__((format(printf, 3, 4))) complain(struct kiln_config_file *file, unsigned line,
                                                           const char *format, ...)
{
    struct kiln_buffer text = {0};
    va_list list;
    if (line)
        kiln__buffer_printf(&text, "%s:%u: ", file->path, line);
    else
        kiln__buffer_printf(&text, "%s: ", file->path);
    va_start(list, format);
    kiln__buffer_vprintf(&text, format, list);
    va_end(list);
    if (text.failed) kiln__buffer_release(&text);
    keep_problem(file, (char *)text.data);
}

static void count_the_rest(struct kiln_config_file *file)
{
    if (file->problem_count <= KILN_CONFIG_PROBLEMS) return;
    size_t rest = file->problem_count - KILN_CONFIG_PROBLEMS + 1;
    free(file->problems[KILN_CONFIG_PROBLEMS - 1]);
    file->problem_count = KILN_CONFIG_PROBLEMS - 1;
    complain(file, 0, "%zu more lines are wrong", rest);
}

char *kiln__setting_complaint(const struct kiln_setting *setting, const char *prefix, const char *value)
{
    char wanted[256], shown[1024];
    struct kiln_buffer text = {0};
    kiln__setting_describe(setting, wanted, sizeof wanted);
    if (setting->kind == KILN_SETTING_URL || setting->kind == KILN_SETTING_URLS)
        kiln__url_without_secrets(value, shown, sizeof shown);
    else
        snprintf(shown, sizeof shown, "%s", value);
    kiln__buffer_printf(&text, "%s%.*s is not %s; not used", prefix, SHOWN, shown, wanted);
    if (text.failed) kiln__buffer_release(&text);
    return (char *)text.data;
}

static void complain_of_value(struct kiln_config_file *file, unsigned line, const struct kiln_setting *setting,
                              const char *value)
{
    char name[64];
    struct kiln_buffer prefix = {0};
    kiln__setting_file_name(setting, name);
    kiln__buffer_printf(&prefix, "%s:%u: %s = ", file->path, line, name);
    keep_problem(file, prefix.failed ? NULL : kiln__setting_complaint(setting, (const char *)prefix.data, value));
    kiln__buffer_release(&prefix);
}

static void complain_of_name(struct kiln_config_file *file, unsigned line, struct text name)
{
    char nearest[64] = "";
    const struct kiln_setting *setting = kiln__setting_nearest(name.data, name.size);
    int shown = (int)(name.size < SHOWN ? name.size : SHOWN);
    if (setting) kiln__setting_file_name(setting, nearest);
    complain(file, line, "there is no setting %.*s%s%s%s", shown, name.data, setting ? "; did you mean " : "", nearest,
             setting ? "?" : "; `kiln config` lists them");
}

/* ---- values --------------------------------------------------------------------------------------------------- */

/* Where the paths of a file begin: a path that is relative to wherever a program was started is a mistake there. */
static bool is_rooted(const char *path)
{
    return path[0] == '/' || (path[0] == '~' && path[1] == '/');
}

static bool are_rooted(const struct kiln_setting *setting, const char *value)
{
    if (setting->kind == KILN_SETTING_OUTPUT && (!strcmp(value, "0") || !strcmp(value, "1"))) return true;
    for (; *value; value += strcspn(value, ":"), value += *value == ':')
        if (*value != ':' && !is_rooted(value)) return false;
    return true;
}

/* The value with the home folder for each leading ~. */
static void expand(const char *value, struct kiln_buffer *out)
{
    const char *home = kiln__getenv_trusted("HOME");
    for (bool is_start = true; *value; is_start = *value++ == ':') {
        if (is_start && value[0] == '~' && value[1] == '/' && home)
            kiln__buffer_append(out, home, strlen(home));
        else
            kiln__buffer_append(out, value, 1);
    }
}

static bool is_path(const struct kiln_setting *setting)
{
    return setting->kind == KILN_SETTING_PATH || setting->kind == KILN_SETTING_PATHS ||
           setting->kind == KILN_SETTING_OUTPUT;
}

/* Keeps the value, and behind it where it is from. */
static void keep(struct kiln_config_file *file, unsigned line, const struct kiln_setting *setting, const char *value)
{
    struct kiln_buffer text = {0};
    struct kiln_config_line *kept = &file->lines[kiln__setting_index(setting)];
    if (is_path(setting))
        expand(value, &text);
    else
        kiln__buffer_append(&text, value, strlen(value));
    kiln__buffer_append(&text, "", 1);
    size_t where = text.size;
    kiln__buffer_printf(&text, " (%s:%u)", file->path, line);
    if (text.failed) {
        kiln__buffer_release(&text);
        complain(file, line, "out of memory");
        return;
    }
    *kept = (struct kiln_config_line){(char *)text.data, (char *)text.data + where, line};
}

static void take_value(struct kiln_config_file *file, unsigned line, const struct kiln_setting *setting,
                       const char *value)
{
    char name[64];
    unsigned before = file->lines[kiln__setting_index(setting)].number;
    size_t size = strlen(value);
    kiln__setting_file_name(setting, name);
    if (before)
        complain(file, line, "%s is set in line %u already; this line is not used", name, before);
    else if (size > 1 && value[0] == '"' && value[size - 1] == '"')
        complain(file, line, "the value of %s is in quotes; write it without them", name);
    else if (is_path(setting) && !are_rooted(setting, value))
        complain(file, line, "%s = %.*s: a path in a file begins with / or ~/; not used", name, SHOWN, value);
    else if (!kiln__setting_fits(setting, value))
        complain_of_value(file, line, setting, value);
    else
        keep(file, line, setting, value);
}

/* ---- lines ---------------------------------------------------------------------------------------------------- */

static bool is_blank(char letter)
{
    return letter == ' ' || letter == '\t' || letter == '\r';
}

static struct text trim(struct text text)
{
    while (text.size && is_blank(text.data[0])) text.data++, text.size--;
    while (text.size && is_blank(text.data[text.size - 1])) text.size--;
    return text;
}

/* A # at the start or behind a blank begins a comment; others are part of a value: cpu:native#1. */
static struct text without_comment(struct text line)
{
    for (size_t i = 0; i < line.size; i++)
        if (line.data[i] == '#' && (!i || is_blank(line.data[i - 1]))) line.size = i;
    return trim(line);
}

static bool has_control(struct text text)
{
    for (size_t i = 0; i < text.size; i++)
        if ((unsigned char)text.data[i] < ' ' || text.data[i] == 0x7f) return true;
    return false;
}

static bool is_name(struct text text)
{
    for (size_t i = 0; i < text.size; i++) {
        char letter = text.data[i];
        bool fits = (letter >= 'a' && letter <= 'z') || (letter >= 'A' && letter <= 'Z') ||
                    (letter >= '0' && letter <= '9') || letter == '_' || letter == '-' || letter == '.';
        if (!fits) return false;
    }
    return text.size > 0;
}

/* What is not a name is not shown: it may be a line without = that has a URL with a password. */
static void read_line(struct kiln_config_file *file, unsigned number, struct text line)
{
    line = without_comment(line);
    if (!line.size) return;
    const char *equals = memchr(line.data, '=', line.size);
    struct text name = trim((struct text){line.data, equals ? (size_t)(equals - line.data) : 0});
    if (!is_name(name)) {
        complain(file, number, "a line is `name = value`; not used");
        return;
    }
    const struct kiln_setting *setting = kiln__setting_find_in_file(name.data, name.size);
    struct text value = trim((struct text){equals + 1, (size_t)(line.data + line.size - equals - 1)});
    char *copy = strndup(value.data, value.size);
    if (!copy)
        complain(file, number, "out of memory");
    else if (!setting)
        complain_of_name(file, number, name);
    else if (has_control(value))
        complain(file, number, "a control character; not used");
    else
        take_value(file, number, setting, copy);
    free(copy);
}

static void read_lines(struct kiln_config_file *file, struct text rest)
{
    static const char byte_order_mark[] = "\xef\xbb\xbf";
    if (rest.size >= 3 && !memcmp(rest.data, byte_order_mark, 3)) rest.data += 3, rest.size -= 3;
    for (unsigned number = 1; rest.size; number++) {
        const char *end = memchr(rest.data, '\n', rest.size);
        size_t size = end ? (size_t)(end - rest.data) : rest.size;
        read_line(file, number, (struct text){rest.data, size});
        rest.data += size + (end != NULL);
        rest.size -= size + (end != NULL);
    }
}

/* ---- files ---------------------------------------------------------------------------------------------------- */

/* In a folder that we can't enter, as that of root after su, there is nothing to be told about. */
static bool is_out_of_reach(const char *path)
{
    struct stat info;
    return stat(path, &info) != 0 && errno == EACCES;
}

static void take_file(struct kiln_config_file *file, const struct kiln_buffer *text, const struct stat *info)
{
    if (!kiln__user_is_trusted(info->st_uid, true))
        complain(file, 0, "not used: it is user %u's; it must be ours or root's", info->st_uid);
    else if (!kiln__file_is_trusted(info, true))
        complain(file, 0, "not used: others can write it; chmod go-w %s", file->path);
    else if (text->size > MOST_BYTES)
        complain(file, 0, "not used: it is larger than %d bytes", MOST_BYTES);
    else
        read_lines(file, (struct text){(const char *)text->data, text->size});
    count_the_rest(file);
}

struct kiln_config_file *kiln__config_file_read(const char *path)
{
    struct kiln_buffer text = {0};
    struct stat info;
    kiln_error error;
    enum kiln_outcome outcome = kiln__file_read_as(path, MOST_BYTES + 1, &text, &info, &error);
    if (outcome == KILN_MISS || (outcome == KILN_FAILED && is_out_of_reach(path))) return NULL;
    size_t size = strlen(path) + 1;
    struct kiln_config_file *file = calloc(1, sizeof *file + size);
    if (file) {
        file->path = memcpy(file + 1, path, size);
        if (outcome == KILN_FAILED)
            complain(file, 0, "not used: %s", error.text);
        else
            take_file(file, &text, &info);
    }
    kiln__buffer_release(&text);
    return file;
}

void kiln__config_file_free(struct kiln_config_file *file)
{
    if (!file) return;
    for (size_t i = 0; i < KILN_MAX_SETTINGS; i++) free(file->lines[i].value);
    for (size_t i = 0; i < KILN_CONFIG_PROBLEMS; i++) free(file->problems[i]);
    free(file);
}
