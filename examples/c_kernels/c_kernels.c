/*
 * c_kernels.c - a compiler of one's own behind Kiln, through kiln.h alone.
 *
 * Kernels are C source text. The system's cc compiles them in a subprocess to a shared object, which is what an
 * artifact carries; linking is memfd_create and dlopen. Kiln does the rest: keys, single flight, the folder, the
 * counters. A scale factor is a constant of a kernel, so each factor is a kernel of its own.
 *
 *     c_kernels [TREE]
 *
 * With a tree, some kernels include <scale.h>, which is searched in TREE/include and TREE/defaults: what the compiler
 * read and where it looked in vain is what their code depends on, wherever the tree is kept.
 */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <kiln.h>
#include <limits.h>
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

enum { MOST_FOLDERS = 16 };

struct cc {
    const char *program;
    char digest[256];
    char include[2][PATH_MAX + 16];       /* options: TREE/include, TREE/defaults; "" without a tree */
    char prefix_map[PATH_MAX + 32];       /* no path of this machine gets into an object */
    char folders[MOST_FOLDERS][PATH_MAX]; /* in the order in which <...> is searched, the tree's first */
    size_t folder_count;
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

/* ---- what it read -------------------------------------------------------------------------------------------- */

/* What `path` is below the folder; NULL: it is not below it. */
static const char *below(const char *folder, const char *path)
{
    size_t size = strlen(folder);
    return !strncmp(path, folder, size) && path[size] == '/' ? path + size + 1 : NULL;
}

static void depend_on(const kiln_request *request, const char *folder, size_t folder_size, const char *name)
{
    char path[2 * PATH_MAX];
    snprintf(path, sizeof path, "%.*s/%s", (int)folder_size, folder, name);
    kiln_request_depends_file(request, path); /* a failure is remembered, and fails the compile */
}

/* A header, by the path that the compiler printed, and the places that are searched before the folder in which it is: a
 * header that appears there would be read instead. `includer` is the header that included it, or "". */
static void depend_on_header(const struct cc *cc, const kiln_request *request, const char *path, const char *includer)
{
    const char *slash = strrchr(includer, '/');
    kiln_request_depends_file(request, path);
    for (size_t found = 0; found < cc->folder_count; found++) {
        const char *name = below(cc->folders[found], path);
        if (!name) continue;
        for (size_t i = 0; i < found; i++) depend_on(request, cc->folders[i], strlen(cc->folders[i]), name);
        if (slash) depend_on(request, includer, (size_t)(slash - includer), name); /* "..." begins beside it */
    }
}

/* -H prints a line for each header: a dot for each level, a space, the path. Cuts `output` into lines. */
static void depend_on_all(const struct cc *cc, const kiln_request *request, char *output)
{
    enum { DEEPEST = 200 };
    const char *includers[DEEPEST + 1] = {""};
    for (char *rest = NULL, *line = strtok_r(output, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest)) {
        size_t depth = strspn(line, ".");
        if (!depth || depth > DEEPEST || line[depth] != ' ') continue;
        includers[depth] = line + depth + 1;
        depend_on_header(cc, request, includers[depth], includers[depth - 1] ? includers[depth - 1] : "");
    }
}

static kiln_status compile(void *self, const kiln_request *request, kiln_bytes text, kiln_artifact *out,
                           kiln_error *err)
{
    struct cc *cc = self;
    static _Thread_local char output[1 << 18];
    char *if_tree = cc->folder_count ? cc->prefix_map : NULL;
    char source_path[64], object_path[64];
    int source = memory_file("kernel.c", source_path), object = memory_file("kernel.so", object_path);
    kiln_status status = KILN_COMPILE_FAILED;
    /* Read from standard input, the source has no name that could get into the object: same text, same bytes. */
    char *words[] = {(char *)cc->program, FLAGS,          "-H", "-", "-o", object_path, if_tree,
                     cc->include[0],      cc->include[1], NULL};
    if (source < 0 || object < 0 || !write_all(source, text.data, text.size) || lseek(source, 0, SEEK_SET) != 0)
        fail(err, status, "a file in memory", strerror(errno));
    else if (run(words, source, output, sizeof output) != 0)
        fail(err, status, cc->program, output);
    else if (strlen(output) + 1 == sizeof output)
        fail(err, status, cc->program, "its list of headers is too long");
    else
        status = take_object(object, out, err);
    if (!status) depend_on_all(cc, request, output);
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

/* 64 bits of some bytes, a word at a time (FNV-1a's steps): enough to tell one compiler from another. */
static uint64_t digest_of(const char *bytes, size_t size)
{
    uint64_t sum = 14695981039346656037u, word = 0;
    for (size_t i = 0; i < size; i += sizeof word, word = 0) {
        memcpy(&word, bytes + i, size - i < sizeof word ? size - i : sizeof word);
        sum = (sum ^ word) * 1099511628211u;
        sum ^= sum >> 32;
    }
    return sum;
}

static bool content_digest(const char *path, uint64_t *digest)
{
    int file = open(path, O_RDONLY | O_CLOEXEC);
    off_t size = file < 0 ? 0 : lseek(file, 0, SEEK_END);
    char *bytes = size > 0 ? mmap(NULL, (size_t)size, PROT_READ, MAP_PRIVATE, file, 0) : MAP_FAILED;
    if (file >= 0) close(file);
    if (bytes == MAP_FAILED) return false;
    *digest = digest_of(bytes, (size_t)size);
    munmap(bytes, (size_t)size);
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

/* The compiler's own folders, as -v lists them behind the user's. */
static bool add_folders(struct cc *cc)
{
    static char output[1 << 16];
    if (run((char *[]){(char *)cc->program, "-x", "c", "-E", "-v", "/dev/null", NULL}, STDIN_FILENO, output,
            sizeof output) != 0)
        return false;
    char *list = strstr(output, "#include <...> search starts here:\n"), *end = strstr(output, "End of search list");
    if (!list || !end) return false;
    *end = '\0';
    size_t used = strlen(cc->digest);
    snprintf(cc->digest + used, sizeof cc->digest - used, " -I tree/include -I tree/defaults, then %016llx",
             (unsigned long long)digest_of(list, strlen(list)));
    list = strchr(list, '\n');
    for (char *line = strtok(list, "\n"); line && cc->folder_count < MOST_FOLDERS; line = strtok(NULL, "\n"))
        snprintf(cc->folders[cc->folder_count++], PATH_MAX, "%s", line + strspn(line, " "));
    return true;
}

/*
 * Which places are searched has to follow from the key. The tree's folders stand in it by the name of a root, so that
 * the key is the same wherever the tree is; compile() names files by paths, which Kiln knows by that name.
 */
static bool cc_use_tree(struct cc *cc, const char *tree)
{
    static const char *const names[] = {"include", "defaults"};
    kiln_error err;
    if (strlen(tree) >= PATH_MAX - 16) return fprintf(stderr, "c_kernels: the tree's path is too long\n"), false;
    if (kiln_set_root("tree", tree, &err) != KILN_OK) return fprintf(stderr, "c_kernels: %s\n", err.text), false;
    for (int i = 0; i < 2; i++) {
        snprintf(cc->folders[cc->folder_count++], PATH_MAX, "%s/%s", tree, names[i]);
        snprintf(cc->include[i], sizeof cc->include[i], "-I%s/%s", tree, names[i]);
    }
    snprintf(cc->prefix_map, sizeof cc->prefix_map, "-ffile-prefix-map=%s=tree", tree);
    if (add_folders(cc)) return true;
    return fprintf(stderr, "c_kernels: %s does not say where it searches\n", cc->program), false;
}

/* ---- a function ---------------------------------------------------------------------------------------------- */

struct axpy { /* what a kernel is made for; never changes while its function lives */
    const char *type;
    double factor;
    const char *scale; /* what <scale.h> defines and x is multiplied with too; NULL: nothing */
};

/* Deterministic, as lower() must be: the same payload gives the same bytes, the factor by its exact value. */
static kiln_status lower(void *payload, const kiln_request *request, kiln_text *text, kiln_error *err)
{
    (void)request, (void)err;
    const struct axpy *axpy = payload;
    if (axpy->scale && kiln_text_printf(text, "#include <scale.h>\n") != KILN_OK) return KILN_NO_MEMORY;
    return kiln_text_printf(text,
                            "void kernel(%s *restrict y, const %s *restrict x, long n)\n"
                            "{\n    for (long i = 0; i < n; i++) y[i] += %a * %s * x[i];\n}\n",
                            axpy->type, axpy->type, axpy->factor, axpy->scale ? axpy->scale : "1");
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
    printf("y += %g * %s%sx: y[3] = %g\n", axpy->factor, axpy->scale ? axpy->scale : "", axpy->scale ? " * " : "",
           (double)y[3]);
    float step = axpy->scale ? y[1] - 1 : (float)axpy->factor; /* only the header knows the scale */
    for (int i = 0; i < 16; i++)
        if (y[i] != 1 + step * (float)i) return false;
    return true;
}

int main(int count, char **words)
{
    const char *tree = count > 1 ? words[1] : NULL, *scale = tree ? "SCALE" : NULL;
    struct axpy axpys[] = {
        {"float", 2.5, scale}, {"float", -1, NULL}, {"float", 2.5, scale}}; /* the third has the first one's text */
    static struct cc cc;
    if (!cc_init(&cc)) return fprintf(stderr, "c_kernels: no C compiler; CC says which one to use\n"), 1;
    if (tree && !cc_use_tree(&cc, tree)) return 1;
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
