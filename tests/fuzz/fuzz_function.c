/*
 * fuzz_function.c - any bytes as the body of a file with functions, behind a right header: refused, or what was read is
 * written and read again.
 */
#include <stdlib.h>
#include <string.h>

#include "base/buffer.h"
#include "base/digest.h"
#include "run/function/function_file.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static bool append(void *context, const void *data, size_t size)
{
    kiln__buffer_append(context, data, size);
    return true;
}

static void put_header(struct kiln_buffer *out, const uint8_t *body, size_t size)
{
    const struct kiln_digest digest = kiln__digest(body, size);
    kiln__buffer_append(out, kiln__function_magic, 8);
    kiln__buffer_u32(out, KILN_FUNCTION_VERSION);
    kiln__buffer_u32(out, 0);
    kiln__buffer_u64(out, size);
    kiln__buffer_append(out, &digest, sizeof digest);
}

static void check_again(const struct kiln_function_file *file)
{
    struct kiln_buffer text = {0};
    struct kiln_function_file again;
    kiln_error err;
    const struct kiln_sink sink = {"fuzz", append, &text};
    if (kiln__function_write(&sink, file, &err) || kiln__function_read(text.data, text.size, &again, &err)) abort();
    if (again.count != file->count) abort();
    kiln__function_release(&again);
    kiln__buffer_release(&text);
}

/* Inputs that are whole files keep their header. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct kiln_buffer text = {0};
    struct kiln_function_file file;
    kiln_error err;
    if (size >= KILN_FUNCTION_HEADER && !memcmp(data, kiln__function_magic, 8)) {
        data += KILN_FUNCTION_HEADER;
        size -= KILN_FUNCTION_HEADER;
    }
    put_header(&text, data, size);
    kiln__buffer_append(&text, data, size);
    if (text.failed) abort();
    if (kiln__function_read(text.data, text.size, &file, &err) == KILN_OK) {
        check_again(&file);
        kiln__function_release(&file);
    }
    kiln__buffer_release(&text);
    return 0;
}
