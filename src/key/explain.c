/*
 * explain.c - walks two call keys item by item. Items are self-describing, so a difference is named by its place and kind.
 *
 * A key starts with three plain words (results id, generation, device); items follow.
 */
#include "key/explain.h"

#include "key/dlpack.h"

enum { HEAD_WORDS = 3 };

static void say(struct kiln_buffer *out, const char *format, ...) __attribute__((format(printf, 2, 3)));

static void say(struct kiln_buffer *out, const char *format, ...)
{
    va_list list;
    if (out->size) kiln__buffer_append(out, "; ", 2);
    va_start(list, format);
    kiln__buffer_vprintf(out, format, list);
    va_end(list);
}

static const char *type_name(const uint64_t *argument)
{
    const kiln_type *type = (const kiln_type *)(uintptr_t)argument[1];
    return type->name ? type->name : "(unnamed type)";
}

static void explain_tensor(size_t position, const uint64_t *was, const uint64_t *is, struct kiln_buffer *out)
{
    static const struct {
        const char *name;
        int shift;
        uint64_t mask;
    } facts[] = {{"dtype code", 56, 0xff}, {"dtype bits", 48, 0xff}, {"dtype lanes", 32, 0xffff},
                 {"device type", 16, 0xff}, {"alignment (log2)", 8, 0xff}, {"rank", 0, 0xff}};
    for (size_t i = 0; i < sizeof facts / sizeof *facts; i++) {
        unsigned long long old = was[1] >> facts[i].shift & facts[i].mask, new = is[1] >> facts[i].shift & facts[i].mask;
        if (old != new) say(out, "argument %zu: %s was %llu, is %llu", position, facts[i].name, old, new);
    }
    if (kiln__item_words(*was) != kiln__item_words(*is) || kiln__item_info(*was)) {
        if (kiln__item_words(*was) == kiln__item_words(*is) && was[2] != is[2]) say(out, "argument %zu: layout class differs", position);
        return;
    }
    uint32_t ndim = (kiln__item_words(*was) - 1) / 2;
    for (uint32_t i = 0; i < 2 * ndim; i++)
        if (was[2 + i] != is[2 + i])
            say(out, "argument %zu: %s %u was %lld, is %lld", position, i < ndim ? "dim" : "stride", i % ndim, (long long)was[2 + i], (long long)is[2 + i]);
}

static void explain_array(size_t position, const uint64_t *was, const uint64_t *is, struct kiln_buffer *out)
{
    uint32_t old = kiln__item_info(*was), new = kiln__item_info(*is);
    if (old >> 8 != new >> 8) say(out, "input %zu: dtype was %u, is %u", position, old >> 8, new >> 8);
    if ((old & 0xff) != (new & 0xff)) {
        say(out, "input %zu: rank was %u, is %u", position, old & 0xff, new & 0xff);
        return;
    }
    const int32_t *old_dims = (const int32_t *)(was + 1), *new_dims = (const int32_t *)(is + 1);
    for (uint32_t i = 0; i < (new & 0xff) && kiln__item_words(*is); i++)
        if (old_dims[i] != new_dims[i]) say(out, "input %zu: dim %u was %d, is %d", position, i, old_dims[i], new_dims[i]);
}

static void explain_argument(size_t position, const uint64_t *was, const uint64_t *is, struct kiln_buffer *out)
{
    if (was[1] != is[1]) {
        say(out, "argument %zu: type was %s, is %s", position, type_name(was), type_name(is));
        return;
    }
    bool both = kiln__item_words(*was) >= 2 && kiln__item_words(*is) >= 2;
    enum kiln_item old = both ? kiln__item_tag(was[2]) : 0, new = both ? kiln__item_tag(is[2]) : 0;
    size_t before = out->size;
    if (old == KILN_ITEM_TENSOR && new == KILN_ITEM_TENSOR)
        explain_tensor(position, was + 2, is + 2, out);
    else if (old == KILN_ITEM_U64 && new == KILN_ITEM_U64)
        say(out, "argument %zu: %s was %#llx, is %#llx", position, type_name(is), (unsigned long long)was[3], (unsigned long long)is[3]);
    if (out->size == before) say(out, "argument %zu: its %s differs", position, type_name(is));
}

static void explain_item(size_t position, const uint64_t *was, const uint64_t *is, struct kiln_buffer *out)
{
    static const char *const names[] = {
        [KILN_ITEM_OPTIONS] = "a pushed option", [KILN_ITEM_DEPENDENCY] = "a function it depends on was redefined",
        [KILN_ITEM_MEMORY] = "a watched variable", [KILN_ITEM_ENVIRONMENT] = "a watched environment variable",
        [KILN_ITEM_VARIABLE] = "a watched kiln_var",
    };
    enum kiln_item old = kiln__item_tag(*was), new = kiln__item_tag(*is);
    if (old == KILN_ITEM_ARGUMENT && new == KILN_ITEM_ARGUMENT)
        explain_argument(position, was, is, out);
    else if (old == KILN_ITEM_ARRAY && new == KILN_ITEM_ARRAY)
        explain_array(position, was, is, out);
    else if (old == new && (size_t)new < sizeof names / sizeof *names && names[new])
        say(out, new == KILN_ITEM_DEPENDENCY ? "%s" : "%s has another value", names[new]);
    else
        say(out, "item %zu is of another kind", position);
}

void kiln__explain(const uint64_t *was, uint32_t was_count, const uint64_t *is, uint32_t is_count, struct kiln_buffer *out)
{
    if (was[2] >> 32 != is[2] >> 32)
        say(out, "another device");
    else if (was[2] != is[2])
        say(out, "the device was reset");
    uint32_t at = HEAD_WORDS, old = HEAD_WORDS;
    size_t position = 0;
    for (; at < is_count && old < was_count; position++) {
        uint32_t step = 1 + kiln__item_words(is[at]), old_step = 1 + kiln__item_words(was[old]);
        if (step != old_step || !kiln__key_equal(was + old, is + at, step)) explain_item(position, was + old, is + at, out);
        at += step;
        old += old_step;
    }
    if (at < is_count) say(out, "more arguments or watches than before");
    if (old < was_count) say(out, "fewer arguments or watches than before");
    if (!out->size) say(out, "nothing differs: the entry was dropped");
}
