/*
 * test_remote_http.c - http and https against nginx. tests/remote/run.sh starts the servers.
 */
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include "remote/remote_support.h"

/* Entries are files below the prefix, in folders of two digits. */
static void test_layout(void **state)
{
    (void)state;
    char name[NAME_SIZE], path[512];
    struct stat info;
    struct remote remote = open_remote(server_setting("REMOTE_HTTP"));
    put_entry(&remote, 77, 1234);
    entry_name(name, 77);
    snprintf(path, sizeof path, "%s/kiln/%.2s/%s", server_setting("REMOTE_HTTP_ROOT"), name, name);
    CHECK_EQ(stat(path, &info), 0);
    CHECK_EQ(info.st_size, 1234);
    close_remote(&remote);
}

/* Prefixes as people write them. */
static void test_prefixes(void **state)
{
    (void)state;
    static const char *const endings[] = {"", "/", "//", "/deeper/still/", "/with%20blank/and-%C3%BC"};
    for (size_t i = 0; i < sizeof endings / sizeof *endings; i++) {
        char url[512];
        CHECK_CONTEXT("%s", endings[i]);
        snprintf(url, sizeof url, "%s%s", server_setting("REMOTE_HTTP"), endings[i]);
        struct remote remote = open_remote(url);
        put_entry(&remote, 78, 50);
        expect_entry(&remote, 78, 50);
        close_remote(&remote);
    }
}

/* nginx asks for a name and a password: from the URL, from a file, wrong ones and none. */
static void test_password(void **state)
{
    (void)state;
    char url[512], with[600];
    snprintf(url, sizeof url, "%s", server_setting("REMOTE_GUARDED"));
    const char *rest = url + strlen("http://");
    struct remote remote = open_remote(url);
    expect_get(&remote, PATIENCE_MS, KILN_IO, "the server answers 401: it asks for a name and a password");
    expect_put(&remote, PATIENCE_MS, KILN_IO, "401");
    expect_exists(&remote, PATIENCE_MS, KILN_IO, "401");
    close_remote(&remote);
    snprintf(with, sizeof with, "http://kiln:wrong-%s@%s", SECRET, rest);
    remote = open_remote(with);
    expect_get(&remote, PATIENCE_MS, KILN_IO, "401");
    close_remote(&remote);
    snprintf(with, sizeof with, "http://kiln:%s@%s", SECRET, rest);
    remote = open_remote(with);
    put_entry(&remote, 5, 500);
    expect_entry(&remote, 5, 500);
    close_remote(&remote);
    setenv("NETRC", server_setting("REMOTE_NETRC"), 1);
    remote = open_remote(url);
    unsetenv("NETRC");
    expect_entry(&remote, 5, 500);
    close_remote(&remote);
    setenv("NETRC", "/no/such/file", 1);
    expect_no_remote(url, KILN_INVALID, "NETRC names /no/such/file, which can't be read");
    unsetenv("NETRC");
}

/* Folders that can't be made, and methods that are not allowed. */
static void test_refusals(void **state)
{
    (void)state;
    struct remote remote = open_remote(server_setting("REMOTE_READ_ONLY"));
    expect_get(&remote, PATIENCE_MS, KILN_REMOTE_ABSENT, "");
    expect_put(&remote, PATIENCE_MS, KILN_IO,
               "the server answers 405: it does not allow this method: nginx needs dav_methods PUT");
    close_remote(&remote);
    remote = open_remote(server_setting("REMOTE_NO_FOLDERS"));
    expect_put(&remote, PATIENCE_MS, KILN_IO, "nginx needs create_full_put_path on");
    close_remote(&remote);
    remote = open_remote(server_setting("REMOTE_FORBIDDEN"));
    expect_get(&remote, PATIENCE_MS, KILN_IO, "the server answers 403: it forbids this");
    expect_exists(&remote, PATIENCE_MS, KILN_IO, "403");
    close_remote(&remote);
}

static void test_certificates(void **state)
{
    (void)state;
    struct remote remote = open_remote(server_setting("REMOTE_EXPIRED"));
    expect_get(&remote, PATIENCE_MS, KILN_IO, "certificate has expired");
    expect_put(&remote, PATIENCE_MS, KILN_IO, "certificate has expired");
    close_remote(&remote);
    char *authority = strdup(server_setting("KILN_REMOTE_CA"));
    unsetenv("KILN_REMOTE_CA");
    remote = open_remote(server_setting("REMOTE_TLS")); /* not signed by anybody whom this machine knows */
    expect_get(&remote, PATIENCE_MS, KILN_IO, "an authority of your own is named by KILN_REMOTE_CA");
    close_remote(&remote);
    setenv("KILN_REMOTE_CA", "/no/such/file", 1);
    expect_no_remote(server_setting("REMOTE_TLS"), KILN_INVALID,
                     "KILN_REMOTE_CA names /no/such/file, which can't be read");
    remote = open_remote(server_setting("REMOTE_HTTP")); /* which has no certificate */
    close_remote(&remote);
    setenv("KILN_REMOTE_CA", "/etc/passwd", 1);
    remote = open_remote(server_setting("REMOTE_TLS"));
    expect_get(&remote, PATIENCE_MS, KILN_IO, "KILN_REMOTE_CA");
    close_remote(&remote);
    setenv("KILN_REMOTE_CA", authority, 1);
    free(authority);
}

/* https to a server without TLS, and the other way round. */
static void test_wrong_scheme(void **state)
{
    (void)state;
    char url[512];
    snprintf(url, sizeof url, "https://%s", server_setting("REMOTE_HTTP") + strlen("http://"));
    struct remote remote = open_remote(url);
    expect_get(&remote, PATIENCE_MS, KILN_IO, "is it a server for https?");
    close_remote(&remote);
    snprintf(url, sizeof url, "http://%s", server_setting("REMOTE_TLS") + strlen("https://"));
    remote = open_remote(url);
    expect_get(&remote, PATIENCE_MS, KILN_IO, "the server answers 400");
    close_remote(&remote);
}

/* The last test: after it the server is gone. */
static void test_killed(void **state)
{
    (void)state;
    struct remote remote = open_remote(server_setting("REMOTE_HTTP"));
    put_entry(&remote, 1, 100);
    expect_entry(&remote, 1, 100);
    kill(atoi(server_setting("REMOTE_HTTP_PID")), SIGTERM);
    kiln_error err = {0};
    char name[NAME_SIZE];
    kiln_remote_entry entry = {.name = entry_name(name, 1)};
    while (!remote.driver->get(remote.handle, &entry, 1, PATIENCE_MS, &err)) free(entry.data); /* as long as it lives */
    expect_text(&err, "");
    expect_get(&remote, PATIENCE_MS, KILN_IO, "");
    expect_put(&remote, PATIENCE_MS, KILN_IO, "");
    close_remote(&remote);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        REMOTE_CASES("REMOTE_HTTP"),         REMOTE_CASES("REMOTE_TLS"),          cmocka_unit_test(test_layout),
        cmocka_unit_test(test_prefixes),     cmocka_unit_test(test_password),     cmocka_unit_test(test_refusals),
        cmocka_unit_test(test_certificates), cmocka_unit_test(test_wrong_scheme), cmocka_unit_test(test_killed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
