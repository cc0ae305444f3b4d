/*
 * trusting.c - a program that compiles one kernel with the default cache, after it has gone to another folder if its
 * argument names one. For trust.sh, which looks at whose code runs and which files are written.
 */
#include <stdio.h>
#include <unistd.h>

#include "kiln.h"

static const char text[] = "define i64 @kernel() {\n  ret i64 42\n}\n";

static int fail(const char *what, const kiln_error *error)
{
    fprintf(stderr, "trusting: %s: %s\n", what, error->text);
    return 1;
}

int main(int count, char **words)
{
    const kiln_function_options options = {
        .struct_size = sizeof options, .name = "answer", .text = {text, sizeof text - 1}};
    kiln_error error = {KILN_OK, ""};
    kiln_function *function = NULL;
    int64_t (*kernel)(void) = NULL;
    kiln_cache *cache = kiln_cache_default();
    if (count > 1 && chdir(words[1])) return fail(words[1], &error);
    if (kiln_function_new(cache, &options, &function, &error)) return fail("new", &error);
    if (kiln_get(function, NULL, 0, NULL, (void **)&kernel, &error)) return fail("get", &error);
    kiln_get(function, NULL, 0, NULL, (void **)&kernel, &error); /* a hit, which KILN_AUDIT looks at */
    printf("%lld\n", (long long)kernel());
    kiln_function_free(function);
    return 0;
}
