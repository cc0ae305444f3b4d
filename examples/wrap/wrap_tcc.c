/*
 * wrap_tcc.c - TinyCC, a compiler that is a library, behind Kiln: the text is C, the artifact an object file, which
 * libtcc links into this process.
 *
 * libtcc does not say which build it is; TCC_IDENTITY, a digest of the archive that is linked, comes from the build.
 */
#include <kiln.h>
#include <libtcc.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

typedef double kernel(double x);
struct image {
    kernel *entry;
    TCCState *tcc;
};

static void report(void *err, const char *text)
{
    snprintf(((kiln_error *)err)->text, sizeof((kiln_error *)err)->text, "%s", text);
}

static TCCState *new_tcc(int output, const char *options, kiln_error *err)
{
    TCCState *tcc = tcc_new();
    tcc_set_error_func(tcc, err, report);
    tcc_set_options(tcc, options);
    return tcc_set_output_type(tcc, output), tcc;
}

static int memory_file(char path[40])
{
    int file = memfd_create("kernel.o", 0);
    return snprintf(path, 40, "/proc/self/fd/%d", file), file;
}

static kiln_status compile(void *self, const kiln_request *request, kiln_bytes text, kiln_artifact *out,
                           kiln_error *err)
{
    char path[40], object[1 << 14];
    int file = memory_file(path);
    TCCState *tcc = new_tcc(TCC_OUTPUT_OBJ, "-nostdinc", err);
    bool made = tcc_compile_string(tcc, text.data) == 0 && tcc_output_file(tcc, path) == 0;
    ssize_t size = made ? pread(file, object, sizeof object, 0) : 0;
    tcc_delete(tcc), close(file);
    if (size <= 0 || size == sizeof object) return KILN_COMPILE_FAILED;
    return kiln_artifact_put(out, "object", object, (size_t)size);
}

static void unlink_image(void *self, void *executable)
{
    struct image *image = executable;
    tcc_delete(image->tcc), free(image);
}

static kiln_status link_image(void *self, const kiln_artifact *artifact, kiln_device *device, void **out,
                              kiln_error *err)
{
    char path[40];
    int file = memory_file(path);
    kiln_bytes object = kiln_artifact_get(artifact, "object");
    struct image *image = calloc(1, sizeof *image);
    if (!image) return close(file), KILN_NO_MEMORY;
    image->tcc = new_tcc(TCC_OUTPUT_MEMORY, "-nostdlib -xb", err);
    bool linked = write(file, object.data, object.size) == (ssize_t)object.size &&
                  tcc_add_file(image->tcc, path) == 0 && tcc_relocate(image->tcc, TCC_RELOCATE_AUTO) == 0;
    *(void **)&image->entry = linked ? tcc_get_symbol(image->tcc, "kernel") : NULL;
    close(file);
    if (image->entry) return *out = image, KILN_OK;
    return unlink_image(self, image), KILN_LINK_FAILED;
}

int main(void)
{
    static const char text[] = "double kernel(double x) { return 2 * x + 1; }";
    static const kiln_compiler tcc = {sizeof tcc, "tcc", TCC_IDENTITY, compile, link_image, unlink_image, NULL};
    kiln_function_options options = {
        sizeof options, "line", &tcc, {text, sizeof text}}; /* the NUL too: libtcc wants it */
    kiln_cache *cache = kiln_cache_default();
    kiln_function *line = NULL;
    kiln_error err = {0};
    struct image *image;
    kiln_status status = kiln_function_new(cache, &options, &line, &err);
    if (!status) status = kiln_get(line, NULL, 0, NULL, (void **)&image, &err);
    if (!status) printf("2 * 10 + 1 = %g\n", image->entry(10));
    kiln_counters counters;
    kiln_cache_counters(cache, &counters);
    if (status) fprintf(stderr, "%s\n", err.text);
    printf("compiles %d, disk hits %d\n", (int)counters.compiles, (int)counters.disk_hits);
    return kiln_function_free(line), status != 0;
}
