/*
 * c_kernels.c - a compiler of one's own behind Kiln, through kiln.h alone.
 *
 * Kernels are C source text. The system's cc compiles them in a subprocess to a shared object, which is what an
 * artifact carries; linking is memfd_create and dlopen. Kiln does the rest: keys, single flight, the folder, the
 * counters. A scale factor and the length are constants of a kernel, so each (length, factor) is a kernel of its own.
 */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <kiln.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

#define FLAGS      "-O2", "-shared", "-fPIC", "-x", "c"
#define FLAGS_TEXT "-O2 -shared -fPIC -x c"

struct cc {
    const char *program;
    char digest[128];
};

struct kernel { /* what kiln_get gives */
    void (*entry)(float *y, const float *x, long n);
    void *handle;
    int file; /* open as long as the handle: its path is the name by which the dynamic loader knows it */
};

static kiln_status fail(kiln_error *err, kiln_status status, const char *what, const char *detail)
{
    if (err) {
        err->status = status;
        snprintf(err->text, sizeof err->text, "%s: %s", what, detail);
    }
    return status;
}

/* ---- small files and processes ------------------------------------------------------------------------------- */

static bool write_all(int file, const void *data, size_t size)
{
    for (const char *at = data; size > 0;) {
        ssize_t count = write(file, at, size);
        if (count < 0 && errno == EINTR) continue;
        if (count <= 0) return false;
        at += count, size -= (size_t)count;
    }
    return true;
}

/* An anonymous file; `path` is a name by which other functions and processes started by us can open it. */
static int memory_file(const char *name, char path[64])
{
    int file = memfd_create(name, 0);
    snprintf(path, 64, "/proc/%ld/fd/%d", (long)getpid(), file);
    return file;
}

/* Runs a program that reads `input`, with its output and errors in `output` (cut at `size`); its exit status, or -1. */
static int run(char *const words[], int input, char *output, size_t size)
{
    int ends[2], status = -1;
    pid_t process;
    output[0] = '\0';
    if (pipe2(ends, O_CLOEXEC) != 0) return -1;
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, input, STDIN_FILENO);
    posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
    posix_spawn_file_actions_adddup2(&actions, ends[1], STDERR_FILENO);
    int error = posix_spawnp(&process, words[0], &actions, NULL, words, environ);
    posix_spawn_file_actions_destroy(&actions);
    close(ends[1]);
    char piece[4096];
    size_t used = 0;
    for (ssize_t count; !error && (count = read(ends[0], piece, sizeof piece)) != 0;) {
        if (count < 0 && errno != EINTR) break;
        for (ssize_t i = 0; i < count; i++)
            if (used + 1 < size) output[used++] = piece[i];
    }
    output[used] = '\0';
    close(ends[0]);
    if (error) return snprintf(output, size, "%s", strerror(error)), -1;
    while (waitpid(process, &status, 0) < 0 && errno == EINTR) {
    }
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

/* ---- the compiler -------------------------------------------------------------------------------------------- */

/* Copies the shared object into the artifact. */
static kiln_status take_object(int file, kiln_artifact *out, kiln_error *err)
{
    off_t size = lseek(file, 0, SEEK_END);
    void *bytes = size > 0 ? mmap(NULL, (size_t)size, PROT_READ, MAP_SHARED, file, 0) : MAP_FAILED;
    if (bytes == MAP_FAILED) return fail(err, KILN_COMPILE_FAILED, "cc", "it wrote no object");
    kiln_status status = kiln_artifact_put(out, "shared-object", bytes, (size_t)size);
    munmap(bytes, (size_t)size);
    return status ? status : kiln_artifact_set_entry(out, "kernel");
}

static kiln_status compile(void *self, const kiln_request *request, kiln_bytes text, kiln_artifact *out,
                           kiln_error *err)
{
    (void)request;
    struct cc *cc = self;
    char source_path[64], object_path[64], output[900];
    int source = memory_file("kernel.c", source_path), object = memory_file("kernel.so", object_path);
    kiln_status status = KILN_COMPILE_FAILED;
    /* Read from standard input, the source has no name that could get into the object: same text, same bytes. */
    char *words[] = {(char *)cc->program, FLAGS, "-", "-o", object_path, NULL};
    if (source < 0 || object < 0 || !write_all(source, text.data, text.size) || lseek(source, 0, SEEK_SET) != 0)
        fail(err, status, "a file in memory", strerror(errno));
    else if (run(words, source, output, sizeof output) != 0)
        fail(err, status, cc->program, output);
    else
        status = take_object(object, out, err);
    if (source >= 0) close(source);
    if (object >= 0) close(object);
    return status;
}

static void unlink_kernel(void *self, void *executable)
{
    (void)self;
    struct kernel *kernel = executable;
    if (kernel->handle) dlclose(kernel->handle);
    if (kernel->file >= 0) close(kernel->file);
    free(kernel);
}

static kiln_status link_kernel(void *self, const kiln_artifact *artifact, kiln_device *device, void **executable,
                               kiln_error *err)
{
    (void)device;
    char path[64];
    kiln_bytes object = kiln_artifact_get(artifact, "shared-object");
    struct kernel *kernel = calloc(1, sizeof *kernel);
    if (!kernel) return fail(err, KILN_NO_MEMORY, "link", "no memory for a kernel");
    kernel->file = memory_file("kernel.so", path);
    if (kernel->file >= 0 && object.data && write_all(kernel->file, object.data, object.size))
        kernel->handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (kernel->handle) *(void **)&kernel->entry = dlsym(kernel->handle, kiln_artifact_entry(artifact));
    if (kernel->entry) return *executable = kernel, KILN_OK;
    const char *reason = object.data ? dlerror() : "the artifact has no section shared-object";
    fail(err, KILN_LINK_FAILED, "link", reason ? reason : strerror(errno));
    unlink_kernel(self, kernel);
    return KILN_LINK_FAILED;
}

/* 64 bits of a file's content, a word at a time (FNV-1a's steps): enough to tell one compiler from another. */
static bool content_digest(const char *path, uint64_t *digest)
{
    int file = open(path, O_RDONLY | O_CLOEXEC);
    off_t size = file < 0 ? 0 : lseek(file, 0, SEEK_END);
    char *bytes = size > 0 ? mmap(NULL, (size_t)size, PROT_READ, MAP_PRIVATE, file, 0) : MAP_FAILED;
    if (file >= 0) close(file);
    if (bytes == MAP_FAILED) return false;
    uint64_t sum = 14695981039346656037u, word = 0;
    for (size_t i = 0; i < (size_t)size; i += sizeof word, word = 0) {
        memcpy(&word, bytes + i, (size_t)size - i < sizeof word ? (size_t)size - i : sizeof word);
        sum = (sum ^ word) * 1099511628211u;
        sum ^= sum >> 32;
    }
    munmap(bytes, (size_t)size);
    *digest = sum;
    return true;
}

/* The tool chain is cc1 (or the driver itself, where there is none beside it) and the flags. */
static bool cc_init(struct cc *cc)
{
    char path[4096];
    uint64_t digest;
    const char *chosen = getenv("CC");
    cc->program = chosen && *chosen ? chosen : "cc";
    if (run((char *[]){(char *)cc->program, "-print-prog-name=cc1", NULL}, STDIN_FILENO, path, sizeof path) != 0)
        return false;
    path[strcspn(path, "\n")] = '\0';
    if (path[0] != '/') { /* clang: one program does all; the shell finds it */
        char find[512];
        snprintf(find, sizeof find, "command -v -- '%s'", cc->program);
        if (run((char *[]){"sh", "-c", find, NULL}, STDIN_FILENO, path, sizeof path) != 0) return false;
        path[strcspn(path, "\n")] = '\0';
    }
    if (!content_digest(path, &digest)) return false;
    snprintf(cc->digest, sizeof cc->digest, "%016llx %s", (unsigned long long)digest, FLAGS_TEXT);
    return true;
}

/* ---- a function ---------------------------------------------------------------------------------------------- */

struct axpy { /* what a kernel is made for; never changes while its function lives */
    const char *type;
    double factor;
};

/* Deterministic, as lower() must be: the same payload gives the same bytes, the factor by its exact value. */
static kiln_status lower(void *payload, const kiln_request *request, kiln_text *text, kiln_error *err)
{
    (void)request, (void)err;
    const struct axpy *axpy = payload;
    return kiln_text_printf(text,
                            "void kernel(%s *restrict y, const %s *restrict x, long n)\n"
                            "{\n    for (long i = 0; i < n; i++) y[i] += %a * x[i];\n}\n",
                            axpy->type, axpy->type, axpy->factor);
}

static bool call(kiln_function *function, const struct axpy *axpy)
{
    /* The pointers' and the length's values are no part of the key: one kernel serves all. */
    const kiln_arg args[] = {{&kiln_pointer, NULL}, {&kiln_pointer, NULL}, {&kiln_scalar_i64, NULL}};
    float x[16], y[16];
    void *executable;
    kiln_error err;
    for (int i = 0; i < 16; i++) x[i] = (float)i, y[i] = 1;
    if (kiln_get(function, args, 3, NULL, &executable, &err) != KILN_OK)
        return fprintf(stderr, "c_kernels: %s\n", err.text), false;
    ((struct kernel *)executable)->entry(y, x, 16);
    printf("y += %g * x: y[3] = %g\n", axpy->factor, (double)y[3]);
    for (int i = 0; i < 16; i++)
        if (y[i] != 1 + (float)axpy->factor * (float)i) return false;
    return true;
}

int main(void)
{
    static struct axpy axpys[] = {
        {"float", 2.5}, {"float", -1}, {"float", 2.5}}; /* the third has the first one's text */
    static struct cc cc;
    if (!cc_init(&cc)) return fprintf(stderr, "c_kernels: no C compiler; CC says which one to use\n"), 1;
    const kiln_compiler compiler = {sizeof compiler, "c-kernels", cc.digest, compile, link_kernel, unlink_kernel, &cc};
    bool is_right = true;
    for (size_t i = 0; i < sizeof axpys / sizeof *axpys; i++) {
        const kiln_function_options options = {
            .struct_size = sizeof options, .name = "axpy", .compiler = &compiler, .lower = lower, .payload = &axpys[i]};
        kiln_function *function;
        kiln_error err;
        if (kiln_function_new(kiln_cache_default(), &options, &function, &err) != KILN_OK)
            return fprintf(stderr, "c_kernels: %s\n", err.text), 1;
        for (int repeat = 0; repeat < 2; repeat++) is_right &= call(function, &axpys[i]); /* the second is a hit */
        kiln_function_free(function);
    }
    return is_right ? 0 : 1;
}
