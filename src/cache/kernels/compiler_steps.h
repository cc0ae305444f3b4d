/*
 * compiler_steps.h - steps of a compiler that stand beside the public interface (kiln_compiler). Inside the library:
 * compilers that programs bring have none of them.
 */
#ifndef KILN_CACHE_KERNELS_COMPILER_STEPS_H
#define KILN_CACHE_KERNELS_COMPILER_STEPS_H

#include "store/artifact.h"

/*
 * `finish` runs after compile(), or after an artifact was found in a tier, and adds what only this device's driver can
 * make. That is slow, so it becomes a section of the artifact, which is stored again, and the next process finds it.
 */
struct kiln_compiler_steps {
    bool (*is_finished)(const struct kiln_artifact *artifact, const kiln_device *device);
    /* Adds to an artifact that nobody else has. After a failure linking says what is wrong. */
    kiln_status (*finish)(struct kiln_artifact *artifact, const kiln_device *device);
    /* link() of a stored artifact failed: may its bytes be the reason? */
    bool (*may_be_bad)(const struct kiln_artifact *artifact, const kiln_device *device);
};

extern const struct kiln_compiler_steps kiln__llvm_steps; /* in llvm_link.c */

bool kiln__is_nvrtc(const kiln_compiler *compiler); /* nvrtc.c; opens nothing */

/* NULL: it has none. */
static inline const struct kiln_compiler_steps *kiln__compiler_steps(const kiln_compiler *compiler)
{
    return compiler == kiln_compiler_llvm() || kiln__is_nvrtc(compiler) ? &kiln__llvm_steps : NULL;
}

#endif
