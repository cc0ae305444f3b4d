/*
 * test_base_trust.c - whom we believe: owners with every combination of facts, relative paths, lines for a file that
 * may be a fifo.
 */
#include "cache_support.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>

#include "base/file.h"
#include "base/trust.h"

static void test_owners(void **state)
{
    enum { ME = 1000, OTHER = 1001, OVERFLOW = 65534 };
    static const struct {
        const char *what;
        uid_t user, overflow, owner;
        bool every_user_has, root_is_fine, trusted;
    } rows[] = {
        {"our own", ME, OVERFLOW, ME, true, false, true},
        {"another's", ME, OVERFLOW, OTHER, true, false, false},
        {"root's", ME, OVERFLOW, 0, true, false, false},
        {"root's, read-only", ME, OVERFLOW, 0, true, true, true},
        {"another's, read-only", ME, OVERFLOW, OTHER, true, true, false},
        {"ours, in a namespace", ME, OVERFLOW, ME, false, false, true},
        {"root's in a namespace, read-only", ME, OVERFLOW, 0, false, true, true},
        {"nobody's, and we have an id", ME, OVERFLOW, OVERFLOW, false, true, false},
        {"nobody's, and we have none either", OVERFLOW, OVERFLOW, OVERFLOW, false, false, false},
        {"nobody's, read-only", OVERFLOW, OVERFLOW, OVERFLOW, false, true, false},
        {"of the user nobody, where all are mapped", OVERFLOW, OVERFLOW, OVERFLOW, true, false, true},
        {"of nobody, for others", ME, OVERFLOW, OVERFLOW, true, false, false},
        {"root's, where root is the overflow user", 0, 0, 0, false, true, false},
        {"ours, where we are the overflow user", ME, ME, ME, false, false, false},
        {"of user 65534, where another is the overflow user", OVERFLOW, 99, OVERFLOW, false, false, true},
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const struct kiln_identity identity = {rows[i].user, rows[i].overflow, rows[i].every_user_has};
        if (kiln__identity_trusts(&identity, rows[i].owner, rows[i].root_is_fine) != rows[i].trusted)
            CHECK_FAIL("a file that is %s is%s trusted", rows[i].what, rows[i].trusted ? " not" : "");
    }
}

static void test_modes(void **state)
{
    (void)state;
    struct stat info = {.st_uid = geteuid(), .st_mode = S_IFREG | 0644};
    CHECK_TRUE(kiln__file_is_trusted(&info, false));
    info.st_mode = S_IFREG | 0664;
    CHECK_FALSE(kiln__file_is_trusted(&info, false));
    info.st_mode = S_IFREG | 0646;
    CHECK_FALSE(kiln__file_is_trusted(&info, false));
    info.st_mode = S_IFREG | 0644;
    info.st_uid = geteuid() + 1;
    CHECK_FALSE(kiln__file_is_trusted(&info, true));
}

static void expect_path(const char *path, const char *folder, const char *wanted)
{
    char *made = kiln__path_absolute(path, folder);
    if (wanted)
        CHECK_STR(made, wanted);
    else
        CHECK_NULL(made);
    free(made);
}
#define expect_path(...) CHECK_CALL(expect_path, __VA_ARGS__)

static void test_paths(void **state)
{
    char folder[] = "/tmp/kiln-trust-XXXXXX", was[4096];
    (void)state;
    expect_path("/a/b", "/c", "/a/b");
    expect_path("a/b", "/c", "/c/a/b");
    expect_path("a", "/", "/a");
    expect_path("a", "", NULL);
    CHECK_NOT_NULL(getcwd(was, sizeof was));
    CHECK_STR(kiln__folder_at_load(), was);
    CHECK_NOT_NULL(mkdtemp(folder));
    CHECK_EQ(chdir(folder), 0);
    char *made = kiln__path_absolute("x", NULL);
    CHECK_NOT_NULL(made);
    CHECK_EQ(strncmp(made, folder, strlen(folder)), 0);
    free(made);
    CHECK_STR(kiln__folder_at_load(), was);
    CHECK_EQ(rmdir(folder), 0);
    expect_path("x", NULL, NULL); /* the current folder is gone */
    CHECK_EQ(chdir(was), 0);
}

static void test_append(void **state)
{
    char folder[] = "/tmp/kiln-trust-XXXXXX", path[64], bytes[8192] = {0};
    kiln_error error;
    (void)state;
    CHECK_NOT_NULL(mkdtemp(folder));
    snprintf(path, sizeof path, "%s/lines", folder);
    CHECK_OK(kiln__file_append(path, "one\n", 4, &error), &error);
    CHECK_OK(kiln__file_append(path, "two\n", 4, &error), &error);
    int fd = open(path, O_RDONLY);
    CHECK_EQ(read(fd, bytes, sizeof bytes), 8);
    close(fd);
    unlink(path);
    CHECK_EQ(mkfifo(path, 0600), 0);
    CHECK_STATUS(kiln__file_append(path, "lost\n", 5, &error), KILN_IO, &error); /* nobody reads */
    CHECK_CONTAINS(error.text, path);
    int reader = open(path, O_RDONLY | O_NONBLOCK);
    CHECK_OK(kiln__file_append(path, "read\n", 5, &error), &error);
    CHECK_EQ(read(reader, bytes, sizeof bytes), 5);
    int filled = 0;
    while (kiln__file_append(path, bytes, 4096, &error) == KILN_OK && filled < 1000) filled++;
    CHECK_BETWEEN(filled, 1, 999); /* full: lost */
    close(reader);
    unlink(path);
    CHECK_STATUS(kiln__file_append(folder, "x", 1, &error), KILN_IO, &error);
    CHECK_OK(kiln__file_append("/dev/null", "x", 1, &error), &error);
    CHECK_STATUS(kiln__file_append("/dev/full", "x", 1, &error), KILN_IO, &error);
    rmdir(folder);
}

/* Beyond the limit of a file's size a write raises SIGXFSZ, which would end the program. */
static void test_append_raises_nothing(void **state)
{
    char folder[] = "/tmp/kiln-trust-XXXXXX", path[64];
    sigset_t pending, mask;
    struct rlimit limit, low;
    (void)state;
    CHECK_NOT_NULL(mkdtemp(folder));
    snprintf(path, sizeof path, "%s/lines", folder);
    CHECK_EQ(getrlimit(RLIMIT_FSIZE, &limit), 0);
    low = (struct rlimit){4, limit.rlim_max};
    CHECK_EQ(setrlimit(RLIMIT_FSIZE, &low), 0);
    kiln_status first = kiln__file_append(path, "one\n", 4, NULL), second = kiln__file_append(path, "two\n", 4, NULL);
    setrlimit(RLIMIT_FSIZE, &limit);
    CHECK_EQ(first, KILN_OK);
    CHECK_EQ(second, KILN_IO);
    pthread_sigmask(SIG_SETMASK, NULL, &mask);
    CHECK_FALSE(sigismember(&mask, SIGXFSZ) || sigismember(&mask, SIGPIPE));
    sigpending(&pending);
    CHECK_FALSE(sigismember(&pending, SIGXFSZ));
    unlink(path);
    rmdir(folder);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_owners),
        cmocka_unit_test(test_modes),
        cmocka_unit_test(test_paths),
        cmocka_unit_test(test_append),
        cmocka_unit_test(test_append_raises_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
