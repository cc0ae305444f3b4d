/*
 * print_ir.c - see print_ir.h. A text that has failed stays as it is: every later append is a no-op (base/buffer.h).
 */
#include "codegen/print_ir.h"

#include <stdio.h>
#include <string.h>

/* What the placeholders of a template stand for: letters[i], behind a '$', is list[i]. */
struct words {
    const char *letters;
    const struct kiln_ir_arg *list;
    size_t count;
    unsigned used;   /* bit i: list[i] was printed */
    bool take_entry; /* $@ may stand there */
};

/* The first problem is the one that is told. */
static void fail(struct kiln_ir *ir, const char *what, const char *where)
{
    if (!ir->problem[0]) snprintf(ir->problem, sizeof ir->problem, "%s: \"%.80s\"", what, where);
    ir->text->failed = true;
}

static void append_number(struct kiln_buffer *to, long long number)
{
    char digits[24], *at = digits + sizeof digits;
    unsigned long long left = number < 0 ? -(unsigned long long)number : (unsigned long long)number;
    do {
        *--at = (char)('0' + left % 10);
        left /= 10;
    } while (left);
    if (number < 0) *--at = '-';
    kiln__buffer_append(to, at, (size_t)(digits + sizeof digits - at));
}

static void append_arg(struct kiln_buffer *to, const struct kiln_ir_arg *arg)
{
    if (arg->kind == KILN_IR_STRING)
        kiln__buffer_append(to, arg->string, strlen(arg->string));
    else if (arg->kind == KILN_IR_CHARACTER)
        kiln__buffer_append(to, &(char){(char)arg->number}, 1);
    else
        append_number(to, arg->number);
}

static void append_entry(struct kiln_ir *ir, const char *template)
{
    kiln__buffer_append(ir->text, "@", 1);
    if (ir->entry_count < KILN_IR_ENTRIES)
        ir->entries[ir->entry_count++] = ir->text->size;
    else
        fail(ir, "the entry of a kernel stands at too many places", template);
}

/* Appends the template, which stops before `end`, with its placeholders replaced. */
static void expand(struct kiln_ir *ir, struct kiln_buffer *to, const char *template, const char *end,
                   struct words *words)
{
    const char *at = template, *dollar;
    for (; (dollar = memchr(at, '$', (size_t)(end - at))); at = dollar + 2) {
        const char *letter = dollar + 1 < end ? memchr(words->letters, dollar[1], words->count) : NULL;
        if (words->take_entry && dollar[1] == '@') {
            kiln__buffer_append(to, at, (size_t)(dollar - at));
            append_entry(ir, template);
            continue;
        }
        if (!letter) {
            fail(ir, "a placeholder in the text of a kernel has no argument", template);
            return;
        }
        size_t index = (size_t)(letter - words->letters);
        words->used |= 1u << index;
        kiln__buffer_append(to, at, (size_t)(dollar - at));
        append_arg(to, &words->list[index]);
    }
    kiln__buffer_append(to, at, (size_t)(end - at));
}

static void print_to(struct kiln_ir *ir, struct kiln_buffer *to, struct kiln_ir_args args, bool take_entry)
{
    const char *template = args.list[0].string;
    struct words words = {
        .letters = "0123456789", .list = args.list + 1, .count = args.count - 1, .take_entry = take_entry};
    expand(ir, to, template, template + strlen(template), &words);
    if (words.used != (1u << words.count) - 1)
        fail(ir, "an argument in the text of a kernel has no placeholder", template);
}

void kiln__ir_print(struct kiln_ir *ir, struct kiln_ir_args args)
{
    print_to(ir, ir->text, args, true);
}

/* The line is printed behind the others, and taken back where one of them is equal. */
void kiln__ir_declare(struct kiln_ir *ir, struct kiln_ir_args args)
{
    struct kiln_buffer *lines = &ir->declarations;
    size_t before = lines->size;
    print_to(ir, lines, args, false);
    if (lines->failed || !before) return;
    const char *line = (const char *)lines->data + before;
    if (strstr((const char *)lines->data, line) != line) lines->data[lines->size = before] = 0;
}

/* The name is printed behind the text, and taken back. */
struct kiln_name kiln__ir_name(struct kiln_ir *ir, struct kiln_ir_args args)
{
    struct kiln_buffer *text = ir->text;
    struct kiln_name name = {""};
    size_t before = text->size;
    print_to(ir, text, args, false);
    if (text->failed) return name;
    if (text->size - before < sizeof name.text)
        memcpy(name.text, text->data + before, text->size - before + 1);
    else
        fail(ir, "a name in the text of a kernel is too long", (const char *)text->data + before);
    text->data[text->size = before] = 0;
    return name;
}

void kiln__ir_print_lines(struct kiln_ir *ir, const char *letters, struct kiln_ir_args args)
{
    struct words words = {.letters = letters, .list = args.list + 1, .count = args.count - 1};
    for (const char *at = args.list[0].string, *end; at; at = *end ? end + 1 : NULL) {
        end = at + strcspn(at, ";");
        kiln__buffer_append(ir->text, "  ", 2);
        expand(ir, ir->text, at, end, &words);
        kiln__buffer_append(ir->text, "\n", 1);
    }
}

void kiln__print_declarations(struct kiln_ir *ir)
{
    if (!ir->declarations.size) return;
    kiln__buffer_append(ir->text, "\n", 1);
    kiln__buffer_append(ir->text, ir->declarations.data, ir->declarations.size);
}

/* The text grows at its end and is moved, from the last place on, so that the places before it stay where they are. */
void kiln__ir_put_entry(struct kiln_ir *ir, const char *name)
{
    size_t size = strlen(name), end = ir->text->size;
    for (uint32_t i = 0; i < ir->entry_count; i++) kiln__buffer_append(ir->text, name, size);
    if (ir->text->failed) return;
    for (uint32_t left = ir->entry_count; left > 0; left--) {
        unsigned char *at = ir->text->data + ir->entries[left - 1], *to = at + (left - 1) * size;
        memmove(to + size, at, end - ir->entries[left - 1]);
        memcpy(to, name, size);
        end = ir->entries[left - 1];
    }
}

kiln_status kiln__ir_finish(struct kiln_ir *ir, kiln_status status, kiln_error *err)
{
    bool has_failed = ir->text->failed || ir->declarations.failed;
    kiln__buffer_release(&ir->declarations);
    if (status) return status;
    if (ir->problem[0]) return kiln__fail(err, KILN_LOWER_FAILED, "%s", ir->problem);
    return has_failed ? kiln__no_memory(err, "the text of a kernel") : KILN_OK;
}
