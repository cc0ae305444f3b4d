/*
 * file.h - whole files: read, publish.
 *
 * Publishing writes a temporary file beside the target and renames it, so that a reader sees a whole file or none.
 * No fsync: every format here carries a checksum, and a torn file after a power cut is a miss.
 * All calls take EINTR; safe from every thread.
 */
#ifndef KILN_BASE_FILE_H
#define KILN_BASE_FILE_H

#include <sys/stat.h>

#include "base/buffer.h"
#include "base/status.h"

/* A file as it was read. While it is open, no other file gets its number, so it can be told from what takes its name.
 */
struct kiln_file {
    kiln_bytes bytes; /* a copy in pages of its own, given back with kiln__file_unmap(), also after closing */
    struct stat info;
    int fd;
};

/* Reads the whole file and keeps it open. KILN_MISS: no such file. All failures of reading are KILN_IO or
 * KILN_NO_MEMORY. */
enum kiln_outcome kiln__file_open(const char *path, struct kiln_file *out, kiln_error *err);
/* The same of a file that somebody else wrote: KILN_IO when it has more than `limit` bytes, none of which is read. */
enum kiln_outcome kiln__file_open_bounded(const char *path, uint64_t limit, struct kiln_file *out, kiln_error *err);
void kiln__file_close(const struct kiln_file *file);
/* `path` leads to this very file, and nobody has written to it since it was read. */
bool kiln__file_is_at(const struct kiln_file *file, const char *path);
/* Renames it from `path` to `to`; false: it is not there any more, or can't be renamed. Another file that somebody
 * publishes under `path` meanwhile is not moved. */
bool kiln__file_move(const struct kiln_file *file, const char *path, const char *to);

/* The name is that of the file open as `fd`; links are not followed. */
bool kiln__file_is_open_at(int fd, const char *path);

/* A copy of the file's bytes alone. */
enum kiln_outcome kiln__file_map(const char *path, kiln_bytes *out, kiln_error *err);
void kiln__file_unmap(kiln_bytes bytes);
/* A copy of `bytes` in pages of its own, as the above are. False: out of memory. */
bool kiln__file_map_copy(kiln_bytes bytes, kiln_bytes *out);

/* Opens a regular file to read parts of it. KILN_MISS: no such file. */
enum kiln_outcome kiln__file_open_parts(const char *path, int *fd, struct stat *info, kiln_error *err);
/* Reads a part. False: errno says why; 0: the file ends before. */
bool kiln__file_read_part(int fd, void *data, size_t size, uint64_t offset);

/* Appends the file's bytes to `out`, at most `limit` of them. KILN_MISS: no such file. */
enum kiln_outcome kiln__file_read(const char *path, size_t limit, struct kiln_buffer *out, kiln_error *err);
/* The same, and whose file it was that was read. */
enum kiln_outcome kiln__file_read_as(const char *path, size_t limit, struct kiln_buffer *out, struct stat *info,
                                     kiln_error *err);

/* Writes `path` under a unique temporary name in the same folder and renames it. On failure nothing is left behind, and
 * errno says why: ENOENT when there is no such folder. */
kiln_status kiln__file_publish(const char *path, const void *data, size_t size, kiln_error *err);
/* With this very mode, instead of 0600. */
kiln_status kiln__file_publish_as(const char *path, const void *data, size_t size, mode_t mode, kiln_error *err);

/*
 * Appends `size` bytes to a file, which is made if need be, in one write, so that lines of several processes do not
 * mix. `path` may also be a fifo, a terminal or another device; it is never waited for: where nobody reads, or a pipe
 * is full, the bytes are lost. KILN_IO: that, or it can't be opened or written; the text says why.
 */
kiln_status kiln__file_append(const char *path, const void *data, size_t size, kiln_error *err);

/* Could kiln__file_append() do it, as far as can be told without opening the file? The same texts. */
kiln_status kiln__file_can_append(const char *path, kiln_error *err);

/* Writes all of it. False: errno says why, and a part may be written; EFBIG where RLIMIT_FSIZE ends, without the signal
 * that comes with it (base/process/signal.h). */
bool kiln__write_all(int fd, const void *data, size_t size);

/* `name` is that of a temporary file whose writer is known to be gone. */
bool kiln__temporary_is_abandoned(const char *name);

/* Makes the folder and those above it, with mode 0700. An existing folder is fine. KILN_IO leaves errno:
 * ENOENT when somebody removes one of them meanwhile. */
kiln_status kiln__folder_make(const char *path, kiln_error *err);
/* Those that it makes get this very mode, which includes 0700, instead of 0700. */
kiln_status kiln__folder_make_as(const char *path, mode_t mode, kiln_error *err);

#endif
