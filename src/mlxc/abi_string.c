/*
 * abi_string.c - string.h of the ABI. A box holds one malloc'ed text that is replaced as a whole.
 */
#include <stdlib.h>
#include <string.h>

#include "mlxc/handle.h"

struct string_box {
    char *text;
};

int kiln__give_text(mlx_string *str, const char *text, size_t size)
{
    char *copy = malloc(size + 1);
    struct string_box *box = copy && !str->ctx ? kiln__box_new(KILN_BOX_SMALL) : str->ctx;
    if (!copy || !box) {
        free(copy);
        return KILN_FAIL_TEXT("out of memory: a string");
    }
    memcpy(copy, text, size);
    copy[size] = '\0';
    if (str->ctx) free(box->text);
    box->text = copy;
    str->ctx = box;
    return 0;
}

mlx_string mlx_string_new(void)
{
    return (mlx_string){NULL};
}

mlx_string mlx_string_new_data(const char *str)
{
    mlx_string made = {NULL};
    if (str)
        kiln__give_text(&made, str, strlen(str));
    else
        KILN_FAIL_TEXT("[string] expected a text, got NULL");
    return made;
}

int mlx_string_set(mlx_string *str, const mlx_string src)
{
    if (KILN_NO_POINTER(str) || KILN_NO_HANDLE(src, "mlx_string")) return 1;
    const char *text = ((struct string_box *)src.ctx)->text;
    return kiln__give_text(str, text, strlen(text));
}

const char *mlx_string_data(mlx_string str)
{
    if (KILN_NO_HANDLE(str, "mlx_string")) return NULL;
    return ((struct string_box *)str.ctx)->text;
}

int mlx_string_free(mlx_string str)
{
    struct string_box *box = str.ctx;
    if (!box) return 0;
    free(box->text);
    kiln__box_free(KILN_BOX_SMALL, box);
    return 0;
}
