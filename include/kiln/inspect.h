/*
 * kiln/inspect.h - a look into a cache folder or a pack, for tools: which artifacts are there, and what is in them.
 *
 * Reading only: nothing here writes, creates, locks or puts aside a file, and programs that use the folder at the same
 * time never notice. An inspector is a list of files taken when it was opened; a file that has gone since is KILN_IO,
 * and kiln_inspect_is_gone() tells it from other failures. Every function may be called from any thread, as long as the
 * inspector or entry is not closed meanwhile. NULL where no comment gives it a meaning is as in kiln.h: KILN_INVALID,
 * or nothing and an empty answer.
 */
#ifndef KILN_INSPECT_H
#define KILN_INSPECT_H

#include "kiln.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { KILN_INSPECT_DIGEST = 65 }; /* 64 hexadecimal digits and a NUL */

typedef struct kiln_inspector kiln_inspector; /* the artifacts of one folder, sorted by digest */
typedef struct kiln_entry kiln_entry;         /* one of them, opened and checked */

/* The folder that caches use by default: KILN_CACHE_DIR, else XDG_CACHE_HOME/kiln, else ~/.cache/kiln. It need not
 * exist. KILN_INVALID: none of the variables says where. */
kiln_status kiln_inspect_default_folder(char *path, size_t size, kiln_error *err);

/*
 * Could a cache use the folder? KILN_OK; or KILN_IO with a text that says why not: it is no folder, others own it or
 * may write it, it can't be written. A folder that is not there yet is fine when it can be made.
 */
kiln_status kiln_inspect_check_folder(const char *path, kiln_error *err);

/* The same of a folder or pack that is only read, one of KILN_CACHE_PATH for example: it must be there. */
kiln_status kiln_inspect_check_read_only(const char *path, kiln_error *err);

/*
 * The tool chain that last filled the folder or pack (NULL: the default folder), by which caches find kernels where
 * there is no compiler. KILN_INVALID: the folder names none. KILN_IO: a cache would not read it; the text says why.
 */
kiln_status kiln_inspect_toolchain(const char *folder, char *line, size_t size, kiln_error *err);

/*
 * The base pack, which caches read behind their folders: the one beside the library, or what KILN_BASE_PACK names.
 * `path` is "" when none is wanted. KILN_IO: it is not there, or a cache would not read it; KILN_INVALID: it is
 * damaged, or of another tool chain than the compiler here, so that nothing in it is ever found. The text says which.
 */
kiln_status kiln_inspect_base_pack(char *path, size_t size, kiln_error *err);

/* The compiler plug-in that the library would open, and the version of the LLVM that is inside; "" when LLVM is a
 * library of its own. KILN_NO_COMPILER: there is no such file. */
kiln_status kiln_inspect_compiler(char *path, size_t path_size, char *llvm, size_t llvm_size, kiln_error *err);

/* `folder` is copied; NULL: the default one; a file that ends in .kilnpack is a pack. KILN_IO: there is no such folder
 * or pack, or it can't be read. KILN_INVALID: it is no pack, or its index is damaged. */
kiln_status kiln_inspect_open(const char *folder, kiln_inspector **out, kiln_error *err);
void kiln_inspect_close(kiln_inspector *inspector); /* NULL is fine; entries opened from it stay valid */

/* Its path, as it was given or found; and how many artifacts it has. */
const char *kiln_inspect_folder(const kiln_inspector *inspector);
size_t kiln_inspect_count(const kiln_inspector *inspector);
/* Of the file; in a pack, compressed as it is there. */
uint64_t kiln_inspect_size_bytes(const kiln_inspector *inspector, size_t index);
/* What a pack says about itself: lines of a name, a space and a value (docs/formats/pack.md). NULL: it is a folder. */
const char *kiln_inspect_manifest(const kiln_inspector *inspector);
/* What processes got from a folder, as far as they have told: each adds its sums when it ends, and some may be lost. */
typedef struct kiln_usage {
    size_t struct_size; /* sizeof(kiln_usage), set by the caller */
    uint64_t processes, calls, hits, compiles, disk_hits, remote_hits, saved_ns;
} kiln_usage;
/* Zeros for a pack, and where nobody has told anything. NULL for either does nothing. */
void kiln_inspect_usage(const kiln_inspector *inspector, kiln_usage *out);
/* The digest by which file `index` is named, in lower case; borrowed, as are all strings below. NULL: there is none. */
const char *kiln_inspect_digest(const kiln_inspector *inspector, size_t index);

/*
 * Did kiln_entry_open() or kiln_inspect_put_aside() last fail because file `index` had gone, or was replaced since it
 * was listed? In a folder that is in use files go and come at any time: that is no damage.
 */
bool kiln_inspect_is_gone(const kiln_inspector *inspector, size_t index);

/*
 * Did kiln_entry_open() last fail because file `index` is a whole artifact of an earlier or a later format? Caches of
 * this version pass it over; nothing is wrong with it, and it is not to be put aside.
 */
bool kiln_inspect_is_other_format(const kiln_inspector *inspector, size_t index);

/* The one artifact whose digest begins with `prefix`. KILN_INVALID: no hexadecimal digits, none, or several fit. */
kiln_status kiln_inspect_find(const kiln_inspector *inspector, const char *prefix, size_t *index, kiln_error *err);

/*
 * Opens and checks file `index`: format, lengths, checksum, and that its key's digest is its name. `*out` is closed
 * with kiln_entry_close(). KILN_INVALID: the file is damaged, or of another format; the text says how. A file that was
 * written to within the last fifth of a second is looked at again before it is called that.
 */
kiln_status kiln_entry_open(const kiln_inspector *inspector, size_t index, kiln_entry **out, kiln_error *err);
void kiln_entry_close(kiln_entry *entry); /* NULL is fine */

/* Would a cache of this process use it? KILN_INVALID: it is sound, but for a CPU that this one is not (what a folder
 * for several machines may well hold). KILN_IO: others own the file or may write it. */
kiln_status kiln_entry_check_usable(const kiln_entry *entry, kiln_error *err);

/*
 * Could its code be linked? An artifact of Kiln's own compiler, for any CPU, is taken through the linker up to the
 * point where code would become executable: headers, sections, symbols, relocations, entry. Nothing of it is run. A
 * GPU's PTX must be text; its machine code is the driver's own. KILN_LINK_FAILED: it can't; a cache puts it aside and
 * compiles. KILN_OK: it can, or another compiler made it, about whose sections nothing is known. KILN_NO_MEMORY.
 */
kiln_status kiln_entry_check_links(const kiln_entry *entry, kiln_error *err);

typedef struct kiln_entry_info {
    const char *path;
    char digest[KILN_INSPECT_DIGEST];
    const char *function; /* of the function it was first compiled for; "" when unknown */
    const char *target;
    const char *entry; /* name of the entry point */
    uint64_t size_bytes, created_unix_s, compile_ns;
    size_t section_count, key_field_count;
} kiln_entry_info; /* borrowed from the entry */

/* "code": it was compiled; "manifest": it leads to what was (docs/formats/manifest.md); "bytes": a program has stored
 * it with kiln_store_put(), and `function` is the name that it gave. Of NULL "". */
const char *kiln_entry_kind(const kiln_entry *entry);
/* Of NULL all is "" and 0. */
void kiln_entry_describe(const kiln_entry *entry, kiln_entry_info *out);
/* Section `index`: its name, and its bytes in `*out`, which may be NULL. NULL: there is none. */
const char *kiln_entry_section(const kiln_entry *entry, size_t index, kiln_bytes *out);
/* The section called `name`; data NULL when absent. */
kiln_bytes kiln_entry_get(const kiln_entry *entry, const char *name);
/* Field `index` of the structured content key. False: there is none. Both are bytes without a NUL, and may be NULL. */
bool kiln_entry_key_field(const kiln_entry *entry, size_t index, kiln_bytes *name, kiln_bytes *value);
/* The key of the call it was first compiled for, as text: lines of a name, a tab and a value. Of a kernel of arrays:
 * function, operands, operations, bytes moved, and its plan (docs/formats/key.md). Of bytes: what kiln_store_put() was
 * told about them. Empty when unknown. */
kiln_bytes kiln_entry_call(const kiln_entry *entry);

/* In words what differs between two artifacts: "target was x86-64-v3, is x86-64-v4; ...". "" when nothing does. */
typedef struct kiln_difference {
    char *content; /* fields of the content keys */
    char *call;    /* facts of the calls they were first compiled for */
    char *text;    /* the first line in which the texts differ */
} kiln_difference;

/* After success release *out. KILN_NO_MEMORY. */
kiln_status kiln_entry_compare(const kiln_entry *was, const kiln_entry *is, kiln_difference *out, kiln_error *err);
void kiln_difference_release(kiln_difference *difference); /* NULL is fine */

/* The artifact of the same function, by the name it was first compiled for, with the shortest list of differences from
 * `of`. *nearest is NULL where there is none, and `out` is untouched; else close it and release *out. Damaged files and
 * manifests are passed over. KILN_INVALID, KILN_NO_MEMORY. */
kiln_status kiln_inspect_nearest(const kiln_inspector *inspector, const kiln_entry *of, kiln_entry **nearest,
                                 kiln_difference *out, kiln_error *err);

#ifdef __cplusplus
}
#endif
#endif
