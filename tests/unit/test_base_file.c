/*
 * test_base_file.c - map, read, publish; making folders.
 */
#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/file.h"
#include "support/check.h"

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
    return mkdtemp(folder) ? 0 : -1;
}

static int tear_down(void **state)
{
    (void)state;
    DIR *entries = opendir(folder);
    for (struct dirent *entry; (entry = readdir(entries));) remove(in_folder(entry->d_name));
    closedir(entries);
    return rmdir(folder);
}

static int count_entries(void)
{
    DIR *entries = opendir(folder);
    int count = -2; /* "." and ".." */
    while (readdir(entries)) count++;
    closedir(entries);
    return count;
}

static void publish_replaces_whole_files(void **state)
{
    (void)state;
    kiln_bytes first, second;
    CHECK_STATUS(kiln__file_publish(in_folder("a"), "hello", 5, NULL), KILN_OK);
    CHECK_EQ(kiln__file_map(in_folder("a"), &first, NULL), KILN_DONE);
    CHECK_STATUS(kiln__file_publish(in_folder("a"), "other bytes", 11, NULL), KILN_OK);
    CHECK_EQ(kiln__file_map(in_folder("a"), &second, NULL), KILN_DONE);
    CHECK_EQ(first.size, 5);
    CHECK_MEM(first.data, "hello", 5); /* an open file stays what it was */
    CHECK_EQ(second.size, 11);
    CHECK_MEM(second.data, "other bytes", 11);
    kiln__file_unmap(first);
    kiln__file_unmap(second);
    CHECK_EQ(count_entries(), 1); /* no temporary file is left */
}

static void empty_files_are_fine(void **state)
{
    (void)state;
    kiln_bytes bytes = {NULL, 1};
    CHECK_STATUS(kiln__file_publish(in_folder("empty"), NULL, 0, NULL), KILN_OK);
    CHECK_EQ(kiln__file_map(in_folder("empty"), &bytes, NULL), KILN_DONE);
    CHECK_EQ(bytes.size, 0);
    kiln__file_unmap(bytes);
}

static void missing_is_a_miss(void **state)
{
    (void)state;
    kiln_bytes bytes;
    struct kiln_buffer buffer = {0};
    CHECK_EQ(kiln__file_map(in_folder("none"), &bytes, NULL), KILN_MISS);
    CHECK_EQ(kiln__file_read(in_folder("none/deeper"), 10, &buffer, NULL), KILN_MISS);
}

static void other_kinds_are_faults(void **state)
{
    (void)state;
    kiln_bytes bytes;
    kiln_error err = {0};
    CHECK_EQ(kiln__file_map(folder, &bytes, &err), KILN_FAILED);
    CHECK_STATUS(err.status, KILN_IO, &err);
    CHECK_CONTAINS(err.text, "not a regular file");
    CHECK_EQ(mkfifo(in_folder("pipe"), 0600), 0);
    CHECK_EQ(kiln__file_map(in_folder("pipe"), &bytes, &err), KILN_FAILED); /* and does not wait for a writer */
    CHECK_STATUS(kiln__file_publish(in_folder("no/such/folder"), "x", 1, &err), KILN_IO, &err);
    CHECK_CONTAINS(err.text, "No such file");
    CHECK_EQ(mkdir(in_folder("taken"), 0700), 0);
    CHECK_STATUS(kiln__file_publish(in_folder("taken"), "x", 1, &err), KILN_IO, &err);
    CHECK_EQ(count_entries(), 2);
}

static void read_appends_up_to_the_limit(void **state)
{
    (void)state;
    static char large[100000];
    struct kiln_buffer buffer = {0};
    memset(large, 'x', sizeof(large));
    large[sizeof(large) - 1] = 'y';
    kiln__buffer_append(&buffer, "ab", 2);
    CHECK_STATUS(kiln__file_publish(in_folder("large"), large, sizeof(large), NULL), KILN_OK);
    CHECK_EQ(kiln__file_read(in_folder("large"), 3, &buffer, NULL), KILN_DONE);
    CHECK_EQ(buffer.size, 5);
    CHECK_STR((char *)buffer.data, "abxxx");
    CHECK_EQ(kiln__file_read(in_folder("large"), SIZE_MAX, &buffer, NULL), KILN_DONE);
    CHECK_EQ(buffer.size, 5 + sizeof(large));
    CHECK_EQ(buffer.data[buffer.size - 1], 'y');
    kiln__buffer_release(&buffer);
}

static void folders_are_made_closed(void **state)
{
    (void)state;
    struct stat info;
    kiln_error err = {0};
    CHECK_STATUS(kiln__folder_make(in_folder("one"), NULL), KILN_OK);
    CHECK_STATUS(kiln__folder_make(in_folder("one"), NULL), KILN_OK);
    CHECK_STATUS(kiln__folder_make(in_folder("one/two//three/"), NULL), KILN_OK);
    CHECK_EQ(stat(in_folder("one/two/three"), &info), 0);
    CHECK_EQ(info.st_mode & 07777, 0700);
    CHECK_STATUS(kiln__file_publish(in_folder("file"), "x", 1, NULL), KILN_OK);
    CHECK_STATUS(kiln__folder_make(in_folder("file"), &err), KILN_IO, &err);
    CHECK_CONTAINS(err.text, "not a folder");
    CHECK_STATUS(kiln__folder_make(in_folder("file/below"), &err), KILN_IO, &err);
    CHECK_STATUS(kiln__folder_make("", &err), KILN_IO, &err);
    rmdir(in_folder("one/two/three"));
    rmdir(in_folder("one/two"));
}

/* ---- a limit on the size of files -------------------------------------------------------------------------------- */

static volatile sig_atomic_t signals;

static void count_signal(int number)
{
    (void)number;
    signals++;
}

/* In a child, whose limit it is; the result is its exit code. */
static int publish_over_the_limit(void)
{
    static char data[1000];
    sigset_t mask, pending;
    kiln_error err = {0};
    setrlimit(RLIMIT_FSIZE, &(struct rlimit){100, 100});
    if (kiln__file_publish(in_folder("small"), data, 100, &err) != KILN_OK) return 1;
    if (kiln__file_publish(in_folder("large"), data, sizeof(data), &err) != KILN_IO) return 2;
    if (!strstr(err.text, "File too large")) return 3;
    pthread_sigmask(SIG_SETMASK, NULL, &mask);
    sigpending(&pending);
    if (sigismember(&mask, SIGXFSZ) || sigismember(&pending, SIGXFSZ)) return 4;
    /* The program's own writes get what they always got, also one that was waiting to be delivered. */
    signal(SIGXFSZ, count_signal);
    int fd = open(in_folder("own"), O_CREAT | O_WRONLY, 0600);
    if (write(fd, data, 200) != 100 || write(fd, data, 1) != -1 || signals != 1) return 5;
    sigemptyset(&mask);
    sigaddset(&mask, SIGXFSZ);
    pthread_sigmask(SIG_BLOCK, &mask, NULL);
    if (write(fd, data, 1) != -1) return 6;
    if (kiln__file_publish(in_folder("large"), data, sizeof(data), &err) != KILN_IO || signals != 1) return 7;
    pthread_sigmask(SIG_UNBLOCK, &mask, NULL);
    return signals == 2 ? 0 : 8;
}

static void a_full_file_is_a_failure(void **state)
{
    (void)state;
    int status = 0;
    fflush(NULL);
    pid_t child = fork();
    if (child == 0) _exit(publish_over_the_limit());
    waitpid(child, &status, 0);
    if (WIFSIGNALED(status)) CHECK_FAIL("ended by signal %d (%s)", WTERMSIG(status), strsignal(WTERMSIG(status)));
    CHECK_EQ(WEXITSTATUS(status), 0);
    CHECK_EQ(count_entries(), 2); /* "small" and "own" */
}

/* What was read stays readable when somebody cuts the file. */
static void a_file_is_cut_after_it_was_read(void **state)
{
    (void)state;
    enum { SIZE = 3 << 20 };
    kiln_bytes bytes;
    char *data = calloc(1, SIZE);
    data[SIZE - 1] = 'x';
    CHECK_STATUS(kiln__file_publish(in_folder("cut"), data, SIZE, NULL), KILN_OK);
    free(data);
    CHECK_EQ(kiln__file_map(in_folder("cut"), &bytes, NULL), KILN_DONE);
    CHECK_EQ(truncate(in_folder("cut"), 0), 0);
    CHECK_EQ(bytes.size, SIZE);
    CHECK_EQ(((const char *)bytes.data)[SIZE - 1], 'x');
    kiln__file_unmap(bytes);
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
        WITH_FOLDER(a_full_file_is_a_failure),
        WITH_FOLDER(a_file_is_cut_after_it_was_read),
        WITH_FOLDER(folders_are_made_closed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
