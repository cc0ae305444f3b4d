/*
 * module.c - a module that is loaded and unloaded by tests; built twice, with another MODULE_TEXT each.
 */
#include "kiln.h"

int module_value = 3;

int module_read(void);
kiln_status module_lower(void *payload, const kiln_request *request, kiln_text *text, kiln_error *err);

int module_read(void)
{
    return module_value;
}

kiln_status module_lower(void *payload, const kiln_request *request, kiln_text *text, kiln_error *err)
{
    (void)payload, (void)request, (void)err;
    return kiln_text_printf(text, MODULE_TEXT);
}
