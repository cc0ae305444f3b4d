/*
 * fuzz_elf.c - any bytes as an object: refused or loaded, never more. What was loaded is not run.
 */
#include <stdlib.h>

#include "link/link.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct kiln_image *image = NULL;
    kiln_error err = {0};
    kiln_status status = kiln__image_load((kiln_bytes){data, size}, "kernel", &image, &err);
    if ((status == KILN_OK) != (image != NULL)) abort();
    if (status != KILN_OK && err.text[0] == '\0') abort();
    kiln__image_free(image);
    return 0;
}
