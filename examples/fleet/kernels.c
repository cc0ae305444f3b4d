/*
 * kernels.c - a program with twenty kernels, for run.sh: it checks what each computes and says where they came from.
 */
#include <inttypes.h>
#include <kiln.h>
#include <stdio.h>

enum { KERNELS = 20 };

/* Kernel n computes x * (n + 3) + n: a text of its own, so a key and an artifact of its own. */
static kiln_status make(int n, kiln_function **out, kiln_error *err)
{
    char text[160];
    int size = snprintf(text, sizeof text,
                        "define i64 @kernel(i64 %%x) {\n"
                        "  %%y = mul i64 %%x, %d\n"
                        "  %%z = add i64 %%y, %d\n"
                        "  ret i64 %%z\n"
                        "}\n",
                        n + 3, n);
    const kiln_function_options options = {
        .struct_size = sizeof options, .name = "fleet", .text = {text, (size_t)size}};
    return kiln_function_new(kiln_cache_default(), &options, out, err);
}

int main(void)
{
    for (int n = 0; n < KERNELS; n++) {
        kiln_function *function = NULL;
        void *code = NULL;
        kiln_error err;
        if (make(n, &function, &err) != KILN_OK || kiln_get(function, NULL, 0, NULL, &code, &err) != KILN_OK) {
            fprintf(stderr, "kernel %d: %s\n", n, err.text);
            return 1;
        }
        int64_t got = ((int64_t (*)(int64_t))code)(1000), want = 1000 * (n + 3) + n;
        if (got != want) {
            printf("kernel %d: WRONG: %" PRId64 " instead of %" PRId64 "\n", n, got, want);
            return 1;
        }
        kiln_function_free(function);
    }
    kiln_counters counters;
    kiln_cache_counters(kiln_cache_default(), &counters);
    printf("%d kernels are right: %" PRIu64 " compiled here, %" PRIu64 " from the remote, %" PRIu64
           " from the folder\n",
           KERNELS, counters.compiles, counters.remote_hits, counters.disk_hits);
    return 0;
}
