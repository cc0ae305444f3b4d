/*
 * kiln/maintain.h - keeping a cache folder in order, for tools: put damaged artifacts aside, prune, clear, fill.
 *
 * Everything here is safe while other processes use the folder: at worst they compile again what was removed. Only
 * files that Kiln itself writes are ever removed or renamed, told by their names: 64 hexadecimal digits and an ending
 * of ours, in a sub-folder named by the first two; and `toolchain` and `.sizes` in the folder itself. Symbolic
 * links are not followed below the folder. NULL where no comment gives it a meaning is as in kiln.h.
 */
#ifndef KILN_MAINTAIN_H
#define KILN_MAINTAIN_H

#include "kiln/inspect.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Called now and then while something takes long; `what` is a word such as "removing", `total` 0 when not known. */
typedef struct kiln_progress {
    void (*report)(void *context, const char *what, uint64_t done, uint64_t total); /* NULL: nobody wants to know */
    void *context;
} kiln_progress;

/* Renames file `index` so that caches no longer find it, and people can look at it. KILN_IO: it can't be renamed; it is
 * in a pack; or it has gone or was replaced since it was listed (kiln_inspect_is_gone()), and what is there now stays.
 */
kiln_status kiln_inspect_put_aside(const kiln_inspector *inspector, size_t index, kiln_error *err);

typedef struct kiln_prune_options {
    size_t struct_size;
    uint64_t max_bytes, max_files; /* 0: no bound; exact, unlike those of a cache, which leaves itself some room */
    uint64_t max_age_s;            /* 0: no bound; counted from the last use, which caches note once an hour */
    bool dry_run;                  /* removes nothing and counts the same */
    kiln_progress progress;
} kiln_prune_options;

typedef struct kiln_prune_report {
    uint64_t removed_files, removed_bytes; /* artifacts, and what was put aside */
    uint64_t kept_files, kept_bytes;
    uint64_t failed_files; /* of the kept ones: those that could not be removed */
    char failure[256];     /* why the first of them could not */
} kiln_prune_report;

/*
 * Removes what was not used for longest until the bounds hold; the code is that by which a cache keeps its own bounds.
 * `folder` NULL: the default one. KILN_IO: there is no such folder. Files that can't be removed are no failure: see the
 * report.
 */
kiln_status kiln_prune(const char *folder, const kiln_prune_options *options, kiln_prune_report *report,
                       kiln_error *err);

/* The most a cache keeps when nobody says otherwise: KILN_CACHE_SIZE, else 5 GiB; and 200,000 files. Either may be
 * NULL. */
void kiln_default_bounds(uint64_t *max_bytes, uint64_t *max_files);
/* "5G", "300m", "1048576"; false: it is no size. */
bool kiln_parse_size(const char *text, uint64_t *out);

/*
 * Would kiln_clear() do it? KILN_OK and what there is to remove; KILN_INVALID: the folder holds something that no cache
 * folder holds, which the text names, so it is none; KILN_IO: it can't be read.
 */
kiln_status kiln_clear_check(const char *folder, kiln_prune_report *report, kiln_error *err);
/* `folder` NULL: the default one; `progress` NULL: nobody wants to know. `report` is needed, here and above.
 * Removes every artifact and everything put aside, then sub-folders that are empty, `toolchain` and `.sizes`; the
 * folder stays. Nothing is removed from a folder that is not a cache. */
kiln_status kiln_clear(const char *folder, const kiln_progress *progress, kiln_prune_report *report, kiln_error *err);

typedef enum kiln_warmed { KILN_WARM_COMPILED, KILN_WARM_WAS_THERE } kiln_warmed;

/*
 * Compiles `text` (LLVM IR) for `target` ("native", "x86-64-v3", ...) into the folder of `cache`, unless it is there
 * already. Nothing is linked or run, so the target need not be one that this machine can run. KILN_OPT_LEVEL,
 * KILN_FAST_MATH and pushed options count as they do for kiln_get(). A process of the same libraries that later lowers
 * to the same text for the same target and options finds it, also where the compiler plug-in is not installed: the
 * folder names its tool chain. `name` is for people. KILN_INVALID: no such target;
 * KILN_IO: it could not be stored. Several threads may warm one cache at once.
 */
kiln_status kiln_warm(kiln_cache *cache, const char *target, const char *name, kiln_bytes text, kiln_warmed *out,
                      kiln_error *err);

/* ---- packs: a folder as one file ------------------------------------------------------------------------------ */

typedef struct kiln_export_options {
    size_t struct_size;
    const char *folder;         /* NULL: the default one. A pack will do too */
    const char *function;       /* only what was first compiled for it; *, ? and [] as in a shell. NULL: all */
    const char *const *targets; /* only what is for one of them, NULL-terminated: "x86-64-v3", "native"; and what is for
                                 * none, as the bytes of others. NULL: all */
    uint64_t max_age_s;         /* only what was used since; use is noted once an hour. 0: all */
    bool is_public;             /* everybody may read the pack (mode 0644); otherwise its owner only (0600) */
    kiln_progress progress;
    /* Says neither when the pack was made nor when, and for how long, anything was compiled: of equal kernels every
     * export gives equal bytes. Counters of saved time then lack what these kernels save. */
    bool without_times;
} kiln_export_options;

typedef struct kiln_export_report {
    uint64_t exported_files, exported_bytes; /* artifacts, and their size in a folder */
    uint64_t pack_bytes;
    uint64_t left_out_files; /* did not fit the options */
    uint64_t unusable_files; /* damaged, of another format, or of an owner who is not trusted */
    char problem[256];       /* what was wrong with the first of those */
} kiln_export_report;

/*
 * Writes a pack to `path`, whose name must end in .kilnpack, or caches would not take it for one. `options` may be
 * NULL: all of the default folder. With KILN_SIGN_KEY, artifacts that nobody has signed are signed. The file appears by
 * rename, with its mode whatever the umask is, and replaces one of that name; a failure leaves nothing behind, and what
 * was there stays. KILN_INVALID: no such name, nothing to export (nothing is written then), or a signing key
 * that can't be used; KILN_IO: the folder can't be read or the pack not written. Other processes may use the folder
 * meanwhile; what they remove is not in the pack. Any number of exports may run at once.
 */
kiln_status kiln_export(const char *path, const kiln_export_options *options, kiln_export_report *report,
                        kiln_error *err);

typedef struct kiln_import_options {
    size_t struct_size;
    const char *folder; /* NULL: the default one; made when missing */
    kiln_progress progress;
} kiln_import_options;

typedef struct kiln_import_report {
    uint64_t imported_files, imported_bytes;
    uint64_t there_files;   /* were there already */
    uint64_t unused_files;  /* of another format: left out */
    uint64_t evicted_files; /* removed, because the folder has reached its bounds (kiln_default_bounds()) */
} kiln_import_report;

/*
 * Puts every artifact of a pack into a folder. First all of them are checked: index, checksums, keys and, unless the
 * file belongs to us or root and nobody else may write it, signatures; KILN_INVALID says what is wrong, and then
 * nothing has been put. Then each appears by rename, with the modes that a cache gives its files, whatever the umask
 * is: whenever it is interrupted, whole artifacts are there or not. The folder then names the pack's tool chain, so it
 * serves machines without a compiler. KILN_IO: the pack can't be read or the folder not be written; the report says how
 * far it came. `options` and `report` may be NULL. Other processes may use the folder meanwhile, and import too.
 */
kiln_status kiln_import(const char *path, const kiln_import_options *options, kiln_import_report *report,
                        kiln_error *err);

#ifdef __cplusplus
}
#endif
#endif
