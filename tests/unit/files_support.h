/*
 * files_support.h - for tests of files that functions read: a folder of files, written in each of the ways in which
 * files are.
 */
#ifndef TESTS_UNIT_FILES_SUPPORT_H
#define TESTS_UNIT_FILES_SUPPORT_H

#include "classes_support.h"

#include <fcntl.h>
#include <limits.h>

/* In place. */
UNUSED static void write_file(const char *path, const char *text)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    CHECK_GE(fd, 0);
    CHECK_EQ(write(fd, text, strlen(text)), (ssize_t)strlen(text));
    close(fd);
}
#define write_file(...) CHECK_CALL(write_file, __VA_ARGS__)

/* As editors do: another file takes its place. */
UNUSED static void replace_file(const char *path, const char *text)
{
    char other[PATH_MAX + 8];
    snprintf(other, sizeof other, "%s.new", path);
    write_file(other, text);
    CHECK_EQ(rename(other, path), 0);
}
#define replace_file(...) CHECK_CALL(replace_file, __VA_ARGS__)

UNUSED static void touch_file(const char *path)
{
    CHECK_EQ(utimensat(AT_FDCWD, path, NULL, 0), 0);
}
#define touch_file(...) CHECK_CALL(touch_file, __VA_ARGS__)

/* "" when there is no such file. */
UNUSED static void read_file(const char *path, char *out, size_t size)
{
    int fd = open(path, O_RDONLY);
    ssize_t count = fd < 0 ? 0 : read(fd, out, size - 1);
    out[count > 0 ? count : 0] = '\0';
    if (fd >= 0) close(fd);
}

/* Until the clock that files get their times from has passed this moment: what is done next is not done at the same
 * time. It goes in ticks, which may come late; newer systems give files finer times than it has. */
UNUSED static void pass_a_tick(void)
{
    struct timespec first, now;
    clock_gettime(CLOCK_REALTIME, &first);
    do clock_gettime(CLOCK_REALTIME_COARSE, &now);
    while (now.tv_sec < first.tv_sec || (now.tv_sec == first.tv_sec && now.tv_nsec <= first.tv_nsec));
}

#endif
