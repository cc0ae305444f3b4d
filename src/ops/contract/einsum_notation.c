/*
 * einsum_notation.c - see einsum_notation.h.
 */
#include "ops/contract/einsum_notation.h"

#include <stdlib.h>
#include <string.h>

#include "base/status.h"

/* How texts call a letter. */
static char name_of(unsigned letter)
{
    return letter < 26 ? (char)('A' + letter) : letter < KILN_NAMED_LETTERS ? (char)('a' + letter - 26) : '.';
}

static int letter_of(char c)
{
    return c >= 'A' && c <= 'Z' ? c - 'A' : c >= 'a' && c <= 'z' ? c - 'a' + 26 : -1;
}

/* ---- a part of the text: the letters of one operand, or of the output -------------------------------------------- */

struct part {
    uint8_t before[KILN_MAX_NDIM], after[KILN_MAX_NDIM]; /* letters, around "..." */
    size_t before_count, after_count;
    bool has_dots;
};

static kiln_status add_letter(struct part *part, char c, kiln_error *err)
{
    int letter = letter_of(c);
    if (letter < 0)
        return kiln__fail(err, KILN_INVALID, "[einsum] Subscripts must be letters, but got '%c'.",
                          c >= ' ' && c <= '~' ? c : '?');
    if (part->before_count + part->after_count == KILN_MAX_NDIM)
        return kiln__fail(err, KILN_INVALID, "[einsum] An operand has more than %d subscripts.", KILN_MAX_NDIM);
    if (part->has_dots)
        part->after[part->after_count++] = (uint8_t)letter;
    else
        part->before[part->before_count++] = (uint8_t)letter;
    return KILN_OK;
}

/* Up to ',', "->" or the end; *text is moved there. */
static kiln_status read_part(const char **text, struct part *part, kiln_error *err)
{
    kiln_status status = KILN_OK;
    *part = (struct part){.has_dots = false};
    for (const char *at = *text; !status; *text = at) {
        while (*at == ' ') at++;
        if (!*at || *at == ',' || (at[0] == '-' && at[1] == '>')) {
            *text = at;
            return KILN_OK;
        }
        if (strncmp(at, "...", 3) != 0) {
            status = add_letter(part, *at++, err);
        } else if (part->has_dots) {
            return kiln__fail(err, KILN_INVALID, "[einsum] \"...\" can stand once in an operand.");
        } else {
            part->has_dots = true;
            at += 3;
        }
    }
    return status;
}

/* The part's letters for an array of `ndim` axes, or for as many as there are. */
static void place_letters(const struct part *part, size_t dots, struct kiln_letters *out)
{
    out->count = 0;
    for (size_t i = 0; i < part->before_count; i++) out->axes[out->count++] = part->before[i];
    for (size_t i = 0; i < dots; i++) out->axes[out->count++] = (uint8_t)(KILN_LETTERS - dots + i);
    for (size_t i = 0; i < part->after_count; i++) out->axes[out->count++] = part->after[i];
}

/* ---- operands ---------------------------------------------------------------------------------------------------- */

static kiln_status check_ndim(const struct part *part, size_t number, const struct kiln_array *operand, kiln_error *err)
{
    size_t named = part->before_count + part->after_count;
    if (part->has_dots ? operand->ndim < named : operand->ndim != named)
        return kiln__fail(err, KILN_INVALID,
                          "[einsum] Invalid number of subscripts %zu for input %zu with %d dimensions.", named, number,
                          operand->ndim);
    if (operand->ndim - named > KILN_LETTERS - KILN_NAMED_LETTERS)
        return kiln__fail(err, KILN_INVALID, "[einsum] \"...\" of input %zu stands for more than %d dimensions.",
                          number, KILN_LETTERS - KILN_NAMED_LETTERS);
    return KILN_OK;
}

/* The sizes of an operand's axes join those of its letters. */
static kiln_status join_sizes(struct kiln_notation *notation, size_t number, const struct kiln_array *operand,
                              bool *is_known, kiln_error *err)
{
    const struct kiln_letters *letters = &notation->operands[number];
    char text[KILN_SHAPE_TEXT];
    for (size_t i = 0; i < letters->count; i++) {
        unsigned letter = letters->axes[i];
        for (size_t k = 0; k < i; k++)
            if (letters->axes[k] == letter && operand->dims[k] != operand->dims[i])
                return kiln__fail(err, KILN_INVALID,
                                  "[einsum] Subscript '%c' stands for dimensions of different sizes in input %zu with "
                                  "shape %s.",
                                  name_of(letter), number, kiln__shape_text(operand->dims, operand->ndim, text));
        int size = operand->dims[i], *known = &notation->sizes[letter];
        if (is_known[letter] && size != *known && size != 1 && *known != 1)
            return kiln__fail(err, KILN_INVALID,
                              "[einsum] Cannot broadcast dimension %zu of input %zu with shape %s to size %d: "
                              "subscript '%c' has that size.",
                              i, number, kiln__shape_text(operand->dims, operand->ndim, text), *known, name_of(letter));
        if (!is_known[letter] || *known == 1) *known = size;
        is_known[letter] = true;
    }
    return KILN_OK;
}

/* ---- the output -------------------------------------------------------------------------------------------------- */

/* What "..." stands for, then the letters that occur once. */
static void imply_output(struct kiln_notation *notation, size_t dots)
{
    size_t counts[KILN_LETTERS] = {0};
    struct part none = {.has_dots = true};
    place_letters(&none, dots, &notation->output);
    for (size_t k = 0; k < notation->operand_count; k++)
        for (size_t i = 0; i < notation->operands[k].count; i++) counts[notation->operands[k].axes[i]]++;
    for (unsigned letter = 0; letter < KILN_NAMED_LETTERS; letter++)
        if (counts[letter] == 1 && notation->output.count < KILN_MAX_NDIM)
            notation->output.axes[notation->output.count++] = (uint8_t)letter;
}

static kiln_status check_output(const struct kiln_notation *notation, const bool *is_known, kiln_error *err)
{
    uint64_t seen = 0;
    for (size_t i = 0; i < notation->output.count; i++) {
        unsigned letter = notation->output.axes[i];
        if (!is_known[letter])
            return kiln__fail(err, KILN_INVALID, "[einsum] Subscript '%c' of the output is in no input.",
                              name_of(letter));
        if (seen >> letter & 1)
            return kiln__fail(err, KILN_INVALID,
                              "[einsum] Repeat indices not allowed in output: subscript '%c' stands twice.",
                              name_of(letter));
        seen |= UINT64_C(1) << letter;
    }
    return KILN_OK;
}

/* ---- the whole --------------------------------------------------------------------------------------------------- */

static kiln_status read_operands(const char **text, struct kiln_array *const *operands, struct kiln_notation *out,
                                 bool *is_known, size_t *dots, kiln_error *err)
{
    kiln_status status = KILN_OK;
    size_t given = 0;
    for (const char *at = *text; !status; at++, *text = at) {
        struct part part;
        status = read_part(&at, &part, err);
        if (status) return status;
        if (given < out->operand_count) {
            const struct kiln_array *operand = operands[given];
            status = check_ndim(&part, given, operand, err);
            if (status) return status;
            size_t more = part.has_dots ? operand->ndim - part.before_count - part.after_count : 0;
            place_letters(&part, more, &out->operands[given]);
            status = join_sizes(out, given, operand, is_known, err);
            *dots = more > *dots ? more : *dots;
        }
        given++;
        *text = at;
        if (*at != ',') break;
    }
    if (status || given == out->operand_count) return status;
    return kiln__fail(err, KILN_INVALID,
                      "[einsum] Number of operands, %zu, does not match number of input subscripts, %zu.",
                      out->operand_count, given);
}

static kiln_status read_output(const char *text, size_t dots, struct kiln_notation *out, const bool *is_known,
                               kiln_error *err)
{
    struct part part;
    if (!*text) {
        imply_output(out, dots);
        return KILN_OK;
    }
    text += 2; /* "->" */
    kiln_status status = read_part(&text, &part, err);
    if (status) return status;
    if (*text) return kiln__fail(err, KILN_INVALID, "[einsum] Nothing can follow the output, but got '%c'.", *text);
    if (part.before_count + part.after_count + (part.has_dots ? dots : 0) > KILN_MAX_NDIM)
        return kiln__fail(err, KILN_INVALID, "[einsum] The output has more than %d dimensions.", KILN_MAX_NDIM);
    place_letters(&part, part.has_dots ? dots : 0, &out->output);
    return check_output(out, is_known, err);
}

kiln_status kiln__notation_read(const char *subscripts, struct kiln_array *const *operands, size_t count,
                                struct kiln_notation *out, kiln_error *err)
{
    bool is_known[KILN_LETTERS] = {false};
    size_t dots = 0;
    *out = (struct kiln_notation){.operand_count = count};
    out->operands = calloc(count + 1, sizeof *out->operands);
    if (!out->operands) return kiln__no_memory(err, "the operands of einsum");
    kiln_status status = read_operands(&subscripts, operands, out, is_known, &dots, err);
    if (!status) status = read_output(subscripts, dots, out, is_known, err);
    if (status) free(out->operands);
    return status;
}
