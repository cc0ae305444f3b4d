/*
 * llvm.c - kiln_compiler_llvm(): the LLVM plug-in behind the compiler interface.
 *
 * libkiln-llvm.so is opened by the first compile and never before, because opening libLLVM costs tens of milliseconds.
 * The tool chain's digest is therefore read from the files: what notes in the plug-in and in libLLVM say. Linking needs
 * no LLVM at all: llvm_link.c.
 */
#include <dlfcn.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/process/callback.h"
#include "base/process/exit.h"
#include "base/process/gate.h"
#include "base/process/timeline.h"
#include "cache/cache.h"
#include "cache/kernels/kernel.h"
#include "cache/kernels/llvm_link.h"
#include "cache/kernels/toolchain.h"
#include "compiler/plugin.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* guards opening; `plugin` is read without it once set */
static _Atomic(const struct kiln_plugin *) plugin;
static char opened[KILN_TOOLCHAIN_SIZE]; /* which tool chain `plugin` is; set before it */

static kiln_status open_plugin(kiln_error *err)
{
    char path[4096];
    uint64_t recorded_ns = kiln__timeline_begin();
    kiln_status status = kiln__plugin_path(path, sizeof path, err);
    if (status) return status;
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    kiln__timeline_end(recorded_ns, &(struct kiln_event){.kind = "open the compiler", .where = path});
    if (!library) return kiln__fail(err, KILN_NO_COMPILER, "the compiler plug-in can't be opened: %s", dlerror());
    const struct kiln_plugin *table = dlsym(library, KILN_PLUGIN_SYMBOL);
    if (!table || table->version != KILN_PLUGIN_VERSION) {
        dlclose(library);
        return kiln__fail(err, KILN_NO_COMPILER, "%s is not the compiler plug-in of this version", path);
    }
    kiln__exit_watch(); /* before the destructors that LLVM has registered by now */
    kiln__toolchain_digest(opened, sizeof opened);
    atomic_store_explicit(&plugin, table, memory_order_release);
    return KILN_OK;
}

/* A failure is not remembered: a plug-in installed later is found. */
static kiln_status get_plugin(const struct kiln_plugin **out, kiln_error *err)
{
    kiln_status status = KILN_OK;
    *out = atomic_load_explicit(&plugin, memory_order_acquire);
    if (*out) return KILN_OK;
    kiln__mutex_lock(&lock);
    if (!atomic_load_explicit(&plugin, memory_order_relaxed)) status = open_plugin(err);
    *out = atomic_load_explicit(&plugin, memory_order_relaxed);
    kiln__mutex_unlock(&lock);
    return status;
}

/* A cache must not store kernels of another tool chain under the name by which it looks them up; so a plug-in that was
 * installed or replaced since has to be the very one. */
static kiln_status check_toolchain(const kiln_cache *cache, kiln_error *err)
{
    if (strcmp(opened, kiln__cache_toolchain(cache, kiln_compiler_llvm())) == 0) return KILN_OK;
    return kiln__fail(
        err, KILN_NO_COMPILER,
        "the compiler plug-in was installed or replaced after the cache was opened, and is not the one by "
        "which it finds kernels; start the program again to use it");
}

/*
 * LLVM registers further destructors when it first does something: thousands while it is loaded, some in the first
 * compile, few in later ones. A handler of ours that was registered before them would run too late. So a thread
 * registers it over and over while the plug-in is opened and compiles for the first time, and later compiles do it now
 * and then.
 */
static void *keep_watching(void *is_over)
{
    while (!atomic_load((_Atomic bool *)is_over)) {
        kiln__exit_watch_loading();
        nanosleep(&(struct timespec){0, 250000}, NULL);
    }
    return NULL;
}

struct keeper {
    pthread_t thread;
    bool is_running;
    _Atomic bool is_over;
};

static void start_keeper(struct keeper *keeper)
{
    static _Atomic bool was_started;
    sigset_t all, before;
    if (atomic_exchange(&was_started, true)) return;
    sigfillset(&all); /* signals are for the program's own threads */
    pthread_sigmask(SIG_SETMASK, &all, &before);
    keeper->is_running = pthread_create(&keeper->thread, NULL, keep_watching, &keeper->is_over) == 0;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
}

static void stop_keeper(struct keeper *keeper)
{
    static _Atomic unsigned compiles;
    atomic_store(&keeper->is_over, true);
    if (keeper->is_running) pthread_join(keeper->thread, NULL);
    unsigned number = atomic_fetch_add(&compiles, 1) + 1;
    if ((number & (number - 1)) == 0)
        kiln__exit_watch(); /* after the keeper's, which do not wait, and so before them */
}

/* What LLVM does, for the time line: each phase begins where the one before has ended. */
struct phases {
    const kiln_request *request;
    uint64_t since_ns;
};

static void record_phase(const char *phase, void *context)
{
    struct phases *phases = context;
    uint64_t now = kiln__timeline_begin();
    kiln__timeline_end(phases->since_ns,
                       &(struct kiln_event){.kind = "phase", .name = phase, .function = phases->request->function});
    phases->since_ns = now;
}

static kiln_status compile_watched(const kiln_request *request, kiln_bytes text, kiln_artifact *out, kiln_error *err)
{
    const struct kiln_plugin *table;
    struct kiln_artifact *runtime = NULL;
    struct kiln_buffer object = {0}, entry = {0};
    kiln_status status = get_plugin(&table, err);
    if (!status) status = check_toolchain(request->cache, err);
    if (!status)
        status = kiln__runtime_get(request, kiln__cache_toolchain(request->cache, kiln_compiler_llvm()),
                                   table->runtime_digest, table->prepare, &runtime, err);
    if (!status) {
        struct phases phases = {request, kiln__timeline_begin()};
        const struct kiln_plugin_job job = {
            .text = text,
            .runtime = kiln_artifact_get(runtime, "bitcode"),
            .target = kiln_request_target(request),
            .opt_level = request->options.opt_level,
            .fast_math = request->options.fast_math,
            .lines = request->options.lines,
            .phase_ended = phases.since_ns ? record_phase : NULL,
            .context = &phases,
        };
        status = table->compile(&job, &object, &entry, err);
    }
    if (!status && object.failed) status = kiln__no_memory(err, "an object");
    const char *section = request->device->gpu ? "ptx" : "object";
    if (!status) status = kiln_artifact_put(out, section, object.data, object.size);
    if (!status) status = kiln_artifact_set_entry(out, (const char *)entry.data);
    kiln__buffer_release(&object);
    kiln__buffer_release(&entry);
    return status;
}

static kiln_status compile(void *self, const kiln_request *request, kiln_bytes text, kiln_artifact *out,
                           kiln_error *err)
{
    (void)self;
    KILN_HOLD_CANCEL;
    struct keeper keeper = {.is_running = false};
    start_keeper(&keeper);
    kiln_status status = compile_watched(request, text, out, err);
    stop_keeper(&keeper);
    return status;
}

static kiln_compiler compiler = {.struct_size = sizeof compiler,
                                 .name = "llvm",
                                 .compile = compile,
                                 .link = kiln__llvm_link,
                                 .unlink = kiln__llvm_unlink};
static char digest[KILN_TOOLCHAIN_SIZE];
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void set_up(void)
{
    kiln__toolchain_digest(digest, sizeof digest);
    compiler.digest = digest;
}

const kiln_compiler *kiln_compiler_llvm(void)
{
    pthread_once(&once, set_up);
    return &compiler;
}
