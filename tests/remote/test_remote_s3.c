/*
 * test_remote_s3.c - s3 against versitygw. tests/remote/run.sh starts it.
 */
#include <sys/stat.h>
#include <unistd.h>

#include "remote/remote_support.h"

static void test_layout(void **state)
{
    (void)state;
    char name[NAME_SIZE], path[512];
    struct stat info;
    struct remote remote = open_remote("s3://kiln/some/prefix/");
    put_entry(&remote, 77, 1234);
    expect_entry(&remote, 77, 1234);
    entry_name(name, 77);
    snprintf(path, sizeof path, "%s/kiln/some/prefix/%.2s/%s", server_setting("REMOTE_S3_ROOT"), name, name);
    CHECK_EQ(stat(path, &info), 0);
    CHECK_EQ(info.st_size, 1234);
    close_remote(&remote);
    remote = open_remote("s3://kiln/a%20blank/and-%C3%BC+~"); /* what a signature must write as S3 does */
    put_entry(&remote, 78, 12);
    expect_entry(&remote, 78, 12);
    expect_get(&remote, PATIENCE_MS, KILN_REMOTE_ABSENT, "");
    close_remote(&remote);
}

static void test_no_bucket(void **state)
{
    (void)state;
    struct remote remote = open_remote("s3://no-such-bucket/cache");
    expect_get(&remote, PATIENCE_MS, KILN_IO, "the server answers 404 NoSuchBucket: is the bucket right");
    expect_put(&remote, PATIENCE_MS, KILN_IO, "NoSuchBucket");
    close_remote(&remote);
}

static void write_file(const char *path, const char *text)
{
    FILE *file = fopen(path, "w");
    CHECK_NOT_NULL(file);
    fputs(text, file);
    fclose(file);
}

/* The variables, else the file; the profile; and what is told when there is nothing, or the wrong thing. */
static void test_credentials(void **state)
{
    (void)state;
    const char *url = server_setting("REMOTE_S3");
    char *key = strdup(server_setting("AWS_ACCESS_KEY_ID")), *secret = strdup(server_setting("AWS_SECRET_ACCESS_KEY"));
    char folder[] = "/tmp/kiln-aws-XXXXXX", path[64], text[1024];
    CHECK_NOT_NULL(mkdtemp(folder));
    snprintf(path, sizeof path, "%s/credentials", folder);
    setenv("AWS_SHARED_CREDENTIALS_FILE", path, 1);
    setenv("AWS_CONFIG_FILE", "/no/such/file", 1);

    setenv("AWS_SECRET_ACCESS_KEY", "wrong-" SECRET, 1);
    struct remote remote = open_remote(url);
    expect_get(&remote, PATIENCE_MS, KILN_IO,
               "the server answers 403 SignatureDoesNotMatch: the credentials are not accepted");
    expect_put(&remote, PATIENCE_MS, KILN_IO, "SignatureDoesNotMatch");
    expect_exists(&remote, PATIENCE_MS, KILN_IO, "the server answers 403");
    close_remote(&remote);
    setenv("AWS_ACCESS_KEY_ID", "nobody", 1);
    remote = open_remote(url);
    expect_get(&remote, PATIENCE_MS, KILN_IO,
               "are the credentials?"); /* this server answers 404 with a code of its own */
    close_remote(&remote);

    unsetenv("AWS_ACCESS_KEY_ID");
    expect_no_remote(url, KILN_INVALID, "no credentials for S3: set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY");
    snprintf(
        text, sizeof text,
        "# comment\n[default]\naws_access_key_id = nobody\naws_secret_access_key = " SECRET "\n\n"
        "[ other ]\n; comment\n aws_access_key_id=%s\r\naws_secret_access_key = %s\t\n[last]\naws_access_key_id=x\n",
        key, secret);
    write_file(path, text);
    remote = open_remote(url);
    expect_get(&remote, PATIENCE_MS, KILN_IO, "are the credentials?");
    close_remote(&remote);
    setenv("AWS_PROFILE", "other", 1);
    remote = open_remote(url);
    put_entry(&remote, 3, 30);
    expect_entry(&remote, 3, 30);
    close_remote(&remote);
    setenv("AWS_PROFILE", "last", 1);
    expect_no_remote(url, KILN_INVALID, "below [last] in");
    setenv("AWS_SHARED_CREDENTIALS_FILE", folder, 1);
    expect_no_remote(url, KILN_INVALID, "can't be read");
    expect_no_remote("s3://nobody:" SECRET "@kiln/", KILN_INVALID, "credentials of S3 do not stand in the URL");

    unsetenv("AWS_PROFILE");
    unsetenv("AWS_SHARED_CREDENTIALS_FILE");
    setenv("AWS_ACCESS_KEY_ID", key, 1);
    setenv("AWS_SECRET_ACCESS_KEY", secret, 1);
    unlink(path);
    rmdir(folder);
    free(key);
    free(secret);
}

/* AWS_REGION, and endpoints in three variables. */
static void test_endpoints(void **state)
{
    (void)state;
    const char *url = server_setting("REMOTE_S3");
    char *endpoint = strdup(server_setting("KILN_S3_ENDPOINT"));
    static const char *const variables[] = {"AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL", "KILN_S3_ENDPOINT"};
    unsetenv("KILN_S3_ENDPOINT");
    for (size_t i = 0; i < sizeof variables / sizeof *variables; i++) {
        CHECK_CONTEXT("%s", variables[i]);
        setenv(variables[i], endpoint, 1);
        struct remote remote = open_remote(url);
        put_entry(&remote, 4, 40);
        expect_entry(&remote, 4, 40);
        close_remote(&remote);
        unsetenv(variables[i]);
    }
    static const char *const wrong[] = {"ftp://host", ("http://user:" SECRET "@host"), ("http://host?x=" SECRET),
                                        "http://"};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        setenv("KILN_S3_ENDPOINT", wrong[i], 1);
        expect_no_remote(url, KILN_INVALID, "is written http[s]://HOST[:PORT]");
    }
    setenv("KILN_S3_ENDPOINT", endpoint, 1);
    setenv("AWS_REGION", "mars-north-1", 1);
    struct remote remote = open_remote(url);
    expect_get(&remote, PATIENCE_MS, KILN_IO, "are AWS_REGION and the endpoint right?");
    close_remote(&remote);
    setenv("AWS_REGION", "us-east-1", 1);
    free(endpoint);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        REMOTE_CASES("REMOTE_S3"),          cmocka_unit_test(test_layout),    cmocka_unit_test(test_no_bucket),
        cmocka_unit_test(test_credentials), cmocka_unit_test(test_endpoints),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
