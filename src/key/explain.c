/*
 * explain.c - walks two call keys item by item. Items are self-describing, so a difference is named by its place and kind.
 *
 * A key starts with three plain words (results id, generation, device); items follow. Whatever the words say, nothing
 * outside them is read: an item counts only when it ends within what it is part of.
 */
#include "key/explain.h"

#include "key/dlpack.h"
#include "key/options.h"

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

static const char *name_of_type(uint64_t word)
{
    const kiln_type *type = (const kiln_type *)(uintptr_t)word;
    return type->name ? type->name : "(unnamed type)";
}

/* The item at `words` ends within `room` words. */
static bool fits(const uint64_t *words, uint32_t room)
{
    return room > 0 && kiln__item_words(*words) < room;
}

static void explain_tensor(size_t position, const uint64_t *was, const uint64_t *is, struct kiln_buffer *out)
{
    static const struct {
        const char *name;
        int shift;
        uint64_t mask;
    } facts[] = {{"dtype code", 56, 0xff}, {"dtype bits", 48, 0xff}, {"dtype lanes", 32, 0xffff},
                 {"device type", 16, 0xffff}, {"alignment (log2)", 8, 0xff}, {"rank", 0, 0xff}};
    if (!kiln__item_words(*was) || !kiln__item_words(*is)) return;
    for (size_t i = 0; i < sizeof facts / sizeof *facts; i++) {
        unsigned long long old = was[1] >> facts[i].shift & facts[i].mask, new = is[1] >> facts[i].shift & facts[i].mask;
        if (old != new) say(out, "argument %zu: %s was %llu, is %llu", position, facts[i].name, old, new);
    }
    if (kiln__item_words(*was) != kiln__item_words(*is) || kiln__item_info(*was)) {
        bool both = kiln__item_words(*was) == kiln__item_words(*is) && kiln__item_words(*is) >= 2;
        if (both && was[2] != is[2]) say(out, "argument %zu: layout class differs", position);
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
    uint32_t words = kiln__item_words(*was) < kiln__item_words(*is) ? kiln__item_words(*was) : kiln__item_words(*is);
    for (uint32_t i = 0; i < (new & 0xff) && i / 2 < words; i++)
        if (old_dims[i] != new_dims[i]) say(out, "input %zu: dim %u was %d, is %d", position, i, old_dims[i], new_dims[i]);
}

static void explain_argument(size_t position, const uint64_t *was, const uint64_t *is, kiln_type_namer *type_name,
                             struct kiln_buffer *out)
{
    uint32_t old_words = kiln__item_words(*was), words = kiln__item_words(*is);
    if (!old_words || !words) {
        say(out, "argument %zu differs", position);
        return;
    }
    if (was[1] != is[1]) {
        say(out, "argument %zu: type was %s, is %s", position, type_name(was[1]), type_name(is[1]));
        return;
    }
    bool both = fits(was + 2, old_words - 1) && fits(is + 2, words - 1);
    enum kiln_item old = both ? kiln__item_tag(was[2]) : 0, new = both ? kiln__item_tag(is[2]) : 0;
    size_t before = out->size;
    if (old == KILN_ITEM_TENSOR && new == KILN_ITEM_TENSOR)
        explain_tensor(position, was + 2, is + 2, out);
    else if (old == KILN_ITEM_U64 && new == KILN_ITEM_U64 && kiln__item_words(was[2]) && kiln__item_words(is[2]))
        say(out, "argument %zu: %s was %#llx, is %#llx", position, type_name(is[1]), (unsigned long long)was[3], (unsigned long long)is[3]);
    if (out->size == before) say(out, "argument %zu: its %s differs", position, type_name(is[1]));
}

static void explain_item(size_t position, const uint64_t *was, const uint64_t *is, kiln_type_namer *type_name, struct kiln_buffer *out)
{
    static const char *const names[] = {
        [KILN_ITEM_OPTIONS] = "a pushed option", [KILN_ITEM_DEPENDENCY] = "a function it depends on was redefined",
        [KILN_ITEM_MEMORY] = "a watched variable", [KILN_ITEM_ENVIRONMENT] = "a watched environment variable",
        [KILN_ITEM_VARIABLE] = "a watched kiln_var",
    };
    enum kiln_item old = kiln__item_tag(*was), new = kiln__item_tag(*is);
    if (old == KILN_ITEM_ARGUMENT && new == KILN_ITEM_ARGUMENT)
        explain_argument(position, was, is, type_name, out);
    else if (old == KILN_ITEM_ARRAY && new == KILN_ITEM_ARRAY)
        explain_array(position, was, is, out);
    else if (old == new && (size_t)new < sizeof names / sizeof *names && names[new])
        say(out, new == KILN_ITEM_DEPENDENCY ? "%s" : "%s has another value", names[new]);
    else
        say(out, "item %zu is of another kind", position);
}

/* A key's items stand in this order; each part is compared on its own, so that a push does not move the arguments. */
enum part { OPTIONS, ARGUMENTS, WATCHES, PARTS };

static enum part part_of(uint64_t header)
{
    enum kiln_item tag = kiln__item_tag(header);
    return tag == KILN_ITEM_OPTIONS ? OPTIONS : tag == KILN_ITEM_ARGUMENT || tag == KILN_ITEM_ARRAY ? ARGUMENTS : WATCHES;
}

struct run {
    const uint64_t *words;
    uint32_t at, end, count;
};

static void next_part(struct run *run, enum part part)
{
    run->at = run->end;
    for (const uint64_t *item; item = run->words + run->end, fits(item, run->count - run->end) && part_of(*item) == part;)
        run->end += 1 + kiln__item_words(*item);
}

static void explain_part(enum part part, struct run *was, struct run *is, kiln_type_namer *type_name, struct kiln_buffer *out)
{
    static const char *const names[PARTS] = {"pushed options", "arguments", "watches"};
    for (size_t position = 0; was->at < was->end && is->at < is->end; position++) {
        const uint64_t *old = was->words + was->at, *new = is->words + is->at;
        uint32_t old_step = 1 + kiln__item_words(*old), step = 1 + kiln__item_words(*new);
        if (step != old_step || !kiln__key_equal(old, new, step)) explain_item(position, old, new, type_name, out);
        was->at += old_step;
        is->at += step;
    }
    if (is->at < is->end) say(out, "more %s than before", names[part]);
    if (was->at < was->end) say(out, "fewer %s than before", names[part]);
}

static void explain_options(uint32_t was, uint32_t is, struct kiln_buffer *out)
{
    struct kiln_options old = kiln__options_unpack(was), new = kiln__options_unpack(is);
    if (old.opt_level != new.opt_level) say(out, "KILN_OPT_LEVEL was %u, is %u", old.opt_level, new.opt_level);
    if (old.fast_math != new.fast_math) say(out, "KILN_FAST_MATH was %d, is %d", old.fast_math, new.fast_math);
}

/* What follows the last item that is in its place; nothing, in a key that was made here. */
static bool has_same_rest(const struct run *was, const struct run *is)
{
    uint32_t size = was->count - was->end;
    return size == is->count - is->end && kiln__key_equal(was->words + was->end, is->words + is->end, size);
}

void kiln__explain_words(const uint64_t *was, uint32_t was_count, const uint64_t *is, uint32_t is_count,
                         kiln_type_namer *type_name, struct kiln_buffer *out)
{
    if (was_count < HEAD_WORDS || is_count < HEAD_WORDS) {
        say(out, "a key is cut off");
        return;
    }
    if (was[2] >> 32 != is[2] >> 32)
        say(out, "another device");
    else if (was[2] != is[2])
        say(out, "the device was reset");
    explain_options((uint32_t)(was[1] >> 32), (uint32_t)(is[1] >> 32), out);
    struct run old = {was, HEAD_WORDS, HEAD_WORDS, was_count}, new = {is, HEAD_WORDS, HEAD_WORDS, is_count};
    for (enum part part = OPTIONS; part < PARTS; part++) {
        next_part(&old, part);
        next_part(&new, part);
        explain_part(part, &old, &new, type_name, out);
    }
    if (!has_same_rest(&old, &new)) say(out, "the rest of the key differs");
    if (!out->size) say(out, "nothing differs: the entry was dropped");
}

void kiln__explain(const uint64_t *was, uint32_t was_count, const uint64_t *is, uint32_t is_count, struct kiln_buffer *out)
{
    kiln__explain_words(was, was_count, is, is_count, name_of_type, out);
}
