/*
 * test_store_key_file.c - files of keys: what is read, and what each wrong line, owner and mode is told.
 */
#include "store/keys/key_file.h"

#include <sys/stat.h>
#include <unistd.h>

#include "support/check.h"

#define KEY   "d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a"
#define OTHER "3d4017c3e843895a92b70aa74d1b7ebc9c982ccf2ec4968cc0cd55f12af4660c"

static kiln_status parse(enum kiln_key_use use, const char *text, struct kiln_key_lines *out, kiln_error *err)
{
    return kiln__key_lines_parse("FILE", use, (kiln_bytes){text, strlen(text)}, out, err);
}

static void a_list(void **state)
{
    (void)state;
    struct kiln_key_lines lines = {0};
    kiln_error err = {0};
    CHECK_OK(parse(KILN_KEYS_LIST,
                   "# who fills our caches\n\nkiln-key 1 " KEY " build farm, 2026\n  kiln-key  1  " OTHER
                   "  \nrevoked " KEY "\nrevoked " OTHER " lost on a train",
                   &lines, &err),
             &err);
    CHECK_EQ(lines.count, 4);
    CHECK_EQ(lines.lines[0].kind, KILN_KEY_PUBLIC);
    CHECK_EQ(lines.lines[0].line, 3);
    CHECK_EQ(lines.lines[0].key[0], 0xd7);
    CHECK_EQ(lines.lines[0].key[31], 0x1a);
    CHECK_STR(lines.lines[0].comment, "build farm, 2026");
    CHECK_STR(lines.lines[1].comment, "");
    CHECK_EQ(lines.lines[2].kind, KILN_KEY_REVOKED);
    CHECK_STR(lines.lines[3].comment, "lost on a train");
    CHECK_EQ(lines.lines[3].line, 6);
    struct kiln_buffer text = {0};
    for (size_t i = 0; i < lines.count; i++) kiln__key_line_print(&lines.lines[i], &text);
    CHECK_STR((char *)text.data, "kiln-key 1 " KEY " build farm, 2026\nkiln-key 1 " OTHER "\nrevoked " KEY
                                 "\nrevoked " OTHER " lost on a train\n");
    kiln__buffer_release(&text);
    kiln__key_lines_release(&lines);
    CHECK_OK(parse(KILN_KEYS_LIST, "", &lines, &err), &err);
    CHECK_EQ(lines.count, 0);
}

static void expect_refused(enum kiln_key_use use, const char *text, const char *message)
{
    struct kiln_key_lines lines = {0};
    kiln_error err = {0};
    CHECK_STATUS(parse(use, text, &lines, &err), KILN_INVALID, &err);
    if (!strstr(err.text, message)) CHECK_FAIL("\"%s\" lacks \"%s\"", err.text, message);
    CHECK_EQ(lines.count, 0);
    CHECK_NULL(lines.lines);
}
#define expect_refused(...) CHECK_CALL(expect_refused, __VA_ARGS__)

static void wrong_lines_are_named(void **state)
{
    (void)state;
    char longest[300] = "kiln-key 1 " KEY " ";
    expect_refused(KILN_KEYS_LIST, "# fine\nkiln-kye 1 " KEY "\n", "FILE:2: a line is 'kiln-key 1 KEY COMMENT'");
    expect_refused(KILN_KEYS_LIST, "kiln-key 1 " KEY "\nrevoke " OTHER "\n", "FILE:2: a line is");
    expect_refused(KILN_KEYS_LIST, "kiln-key 2 " KEY "\n", "FILE:1: this version of Kiln knows keys of version 1");
    expect_refused(KILN_KEYS_LIST, "kiln-key " KEY "\n", "FILE:1: this version of Kiln knows keys of version 1");
    expect_refused(KILN_KEYS_LIST, "kiln-key 1\n", "FILE:1: a key is 64 of the digits 0-9 and a-f");
    expect_refused(KILN_KEYS_LIST, "revoked\n", "FILE:1: a key is 64 of the digits");
    expect_refused(KILN_KEYS_LIST, "revoked " KEY "0\n", "FILE:1: a key is 64 of the digits");
    expect_refused(KILN_KEYS_LIST, "revoked D75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a\n",
                   "FILE:1: a key is 64 of the digits");
    expect_refused(KILN_KEYS_LIST, "kiln-key 1 " KEY " x\r\n", "FILE:1: there is a character in it that can't be");
    expect_refused(KILN_KEYS_LIST, "kiln-key\t1\t" KEY "\n", "words are separated by spaces");
    expect_refused(KILN_KEYS_LIST, "kiln-key 1 " KEY " \xff\n", "can't be printed");
    expect_refused(KILN_KEYS_LIST, "kiln-secret-key 1 " KEY "\n", "FILE:1: this is a secret key, which stays");
    memset(longest + strlen(longest), 'x', 128);
    expect_refused(KILN_KEYS_LIST, longest, "FILE:1: a comment has at most 127 bytes");
    expect_refused(KILN_KEYS_GIVEN, "revoked " KEY "\n", "FILE:1: a file to be trusted revokes nothing");
    expect_refused(KILN_KEYS_GIVEN, "# nothing\n", "FILE: there is no key in it");
    expect_refused(KILN_KEYS_GIVEN, "kiln-secret-key 1 " KEY "\n", "its public half is in the .pub file");
    expect_refused(KILN_KEYS_SECRET, "kiln-key 1 " KEY "\n", "FILE:1: this is not a secret key");
    expect_refused(KILN_KEYS_SECRET, "kiln-secret-key 1 " KEY "\nkiln-secret-key 1 " OTHER "\n",
                   "FILE:2: a file has one secret key");
    expect_refused(KILN_KEYS_SECRET, "", "FILE: there is no key in it");
    struct kiln_key_lines lines = {0};
    kiln_error err = {0};
    CHECK_STATUS(kiln__key_lines_parse("FILE", KILN_KEYS_LIST, (kiln_bytes){"kiln-key 1 " KEY "\0x", 77}, &lines, &err),
                 KILN_INVALID, &err);
    CHECK_TRUE(kiln__key_comment_fits("") && kiln__key_comment_fits("b\303\274ro") && !kiln__key_comment_fits("a\nb"));
}

/* ---- files ----------------------------------------------------------------------------------------------------- */

static char folder[] = "/tmp/kiln-test-XXXXXX", path[64];

static int set_up(void **state)
{
    (void)state;
    strcpy(folder, "/tmp/kiln-test-XXXXXX");
    if (!mkdtemp(folder)) return -1;
    snprintf(path, sizeof path, "%s/file", folder);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    unlink(path);
    return rmdir(folder);
}

static void write_file(const char *text, mode_t mode)
{
    FILE *file = fopen(path, "w");
    CHECK_NOT_NULL(file);
    fputs(text, file);
    fclose(file);
    CHECK_EQ(chmod(path, mode), 0);
}

static enum kiln_outcome read_file(enum kiln_key_use use, kiln_error *err)
{
    struct kiln_key_lines lines = {0};
    struct stat info;
    enum kiln_outcome outcome = kiln__key_file_read(path, use, &lines, &info, err);
    CHECK_EQ(lines.count, outcome == KILN_DONE);
    kiln__key_lines_release(&lines);
    return outcome;
}

static void expect_mode_refused(enum kiln_key_use use, const char *text, mode_t mode, const char *message)
{
    kiln_error err = {0};
    write_file(text, mode);
    CHECK_EQ(read_file(use, &err), KILN_FAILED);
    CHECK_EQ(err.status, KILN_IO);
    if (!strstr(err.text, message)) CHECK_FAIL("\"%s\" lacks \"%s\"", err.text, message);
    if (!strstr(err.text, path)) CHECK_FAIL("\"%s\" does not name the file", err.text);
}
#define expect_mode_refused(...) CHECK_CALL(expect_mode_refused, __VA_ARGS__)

static void modes_that_let_others_in_are_refused(void **state)
{
    (void)state;
    static const char secret[] = "kiln-secret-key 1 " KEY " me\n", list[] = "kiln-key 1 " KEY " me\n";
    kiln_error err = {0};
    CHECK_EQ(read_file(KILN_KEYS_LIST, &err), KILN_MISS);
    for (unsigned bit = 1; bit <= 040; bit *= 2)
        expect_mode_refused(KILN_KEYS_SECRET, secret, 0600 | bit,
                            "others can read this secret key; run: chmod 600 /tmp/");
    write_file(secret, 0600);
    CHECK_EQ(read_file(KILN_KEYS_SECRET, &err), KILN_DONE);
    write_file(secret, 0400);
    CHECK_EQ(read_file(KILN_KEYS_SECRET, &err), KILN_DONE);
    unlink(path);
    expect_mode_refused(KILN_KEYS_LIST, list, 0664, "others can say who is trusted; run: chmod go-w /tmp/");
    expect_mode_refused(KILN_KEYS_LIST, list, 0646, "run: chmod go-w /tmp/");
    write_file(list, 0644);
    CHECK_EQ(read_file(KILN_KEYS_LIST, &err), KILN_DONE);
    write_file(list, 0666);
    CHECK_EQ(read_file(KILN_KEYS_GIVEN, &err), KILN_DONE); /* whoever passes it says that it is right */
}

static void files_of_others_are_refused(void **state)
{
    (void)state;
    kiln_error err = {0};
    if (geteuid() != 0) skip(); /* only root can make one */
    write_file("kiln-key 1 " KEY "\n", 0644);
    CHECK_EQ(chown(path, 12345, 12345), 0);
    CHECK_EQ(read_file(KILN_KEYS_LIST, &err), KILN_FAILED);
    CHECK_NOT_NULL(strstr(err.text, "belongs to user 12345; it must belong to user 0 or root"));
    CHECK_EQ(read_file(KILN_KEYS_GIVEN, &err), KILN_DONE);
    write_file("kiln-secret-key 1 " KEY "\n", 0600);
    CHECK_EQ(chown(path, 12345, 12345), 0);
    CHECK_EQ(read_file(KILN_KEYS_SECRET, &err), KILN_FAILED);
}

static void odd_files_are_refused(void **state)
{
    (void)state;
    kiln_error err = {0};
    CHECK_EQ(mkfifo(path, 0600), 0);
    CHECK_EQ(read_file(KILN_KEYS_LIST, &err), KILN_FAILED);
    CHECK_NOT_NULL(strstr(err.text, "is not a regular file"));
    unlink(path);
    write_file("", 0600);
    CHECK_EQ(truncate(path, (1 << 20) + 1), 0);
    CHECK_EQ(read_file(KILN_KEYS_LIST, &err), KILN_FAILED);
    CHECK_NOT_NULL(strstr(err.text, "has 1048577 bytes; at most 1048576 are read"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_list),
        cmocka_unit_test(wrong_lines_are_named),
        cmocka_unit_test_setup_teardown(modes_that_let_others_in_are_refused, set_up, tear_down),
        cmocka_unit_test_setup_teardown(files_of_others_are_refused, set_up, tear_down),
        cmocka_unit_test_setup_teardown(odd_files_are_refused, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
