/*
 * print_ir.h - LLVM IR as text. Every printer writes lines as they look in IR, with placeholders for what varies:
 *
 *     kiln__print(ir, "  %x$0 = load $1, ptr %p, align $2\n", number, type, align);
 *
 * $0 to $9 stand for the arguments: strings, integers, and single characters (of type char, which 'p' alone is not).
 * Each is evaluated once. '%' stands for itself. $@ is the kernel's entry: an '@', and behind it the place of a name
 * that is made of the whole text (kernel_name.h).
 *
 * Nothing is cut or left out: a placeholder without an argument, an argument without a placeholder, and a name that is
 * too long make the text fail, and kiln__ir_finish() says why. Inside the codegen layer.
 */
#ifndef KILN_CODEGEN_PRINT_IR_H
#define KILN_CODEGEN_PRINT_IR_H

#include "base/buffer.h"
#include "base/status.h"

enum { KILN_IR_NAME = 64, KILN_IR_ENTRIES = 2 };

struct kiln_ir {
    struct kiln_buffer *text;        /* empty before the first line */
    struct kiln_buffer declarations; /* lines that follow the functions */
    char problem[160];               /* what is wrong with a printer, the first time; "": nothing */
    size_t entries[KILN_IR_ENTRIES]; /* where in the text the entry's name will stand, in order */
    uint32_t entry_count;
};

/* A name that is made of parts, such as "%v3.at", with the byte that ends it. */
struct kiln_name {
    char text[KILN_IR_NAME];
};

/* Appends the template `...` begins with to the text. */
#define kiln__print(ir, ...)                kiln__ir_print(ir, KILN_IR_ARGS(__VA_ARGS__))
/* Appends a line to the declarations, unless it is there already. */
#define kiln__declare(ir, ...)              kiln__ir_declare(ir, KILN_IR_ARGS(__VA_ARGS__))
/* The name that is printed; "" where the text has failed. */
#define kiln__name(ir, ...)                 kiln__ir_name(ir, KILN_IR_ARGS(__VA_ARGS__))
/*
 * Lines that are separated by ';', without their indentation. `letters` has the letter behind the '$' of each argument;
 * not all of them have to be used.
 */
#define kiln__print_lines(ir, letters, ...) kiln__ir_print_lines(ir, letters, KILN_IR_ARGS(__VA_ARGS__))

/* Appends the declarations to the text. */
void kiln__print_declarations(struct kiln_ir *ir);

/* Puts the name at all places of the entry. After the last line; once. */
void kiln__ir_put_entry(struct kiln_ir *ir, const char *name);

/*
 * After the last line: returns `status`, or where that is KILN_OK, KILN_LOWER_FAILED for what is wrong with a printer,
 * or KILN_NO_MEMORY. Releases the declarations.
 */
kiln_status kiln__ir_finish(struct kiln_ir *ir, kiln_status status, kiln_error *err);

/* ---- how the macros pass their arguments: an array, whose first element is the template ----------------------------
 */

enum kiln_ir_kind { KILN_IR_STRING, KILN_IR_CHARACTER, KILN_IR_NUMBER };

struct kiln_ir_arg {
    enum kiln_ir_kind kind;
    union {
        const char *string;
        long long number;
    };
};

struct kiln_ir_args {
    const struct kiln_ir_arg *list;
    size_t count;
};

void kiln__ir_print(struct kiln_ir *ir, struct kiln_ir_args args);
void kiln__ir_declare(struct kiln_ir *ir, struct kiln_ir_args args);
void kiln__ir_print_lines(struct kiln_ir *ir, const char *letters, struct kiln_ir_args args);
struct kiln_name kiln__ir_name(struct kiln_ir *ir, struct kiln_ir_args args);

static inline struct kiln_ir_arg kiln__ir_string(const char *string)
{
    return (struct kiln_ir_arg){KILN_IR_STRING, {.string = string}};
}

static inline struct kiln_ir_arg kiln__ir_character(char character)
{
    return (struct kiln_ir_arg){KILN_IR_CHARACTER, {.number = character}};
}

static inline struct kiln_ir_arg kiln__ir_number(long long number)
{
    return (struct kiln_ir_arg){KILN_IR_NUMBER, {.number = number}};
}

#define KILN_IR_ARG(x)                                                                                                 \
    _Generic((x),                                                                                                      \
        char *: kiln__ir_string,                                                                                       \
        const char *: kiln__ir_string,                                                                                 \
        char: kiln__ir_character,                                                                                      \
        int: kiln__ir_number,                                                                                          \
        unsigned char: kiln__ir_number,                                                                                \
        unsigned: kiln__ir_number,                                                                                     \
        long: kiln__ir_number,                                                                                         \
        unsigned long: kiln__ir_number)(x)

#define KILN_IR_ARGS(...)                                                                                              \
    ((struct kiln_ir_args){(const struct kiln_ir_arg[]){KILN_IR_EACH(__VA_ARGS__)}, KILN_IR_COUNT(__VA_ARGS__)})

#define KILN_IR_PICK(a, b, c, d, e, f, g, h, i, j, k, chosen, ...) chosen

#define KILN_IR_COUNT(...) KILN_IR_PICK(__VA_ARGS__, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0)
#define KILN_IR_EACH(...)                                                                                              \
    KILN_IR_PICK(__VA_ARGS__, KILN_IR_11, KILN_IR_10, KILN_IR_9, KILN_IR_8, KILN_IR_7, KILN_IR_6, KILN_IR_5,           \
                 KILN_IR_4, KILN_IR_3, KILN_IR_2, KILN_IR_1, 0)(__VA_ARGS__)
#define KILN_IR_1(x)       KILN_IR_ARG(x)
#define KILN_IR_2(x, ...)  KILN_IR_ARG(x), KILN_IR_1(__VA_ARGS__)
#define KILN_IR_3(x, ...)  KILN_IR_ARG(x), KILN_IR_2(__VA_ARGS__)
#define KILN_IR_4(x, ...)  KILN_IR_ARG(x), KILN_IR_3(__VA_ARGS__)
#define KILN_IR_5(x, ...)  KILN_IR_ARG(x), KILN_IR_4(__VA_ARGS__)
#define KILN_IR_6(x, ...)  KILN_IR_ARG(x), KILN_IR_5(__VA_ARGS__)
#define KILN_IR_7(x, ...)  KILN_IR_ARG(x), KILN_IR_6(__VA_ARGS__)
#define KILN_IR_8(x, ...)  KILN_IR_ARG(x), KILN_IR_7(__VA_ARGS__)
#define KILN_IR_9(x, ...)  KILN_IR_ARG(x), KILN_IR_8(__VA_ARGS__)
#define KILN_IR_10(x, ...) KILN_IR_ARG(x), KILN_IR_9(__VA_ARGS__)
#define KILN_IR_11(x, ...) KILN_IR_ARG(x), KILN_IR_10(__VA_ARGS__)

#endif
