/*
 * kernel.h - kernels of this process by content key: text in, executable out, compiled at most once.
 *
 * memory -> folders -> compiler; whoever comes second for a key that is being made waits for it. No lock is held while
 * a compiler runs. Two devices of one target share the artifact; each links it once, when it first needs it.
 */
#ifndef KILN_CACHE_KERNELS_KERNEL_H
#define KILN_CACHE_KERNELS_KERNEL_H

#include "key/request.h"
#include "store/artifact.h"

struct kiln_kernel {
    _Atomic uint32_t refs; /* of those that use it, and whether the table has it: kernel.c */
    bool is_kept;          /* of arrays: neither a reset of the device nor a freed function drops it */
    void *executable;
    const kiln_compiler *compiler;
    struct kiln_artifact *artifact; /* when linked under KILN_AUDIT; else NULL */
    kiln_cache *cache;
    uint64_t size_bytes; /* of the artifact's sections, and of this */
};

/*
 * The kernel for `text`, through `compiler`. call_key (may be empty) is kept with a new artifact for `kiln why`. *out
 * is the caller's reference; *reads gets in front the files that compile() depends on, which an entry that uses the
 * kernel has to look at. KILN_CHANGED: a file is no longer what the request says; make another one.
 */
enum kiln_outcome kiln__kernel_get(const kiln_request *request, const kiln_compiler *compiler, kiln_bytes text,
                                   kiln_bytes call_key, struct kiln_kernel **out, struct kiln_read_record **reads,
                                   kiln_error *err);
void kiln__kernel_acquire(void *kernel);
void kiln__kernel_unref(void *kernel); /* NULL is fine */
void kiln__kernel_drop(void *kernel);  /* gives up the table's own reference */
/* Unlinks what nothing but the table refers to, and says how many; kernels of arrays only when asked for. */
size_t kiln__kernels_sweep(kiln_cache *cache, bool of_arrays_too);

/* Prints what a new artifact is for, as lines like those of a call key; asked only after the compiler has run. */
struct kiln_provenance {
    void (*print)(const void *context, struct kiln_buffer *out);
    const void *context;
};

/* What a kernel of arrays is asked for by: a text and packed options alone. Borrowed. */
struct kiln_kernel_text {
    kiln_device *device;
    uint32_t options;
    const char *name;
    kiln_bytes text;
};

/* A reset leaves it, and so does a function that is freed; it is swept under the bound once nobody refers to it. *out
 * is the caller's reference; NULL when KILN_MODE=compile-only: it was compiled and stored. `provenance` (may be NULL)
 * is kept with a new artifact. */
kiln_status kiln__kernel_from_text(kiln_cache *cache, const kiln_compiler *compiler,
                                   const struct kiln_kernel_text *kernel, const struct kiln_provenance *provenance,
                                   struct kiln_kernel **out, kiln_error *err);
/* The same without a compiler: KILN_MISS when the kernel is neither in memory nor in a folder or pack of this machine.
 * Remotes are not asked, and a compile that is under way is not waited for. */
enum kiln_outcome kiln__kernel_at_hand(kiln_cache *cache, const kiln_compiler *compiler,
                                       const struct kiln_kernel_text *kernel, struct kiln_kernel **out,
                                       kiln_error *err);

struct kiln_prefetch;

/* Does it pay to say beforehand which kernels will be asked for? */
bool kiln__cache_has_remotes(const kiln_cache *cache);
/* Asks remotes, together, for all kernels that are not on this machine; until kiln__prefetch_end() the answers are used
 * by whoever asks for one of them. NULL: there was nothing to ask. A fault costs time and nothing else. */
struct kiln_prefetch *kiln__kernels_prefetch(kiln_cache *cache, const kiln_compiler *compiler,
                                             const struct kiln_kernel_text *kernels, size_t count);
void kiln__prefetch_end(struct kiln_prefetch *prefetch); /* store/remotes/remotes.h; NULL is fine */

/* The artifact alone, stored or compiled: nothing is linked, so the request's target need not run here. */
kiln_status kiln__kernel_artifact(const kiln_request *request, const kiln_compiler *compiler, kiln_bytes text,
                                  const struct kiln_content_key *content, struct kiln_artifact **out, kiln_error *err);

/* The run-time library prepared for the request's target: from memory, a folder, or made by `prepare` now. */
kiln_status kiln__runtime_get(const kiln_request *request, const char *toolchain, const char *digest,
                              kiln_status (*prepare)(const char *target, struct kiln_buffer *bitcode, kiln_error *err),
                              struct kiln_artifact **borrowed, kiln_error *err);

#endif
