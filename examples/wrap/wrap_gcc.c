/*
 * wrap_gcc.c - gcc behind Kiln: the text is C, the artifact a shared object, the executable what dlopen makes of it.
 *
 * In the key: the text, the command, where cc1 is, and what it holds, for compile() says that it depends on it.
 * -nostdinc keeps out headers, which no key has; examples/c_kernels shows how they are named.
 */
#include <dlfcn.h>
#include <kiln.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#define COMMAND "gcc -O2 -shared -fPIC -nostdinc -nostdlib -x c -"

struct object { /* the file stays open as long as it is loaded: its path is its name to the dynamic loader */
    double (*kernel)(double x);
    void *handle;
    int file;
};

static int memory_file(char path[40])
{
    int file = memfd_create("kernel", 0);
    return snprintf(path, 40, "/proc/%d/fd/%d", getpid(), file), file;
}

static kiln_status compile(void *self, const kiln_request *request, kiln_bytes text, kiln_artifact *out,
                           kiln_error *err)
{
    char path[40], command[sizeof COMMAND + 50];
    int file = memory_file(path);
    snprintf(command, sizeof command, COMMAND " -o %s", path);
    kiln_request_depends_file(request, self);
    FILE *gcc = popen(command, "w"); /* what it has to say goes to stderr */
    bool written = gcc && fwrite(text.data, 1, text.size, gcc) == text.size;
    off_t size = gcc && pclose(gcc) == 0 && written ? lseek(file, 0, SEEK_END) : 0;
    void *bytes = size > 0 ? mmap(NULL, (size_t)size, PROT_READ, MAP_SHARED, file, 0) : MAP_FAILED;
    kiln_status status =
        bytes == MAP_FAILED ? KILN_COMPILE_FAILED : kiln_artifact_put(out, "object", bytes, (size_t)size);
    return munmap(bytes, (size_t)size), close(file), status;
}

static void unlink_object(void *self, void *executable)
{
    struct object *object = executable;
    if (object->handle) dlclose(object->handle);
    close(object->file), free(object);
}

static kiln_status link_object(void *self, const kiln_artifact *artifact, kiln_device *device, void **out,
                               kiln_error *err)
{
    char path[40];
    kiln_bytes bytes = kiln_artifact_get(artifact, "object");
    struct object *object = calloc(1, sizeof *object);
    if (!object) return KILN_NO_MEMORY;
    object->file = memory_file(path);
    if (write(object->file, bytes.data, bytes.size) == (ssize_t)bytes.size) object->handle = dlopen(path, RTLD_NOW);
    if (object->handle) *(void **)&object->kernel = dlsym(object->handle, "kernel");
    if (object->kernel) return *out = object, KILN_OK;
    return unlink_object(self, object), KILN_LINK_FAILED;
}

static kiln_status lower(void *payload, const kiln_request *request, kiln_text *text, kiln_error *err)
{
    const int64_t *factor = kiln_request_arg(request, 0).data; /* a header and the value */
    return kiln_text_printf(text, "double kernel(double x) { return %lld * x + 1; }\n", (long long)factor[1]);
}

int main(void)
{
    char cc1[400] = "";
    kiln_compiler gcc = {sizeof gcc, COMMAND, cc1, compile, link_object, unlink_object, cc1};
    kiln_function_options options = {.struct_size = sizeof options, .name = "line", .compiler = &gcc, .lower = lower};
    kiln_function *line = NULL;
    struct object *object = NULL;
    kiln_error err = {0};
    FILE *answer = popen("gcc -print-prog-name=cc1", "r");
    if (!answer || fscanf(answer, "%399s", cc1) != 1 || pclose(answer)) return 1;
    kiln_status status = kiln_function_new(kiln_cache_default(), &options, &line, &err);
    for (int64_t factor = 2; !status && factor <= 3; factor++)
        if (!(status = kiln_get(line, &(kiln_arg){&kiln_const_i64, &factor}, 1, NULL, (void **)&object, &err)))
            printf("%lld * 10 + 1 = %g\n", (long long)factor, object->kernel(10));
    kiln_counters counters;
    kiln_cache_counters(kiln_cache_default(), &counters);
    if (status) fprintf(stderr, "%s\n", err.text);
    printf("compiles %d, disk hits %d\n", (int)counters.compiles, (int)counters.disk_hits);
    return kiln_function_free(line), status != 0;
}
