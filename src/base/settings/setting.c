/*
 * setting.c - see setting.h.
 *
 * Invariant: the rows are in the order of their names, and no two names are alike.
 */
#include "base/settings/setting.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "base/url.h"

/* clang-format off */
const struct kiln_setting kiln__settings[] = {
    {.name = "KILN_AUDIT", .kind = KILN_SETTING_OUTPUT, .is_guarded = true, .fallback = "0",
     .help = "1, or a file: hits are lowered again and compared"},
    {.name = "KILN_BASE_PACK", .kind = KILN_SETTING_PATH, .is_guarded = true, .fallback = "kiln/base.kilnpack beside the library",
     .help = "a pack that is read behind the folder; empty or 0: none"},
    {.name = "KILN_CACHE_DIR", .kind = KILN_SETTING_PATH, .is_guarded = true, .fallback = "XDG_CACHE_HOME/kiln or ~/.cache/kiln",
     .help = "the folder that is read and written; empty: none, memory only"},
    {.name = "KILN_CACHE_PATH", .kind = KILN_SETTING_PATHS, .is_guarded = true, .fallback = "",
     .help = "folders and packs that are read first, separated by colons, at most 64"},
    {.name = "KILN_CACHE_SIZE", .kind = KILN_SETTING_SIZE, .fallback = "5G",
     .help = "bound of the folder, 500M or 5G for example"},
    {.name = "KILN_CACHE_UMASK", .kind = KILN_SETTING_MASK, .is_guarded = true, .fallback = "077",
     .help = "who may not read what is stored, as umask(1) says it: 022 lets everybody read"},
    {.name = "KILN_DEVICE", .kind = KILN_SETTING_TEXT, .fallback = "cpu",
     .help = "default device of arrays: cpu, cuda:0"},
    {.name = "KILN_DRIFT", .kind = KILN_SETTING_WORD, .values = "error", .fallback = "",
     .help = "error: a function whose watched values changed fails"},
    {.name = "KILN_FAST_MATH", .kind = KILN_SETTING_WORD, .values = "0, 1", .fallback = "0",
     .help = "1 allows what is not exact"},
    {.name = "KILN_GPU_TARGET", .kind = KILN_SETTING_TEXT, .fallback = "",
     .help = "with compile-only: a GPU that is not here, sm_90 for example"},
    {.name = "KILN_LINES", .kind = KILN_SETTING_WORD, .values = "0, 1", .fallback = "0",
     .help = "1: kernels of CPUs have line tables, for debuggers and profilers"},
    {.name = "KILN_LOG", .kind = KILN_SETTING_WORDS, .values = "miss, fault, all", .fallback = "",
     .help = "a line for each: miss, fault or all"},
    {.name = "KILN_MODE", .kind = KILN_SETTING_WORD, .values = "normal, off, no-compile, compile-only", .fallback = "normal",
     .help = "normal, off (no folder), no-compile (a miss is an error), compile-only (fill the folder)"},
    {.name = "KILN_OPT_LEVEL", .kind = KILN_SETTING_WORD, .values = "0, 1, 2, 3", .fallback = "2",
     .help = "how much the compiler optimises, 0 to 3"},
    {.name = "KILN_PERF", .kind = KILN_SETTING_WORDS, .is_guarded = true, .values = "map, gdb", .fallback = "",
     .help = "who is told the names of kernels: map (perf, by /tmp/perf-PID.map), gdb"},
    {.name = "KILN_PLUGIN", .kind = KILN_SETTING_PATH, .is_guarded = true, .fallback = "libkiln-llvm.so beside the library",
     .help = "the compiler's library"},
    {.name = "KILN_REDIS_PASSWORD_FILE", .kind = KILN_SETTING_PATH, .is_guarded = true, .fallback = "REDISCLI_AUTH",
     .help = "file whose first line is the password of redis:// remotes that have none in their URL"},
    {.name = "KILN_REMOTE", .kind = KILN_SETTING_URLS, .is_guarded = true, .fallback = "",
     .help = "caches elsewhere, separated by spaces: https://host/prefix, s3://bucket/prefix, redis://host:port/0"},
    {.name = "KILN_REMOTE_CA", .kind = KILN_SETTING_PATH, .is_guarded = true, .fallback = "the system's",
     .help = "file of the certificates that https is checked with"},
    {.name = "KILN_REMOTE_TIMEOUT", .kind = KILN_SETTING_NUMBER, .least = 1, .most = 600000, .fallback = "500",
     .help = "the longest a call waits for a remote, in milliseconds"},
    {.name = "KILN_REMOTE_TTL", .kind = KILN_SETTING_NUMBER, .least = 1, .most = 3153600000, .fallback = "2592000",
     .help = "after how many seconds without a use Redis drops an entry"},
    {.name = "KILN_S3_ENDPOINT", .kind = KILN_SETTING_URL, .is_guarded = true, .fallback = "that of the AWS variables",
     .help = "the server of s3:// remotes, https://host:port"},
    {.name = "KILN_SIGN_KEY", .kind = KILN_SETTING_PATH, .is_guarded = true, .fallback = "",
     .help = "secret key that signs what is put, made by kiln key new"},
    {.name = "KILN_STATS", .kind = KILN_SETTING_OUTPUT, .is_guarded = true, .fallback = "0",
     .help = "1, or a file: counters when the process ends"},
    {.name = "KILN_TARGET", .kind = KILN_SETTING_TEXT, .fallback = "native",
     .help = "what cpu compiles for: native, x86-64-v3, znver4, ..."},
    {.name = "KILN_TIER", .kind = KILN_SETTING_WORD, .values = "0, 1", .fallback = "1",
     .help = "0: a call waits for the compiler even where unfused kernels could run meanwhile"},
    {.name = "KILN_TRACE", .kind = KILN_SETTING_PATH, .is_guarded = true, .fallback = "",
     .help = "file for a time line of what happens, which kiln report and trace viewers read"},
    {.name = "KILN_TRUSTED_KEYS", .kind = KILN_SETTING_PATH, .is_guarded = true, .fallback = "kiln/trusted_keys beside the config files",
     .help = "file of the keys whose signatures are believed"},
    {.name = NULL},
};
/* clang-format on */
static_assert(sizeof kiln__settings / sizeof *kiln__settings <= KILN_MAX_SETTINGS, "more settings than config.c keeps");

static const char prefix[] = "KILN_";
enum { PREFIX_SIZE = sizeof prefix - 1 };

/* ---- names ---------------------------------------------------------------------------------------------------- */

const struct kiln_setting *kiln__setting_find(const char *name)
{
    size_t from = 0, to = sizeof kiln__settings / sizeof *kiln__settings - 1;
    while (from < to) {
        size_t middle = (from + to) / 2;
        int order = strcmp(name, kiln__settings[middle].name);
        if (!order) return &kiln__settings[middle];
        if (order < 0)
            to = middle;
        else
            from = middle + 1;
    }
    return NULL;
}

/* As in a file; letters of our names are ASCII, whatever the locale. */
static char lower(char letter)
{
    return letter >= 'A' && letter <= 'Z' ? (char)(letter | 0x20) : letter;
}

void kiln__setting_file_name(const struct kiln_setting *setting, char out[64])
{
    size_t at = 0;
    for (const char *from = setting->name + PREFIX_SIZE; *from && at < 63; from++) out[at++] = lower(*from);
    out[at] = '\0';
}

static void skip_prefix(const char **name, size_t *size)
{
    for (size_t i = 0; i < PREFIX_SIZE; i++)
        if (i >= *size || lower((*name)[i]) != lower(prefix[i])) return;
    *name += PREFIX_SIZE;
    *size -= PREFIX_SIZE;
}

const struct kiln_setting *kiln__setting_find_in_file(const char *name, size_t size)
{
    bool is_lower = true;
    for (size_t i = 0; i < size; i++) is_lower &= lower(name[i]) == name[i];
    skip_prefix(&name, &size);
    for (const struct kiln_setting *setting = kiln__settings; is_lower && setting->name; setting++) {
        char known[64];
        kiln__setting_file_name(setting, known);
        if (strlen(known) == size && !memcmp(known, name, size)) return setting;
    }
    return NULL;
}

/* How many letters must be put in, left out or replaced; letters in upper case are like those in lower case. */
static size_t distance(const char *one, size_t one_size, const char *two, size_t two_size)
{
    enum { MOST = 64 };
    size_t row[MOST + 1];
    if (one_size > MOST || two_size > MOST) return MOST;
    for (size_t j = 0; j <= two_size; j++) row[j] = j;
    for (size_t i = 0; i < one_size; i++) {
        size_t corner = row[0];
        row[0] = i + 1;
        for (size_t j = 0; j < two_size; j++) {
            size_t replaced = corner + (lower(one[i]) != lower(two[j]));
            size_t shorter = (row[j] < row[j + 1] ? row[j] : row[j + 1]) + 1;
            corner = row[j + 1];
            row[j + 1] = replaced < shorter ? replaced : shorter;
        }
    }
    return row[two_size];
}

const struct kiln_setting *kiln__setting_nearest(const char *name, size_t size)
{
    const struct kiln_setting *nearest = NULL;
    skip_prefix(&name, &size);
    size_t least = size / 3 + 1; /* a name that shares less is another one */
    for (const struct kiln_setting *setting = kiln__settings; setting->name; setting++) {
        size_t found = distance(name, size, setting->name + PREFIX_SIZE, strlen(setting->name + PREFIX_SIZE));
        if (found > least || (nearest && found == least)) continue;
        nearest = setting;
        least = found;
    }
    return nearest;
}

/* ---- values --------------------------------------------------------------------------------------------------- */

bool kiln__parse_number(const char *text, uint64_t *out)
{
    uint64_t number = 0;
    if (*text < '0' || *text > '9') return false;
    for (; *text >= '0' && *text <= '9'; text++)
        if (__builtin_mul_overflow(number, 10, &number) || __builtin_add_overflow(number, *text - '0', &number))
            return false;
    *out = number;
    return !*text;
}

bool kiln__parse_size(const char *text, uint64_t *out)
{
    static const struct {
        char letter;
        int shift;
    } units[] = {{'K', 10}, {'M', 20}, {'G', 30}, {'T', 40}};
    char digits[32];
    size_t size = strspn(text, "0123456789");
    int shift = 0;
    uint64_t number;
    if (size >= sizeof digits) return false;
    for (size_t i = 0; i < sizeof units / sizeof *units; i++)
        if (lower(text[size]) == lower(units[i].letter)) shift = units[i].shift;
    if (text[size] && (!shift || text[size + 1])) return false;
    memcpy(digits, text, size);
    digits[size] = '\0';
    if (!kiln__parse_number(digits, &number) || number > UINT64_MAX >> shift) return false;
    *out = number << shift;
    return true;
}

/* `word` stands in "one, two, three". */
static bool is_listed(const char *list, const char *word, size_t size)
{
    while (*list) {
        size_t length = strcspn(list, ",");
        if (length == size && !memcmp(list, word, size)) return true;
        list += length;
        list += strspn(list, ", ");
    }
    return false;
}

static bool is_word(const struct kiln_setting *setting, const char *value)
{
    return is_listed(setting->values, value, strlen(value));
}

static bool are_words(const struct kiln_setting *setting, const char *value)
{
    while (*value) {
        size_t size = strcspn(value, ",");
        if (size && !is_listed(setting->values, value, size)) return false;
        value += size + (value[size] == ',');
    }
    return true;
}

static bool is_number(const struct kiln_setting *setting, const char *value)
{
    uint64_t number;
    return kiln__parse_number(value, &number) && number >= setting->least && number <= setting->most;
}

static bool is_size(const struct kiln_setting *setting, const char *value)
{
    uint64_t size;
    (void)setting;
    return kiln__parse_size(value, &size) && size;
}

bool kiln__parse_mask(const char *text, unsigned *out)
{
    unsigned mask = 0;
    size_t size = strlen(text);
    if (size == 0 || size > 4 || strspn(text, "01234567") != size) return false;
    for (size_t i = 0; i < size; i++) mask = mask << 3 | (unsigned)(text[i] - '0');
    *out = mask;
    return mask <= 077 && (mask & 022) == 022;
}

static bool is_mask(const struct kiln_setting *setting, const char *value)
{
    unsigned mask;
    (void)setting;
    return kiln__parse_mask(value, &mask);
}

static bool is_url(const struct kiln_setting *setting, const char *value)
{
    (void)setting;
    return kiln__is_url(value, strlen(value));
}

static const struct {
    bool (*fits)(const struct kiln_setting *setting, const char *value); /* NULL: any */
    const char *wanted;                                                  /* NULL: said by the setting's values */
} kinds[] = {
    [KILN_SETTING_TEXT] = {NULL, "text"},
    [KILN_SETTING_WORD] = {is_word, NULL},
    [KILN_SETTING_WORDS] = {are_words, NULL},
    [KILN_SETTING_NUMBER] = {is_number, NULL},
    [KILN_SETTING_SIZE] = {is_size, "a size such as 500M or 5G"},
    [KILN_SETTING_MASK] = {is_mask, "a mask such as 022, 027 or 077: nobody else may write what is stored"},
    [KILN_SETTING_PATH] = {NULL, "a path"},
    [KILN_SETTING_PATHS] = {NULL, "a list of paths"},
    [KILN_SETTING_OUTPUT] = {NULL, "0, 1 or a path"},
    [KILN_SETTING_URL] = {is_url, "a URL such as https://host:port"},
    [KILN_SETTING_URLS] = {NULL, "a list of URLs"},
};

bool kiln__setting_fits(const struct kiln_setting *setting, const char *value)
{
    return !*value || !kinds[setting->kind].fits || kinds[setting->kind].fits(setting, value);
}

void kiln__setting_describe(const struct kiln_setting *setting, char *out, size_t size)
{
    if (setting->kind == KILN_SETTING_NUMBER)
        snprintf(out, size, "a number from %llu to %llu", (unsigned long long)setting->least,
                 (unsigned long long)setting->most);
    else if (setting->values)
        snprintf(out, size, "%s%s", strchr(setting->values, ',') ? "one of " : "", setting->values);
    else
        snprintf(out, size, "%s", kinds[setting->kind].wanted);
}
