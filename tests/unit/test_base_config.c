/*
 * test_base_config.c - settings: where a value comes from, what is wrong in a file, what is shown of a URL.
 */
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/config.h"
#include "base/settings/config_file.h"
#include "base/url.h"
#include "kiln.h"
#include "support/check.h"

static char folder[] = "/tmp/kiln-config-XXXXXX";
static char user_file[64], system_file[64];

/* ---- what is logged ------------------------------------------------------------------------------------------- */

static char logged[8192];

static void keep_line(void *context, kiln_log_kind kind, const char *text)
{
    size_t used = strlen(logged);
    (void)kind, (void)context;
    snprintf(logged + used, sizeof logged - used, "%s\n", text);
}

static void write_file(const char *path, const void *data, size_t size, mode_t mode)
{
    unlink(path);
    int fd = open(path, O_CREAT | O_WRONLY | O_TRUNC, 0600);
    CHECK_TRUE(fd >= 0);
    CHECK_EQ(write(fd, data, size), size);
    CHECK_EQ(fchmod(fd, mode), 0);
    close(fd);
}

/* Reads settings from these texts; NULL: no such file. */
static void configure(const char *user, const char *system)
{
    if (user) write_file(user_file, user, strlen(user), 0600);
    if (system) write_file(system_file, system, strlen(system), 0644);
    logged[0] = '\0';
    kiln__config_reload(user ? user_file : NULL, system ? system_file : NULL);
}

static int set_up(void **state)
{
    (void)state;
    if (!mkdtemp(folder)) return -1;
    snprintf(user_file, sizeof user_file, "%s/user", folder);
    snprintf(system_file, sizeof system_file, "%s/system", folder);
    kiln_set_log(KILN_LOG_FAULT, keep_line, NULL, NULL);
    for (const struct kiln_setting *setting = kiln__settings; setting->name; setting++) unsetenv(setting->name);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    kiln__config_reload(NULL, NULL);
    unlink(user_file);
    unlink(system_file);
    return rmdir(folder);
}

/* ---- order ---------------------------------------------------------------------------------------------------- */

static void the_environment_goes_before_files(void **state)
{
    (void)state;
    configure("mode = off\nremote = http://user/\n", "mode = no-compile\ncache_size = 1G\nopt_level = 3\n");
    CHECK_STR(kiln__config("KILN_MODE"), "off");
    CHECK_STR(kiln__config("KILN_CACHE_SIZE"), "1G");
    CHECK_STR(kiln__config("KILN_REMOTE"), "http://user/");
    CHECK_EQ(kiln__config_number("KILN_OPT_LEVEL"), 3);
    setenv("KILN_MODE", "compile-only", 1);
    CHECK_STR(kiln__config("KILN_MODE"), "compile-only");
    CHECK_STR(kiln__config_where("KILN_MODE"), "");
    setenv("KILN_MODE", "", 1);
    CHECK_STR(kiln__config("KILN_MODE"), ""); /* the default again, whatever the files say */
    unsetenv("KILN_MODE");
    char where[128];
    snprintf(where, sizeof where, " (%s:1)", user_file);
    CHECK_STR(kiln__config_where("KILN_MODE"), where);
    snprintf(where, sizeof where, " (%s:2)", system_file);
    CHECK_STR(kiln__config_where("KILN_CACHE_SIZE"), where);
    CHECK_STR(kiln__config_where("KILN_DRIFT"), "");
    CHECK_NULL(kiln__config("KILN_DRIFT"));
    CHECK_STR(logged, "");
}

static void numbers_have_defaults(void **state)
{
    (void)state;
    configure(NULL, NULL);
    CHECK_EQ(kiln__config_number("KILN_REMOTE_TIMEOUT"), 500);
    CHECK_EQ(kiln__config_number("KILN_REMOTE_TTL"), 30 * 24 * 3600);
    CHECK_EQ(kiln__config_number("KILN_OPT_LEVEL"), 2);
    setenv("KILN_REMOTE_TIMEOUT", "20", 1);
    CHECK_EQ(kiln__config_number("KILN_REMOTE_TIMEOUT"), 20);
    setenv("KILN_REMOTE_TIMEOUT", "", 1);
    CHECK_EQ(kiln__config_number("KILN_REMOTE_TIMEOUT"), 500);
    unsetenv("KILN_REMOTE_TIMEOUT");
}

static void a_name_that_is_no_setting(void **state)
{
    (void)state;
    configure("", NULL);
    setenv("KILN_OF_A_SITE", "1", 1);
    CHECK_STR(kiln__config("KILN_OF_A_SITE"), "1");
    CHECK_NULL(kiln__config("KILN_OF_NOBODY"));
    unsetenv("KILN_OF_A_SITE");
}

/* ---- lines ---------------------------------------------------------------------------------------------------- */

static void lines_of_a_file(void **state)
{
    static const struct {
        const char *text, *name, *value;
    } rows[] = {
        {"mode=off", "KILN_MODE", "off"},
        {"kiln_mode = off", "KILN_MODE", "off"},
        {" \t mode \t=\t off \t\r\n", "KILN_MODE", "off"},
        {"# mode = off\n", "KILN_MODE", NULL},
        {"mode = off # for now\n", "KILN_MODE", "off"},
        {"device = cpu:native#1", "KILN_DEVICE", "cpu:native#1"},
        {"remote = http://a/?b=c http://d/\n", "KILN_REMOTE", "http://a/?b=c http://d/"},
        {"\xef\xbb\xbfmode = off", "KILN_MODE", "off"},
        {"mode =", "KILN_MODE", ""},
        {"cache_dir =\n", "KILN_CACHE_DIR", ""},
        {"\n\n\nmode = off\n\n", "KILN_MODE", "off"},
        {"cache_dir = ~/kiln", "KILN_CACHE_DIR", "/home/me/kiln"},
        {"cache_path = /a:~/b::/c~/d", "KILN_CACHE_PATH", "/a:/home/me/b::/c~/d"},
        {"stats = 1", "KILN_STATS", "1"},
        {"stats = ~/stats", "KILN_STATS", "/home/me/stats"},
        {"log = miss,fault", "KILN_LOG", "miss,fault"},
    };
    (void)state;
    setenv("HOME", "/home/me", 1);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        CHECK_CONTEXT("%s", rows[i].text);
        configure(rows[i].text, NULL);
        const char *value = kiln__config(rows[i].name);
        if (rows[i].value)
            CHECK_STR(value, rows[i].value);
        else
            CHECK_NULL(value);
        CHECK_STR(logged, "");
    }
}

static void wrong_lines_are_told_and_passed_by(void **state)
{
    static const struct {
        const char *line, *told;
    } rows[] = {
        {"remot = http://a/", "there is no setting remot; did you mean remote?"},
        {"kiln_cachedir = /a", "there is no setting kiln_cachedir; did you mean cache_dir?"},
        {"KILN_MODE = off", "there is no setting KILN_MODE; did you mean mode?"},
        {"colour = red", "there is no setting colour; `kiln config` lists them"},
        {"mode off", "a line is `name = value`; not used"},
        {"= off", "a line is `name = value`; not used"},
        {"remote http://me:secret@a/?b=c", "a line is `name = value`; not used"},
        {"opt_level = 9", "opt_level = 9 is not one of 0, 1, 2, 3; not used"},
        {"drift = warn", "drift = warn is not error; not used"},
        {"cache_size = abc", "cache_size = abc is not a size such as 500M or 5G; not used"},
        {"cache_size = 0", "cache_size = 0 is not a size such as 500M or 5G; not used"},
        {"remote_timeout = -1", "remote_timeout = -1 is not a number from 1 to 600000; not used"},
        {"cache_umask = 9",
         "cache_umask = 9 is not a mask such as 022, 027 or 077: nobody else may write what is stored; not used"},
        {"cache_umask = 002",
         "cache_umask = 002 is not a mask such as 022, 027 or 077: nobody else may write what is stored; not used"},
        {"cache_umask = 0722",
         "cache_umask = 0722 is not a mask such as 022, 027 or 077: nobody else may write what is stored; not used"},
        {"log = mis", "log = mis is not one of miss, fault, all; not used"},
        {"s3_endpoint = //me:secret@a", "s3_endpoint = ***@a is not a URL such as https://host:port; not used"},
        {"plugin = lib/a.so", "plugin = lib/a.so: a path in a file begins with / or ~/; not used"},
        {"cache_path = /a:b", "cache_path = /a:b: a path in a file begins with / or ~/; not used"},
        {"cache_dir = \"/a\"", "the value of cache_dir is in quotes; write it without them"},
        {"device = \x1b[31mcpu", "a control character; not used"},
        {"fast_math = 1", "fast_math is set in line 1 already; this line is not used"},
    };
    static const char blank[] = "\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n";
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char text[256], told[512];
        CHECK_CONTEXT("%s", rows[i].line);
        snprintf(text, sizeof text, "fast_math = 0\n%.*s%s\nmode = off\n", (int)i, blank, rows[i].line);
        snprintf(told, sizeof told, "%s:%zu: %s\n", user_file, 2 + i, rows[i].told); /* one text is told once */
        configure(text, NULL);
        CHECK_STR(kiln__config("KILN_MODE"), "off");
        CHECK_STR(kiln__config("KILN_FAST_MATH"), "0");
        CHECK_NULL(kiln__config("KILN_REMOTE"));
        CHECK_STR(logged, told);
        CHECK_NULL(strstr(logged, "secret"));
    }
}

static void each_problem_is_told_once(void **state)
{
    (void)state;
    configure("colors = 1\n", NULL);
    for (int i = 0; i < 3; i++) kiln__config("KILN_MODE");
    const char *first = strstr(logged, "colors");
    CHECK_NOT_NULL(first);
    CHECK_NULL(strstr(first + 1, "colors"));
}

static void a_wrong_variable_leaves_it_to_the_file(void **state)
{
    (void)state;
    configure("mode = off\n", NULL);
    setenv("KILN_MODE", "fast", 1);
    CHECK_STR(kiln__config("KILN_MODE"), "off");
    CHECK_STR(logged, "KILN_MODE=fast is not one of normal, off, no-compile, compile-only; not used\n");
    setenv("KILN_S3_ENDPOINT", "me:secret@host", 1);
    CHECK_NULL(kiln__config("KILN_S3_ENDPOINT"));
    CHECK_NULL(strstr(logged, "secret"));
    CHECK_CONTAINS(logged, "KILN_S3_ENDPOINT=***@host is not a URL");
    unsetenv("KILN_MODE");
    unsetenv("KILN_S3_ENDPOINT");
}

/* ---- files that are not used ---------------------------------------------------------------------------------- */

static void expect_refused(const char *why)
{
    logged[0] = '\0';
    kiln__config_reload(user_file, system_file);
    CHECK_STR(kiln__config("KILN_MODE"), "off");
    if (!why)
        CHECK_STR(logged, "");
    else
        CHECK_CONTAINS(kiln__config_problem(0), why);
    unlink(user_file);
}
#define expect_refused(...) CHECK_CALL(expect_refused, __VA_ARGS__)

static void files_that_are_not_used(void **state)
{
    static const char text[] = "mode = no-compile\n";
    (void)state;
    write_file(system_file, "mode = off\n", 11, 0644);
    write_file(user_file, text, sizeof text - 1, 0620);
    expect_refused("user: not used: others can write it; chmod go-w ");
    write_file(user_file, text, sizeof text - 1, 0602);
    expect_refused("user: not used: others can write it; chmod go-w ");
    if (geteuid() == 0) {
        write_file(user_file, text, sizeof text - 1, 0644);
        CHECK_EQ(chown(user_file, 12345, 12345), 0);
        expect_refused("user: not used: it is user 12345's; it must be ours or root's");
    } else {
        write_file(user_file, text, sizeof text - 1, 0200);
        expect_refused("user: not used: can't open ");
    }
    CHECK_EQ(mkfifo(user_file, 0600), 0);
    expect_refused("user is not a regular file");
    CHECK_EQ(mkdir(user_file, 0700), 0);
    kiln__config_reload(user_file, system_file);
    CHECK_EQ(rmdir(user_file), 0);
    CHECK_CONTAINS(kiln__config_problem(0), "user is not a regular file");
    CHECK_EQ(symlink("/nowhere", user_file), 0);
    expect_refused(NULL);
    CHECK_EQ(symlink(user_file, user_file), 0);
    expect_refused("user: not used: can't open ");
}

static void hostile_bytes(void **state)
{
    enum { LARGE = 1 << 20 };
    char *bytes = malloc(LARGE + 1);
    (void)state;
    CHECK_NOT_NULL(bytes);
    write_file(system_file, "mode = off\n", 11, 0644);
    memset(bytes, 'x', LARGE + 1);
    write_file(user_file, bytes, LARGE + 1, 0600);
    expect_refused("user: not used: it is larger than 1048576 bytes");
    write_file(user_file, bytes, LARGE, 0600);
    expect_refused("user:1: a line is `name = value`; not used");
    for (int i = 0; i < LARGE; i++) bytes[i] = "a=\n"[i % 3];
    write_file(user_file, bytes, LARGE, 0600);
    expect_refused("user:1: there is no setting a; `kiln config` lists them");
    memset(bytes, 0, LARGE);
    write_file(user_file, bytes, LARGE, 0600);
    expect_refused("user:1: a line is `name = value`; not used");
    memset(bytes, '\n', LARGE);
    write_file(user_file, bytes, LARGE, 0600);
    expect_refused(NULL);
    memcpy(bytes, "mode = off\0 x=", 15);
    write_file(user_file, bytes, 15, 0600);
    expect_refused("user:1: a control character; not used");
    free(bytes);
}

static void many_problems_are_counted(void **state)
{
    char text[2048] = "";
    (void)state;
    for (int i = 0; i < 40; i++) snprintf(text + strlen(text), sizeof text - strlen(text), "nothing%d = 1\n", i);
    configure(text, NULL);
    kiln__config("KILN_MODE");
    size_t count = 0;
    while (kiln__config_problem(count)) count++;
    CHECK_EQ(count, KILN_CONFIG_PROBLEMS);
    CHECK_CONTAINS(kiln__config_problem(count - 1), ": 25 more lines are wrong");
}

/* ---- the table ------------------------------------------------------------------------------------------------ */

static void the_table_is_in_order(void **state)
{
    (void)state;
    for (const struct kiln_setting *setting = kiln__settings; setting->name; setting++) {
        CHECK_CONTEXT("%s", setting->name);
        if (setting != kiln__settings) CHECK_LT(strcmp(setting[-1].name, setting->name), 0);
        CHECK_NOT_NULL(setting->help);
        CHECK_NOT_NULL(setting->fallback);
        CHECK_LT(strlen(setting->name), 64);
        CHECK_EQ(setting->kind == KILN_SETTING_WORD || setting->kind == KILN_SETTING_WORDS, setting->values != NULL);
        char name[64];
        kiln__setting_file_name(setting, name);
        CHECK_TRUE(kiln__setting_find_in_file(name, strlen(name)) == setting);
        CHECK_TRUE(kiln__setting_find(setting->name) == setting);
    }
}

static void sizes(void **state)
{
    static const struct {
        const char *text;
        uint64_t size; /* 0: none */
    } rows[] = {{"1", 1},
                {"500M", 500ull << 20},
                {"5g", 5ull << 30},
                {"2T", 2ull << 40},
                {"16777215T", 16777215ull << 40},
                {"", 0},
                {"M", 0},
                {"1MB", 0},
                {"1 M", 0},
                {"-1", 0},
                {"+1", 0},
                {"1.5G", 0},
                {"0x10", 0},
                {"16777216T", 0},
                {"18446744073709551616", 0},
                {"1X", 0},
                {"18446744073709551615", UINT64_MAX}};
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        uint64_t size = 0;
        CHECK_CONTEXT("%s", rows[i].text);
        CHECK_EQ(kiln__parse_size(rows[i].text, &size), rows[i].size != 0);
        CHECK_EQ(size, rows[i].size);
    }
}

/* ---- URLs ----------------------------------------------------------------------------------------------------- */

static void urls_are_shown_without_secrets(void **state)
{
    static const struct {
        const char *url, *shown;
    } rows[] = {
        {"http://host/a/b", "http://host/a/b"},
        {"redis://:secret@host:6379/0", "redis://***@host:6379/0"},
        {"https://token@host/", "https://***@host/"},
        {"https://me:se@cret@host/", "https://***@host/"},
        {"https://me:se/cret@host/", "https://***@host/"},
        {"https://me:se?cret@host/", "https://***@host/"},
        {"me:secret@host", "***@host"},
        {"https://host/a?X-Amz-Signature=secret", "https://host/a?***"},
        {"https://host/a#secret", "https://host/a#***"},
        {"https://host/a?", "https://host/a?"},
        {"http://a:b@c http://d  redis://:e@f", "http://***@c http://d  redis://***@f"},
        {"", ""},
        {"@", "***@"},
        {"://", "://"},
    };
    char shown[128];
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        CHECK_CONTEXT("%s", rows[i].url);
        kiln__url_without_secrets(rows[i].url, shown, sizeof shown);
        CHECK_STR(shown, rows[i].shown);
    }
    kiln__url_without_secrets("http://me:secret@host/", shown, 12);
    CHECK_STR(shown, "http://***@");
    kiln__url_without_secrets("x", shown, 1);
    CHECK_STR(shown, "");
}

static void what_is_a_url(void **state)
{
    static const char *const right[] = {"http://a", "s3://bucket/prefix", "git+ssh://a", "redis://:x@h:1/0"};
    static const char *const wrong[] = {"",         "http",       "http:/a",    "http://", "://a",
                                        "HTTP://a", "http://a b", "http://a\n", "/a"};
    (void)state;
    for (size_t i = 0; i < sizeof right / sizeof *right; i++) CHECK_TRUE(kiln__is_url(right[i], strlen(right[i])));
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) CHECK_FALSE(kiln__is_url(wrong[i], strlen(wrong[i])));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_environment_goes_before_files),
        cmocka_unit_test(numbers_have_defaults),
        cmocka_unit_test(a_name_that_is_no_setting),
        cmocka_unit_test(lines_of_a_file),
        cmocka_unit_test(wrong_lines_are_told_and_passed_by),
        cmocka_unit_test(each_problem_is_told_once),
        cmocka_unit_test(a_wrong_variable_leaves_it_to_the_file),
        cmocka_unit_test(files_that_are_not_used),
        cmocka_unit_test(hostile_bytes),
        cmocka_unit_test(many_problems_are_counted),
        cmocka_unit_test(the_table_is_in_order),
        cmocka_unit_test(sizes),
        cmocka_unit_test(urls_are_shown_without_secrets),
        cmocka_unit_test(what_is_a_url),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
