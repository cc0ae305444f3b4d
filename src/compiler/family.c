/*
 * family.c - the families of targets: x86-64 CPUs, whose kernels become objects, and NVIDIA GPUs, whose kernels become
 * PTX. Each is one row; everything else in this layer reads what it needs from the row. CPUs with and without fused
 * multiply-adds are two families, and so are GPUs with and without bfloat16, because each has a run-time library of its
 * own; results are the same.
 *
 * LLVM prints to stderr when it does not know a CPU, so names are checked against those of LLVM 19 first.
 */
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include <llvm-c/Target.h>

#include "compiler/internal.h"

static const char *const x86_names[] = {
    "amdfam10",      "atom",         "barcelona", "bdver1",      "bonnell",    "btver1",
    "btver2",        "core-avx-i",   "core2",     "corei7",      "corei7-avx", "goldmont",
    "goldmont-plus", "ivybridge",    "k8",        "k8-sse3",     "nehalem",    "nocona",
    "opteron",       "opteron-sse3", "penryn",    "sandybridge", "silvermont", "slm",
    "tremont",       "westmere",     "x86-64",    "x86-64-v2",   NULL,
};

/* CPUs with fused multiply-adds: x86-64-v3 and all that have what it asks for, and a few more. */
static const char *const x86_fused_names[] = {
    "alderlake",
    "arrowlake",
    "arrowlake-s",
    "bdver2",
    "bdver3",
    "bdver4",
    "broadwell",
    "cannonlake",
    "cascadelake",
    "clearwaterforest",
    "cooperlake",
    "core-avx2",
    "emeraldrapids",
    "gracemont",
    "grandridge",
    "graniterapids",
    "graniterapids-d",
    "haswell",
    "icelake-client",
    "icelake-server",
    "knl",
    "knm",
    "lunarlake",
    "meteorlake",
    "pantherlake",
    "raptorlake",
    "rocketlake",
    "sapphirerapids",
    "sierraforest",
    "skx",
    "skylake",
    "skylake-avx512",
    "tigerlake",
    "x86-64-v3",
    "x86-64-v4",
    "znver1",
    "znver2",
    "znver3",
    "znver4",
    "znver5",
    NULL,
};

static const char *const gpu_names[] = {"sm_70", "sm_75", NULL};
static const char *const gpu_bf16_names[] = {"sm_80", "sm_86", "sm_89", "sm_90", NULL};

/*
 * The loop has one block and simple addresses, so few passes are needed: inline the helpers, clean up, put the loop
 * into the form the vectoriser wants, vectorise, clean up.
 */
#define INLINE   "always-inline,globaldce,"
#define SIMPLIFY "sroa,early-cse,instcombine<no-verify-fixpoint>,simplifycfg"
#define VECTORIZE                                                                                                      \
    "loop-simplify,lcssa,loop-mssa(licm),loop(indvars),loop-vectorize,instcombine<no-verify-fixpoint>,early-cse,"      \
    "simplifycfg,loop-mssa(licm),loop(indvars)"

/*
 * A GPU's threads are its lanes, so nothing is vectorised. Loops are unrolled where the text asks for it or where a
 * short one goes away; then what the copies share is computed once. Neighbouring accesses become wide ones later, among
 * LLVM's own passes for this target. Indices keep their width: 64-bit ones cost two registers each.
 */
#define UNROLL                                                                                                         \
    "infer-address-spaces,loop-simplify,lcssa,loop-mssa(licm),"                                                        \
    "loop-unroll<O2;no-partial;no-runtime;no-upperbound;no-peeling>,sroa,instcombine<no-verify-fixpoint>,"             \
    "early-cse<memssa>,simplifycfg,loop-simplify,lcssa,loop-mssa(licm)"

/* PTX 8.1 is the first with more than 4 KB of kernel parameters; drivers from 530 on read it. */
static const struct kiln_family families[] = {
    {.name = "x86-64 CPU",
     .triple = "x86_64-pc-linux-gnu",
     .features = "",
     .targets = x86_names,
     .output = LLVMObjectFile,
     .pipelines = {INLINE "function(" SIMPLIFY ")", INLINE "function(" SIMPLIFY "," VECTORIZE ")"},
     .runtime = kiln__runtime_x86,
     .check = kiln__object_check},
    {.name = "x86-64 CPU with fused multiply-adds",
     .triple = "x86_64-pc-linux-gnu",
     .features = "",
     .targets = x86_fused_names,
     .output = LLVMObjectFile,
     .pipelines = {INLINE "function(" SIMPLIFY ")", INLINE "function(" SIMPLIFY "," VECTORIZE ")"},
     .runtime = kiln__runtime_x86_fused,
     .check = kiln__object_check},
    {.name = "NVIDIA GPU",
     .triple = "nvptx64-nvidia-cuda",
     .features = "+ptx81",
     .targets = gpu_names,
     .output = LLVMAssemblyFile,
     .inlines_all = true,
     .pipelines = {INLINE "function(" SIMPLIFY ")", INLINE "function(" SIMPLIFY "," UNROLL ")"},
     .runtime = kiln__runtime_nvptx,
     .check = kiln__ptx_check},
    {.name = "NVIDIA GPU with bfloat16",
     .triple = "nvptx64-nvidia-cuda",
     .features = "+ptx81",
     .targets = gpu_bf16_names,
     .output = LLVMAssemblyFile,
     .inlines_all = true,
     .pipelines = {INLINE "function(" SIMPLIFY ")", INLINE "function(" SIMPLIFY "," UNROLL ")"},
     .runtime = kiln__runtime_nvptx_bf16,
     .check = kiln__ptx_check},
};

enum { FAMILY_COUNT = sizeof families / sizeof families[0] };

static pthread_once_t once = PTHREAD_ONCE_INIT;

static void start(void)
{
    LLVMInitializeX86TargetInfo();
    LLVMInitializeX86Target();
    LLVMInitializeX86TargetMC();
    LLVMInitializeX86AsmPrinter();
    LLVMInitializeNVPTXTargetInfo();
    LLVMInitializeNVPTXTarget();
    LLVMInitializeNVPTXTargetMC();
    LLVMInitializeNVPTXAsmPrinter();
}

static bool has(const struct kiln_family *family, const char *target)
{
    const char *const *name = family->targets;
    while (*name && strcmp(*name, target) != 0) name++;
    return *name != NULL;
}

static void list_gpus(char *out, size_t size)
{
    size_t used = 0;
    for (size_t i = 0; i < FAMILY_COUNT; i++)
        for (const char *const *name = families[i].targets; *name && used < size; name++)
            if (families[i].output == LLVMAssemblyFile)
                used += (size_t)snprintf(out + used, size - used, "%s%s", used ? ", " : "", *name);
}

kiln_status kiln__family_get(const char *target, const struct kiln_family **out, kiln_error *err)
{
    char gpus[128];
    pthread_once(&once, start);
    for (size_t i = 0; target && i < FAMILY_COUNT; i++)
        if (has(&families[i], target)) return *out = &families[i], KILN_OK;
    list_gpus(gpus, sizeof gpus);
    return kiln__fail(
        err, KILN_INVALID,
        "target \"%s\" is none that LLVM 19 knows; right would be an x86-64 CPU, for example x86-64-v3 or "
        "znver4, or an NVIDIA GPU: %s",
        target ? target : "", gpus);
}
