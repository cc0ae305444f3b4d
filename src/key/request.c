/*
 * request.c - what lower() and compile() may ask, and the content key made from the same struct.
 *
 * Nothing here reads the environment, a device or memory again: all values are those the call key was made of. And
 * compile() is told only what its content key holds, since its artifact is for everybody who asks with that key; or
 * what is recorded (inputs.h), and then the artifact's key has it too.
 */
#include "key/request.h"

#include <stdio.h>

#include "key/argument.h"

/* ---- what compile() may not ask ------------------------------------------------------------------------------- */

enum { NEVER_KEYED = KILN_KEYED_REQUEST + 1 };
enum getter { NOTHING, ARGUMENT, ARGUMENT_COUNT, DEVICE, READ };

static const struct {
    const char *what, *getter, *instead;
} refusals[] = {
    [ARGUMENT] = {"argument", "kiln_request_arg", "give the function KILN_KEY_REQUEST, or print it into the text"},
    [ARGUMENT_COUNT] = {"the number of arguments", "kiln_request_arg_count",
                        "give the function KILN_KEY_REQUEST, or print it into the text"},
    [DEVICE] = {"the device", "kiln_request_device",
                "give the function KILN_KEY_REQUEST, or use kiln_request_target(), which is in every content key"},
    [READ] = {"a variable", "kiln_read", "read it in lower(), or watch it"},
};

/* Remembers the first thing that was asked for and is not in the content key. */
static bool is_refused(const kiln_request *request, int needed, enum getter getter, size_t index)
{
    if (!request) return true;
    if (!KILN_SEGMENT_REFUSALS || !request->is_compiling || (int)request->keyed >= needed) return false;
    uint64_t none = NOTHING, asked = (uint64_t)getter | (uint64_t)index << 32;
    kiln_request *mutable_request = (kiln_request *)request;
    __atomic_compare_exchange_n(&mutable_request->refused, &none, asked, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED);
    return true;
}

static kiln_status check_inputs(const struct kiln_request *request, kiln_error *err)
{
    kiln_status status = kiln__request_check_files(request, "compile()", KILN_COMPILE_FAILED, err);
    if (status) return status;
    if (request->inputs) status = request->inputs->status;
    if (!status) status = request->read_status;
    if (status == KILN_INVALID)
        return kiln__fail(err, KILN_COMPILE_FAILED, "%s: compile() depends on more than %d things", request->function,
                          (int)KILN_MOST_INPUTS);
    return status ? kiln__no_memory(err, "what compile() depends on") : KILN_OK;
}

kiln_status kiln__request_check(const struct kiln_request *request, kiln_error *err)
{
    char number[32] = "";
    enum getter getter = (enum getter)(uint32_t)request->refused;
    if (getter == NOTHING) return check_inputs(request, err);
    if (getter == ARGUMENT) snprintf(number, sizeof number, " %u", (unsigned)(request->refused >> 32));
    return kiln__fail(err, KILN_COMPILE_FAILED,
                      "%s: compile() asked for %s%s (%s), which is not in its content key; %s", request->function,
                      refusals[getter].what, number, refusals[getter].getter, refusals[getter].instead);
}

/* ---- getters -------------------------------------------------------------------------------------------------- */

/* For people, so a compile() that puts it into messages goes on; it only can't put it into code. */
const char *kiln_request_function(const kiln_request *request)
{
    if (!request) return "";
    bool is_hidden = KILN_SEGMENT_REFUSALS && request->is_compiling && request->keyed < KILN_KEYED_REQUEST;
    return is_hidden ? "" : request->function;
}

const char *kiln_request_target(const kiln_request *request)
{
    return request ? request->device->target.name : "";
}

kiln_device *kiln_request_device(const kiln_request *request)
{
    return is_refused(request, KILN_KEYED_REQUEST, DEVICE, 0) ? NULL : request->device;
}

size_t kiln_request_arg_count(const kiln_request *request)
{
    return is_refused(request, KILN_KEYED_ARGUMENTS, ARGUMENT_COUNT, 0) ? 0 : request->arg_count;
}

kiln_bytes kiln_request_arg(const kiln_request *request, size_t index)
{
    if (is_refused(request, KILN_KEYED_ARGUMENTS, ARGUMENT, index) || index >= request->arg_count)
        return (kiln_bytes){NULL, 0};
    const struct kiln_argument *argument = &request->args[index];
    return (kiln_bytes){request->arg_bytes.data + argument->start_at, argument->end_at - argument->start_at};
}

/* By the module's name as it is known. The first one in the key, which is the function's own where a function it
 * depends on watches the same name. */
static struct kiln_watched *find_watched(const kiln_request *request, enum kiln_item kind, const char *module,
                                         const char *name)
{
    for (size_t i = 0; i < request->watched_count; i++) {
        const struct kiln_watch *watch = request->watched[i].watch;
        if (watch->kind == kind && !strcmp(watch->name, name) && kiln__module_is(watch->module, module))
            return &request->watched[i];
    }
    return NULL;
}

static struct kiln_watched *find_answer(const kiln_request *request, const struct kiln_input *question)
{
    const char *module = question->module, *name = question->name;
    if (question->kind == KILN_INPUT_ENVIRONMENT) return find_watched(request, KILN_ITEM_ENVIRONMENT, "", name);
    struct kiln_watched *watched = find_watched(request, KILN_ITEM_MEMORY, module, name);
    return watched || *module ? watched : find_watched(request, KILN_ITEM_VARIABLE, "", name);
}

/* Callbacks may have threads. An answer that the content key does not hold is recorded, also that there is none. */
static const struct kiln_watched *ask(const kiln_request *request, const struct kiln_input *question)
{
    struct kiln_watched *watched = find_answer(request, question);
    if (watched) __atomic_store_n(&watched->is_taken, true, __ATOMIC_RELAXED);
    if (KILN_SEGMENT_INPUTS && request->inputs && request->keyed == KILN_KEYED_TEXT)
        kiln__inputs_add(request->inputs, question);
    return watched;
}

const char *kiln_request_env(const kiln_request *request, const char *name)
{
    if (!request || !name) return NULL;
    const struct kiln_watched *watched = ask(request, &(struct kiln_input){KILN_INPUT_ENVIRONMENT, "", name});
    return watched ? watched->data : NULL;
}

kiln_bytes kiln_request_watched(const kiln_request *request, const char *module, const char *name)
{
    if (!request || !name) return (kiln_bytes){NULL, 0};
    struct kiln_buffer known = {0};
    const struct kiln_watched *watched = NULL;
    kiln__module_name(module ? module : "", &known);
    if (known.failed) /* the answer is wrong, so the miss fails */
        __atomic_store_n(&((kiln_request *)request)->read_status, KILN_NO_MEMORY, __ATOMIC_RELAXED);
    else
        watched = ask(request, &(struct kiln_input){KILN_INPUT_WATCHED, (const char *)known.data, name});
    kiln__buffer_release(&known);
    return watched ? (kiln_bytes){watched->data, watched->size} : (kiln_bytes){NULL, 0};
}

const char *kiln_request_option(const kiln_request *request, const char *name)
{
    static const char *const levels[] = {"0", "1", "2", "3"};
    if (!request || !name) return NULL;
    const char *pushed = kiln__options_find(&request->options, name);
    if (pushed) return pushed;
    if (!strcmp(name, "opt_level")) return levels[request->options.opt_level & 3];
    if (!strcmp(name, "fast_math")) return levels[request->options.fast_math];
    return NULL;
}

/* A callback that does not look at the status must not get a text with a hole compiled. */
static kiln_status refuse_null(kiln_text *text)
{
    if (text) text->lacks_bytes = true;
    return KILN_INVALID;
}

kiln_status kiln_text_append(kiln_text *text, const void *data, size_t size)
{
    if (!text || (!data && size)) return refuse_null(text);
    kiln__buffer_append(&text->buffer, data, size);
    return text->buffer.failed ? KILN_NO_MEMORY : KILN_OK;
}

kiln_status kiln_text_printf(kiln_text *text, const char *format, ...)
{
    va_list list;
    if (!text || !format) return refuse_null(text);
    va_start(list, format);
    kiln__buffer_vprintf(&text->buffer, format, list);
    va_end(list);
    return text->buffer.failed ? KILN_NO_MEMORY : KILN_OK;
}

/* ---- reads ---------------------------------------------------------------------------------------------------- */

/* A variable is read once for an entry: code made from two values of it would fit neither. */
static const struct kiln_read_record *find_read(const struct kiln_read_record *reads, const char *module,
                                                const char *name, const void *address, size_t size)
{
    while (reads && (reads->files || reads->address != address || reads->size != size ||
                     strcmp(reads->module, module) || strcmp(reads->name, name)))
        reads = reads->next;
    return reads;
}

kiln_status kiln_read(const kiln_request *request, const char *module, const char *name, const void *address,
                      size_t size, void *out)
{
    if (!request || !module || !name || !address || !out) return KILN_INVALID;
    if (is_refused(request, NEVER_KEYED, READ, 0)) return KILN_INVALID;
    kiln_request *mutable_request = (kiln_request *)request; /* the record of reads is ours, not the callback's */
    const struct kiln_read_record *known = find_read(request->reads, module, name, address, size);
    if (known) {
        memcpy(out, known->value, size);
        return KILN_OK;
    }
    size_t module_size = strlen(module) + 1, name_size = strlen(name) + 1;
    size_t needed, names = sizeof(struct kiln_read_record) + module_size + name_size;
    struct kiln_read_record *record = __builtin_add_overflow(size, names, &needed) ? NULL : malloc(needed);
    if (!record) return mutable_request->read_status = KILN_NO_MEMORY;
    record->files = NULL;
    record->address = address;
    record->size = size;
    kiln__memory_copy(record->value, address, size);
    record->module = (char *)record->value + size;
    record->name = record->module + module_size;
    memcpy(record->module, module, module_size);
    memcpy(record->name, name, name_size);
    record->next = request->reads;
    mutable_request->reads = record;
    memcpy(out, record->value, size);
    return KILN_OK;
}

static bool holds(const struct kiln_read_record *read)
{
    if (!KILN_SEGMENT_READS) return true;
    return read->files ? kiln__contents_hold(read->files) : kiln__memory_holds(read->address, read->value, read->size);
}

bool kiln__reads_hold(const struct kiln_read_record *reads)
{
    while (reads && holds(reads)) reads = reads->next;
    return !reads;
}

void kiln__reads_free(struct kiln_read_record *reads)
{
    while (reads) {
        struct kiln_read_record *next = reads->next;
        kiln__contents_free(reads->files);
        free(reads);
        reads = next;
    }
}

/* ---- arguments ------------------------------------------------------------------------------------------------ */

kiln_status kiln__request_arguments(struct kiln_request *request, const uint64_t *words, size_t count)
{
    request->args = malloc((count + 1) * sizeof *request->args);
    if (!request->args) return KILN_NO_MEMORY;
    request->arg_count = count;
    for (size_t i = 0; i < count; i++) {
        size_t start_at = request->arg_bytes.size;
        kiln__argument_bytes(words, &request->arg_bytes);
        request->args[i] = (struct kiln_argument){words, start_at, request->arg_bytes.size};
        words += 1 + kiln__item_words(*words);
    }
    return request->arg_bytes.failed ? KILN_NO_MEMORY : KILN_OK;
}

void kiln__request_release(struct kiln_request *request)
{
    free(request->args);
    free(request->watched);
    kiln__buffer_release(&request->arg_bytes);
}

/* ---- content key ---------------------------------------------------------------------------------------------- */

static void arguments_content(const kiln_request *request, struct kiln_content_key *key)
{
    for (size_t i = 0; i < request->arg_count; i++) {
        char name[32];
        struct kiln_buffer value = {0};
        snprintf(name, sizeof name, "argument %zu", i);
        kiln__argument_content(request->args[i].item, &value);
        kiln__content_field(key, name, value.data, value.size);
        key->fields.failed |= value.failed;
        kiln__buffer_release(&value);
    }
}

static void reads_content(const kiln_request *request, struct kiln_content_key *key)
{
    for (const struct kiln_read_record *read = request->reads; read; read = read->next) {
        struct kiln_buffer module = {0}, name = {0};
        if (read->files) {
            kiln__contents_content(read->files, key);
            continue;
        }
        kiln__module_name(read->module, &module);
        if (!module.failed) kiln__content_field_name(&name, "read", (const char *)module.data, read->name);
        if (!name.failed && !module.failed) kiln__content_field(key, (const char *)name.data, read->value, read->size);
        key->fields.failed |= name.failed || module.failed;
        kiln__buffer_release(&module);
        kiln__buffer_release(&name);
    }
}

kiln_status kiln__request_content(const struct kiln_request *request, const char *compiler, const char *toolchain,
                                  kiln_bytes text, struct kiln_content_key *out, kiln_error *err)
{
    kiln__content_text(out, "format", "3");
    kiln__content_text(out, "compiler", compiler);
    kiln__content_text(out, "toolchain", toolchain);
    kiln__content_text(out, "target", request->device->target.name);
    if (!request->without_options) kiln__options_content(&request->options, out);
    if (request->keyed >= KILN_KEYED_ARGUMENTS) {
        kiln_status status = kiln__watched_content(request->watched, request->watched_count, out, err);
        if (status) return status;
        reads_content(request, out);
        arguments_content(request, out);
    }
    if (request->keyed >= KILN_KEYED_REQUEST) {
        kiln__content_text(out, "function", request->function);
        kiln__content_text(out, "device", kiln_device_name(request->device));
    }
    struct kiln_digest digest = kiln__digest(text.data, text.size);
    char hex[KILN_DIGEST_HEX];
    kiln__digest_hex(&digest, hex);
    kiln__content_text(out, "text", hex);
    return kiln__content_finish(out, err);
}

/* ---- what compile() depends on besides ------------------------------------------------------------------------ */

/* What is not there is a value too: nothing. All others begin with '='. */
static void input_value(const kiln_request *request, const struct kiln_input *input, struct kiln_buffer *out)
{
    const struct kiln_watched *watched = find_answer(request, input);
    if (!watched || !watched->data) return;
    kiln__buffer_append(out, "=", 1);
    kiln__buffer_append(out, watched->data, watched->size);
}

static void input_content(const kiln_request *request, const struct kiln_input *input, struct kiln_file_looks *looks,
                          struct kiln_content_key *key)
{
    struct kiln_buffer name = {0}, value = {0};
    if (input->kind == KILN_INPUT_FILE) {
        kiln__file_input_content(input, looks, key);
        return;
    }
    if (input->kind == KILN_INPUT_ENVIRONMENT)
        kiln__buffer_printf(&name, "depends environment %s", input->name);
    else
        kiln__content_field_name(&name, "depends watch", input->module, input->name);
    input_value(request, input, &value);
    if (!name.failed) kiln__content_field(key, (const char *)name.data, value.data, value.size);
    key->fields.failed |= name.failed || value.failed;
    kiln__buffer_release(&name);
    kiln__buffer_release(&value);
}

kiln_status kiln__request_inputs_content(const struct kiln_request *request, kiln_bytes set,
                                         struct kiln_file_looks *looks, const struct kiln_content_key *content,
                                         struct kiln_content_key *out, kiln_error *err)
{
    struct kiln_input input;
    kiln__buffer_append(&out->fields, content->fields.data, content->fields.size);
    for (size_t offset = 0; kiln__input_next(set, &offset, &input);) input_content(request, &input, looks, out);
    return kiln__content_finish(out, err);
}
