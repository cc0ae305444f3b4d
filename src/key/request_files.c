/*
 * request_files.c - files that a request knows: watched ones around compile(), and those that lower() or compile() turn
 * out to read, which they name by kiln_request_depends_file().
 *
 * What lower() names becomes a read of the entry, what compile() names an input of its artifact (inputs.h), in keys by
 * the name that a root gives it; and each entry that uses such an artifact has its files as reads too, by their paths,
 * so that the next call looks at them.
 */
#include "key/request.h"

#include <errno.h>

/* ---- watched files ----------------------------------------------------------------------------------------------- */

static bool is_keyed_file(const struct kiln_request *request, size_t i)
{
    return request->keyed >= KILN_KEYED_ARGUMENTS && request->watched[i].watch->kind == KILN_ITEM_FILE;
}

bool kiln__request_files_begin(const struct kiln_request *request)
{
    bool hold = true;
    for (size_t i = 0; hold && KILN_SEGMENT_FILES && i < request->watched_count; i++) {
        if (!is_keyed_file(request, i)) continue;
        kiln__watched_begin(&request->watched[i]);
        hold = !request->watched[i].has_changed;
    }
    return hold;
}

bool kiln__request_files_stand(const struct kiln_request *request)
{
    bool stand = true;
    for (size_t i = 0; stand && i < request->watched_count; i++)
        stand = !is_keyed_file(request, i) || kiln__watched_stands(&request->watched[i]);
    return stand;
}

/* ---- naming ---------------------------------------------------------------------------------------------------- */

static kiln_status refuse(kiln_request *request, char *path, int error)
{
    char *none = NULL;
    if (__atomic_compare_exchange_n(&request->refused_file, &none, path, false, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED))
        __atomic_store_n(&request->refused_error, error, __ATOMIC_RELAXED);
    else
        free(path);
    return KILN_INVALID;
}

/* Where the content key is made from what compile() names, the name is recorded too. */
static kiln_status record(kiln_request *request, const char *path)
{
    struct kiln_buffer root = {0}, rest = {0};
    kiln_status status = KILN_NO_MEMORY;
    if (!request->inputs || !KILN_SEGMENT_INPUTS) return KILN_OK;
    kiln__path_name(path, &root, &rest);
    if (!root.failed && !rest.failed) {
        const struct kiln_input input = {KILN_INPUT_FILE, (const char *)root.data, (const char *)rest.data};
        status = kiln__inputs_add(request->inputs, &input);
    }
    kiln__buffer_release(&root);
    kiln__buffer_release(&rest);
    return status;
}

kiln_status kiln_request_depends_file(const kiln_request *request, const char *path)
{
    if (!request || !request->looks || !path || !*path) return KILN_INVALID;
    if (!KILN_SEGMENT_DEPENDED) return KILN_OK;
    kiln_request *mutable_request = (kiln_request *)request; /* what is recorded is ours, not the callback's */
    struct kiln_file_look look;
    char *absolute = kiln__path_simple(path);
    kiln_status status = absolute ? kiln__looks_take(request->looks, absolute, &look) : KILN_NO_MEMORY;
    if (!status && look.value.kind == KILN_FILE_UNKNOWN) return refuse(mutable_request, absolute, look.error);
    if (!status) status = record(mutable_request, absolute);
    free(absolute);
    if (status == KILN_NO_MEMORY) __atomic_store_n(&mutable_request->read_status, status, __ATOMIC_RELAXED);
    return status;
}

kiln_status kiln__request_check_files(const struct kiln_request *request, const char *callback, kiln_status status,
                                      kiln_error *err)
{
    if (!request->refused_file) return KILN_OK;
    int error = request->refused_error;
    return kiln__fail(err, status, "%s: %s depends on %s, which nobody can tell from what it is later: %s",
                      request->function, callback, request->refused_file,
                      error && error != EINVAL ? strerror(error) : "it is no regular file");
}

/* ---- keys ------------------------------------------------------------------------------------------------------ */

/* `value` NULL: nobody knows which file it is. */
static void add_field(struct kiln_content_key *key, const char *prefix, const char *root, const char *rest,
                      const struct kiln_file_value *value)
{
    static const char *const words[] = {[KILN_FILE_ABSENT] = "",
                                        [KILN_FILE_FOLDER] = "folder",
                                        [KILN_FILE_DENIED] = "denied",
                                        [KILN_FILE_UNKNOWN] = "unknown"};
    struct kiln_buffer name = {0};
    char hex[KILN_DIGEST_HEX];
    bool has_content = value && value->kind == KILN_FILE_CONTENT;
    if (has_content) kiln__digest_hex(&value->digest, hex);
    kiln__content_field_name(&name, prefix, root, rest);
    if (!name.failed)
        kiln__content_text(key, (const char *)name.data, has_content ? hex : value ? words[value->kind] : "no root");
    key->fields.failed |= name.failed;
    kiln__buffer_release(&name);
}

void kiln__contents_content(const struct kiln_file_contents *contents, struct kiln_content_key *key)
{
    for (size_t i = 0; i < contents->count; i++) {
        struct kiln_buffer root = {0}, rest = {0};
        kiln__path_name(kiln__tracked_path(contents->items[i].file), &root, &rest);
        if (!root.failed && !rest.failed)
            add_field(key, "read file", (const char *)root.data, (const char *)rest.data, &contents->items[i].value);
        key->fields.failed |= root.failed || rest.failed;
        kiln__buffer_release(&root);
        kiln__buffer_release(&rest);
    }
}

/* KILN_MISS: no root of this name is set here, so nobody knows which file it is. */
static enum kiln_outcome look_at(const struct kiln_input *input, struct kiln_file_looks *looks,
                                 struct kiln_file_look *out)
{
    char *path;
    enum kiln_outcome outcome = kiln__path_of(input->module, input->name, &path);
    if (outcome == KILN_DONE && kiln__looks_take(looks, path, out)) outcome = KILN_FAILED;
    free(path);
    return outcome;
}

void kiln__file_input_content(const struct kiln_input *input, struct kiln_file_looks *looks,
                              struct kiln_content_key *key)
{
    struct kiln_file_look look = {0};
    enum kiln_outcome outcome = look_at(input, looks, &look);
    if (outcome == KILN_FAILED) key->fields.failed = true;
    add_field(key, "depends file", input->module, input->name, outcome == KILN_DONE ? &look.value : NULL);
}

/* ---- files of a set -------------------------------------------------------------------------------------------- */

bool kiln__set_look(kiln_bytes set, struct kiln_file_looks *looks, kiln_status *status)
{
    struct kiln_input input;
    struct kiln_file_look look;
    bool has_files = false;
    for (size_t offset = 0; kiln__input_next(set, &offset, &input);) {
        if (input.kind != KILN_INPUT_FILE) continue;
        has_files = true;
        if (look_at(&input, looks, &look) == KILN_FAILED) *status = KILN_NO_MEMORY;
    }
    return has_files;
}

/* ---- what an entry depends on ---------------------------------------------------------------------------------- */

/* Takes the contents, which may be NULL: out of memory. */
static kiln_status add_record(struct kiln_read_record **reads, struct kiln_file_contents *contents)
{
    struct kiln_read_record *record = contents ? calloc(1, sizeof *record) : NULL;
    if (!record) {
        kiln__contents_free(contents);
        return KILN_NO_MEMORY;
    }
    record->files = contents;
    record->next = *reads;
    *reads = record;
    return KILN_OK;
}

kiln_status kiln__reads_add_looks(struct kiln_read_record **reads, const struct kiln_file_looks *looks)
{
    if (!looks->count) return KILN_OK;
    struct kiln_file_contents *contents = kiln__contents_new(looks->count);
    for (size_t i = 0; contents && i < looks->count; i++) kiln__contents_add(contents, &looks->data[i]);
    return add_record(reads, contents);
}

kiln_status kiln__reads_add_set(struct kiln_read_record **reads, kiln_bytes set, struct kiln_file_looks *looks)
{
    struct kiln_input input;
    struct kiln_file_look look;
    enum kiln_outcome outcome = KILN_DONE;
    size_t count = 0;
    for (size_t offset = 0; kiln__input_next(set, &offset, &input);) count += input.kind == KILN_INPUT_FILE;
    if (!count) return KILN_OK;
    struct kiln_file_contents *contents = kiln__contents_new(count);
    for (size_t offset = 0; contents && outcome != KILN_FAILED && kiln__input_next(set, &offset, &input);) {
        if (input.kind != KILN_INPUT_FILE) continue;
        outcome = look_at(&input, looks, &look);
        if (outcome == KILN_DONE) kiln__contents_add(contents, &look);
    }
    if (outcome != KILN_FAILED) return add_record(reads, contents);
    kiln__contents_free(contents);
    return KILN_NO_MEMORY;
}

kiln_status kiln__reads_add_unsure(struct kiln_read_record **reads)
{
    struct kiln_file_contents *contents = kiln__contents_new(0);
    if (contents) contents->is_unsure = true;
    return add_record(reads, contents);
}
