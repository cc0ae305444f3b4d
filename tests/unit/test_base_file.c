/*
 * test_base_file.c - map, read, publish; making folders.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <dirent.h>
#include <unistd.h>

#include "base/file.h"

static char folder[64];

static const char *in_folder(const char *name)
{
    static char path[sizeof(folder) + 1 + 256]; /* a name of a folder entry is at most 255 bytes */
    snprintf(path, sizeof(path), "%s/%s", folder, name);
    return path;
}

static int set_up(void **state)
{
    (void)state;
    strcpy(folder, "/tmp/kiln-test-XXXXXX");
    return mkdtemp(folder) != NULL ? 0 : -1;
}

static int tear_down(void **state)
{
    (void)state;
    DIR *entries = opendir(folder);
    for (struct dirent *entry; (entry = readdir(entries)) != NULL;) remove(in_folder(entry->d_name));
    closedir(entries);
    return rmdir(folder);
}

static int count_entries(void)
{
    DIR *entries = opendir(folder);
    int count = -2; /* "." and ".." */
    while (readdir(entries) != NULL) count++;
    closedir(entries);
    return count;
}

static void publish_replaces_whole_files(void **state)
{
    (void)state;
    kiln_bytes first, second;
    assert_int_equal(kiln__file_publish(in_folder("a"), "hello", 5, NULL), KILN_OK);
    assert_int_equal(kiln__file_map(in_folder("a"), &first, NULL), KILN_OK);
    assert_int_equal(kiln__file_publish(in_folder("a"), "other bytes", 11, NULL), KILN_OK);
    assert_int_equal(kiln__file_map(in_folder("a"), &second, NULL), KILN_OK);
    assert_int_equal(first.size, 5);
    assert_memory_equal(first.data, "hello", 5); /* an open file stays what it was */
    assert_int_equal(second.size, 11);
    assert_memory_equal(second.data, "other bytes", 11);
    kiln__file_unmap(first);
    kiln__file_unmap(second);
    assert_int_equal(count_entries(), 1); /* no temporary file is left */
}

static void empty_files_are_fine(void **state)
{
    (void)state;
    kiln_bytes bytes = {NULL, 1};
    assert_int_equal(kiln__file_publish(in_folder("empty"), NULL, 0, NULL), KILN_OK);
    assert_int_equal(kiln__file_map(in_folder("empty"), &bytes, NULL), KILN_OK);
    assert_int_equal(bytes.size, 0);
    kiln__file_unmap(bytes);
}

static void missing_is_a_miss(void **state)
{
    (void)state;
    kiln_bytes bytes;
    struct kiln_buffer buffer = {0};
    assert_int_equal(kiln__file_map(in_folder("none"), &bytes, NULL), KILN_MISS);
    assert_int_equal(kiln__file_read(in_folder("none/deeper"), 10, &buffer, NULL), KILN_MISS);
}

static void other_kinds_are_faults(void **state)
{
    (void)state;
    kiln_bytes bytes;
    kiln_error err = {0};
    assert_int_equal(kiln__file_map(folder, &bytes, &err), KILN_IO);
    assert_non_null(strstr(err.text, "not a regular file"));
    assert_int_equal(mkfifo(in_folder("pipe"), 0600), 0);
    assert_int_equal(kiln__file_map(in_folder("pipe"), &bytes, &err), KILN_IO); /* and does not wait for a writer */
    assert_int_equal(kiln__file_publish(in_folder("no/such/folder"), "x", 1, &err), KILN_IO);
    assert_non_null(strstr(err.text, "No such file"));
    assert_int_equal(mkdir(in_folder("taken"), 0700), 0);
    assert_int_equal(kiln__file_publish(in_folder("taken"), "x", 1, &err), KILN_IO);
    assert_int_equal(count_entries(), 2);
}

static void read_appends_up_to_the_limit(void **state)
{
    (void)state;
    static char large[100000];
    struct kiln_buffer buffer = {0};
    memset(large, 'x', sizeof(large));
    large[sizeof(large) - 1] = 'y';
    kiln__buffer_append(&buffer, "ab", 2);
    assert_int_equal(kiln__file_publish(in_folder("large"), large, sizeof(large), NULL), KILN_OK);
    assert_int_equal(kiln__file_read(in_folder("large"), 3, &buffer, NULL), KILN_OK);
    assert_int_equal(buffer.size, 5);
    assert_string_equal((char *)buffer.data, "abxxx");
    assert_int_equal(kiln__file_read(in_folder("large"), SIZE_MAX, &buffer, NULL), KILN_OK);
    assert_int_equal(buffer.size, 5 + sizeof(large));
    assert_int_equal(buffer.data[buffer.size - 1], 'y');
    kiln__buffer_release(&buffer);
}

static void folders_are_made_closed(void **state)
{
    (void)state;
    struct stat info;
    kiln_error err = {0};
    assert_int_equal(kiln__folder_make(in_folder("one"), NULL), KILN_OK);
    assert_int_equal(kiln__folder_make(in_folder("one"), NULL), KILN_OK);
    assert_int_equal(kiln__folder_make(in_folder("one/two//three/"), NULL), KILN_OK);
    assert_int_equal(stat(in_folder("one/two/three"), &info), 0);
    assert_int_equal(info.st_mode & 07777, 0700);
    assert_int_equal(kiln__file_publish(in_folder("file"), "x", 1, NULL), KILN_OK);
    assert_int_equal(kiln__folder_make(in_folder("file"), &err), KILN_IO);
    assert_non_null(strstr(err.text, "not a folder"));
    assert_int_equal(kiln__folder_make(in_folder("file/below"), &err), KILN_IO);
    assert_int_equal(kiln__folder_make("", &err), KILN_IO);
    rmdir(in_folder("one/two/three"));
    rmdir(in_folder("one/two"));
}

#define WITH_FOLDER(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        WITH_FOLDER(publish_replaces_whole_files),
        WITH_FOLDER(empty_files_are_fine),
        WITH_FOLDER(missing_is_a_miss),
        WITH_FOLDER(other_kinds_are_faults),
        WITH_FOLDER(read_appends_up_to_the_limit),
        WITH_FOLDER(folders_are_made_closed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
