/*
 * setting.h - the table of settings: what each is called, which values it can have, what it is without one.
 *
 * Constant. Who reads a setting, `kiln config`, `kiln doctor` and docs/settings.md all go by this table.
 */
#ifndef KILN_BASE_SETTINGS_SETTING_H
#define KILN_BASE_SETTINGS_SETTING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum kiln_setting_kind {
    KILN_SETTING_TEXT,   /* whoever uses it checks it */
    KILN_SETTING_WORD,   /* one of `values` */
    KILN_SETTING_WORDS,  /* some of `values`, with commas */
    KILN_SETTING_NUMBER, /* from `least` to `most` */
    KILN_SETTING_SIZE,   /* bytes, more than 0: 500M */
    KILN_SETTING_MASK,   /* as of umask(), octal: takes nothing from the owner, and all writing from others */
    KILN_SETTING_PATH,
    KILN_SETTING_PATHS,  /* with colons */
    KILN_SETTING_OUTPUT, /* 0, 1 or a path */
    KILN_SETTING_URL,
    KILN_SETTING_URLS, /* with spaces; each is checked by whoever uses it, so that a wrong one is passed by alone */
};

struct kiln_setting {
    const char *name; /* of the variable */
    enum kiln_setting_kind kind;
    bool is_guarded;      /* it names files, servers or code, or who may read what: not read under AT_SECURE */
    const char *values;   /* "normal, off, no-compile, compile-only"; NULL: not a list */
    uint64_t least, most; /* of numbers */
    const char *fallback; /* what counts without a value, for people; a number's is read by kiln__config_number() */
    const char *help;     /* one line */
};

enum { KILN_MAX_SETTINGS = 64 };

/* In the order of their names; one whose name is NULL is behind the last. */
extern const struct kiln_setting kiln__settings[];

/* NULL: there is no such setting. */
const struct kiln_setting *kiln__setting_find(const char *name);
/* By its name in a file, which is in lower case and may do without "kiln_": "remote", "kiln_remote". */
const struct kiln_setting *kiln__setting_find_in_file(const char *name, size_t size);
/* The one that is most like what somebody wrote in a file; NULL: none is. */
const struct kiln_setting *kiln__setting_nearest(const char *name, size_t size);
/* The shorter one of its names in a file, as a string. */
void kiln__setting_file_name(const struct kiln_setting *setting, char out[64]);

static inline size_t kiln__setting_index(const struct kiln_setting *setting)
{
    return (size_t)(setting - kiln__settings);
}

/* The setting can have this value, as far as can be told without looking at the machine. "" is fine always. */
bool kiln__setting_fits(const struct kiln_setting *setting, const char *value);
/* Writes what a value must be: "one of normal, off". */
void kiln__setting_describe(const struct kiln_setting *setting, char *out, size_t size);

/* A number and nothing else, in decimal. */
bool kiln__parse_number(const char *text, uint64_t *out);
/* "5G", "300m", "1048576" */
bool kiln__parse_size(const char *text, uint64_t *out);
/* Octal, as of umask(): takes nothing from the owner and all writing from others. False: it is not that. */
bool kiln__parse_mask(const char *text, unsigned *out);

#endif
