/*
 * llvm_link.c - the LLVM compiler's artifacts become executables: linked, unlinked, and finished for GPUs.
 *
 * None of it needs LLVM: a CPU's object is loaded by the ELF loader of src/link, and a GPU's driver turns PTX into
 * machine code and loads that.
 */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/process/callback.h"
#include "base/process/gate.h"
#include "cache/kernels/compiler_steps.h"
#include "cache/kernels/llvm_link.h"
#include "device/isa.h"
#include "link/link.h"

/* ---- link ----------------------------------------------------------------------------------------------------- */

/* The executable is the entry's address, of a GPU the driver's CUfunction; what was loaded is found again by it. */
struct linked {
    struct linked *next; /* in its bucket */
    void *executable;
    struct kiln_image *image;   /* on a CPU */
    struct kiln_module *module; /* on a GPU */
};

enum { BUCKETS = 1 << 14 };

static struct linked *all_linked[BUCKETS];
static pthread_mutex_t linked_lock = PTHREAD_MUTEX_INITIALIZER; /* guards `all_linked` */

static struct linked **bucket_of(const void *executable)
{
    return &all_linked[((uint64_t)(uintptr_t)executable * 0x9e3779b97f4a7c15ull >> 32) % BUCKETS];
}

/* A device for another machine's CPU is found under compile-only, which may not be the mode of each cache. */
static kiln_status link_on_cpu(const kiln_artifact *artifact, const kiln_device *device, struct linked *linked,
                               kiln_error *err)
{
    if (!kiln__target_runs_here(&device->target))
        return kiln__fail(err, KILN_LINK_FAILED, "this machine can't run code for %s; use KILN_MODE=compile-only",
                          device->target.name);
    kiln_status status =
        kiln__image_load(kiln_artifact_get(artifact, "object"), kiln_artifact_entry(artifact), &linked->image, err);
    if (!status) linked->executable = kiln__image_entry(linked->image);
    return status;
}

/* Machine code is in the artifact, where finish() put it; if not, the driver makes it for this process alone. */
static kiln_status link_on_gpu(const kiln_artifact *artifact, const struct kiln_gpu *gpu, struct linked *linked,
                               kiln_error *err)
{
    char name[KILN_CUBIN_NAME];
    struct kiln_buffer made = {0};
    kiln_bytes cubin = kiln_artifact_get(artifact, kiln__cubin_name(gpu->target, name));
    kiln_status status = KILN_OK;
    if (gpu->is_absent)
        return kiln__fail(err, KILN_LINK_FAILED, "%s is not here; use KILN_MODE=compile-only", gpu->name);
    if (!cubin.data) {
        status = kiln__ptx_assemble(gpu, kiln_artifact_get(artifact, "ptx"), &made, err);
        cubin = (kiln_bytes){made.data, made.size};
    }
    if (!status) status = kiln__module_load(gpu, cubin, kiln_artifact_entry(artifact), &linked->module, err);
    if (!status) linked->executable = kiln__module_function(linked->module);
    kiln__buffer_release(&made);
    return status;
}

kiln_status kiln__llvm_link(void *self, const kiln_artifact *artifact, kiln_device *device, void **executable,
                            kiln_error *err)
{
    (void)self;
    KILN_HOLD_CANCEL;
    struct linked *linked = calloc(1, sizeof *linked);
    if (!linked) return kiln__no_memory(err, "an image");
    kiln_status status =
        device->gpu ? link_on_gpu(artifact, device->gpu, linked, err) : link_on_cpu(artifact, device, linked, err);
    if (status) {
        free(linked);
        return status;
    }
    *executable = linked->executable;
    kiln__mutex_lock(&linked_lock);
    struct linked **bucket = bucket_of(linked->executable);
    linked->next = *bucket;
    *bucket = linked;
    kiln__mutex_unlock(&linked_lock);
    return KILN_OK;
}

void kiln__llvm_unlink(void *self, void *executable)
{
    (void)self;
    kiln__mutex_lock(&linked_lock);
    struct linked **link = bucket_of(executable);
    while (*link && (*link)->executable != executable) link = &(*link)->next;
    struct linked *found = *link;
    if (found) *link = found->next;
    kiln__mutex_unlock(&linked_lock);
    if (!found) return;
    kiln__image_free(found->image);
    kiln__module_free(found->module);
    free(found);
}

/* ---- finish --------------------------------------------------------------------------------------------------- */

/* An artifact for a GPU has PTX, and a section of machine code for each architecture it was finished for. A GPU that is
 * not here needs none. */
static bool is_finished(const struct kiln_artifact *artifact, const kiln_device *device)
{
    const struct kiln_gpu *gpu = device->gpu;
    char name[KILN_CUBIN_NAME];
    if (!gpu || gpu->is_absent || !kiln_artifact_get(artifact, "ptx").data) return true;
    return kiln_artifact_get(artifact, kiln__cubin_name(gpu->target, name)).data;
}

static kiln_status finish(struct kiln_artifact *artifact, const kiln_device *device)
{
    struct kiln_buffer cubin = {0};
    char name[KILN_CUBIN_NAME];
    kiln_status status = kiln__ptx_assemble(device->gpu, kiln_artifact_get(artifact, "ptx"), &cubin, NULL);
    if (!status)
        status = kiln_artifact_put(artifact, kiln__cubin_name(device->gpu->target, name), cubin.data, cubin.size);
    kiln__buffer_release(&cubin);
    return status;
}

/* An object can be looked at without loading it; PTX and machine code can't. */
static bool may_be_bad(const struct kiln_artifact *artifact, const kiln_device *device)
{
    if (device->gpu) return !device->gpu->is_absent;
    return kiln__image_check(kiln_artifact_get(artifact, "object"), kiln_artifact_entry(artifact), NULL) ==
           KILN_LINK_FAILED;
}

const struct kiln_compiler_steps kiln__llvm_steps = {
    .is_finished = is_finished, .finish = finish, .may_be_bad = may_be_bad};
