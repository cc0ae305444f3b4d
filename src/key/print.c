/*
 * print.c - the text of a key; see explain.h.
 *
 * Invariant: an item counts only when it ends within what it is part of, so that words of any origin can be printed.
 * Text from outside is quoted unless it is plain; what is too long to show is shown in part, with its size and a hash.
 */
#include <stdio.h>
#include <stdlib.h>

#include "base/hash.h"
#include "device/device.h"
#include "key/explain.h"
#include "key/options.h"

enum { HEAD_WORDS = 3, MOST_LINES = 1000, SHOWN_TEXT = 64, SHOWN_BYTES = 16 };

struct printer {
    kiln_type_namer *type_name; /* NULL: the words are of this process */
    struct kiln_buffer *out;
    unsigned lines;
    unsigned depth;
};

static bool line(struct printer *printer, const char *format, ...) __attribute__((format(printf, 2, 3)));

static bool line(struct printer *printer, const char *format, ...)
{
    if (++printer->lines > MOST_LINES) return false;
    va_list list;
    va_start(list, format);
    kiln__buffer_vprintf(printer->out, format, list);
    va_end(list);
    kiln__buffer_append(printer->out, "\n", 1);
    return true;
}

/* ---- values --------------------------------------------------------------------------------------------------- */

static bool is_plain(const char *text, size_t size)
{
    static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.+-/:,@%#";
    if (!size || (size == 5 && !memcmp(text, "unset", 5))) return false;
    for (size_t i = 0; i < size; i++)
        if (!text[i] || !strchr(plain, text[i])) return false;
    return true;
}

static void print_rest(const void *data, size_t size, size_t shown, struct kiln_buffer *out)
{
    if (size > shown) kiln__buffer_printf(out, "... (%zu bytes, hash %08x)", size, (unsigned)kiln__hash(data, size));
}

static void print_text(const char *text, size_t size, struct kiln_buffer *out)
{
    size_t shown = size < SHOWN_TEXT ? size : SHOWN_TEXT;
    if (is_plain(text, size) && shown == size) {
        kiln__buffer_append(out, text, size);
        return;
    }
    kiln__buffer_append(out, "\"", 1);
    for (size_t i = 0; i < shown; i++) {
        unsigned char c = (unsigned char)text[i];
        if (c < 0x20 || c >= 0x7f || c == '"' || c == '\\')
            kiln__buffer_printf(out, "\\x%02x", c);
        else
            kiln__buffer_append(out, &text[i], 1);
    }
    kiln__buffer_append(out, "\"", 1);
    print_rest(text, size, shown, out);
}

/* A number when it has the size of one. */
static void print_bytes(const void *data, size_t size, struct kiln_buffer *out)
{
    int32_t narrow;
    int64_t wide;
    if (size == sizeof narrow) {
        memcpy(&narrow, data, size);
        kiln__buffer_printf(out, "%d", narrow);
    } else if (size == sizeof wide) {
        memcpy(&wide, data, size);
        kiln__buffer_printf(out, "%lld", (long long)wide);
    } else {
        size_t shown = size < SHOWN_BYTES ? size : SHOWN_BYTES;
        for (size_t i = 0; i < shown; i++) kiln__buffer_printf(out, "%02x", ((const unsigned char *)data)[i]);
        if (!size) kiln__buffer_printf(out, "nothing");
        print_rest(data, size, shown, out);
    }
}

/* As few digits as tell it from its neighbours: 0.1, and not 0.10000000000000001. */
static void print_float(const void *data, size_t size, struct kiln_buffer *out)
{
    float narrow = 0;
    double wide = 0;
    char text[40];
    bool is_narrow = size == sizeof narrow;
    memcpy(is_narrow ? (void *)&narrow : (void *)&wide, data, size);
    if (is_narrow) wide = (double)narrow;
    int digits = 1, most = is_narrow ? 9 : 17;
    for (; digits < most; digits++) {
        snprintf(text, sizeof text, "%.*g", digits, wide);
        double read = strtod(text, NULL);
        if (is_narrow ? (float)read == narrow : read == wide) break;
    }
    kiln__buffer_printf(out, "%.*g", digits, wide);
}

static void print_unsigned(const void *data, size_t size, struct kiln_buffer *out)
{
    uint64_t value = 0;
    memcpy(&value, data, size); /* little-endian */
    kiln__buffer_printf(out, "%llu", (unsigned long long)value);
}

static void print_integer(const void *data, size_t size, struct kiln_buffer *out)
{
    uint64_t value = 0;
    memcpy(&value, data, size);
    unsigned unused = 64 - 8 * (unsigned)size;
    kiln__buffer_printf(out, "%lld", (long long)(value << unused) >> unused);
}

static void print_memory(const struct kiln_watch *watch, const void *data, size_t size, struct kiln_buffer *out)
{
    bool is_number = size == 1 || size == 2 || size == 4 || size == 8;
    switch (is_number ? atomic_load_explicit(&watch->value_kind, memory_order_relaxed) : KILN_WATCHED_BYTES) {
    case KILN_WATCHED_FLOAT:
        if (size >= 4) return print_float(data, size, out);
        break;
    case KILN_WATCHED_BOOL:
        return kiln__buffer_printf(out, "%s", *(const unsigned char *)data ? "true" : "false");
    case KILN_WATCHED_UNSIGNED:
        return print_unsigned(data, size, out);
    case KILN_WATCHED_SIGNED:
        return print_integer(data, size, out);
    }
    print_bytes(data, size, out);
}

/* The first digits of a digest tell contents apart; a name stands in front of it. */
static void print_content(const char *hex, size_t size, struct kiln_buffer *out)
{
    enum { SHOWN_DIGITS = 12 };
    if (size)
        kiln__buffer_printf(out, "%.*s", size < SHOWN_DIGITS ? (int)size : SHOWN_DIGITS, hex);
    else
        kiln__buffer_printf(out, "absent");
}

static void print_digest(const void *digest, struct kiln_buffer *out)
{
    char hex[KILN_DIGEST_HEX] = "";
    if (digest) kiln__digest_hex(digest, hex);
    print_content(hex, strlen(hex), out);
}

void kiln__value_print(const struct kiln_watched *watched, struct kiln_buffer *out)
{
    if (watched->watch->kind == KILN_ITEM_FILE)
        print_digest(watched->data, out);
    else if (!watched->data)
        kiln__buffer_printf(out, "unset");
    else if (watched->watch->kind == KILN_ITEM_ENVIRONMENT)
        print_text(watched->data, watched->size - 1, out);
    else
        print_memory(watched->watch, watched->data, watched->size, out);
}

/* ---- names ---------------------------------------------------------------------------------------------------- */

/* As they are, but no character that would end a name or a line. */
static void print_name(const char *name, size_t size, struct kiln_buffer *out)
{
    for (size_t i = 0; i < size; i++) {
        char c = (unsigned char)name[i] < 0x20 ? '?' : name[i];
        kiln__buffer_append(out, &c, 1);
    }
}

static void print_place(const char *module, size_t module_size, const char *name, size_t name_size,
                        struct kiln_buffer *out)
{
    print_name(module, module_size, out);
    if (module_size) kiln__buffer_append(out, ": ", 2);
    print_name(name, name_size, out);
    kiln__buffer_append(out, "\t", 1);
}

static void print_path(const char *path, struct kiln_buffer *out)
{
    struct kiln_buffer known = {0};
    kiln__path_print(path, &known);
    kiln__buffer_printf(out, "file ");
    print_place("", 0, (const char *)known.data, known.size, out);
    out->failed |= known.failed;
    kiln__buffer_release(&known);
}

void kiln__file_print(const char *path, const struct kiln_file_value *value, struct kiln_buffer *out)
{
    static const char *const words[] = {
        [KILN_FILE_FOLDER] = "folder", [KILN_FILE_DENIED] = "denied", [KILN_FILE_UNKNOWN] = "unknown"};
    print_path(path, out);
    if (value->kind > KILN_FILE_CONTENT)
        kiln__buffer_printf(out, "%s", words[value->kind]);
    else
        print_digest(value->kind == KILN_FILE_CONTENT ? &value->digest : NULL, out);
    kiln__buffer_append(out, "\n", 1);
}

void kiln__watched_print(const struct kiln_watched *watched, struct kiln_buffer *out)
{
    const struct kiln_watch *watch = watched->watch;
    struct kiln_buffer known = {0};
    if (watch->kind == KILN_ITEM_VARIABLE) kiln__buffer_printf(out, "variable ");
    if (watch->kind == KILN_ITEM_FILE) {
        print_path(watch->name, out);
    } else {
        kiln__module_name(watch->module, &known);
        print_place((const char *)known.data, known.size, watch->name, strlen(watch->name), out);
    }
    kiln__buffer_release(&known);
    kiln__value_print(watched, out);
    kiln__buffer_append(out, "\n", 1);
}

void kiln__callee_print(const char *name, uint64_t generation, struct kiln_buffer *out)
{
    kiln__buffer_printf(out, "function ");
    print_name(name, strlen(name), out);
    kiln__buffer_printf(out, "\t%llu\n", (unsigned long long)generation);
}

/* "3 m.c scale": the size of the module's name stands in front of it. Of a file it is a root. */
static void print_field_place(const char *text, size_t size, bool is_file, struct kiln_buffer *out)
{
    enum { LARGEST = 1 << 24 };
    size_t at = 0, module_size = 0;
    while (at < size && text[at] >= '0' && text[at] <= '9' && module_size < LARGEST)
        module_size = module_size * 10 + (size_t)(text[at++] - '0');
    at += at < size;
    if (module_size > size - at) module_size = size - at;
    size_t name_at = at + module_size + (at + module_size < size);
    if (is_file) {
        kiln__buffer_printf(out, "file ");
        print_name(text + at, module_size, out);
        if (module_size) kiln__buffer_append(out, "/", 1);
        module_size = 0;
    }
    print_place(text + at, module_size, text + name_at, size - name_at, out);
}

static bool skip(const char *prefix, const char **text, size_t *size)
{
    size_t prefix_size = strlen(prefix);
    if (*size <= prefix_size || memcmp(*text, prefix, prefix_size) != 0) return false;
    *text += prefix_size;
    *size -= prefix_size;
    return true;
}

static void print_field_value(enum kiln_item kind, kiln_bytes value, struct kiln_buffer *out)
{
    if (kind == KILN_ITEM_FILE)
        print_content(value.data, value.size, out);
    else if (kind == KILN_ITEM_ENVIRONMENT && !value.size)
        kiln__buffer_printf(out, "unset");
    else if (kind == KILN_ITEM_ENVIRONMENT)
        print_text(value.data, value.size - 1, out);
    else if (kind)
        print_bytes(value.data, value.size, out);
    else
        print_text(value.data, value.size, out);
}

void kiln__field_print(const struct kiln_field *field, struct kiln_buffer *out)
{
    static const struct {
        const char *prefix;
        enum kiln_item kind;
        bool has_place;
    } kinds[] = {{"watch ", KILN_ITEM_MEMORY, true},
                 {"read file ", KILN_ITEM_FILE, true},
                 {"read ", KILN_ITEM_MEMORY, true},
                 {"file ", KILN_ITEM_FILE, true},
                 {"environment ", KILN_ITEM_ENVIRONMENT, false}};
    const char *name = field->name;
    size_t size = field->name_size, i = 0, count = sizeof kinds / sizeof *kinds;
    kiln_bytes value = field->value;
    bool is_answer = skip("depends ", &name, &size) && value.size && *(const char *)value.data == '=';
    if (is_answer) value = (kiln_bytes){(const char *)value.data + 1, value.size - 1};
    while (i < count && !skip(kinds[i].prefix, &name, &size)) i++;
    enum kiln_item kind = i < count ? kinds[i].kind : 0;
    if (i < count && kinds[i].has_place)
        print_field_place(name, size, kind == KILN_ITEM_FILE, out);
    else
        print_place("", 0, name, size, out);
    if (!kind && skip("variable ", &name, &size)) kind = KILN_ITEM_VARIABLE;
    if (!kind && skip("argument ", &name, &size)) kind = KILN_ITEM_ARGUMENT;
    print_field_value(kind, value, out);
    kiln__buffer_append(out, "\n", 1);
}

/* ---- tensors -------------------------------------------------------------------------------------------------- */

static void print_dtype(struct printer *printer, const char *field, uint64_t facts)
{
    static const char *const codes[] = {"int", "uint", "float", "handle", "bfloat", "complex", "bool"};
    unsigned code = (unsigned)(facts >> 56) & 0xff, bits = (unsigned)(facts >> 48) & 0xff,
             lanes = (unsigned)(facts >> 32) & 0xffff;
    char unknown[16], more[16] = "";
    snprintf(unknown, sizeof unknown, "code%u.", code);
    if (lanes != 1) snprintf(more, sizeof more, "x%u", lanes);
    line(printer, "%s: dtype\t%s%u%s", field, code < sizeof codes / sizeof *codes ? codes[code] : unknown, bits, more);
}

static void print_ruled(struct printer *printer, const char *field, const char *what, uint32_t axis,
                        const uint64_t *words)
{
    uint32_t kind = (uint32_t)(words[0] >> 32), divisor = (uint32_t)words[0];
    if (kind == KILN_STATIC)
        line(printer, "%s: %s %u\t%lld", field, what, axis, (long long)words[1]);
    else if (kind == KILN_DIVISIBLE)
        line(printer, "%s: %s %u\t%s by %u", field, what, axis, words[1] ? "divisible" : "not divisible", divisor);
    else
        line(printer, "%s: %s %u\tdynamic", field, what, axis);
}

static void print_tensor(struct printer *printer, const char *field, const uint64_t *item)
{
    static const char *const classes[] = {"any", "0", "1", "packed"};
    uint32_t words = kiln__item_words(*item), form = kiln__item_info(*item);
    if (!words) return;
    uint64_t facts = item[1], rank = facts & 0xff;
    print_dtype(printer, field, facts);
    line(printer, "%s: device type\t%u", field, (unsigned)(facts >> 16) & 0xffff);
    if (form != KILN_TENSOR_DYNAMIC) line(printer, "%s: alignment\t%llu", field, 1ull << (facts >> 8 & 63));
    line(printer, "%s: rank\t%u", field, (unsigned)rank);
    uint32_t ndim = (words - 1) / 2;
    for (uint32_t i = 0; form == KILN_TENSOR_STATIC && i < 2 * ndim; i++)
        if (!line(printer, "%s: %s %u\t%lld", field, i < ndim ? "dim" : "stride", i % ndim, (long long)item[2 + i]))
            return;
    for (uint32_t i = 0; form == KILN_TENSOR_DYNAMIC && words == 3 && i < rank && i < 64; i++)
        line(printer, "%s: stride %u\t%s", field, i, classes[item[2 + i / 32] >> 2 * (i % 32) & 3]);
    for (uint32_t i = 0; form == KILN_TENSOR_RULED && i < 2 * ((words - 1) / 4); i++)
        print_ruled(printer, field, i % 2 ? "stride" : "dim", i / 2, item + 2 + 2 * i);
}

/* ---- arguments ------------------------------------------------------------------------------------------------ */

/* The item at `words` ends within `room` words. */
static bool fits(const uint64_t *words, uint32_t room)
{
    return room > 0 && kiln__item_words(*words) < room;
}

static bool is_type(const struct printer *printer, uint64_t word, const kiln_type *type)
{
    return !printer->type_name && word == (uint64_t)(uintptr_t)type;
}

static const char *name_of_type(const struct printer *printer, uint64_t word)
{
    if (printer->type_name) return printer->type_name(word);
    const kiln_type *type = (const kiln_type *)(uintptr_t)word;
    return type->name ? type->name : "(unnamed)";
}

static void print_number(struct printer *printer, const char *name, uint64_t type, uint64_t bits, bool is_double)
{
    double value;
    memcpy(&value, &bits, sizeof value);
    if ((is_double || is_type(printer, type, &kiln_const_f64)) && value == value)
        line(printer, "%s\t%.17g", name, value);
    else if (is_double || is_type(printer, type, &kiln_const_f64))
        line(printer, "%s\tnan %#llx", name, (unsigned long long)bits);
    else if (is_type(printer, type, &kiln_const_bool))
        line(printer, "%s\t%s", name, bits ? "true" : "false");
    else
        line(printer, "%s\t%lld", name, (long long)bits);
}

static void print_item_bytes(struct printer *printer, const char *name, uint64_t type, const uint64_t *item)
{
    uint32_t words = kiln__item_words(*item), rest = kiln__item_info(*item) & 7;
    size_t size = (size_t)words * 8 - (rest && words ? 8 - rest : 0);
    struct kiln_buffer value = {0};
    if (is_type(printer, type, &kiln_const_bytes))
        print_bytes(item + 1, size, &value);
    else
        print_text((const char *)(item + 1), size, &value);
    if (!value.failed) line(printer, "%s\t%s", name, (const char *)value.data);
    kiln__buffer_release(&value);
}

static void print_arguments(struct printer *printer, const char *field, const char *each, const uint64_t *words,
                            uint32_t room);

/* What a type's sign() wrote; a type that writes one item is its value, of others the items are numbered. */
static void print_signed(struct printer *printer, const char *field, uint64_t type, const uint64_t *words,
                         uint32_t room)
{
    bool only = fits(words, room) && 1 + kiln__item_words(*words) == room;
    char name[320];
    for (unsigned number = 0; fits(words, room); number++) {
        uint32_t step = 1 + kiln__item_words(*words);
        enum kiln_item tag = kiln__item_tag(*words);
        if (only)
            snprintf(name, sizeof name, "%s: %.80s", field, name_of_type(printer, type));
        else
            snprintf(name, sizeof name, "%s: %.80s[%u]", field, name_of_type(printer, type), number);
        if (tag == KILN_ITEM_TENSOR)
            print_tensor(printer, field, words);
        else if ((tag == KILN_ITEM_U64 || tag == KILN_ITEM_F64) && step == 2)
            print_number(printer, name, type, words[1], tag == KILN_ITEM_F64);
        else if (tag == KILN_ITEM_BYTES)
            print_item_bytes(printer, name, type, words);
        else if (tag == KILN_ITEM_LIST)
            print_arguments(printer, field, "item", words + 1, step - 1);
        words += step;
        room -= step;
    }
}

static void print_argument(struct printer *printer, const char *field, const uint64_t *item)
{
    uint32_t words = kiln__item_words(*item);
    if (!words) return;
    struct kiln_buffer name = {0};
    print_text(name_of_type(printer, item[1]), strlen(name_of_type(printer, item[1])), &name);
    if (!name.failed) line(printer, "%s: type\t%s", field, (const char *)name.data);
    kiln__buffer_release(&name);
    print_signed(printer, field, item[1], item + 2, words - 1);
}

static void print_array(struct printer *printer, const char *field, const uint64_t *item)
{
    uint32_t info = kiln__item_info(*item), words = kiln__item_words(*item), rank = info & 0xff;
    line(printer, "%s: dtype\t%u", field, info >> 8);
    line(printer, "%s: rank\t%u", field, rank);
    for (uint32_t i = 0; i < rank && i / 2 < words; i++) {
        int32_t dim;
        memcpy(&dim, (const int32_t *)(item + 1) + i, sizeof dim);
        if (!line(printer, "%s: dim %u\t%d", field, i, dim)) return;
    }
}

static void print_arguments(struct printer *printer, const char *field, const char *each, const uint64_t *words,
                            uint32_t room)
{
    enum { DEEPEST = 8 };
    char name[120];
    unsigned count = 0;
    for (uint32_t at = 0; fits(words + at, room - at); at += 1 + kiln__item_words(words[at])) count++;
    if (count || *field) line(printer, "%s%snumber of %ss\t%u", field, *field ? ": " : "", each, count);
    if (printer->depth >= DEEPEST) return;
    printer->depth++;
    for (unsigned i = 0; i < count && printer->lines < MOST_LINES; i++) {
        snprintf(name, sizeof name, "%.80s%s%s %u", field, *field ? ": " : "", each, i);
        if (kiln__item_tag(*words) == KILN_ITEM_ARGUMENT) print_argument(printer, name, words);
        if (kiln__item_tag(*words) == KILN_ITEM_ARRAY) print_array(printer, name, words);
        words += 1 + kiln__item_words(*words);
    }
    printer->depth--;
}

/* ---- a key ---------------------------------------------------------------------------------------------------- */

static void print_head(struct printer *printer, const uint64_t *words)
{
    uint32_t id = (uint32_t)(words[2] >> 32), resets = (uint32_t)words[2];
    const kiln_device *device = id && !printer->type_name ? kiln__device_by_id(id) : NULL;
    if (device)
        line(printer, "device\t%s", kiln_device_name(device));
    else if (id)
        line(printer, "device\tnumber %u", id);
    struct kiln_options options = kiln__options_unpack((uint32_t)(words[1] >> 32));
    if (!id) return; /* keys of the engine have none of these */
    line(printer, "resets of the device\t%u", resets);
    line(printer, "KILN_OPT_LEVEL\t%u%s", options.opt_level, options.opt_level == 2 ? " or unset" : "");
    line(printer, "KILN_FAST_MATH\t%s", options.fast_math ? "1" : "unset or 0");
    if (options.lines) line(printer, "KILN_LINES\t1");
}

static void print_option(struct printer *printer, const uint64_t *item)
{
    size_t size = (size_t)kiln__item_words(*item) * 8, name_size = strnlen((const char *)(item + 1), size);
    const char *name = (const char *)(item + 1), *value = name + name_size + (name_size < size);
    struct kiln_buffer text = {0};
    kiln__buffer_printf(&text, "option ");
    print_place("", 0, name, name_size, &text);
    print_text(value, strnlen(value, (size_t)(name + size - value)), &text);
    if (!text.failed) line(printer, "%s", (const char *)text.data);
    kiln__buffer_release(&text);
}

static uint32_t run_of(const uint64_t *words, uint32_t at, uint32_t count, enum kiln_item tag)
{
    while (fits(words + at, count - at) && kiln__item_tag(words[at]) == tag) at += 1 + kiln__item_words(words[at]);
    return at;
}

uint32_t kiln__key_print(const uint64_t *words, uint32_t count, kiln_type_namer *type_name, struct kiln_buffer *out)
{
    struct printer printer = {.type_name = type_name, .out = out};
    if (count < HEAD_WORDS) return count;
    print_head(&printer, words);
    uint32_t options_end = run_of(words, HEAD_WORDS, count, KILN_ITEM_OPTIONS);
    for (uint32_t at = HEAD_WORDS; at < options_end; at += 1 + kiln__item_words(words[at]))
        print_option(&printer, words + at);
    uint32_t end = run_of(words, options_end, count, KILN_ITEM_ARGUMENT);
    print_arguments(&printer, "", "argument", words + options_end, end - options_end);
    uint32_t arrays_end = run_of(words, end, count, KILN_ITEM_ARRAY);
    print_arguments(&printer, "", "input", words + end, arrays_end - end);
    if (printer.lines > MOST_LINES) kiln__buffer_printf(out, "more\tnot shown\n");
    return arrays_end;
}
