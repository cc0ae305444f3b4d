/*
 * described.c NAME - makes a function of that name, in the locale of the environment, whose keys and texts hold
 * fractions; then prints what a program is told: why a call missed, arrays, an error.
 */
#include <locale.h>
#include <stdio.h>
#include <string.h>

#include <mlx/c/mlx.h>

#include "kiln.h"

static kiln_status compile(void *self, const kiln_request *request, kiln_bytes text, kiln_artifact *out,
                           kiln_error *err)
{
    (void)self, (void)request, (void)err;
    kiln_status status = kiln_artifact_put(out, "code", text.data, text.size);
    return status ? status : kiln_artifact_set_entry(out, "start\033[2J");
}

static kiln_status link_text(void *self, const kiln_artifact *artifact, kiln_device *device, void **executable,
                             kiln_error *err)
{
    (void)self, (void)device, (void)err;
    *executable = (void *)artifact;
    return KILN_OK;
}

static kiln_status lower(void *payload, const kiln_request *request, kiln_text *text, kiln_error *err)
{
    (void)request, (void)err;
    return kiln_text_printf(text, "scale by %g, called %s\n", 0.25, (const char *)payload);
}

static const kiln_compiler compiler = {
    .struct_size = sizeof compiler, .name = "copy", .digest = "1", .compile = compile, .link = link_text};

static void print_array(mlx_array array)
{
    mlx_string text = mlx_string_new();
    if (!mlx_array_tostring(&text, array)) puts(mlx_string_data(text));
    mlx_string_free(text);
    mlx_array_free(array);
}

static void print_message(const char *message, void *context)
{
    (void)context;
    puts(message);
}

static int describe(char *name)
{
    const kiln_function_options options = {
        .struct_size = sizeof options, .name = name, .compiler = &compiler, .lower = lower, .payload = name};
    kiln_function *function = NULL;
    void *executable = NULL;
    int watched = 1;
    if (kiln_function_new(kiln_cache_default(), &options, &function, NULL)) return 1;
    if (kiln_watch(function, name, name, &watched, sizeof watched, NULL)) return 1;
    const double factors[] = {0.5, 1.5};
    for (int i = 0; i < 2; i++) {
        const kiln_arg argument = {&kiln_const_f64, &factors[i]};
        kiln_error err;
        if (kiln_get(function, &argument, 1, NULL, &executable, &err)) return puts(err.text), 1;
        watched++;
    }
    puts(kiln_why());
    kiln_function_free(function);
    return 0;
}

int main(int count, char **words)
{
    setlocale(LC_ALL, "");
    printf("here a half is %g\n", 0.5); /* the test looks whether this locale is what it wants */
    if (count != 2 || describe(words[1])) return 1;
    mlx_set_error_handler(print_message, NULL, NULL);
    print_array(mlx_array_new_data((float[]){0.5f, 1e-3f, -2.25f}, (int[]){3}, 1, MLX_FLOAT32));
    print_array(mlx_array_new_complex(0.5f, -1.5f));
    mlx_array none = mlx_array_new();
    mlx_stream stream = mlx_default_cpu_stream_new();
    mlx_arange(&none, 0.5, 1e30, 0.25, MLX_FLOAT32, stream); /* says how many there would be */
    mlx_array_free(none);
    mlx_stream_free(stream);
    return 0;
}
