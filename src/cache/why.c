/*
 * why.c - why a call missed: its key against the nearest known one, in words, kept for kiln_why() and written to the
 * log.
 *
 * The nearest key is copied while its memo table is locked, and both are printed afterwards: printing asks functions
 * for names.
 */
#include "base/log.h"
#include "base/process/gate.h"
#include "base/process/thread_state.h"
#include "cache/function.h"
#include "key/explain.h"

static _Thread_local struct kiln_buffer why;

static void free_why(void *buffer)
{
    kiln__buffer_release(buffer);
}

const char *kiln_why(void)
{
    return why.size ? (const char *)why.data : "";
}

/* ---- a key in words ------------------------------------------------------------------------------------------- */

struct walk {
    const uint64_t *words;
    uint32_t at, end;
    struct kiln_buffer *out;
};

/* The item that should be next in the key; when it isn't, what follows was signed with other watches and is left out.
 */
static bool is_next(struct walk *walk, enum kiln_item tag)
{
    bool is_there = walk->at < walk->end && kiln__item_words(walk->words[walk->at]) < walk->end - walk->at &&
                    kiln__item_tag(walk->words[walk->at]) == tag;
    if (!is_there) walk->at = walk->end;
    return is_there;
}

static void print_watch(void *context, const struct kiln_watch *watch)
{
    struct walk *walk = context;
    if (!is_next(walk, watch->kind)) return;
    struct kiln_watched watched = kiln__watched_read(watch, walk->words, &walk->at);
    kiln__watched_print(&watched, walk->out);
}

static void print_callee(void *context, struct kiln_function *callee)
{
    struct walk *walk = context;
    if (!is_next(walk, KILN_ITEM_DEPENDENCY)) return;
    struct kiln_definition *definition = kiln__definition_ref(callee);
    kiln__callee_print(definition->name, walk->words[walk->at + 2], walk->out);
    kiln__definition_unref(definition);
    walk->at += 3;
}

static void print_key(struct kiln_function *function, const uint64_t *words, uint32_t count, struct kiln_buffer *out)
{
    struct walk walk = {words, kiln__key_print(words, count, NULL, out), count, out};
    if (function) kiln__function_each_watch(function, print_watch, print_callee, &walk);
}

/* ---- the nearest key ------------------------------------------------------------------------------------------ */

/* One text for each file that is something else now. */
static void explain_files(const struct kiln_file_contents *files, struct kiln_buffer *text)
{
    if (files->is_unsure) kiln__buffer_printf(text, "files changed while it was compiled");
    for (size_t i = 0; i < files->count; i++) {
        const char *path = kiln__tracked_path(files->items[i].file);
        struct kiln_file_value now;
        struct kiln_buffer old = {0}, new = {0};
        kiln__tracked_look(files->items[i].file, &now, NULL);
        if (kiln__file_values_equal(&now, &files->items[i].value)) continue;
        kiln__file_print(path, &files->items[i].value, &old);
        kiln__file_print(path, &now, &new);
        if (!old.failed && !new.failed) kiln__explain((const char *)old.data, (const char *)new.data, text);
        kiln__buffer_release(&old);
        kiln__buffer_release(&new);
    }
}

/* The very key is known: something that lower() read, or that compile() depends on, has changed. */
static void explain_reads(const struct kiln_read_record *read, struct kiln_buffer *text)
{
    for (; read && read->files; read = read->next) explain_files(read->files, text);
    if (text->size) return;
    while (read && (read->files || kiln__memory_holds(read->address, read->value, read->size))) read = read->next;
    if (!read) {
        kiln__buffer_printf(text, "made meanwhile by another thread");
        return;
    }
    static const struct kiln_watch memory = {.kind = KILN_ITEM_MEMORY};
    uint32_t width = kiln__memory_width(read->address, read->size);
    uint64_t word = width ? kiln__memory_word(read->address, width) : 0;
    const void *now = width ? (const void *)&word : read->address;
    kiln__buffer_printf(text, "%s: %s, which lower() read, was ", read->module, read->name);
    kiln__value_print(&(struct kiln_watched){.watch = &memory, .data = read->value, .size = read->size}, text);
    kiln__buffer_printf(text, ", is ");
    kiln__value_print(&(struct kiln_watched){.watch = &memory, .data = now, .size = read->size}, text);
}

/* Fills `text` when there is nothing to compare; else gives a copy of the nearest key, to be freed. */
static uint64_t *copy_nearest(struct kiln_memo_table *memo, const struct kiln_signature *signature, uint32_t *count,
                              struct kiln_buffer *text)
{
    uint64_t *copy = NULL;
    const struct kiln_entry *entry = kiln__memo_nearest(memo, signature);
    if (!entry) {
        kiln__buffer_printf(text, "first call");
    } else if (entry->count == signature->count && kiln__key_equal(entry->key, signature->words, entry->count)) {
        explain_reads(entry->reads, text);
    } else {
        *count = entry->count;
        copy = malloc((size_t)entry->count * sizeof *copy);
        if (copy) memcpy(copy, entry->key, (size_t)entry->count * sizeof *copy);
    }
    kiln__memo_nearest_done(memo);
    return copy;
}

static void explain(struct kiln_memo_table *memo, struct kiln_function *function,
                    const struct kiln_signature *signature, const char *name, struct kiln_buffer *key_text)
{
    kiln__thread_state_set(KILN_THREAD_WHY, free_why, &why);
    kiln__buffer_clear(&why);
    struct kiln_buffer text = {0}, nearest_text = {0};
    uint32_t count = 0;
    uint64_t *nearest = copy_nearest(memo, signature, &count, &text);
    print_key(function, signature->words, signature->count, key_text);
    if (nearest) {
        print_key(function, nearest, count, &nearest_text);
        if (!nearest_text.failed && !key_text->failed && nearest_text.size && key_text->size)
            kiln__explain((const char *)nearest_text.data, (const char *)key_text->data, &text);
        if (!text.size) kiln__buffer_printf(&text, "a type of the same name, but another one");
    }
    if (!text.failed && text.size) kiln__buffer_printf(&why, "%s: %s", name, (const char *)text.data);
    free(nearest);
    kiln__buffer_release(&text);
    kiln__buffer_release(&nearest_text);
    if (!why.failed) kiln__log(KILN_LOG_MISS, "miss %s", kiln_why());
}

void kiln__explain_call(struct kiln_function *function, const struct kiln_signature *signature, const char *name,
                        struct kiln_buffer *key_text)
{
    explain(&function->memo, function, signature, name, key_text);
}

void kiln__explain_miss(struct kiln_memo_table *memo, const struct kiln_signature *signature, const char *name)
{
    struct kiln_buffer key_text = {0};
    explain(memo, NULL, signature, name, &key_text);
    kiln__buffer_release(&key_text);
}
