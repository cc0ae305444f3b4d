/*
 * lines.c - line tables: each instruction has the line of the text that it stands on, so that debuggers and profilers
 * show the text.
 *
 * LLVM forgets lines when it reads a text, but it keeps the order of functions, blocks and instructions. So a
 * function's lines are read again: past labels and comments, each line is an instruction, but for a `switch`, which
 * goes on until its "]". Invariant: where the number of lines is not that of the instructions, as in a text that was
 * laid out in another way, all of them get the function's first line, which is true as well.
 *
 * Results are those of the code without lines: LLVM's passes ignore them. Frame pointers, and the frame descriptions
 * that come with debug information, let a debugger walk through a kernel.
 */
#include <stdlib.h>
#include <string.h>

#include <llvm-c/DebugInfo.h>

#include "compiler/internal.h"

struct line {
    const char *text;
    size_t size;
    unsigned number; /* from 1 */
};

struct text {
    const char *at, *end;
    unsigned number; /* of the line that was read last */
};

struct builder {
    LLVMContextRef context;
    LLVMModuleRef module;
    LLVMDIBuilderRef builder;
    LLVMMetadataRef file;
};

/* ---- lines ------------------------------------------------------------------------------------------------------- */

/* The next line without the blanks around it. */
static bool next_line(struct text *text, struct line *out)
{
    if (text->at >= text->end) return false;
    size_t left = (size_t)(text->end - text->at);
    const char *newline = memchr(text->at, '\n', left);
    size_t size = newline ? (size_t)(newline - text->at) : left;
    *out = (struct line){text->at, size, ++text->number};
    text->at += newline ? size + 1 : size;
    while (out->size && (out->text[0] == ' ' || out->text[0] == '\t')) out->text++, out->size--;
    while (out->size && strchr(" \t\r", out->text[out->size - 1])) out->size--;
    return true;
}

static bool begins(const struct line *line, const char *with)
{
    return line->size >= strlen(with) && !memcmp(line->text, with, strlen(with));
}

static bool has(const struct line *line, char letter)
{
    return memchr(line->text, letter, line->size) != NULL;
}

/* "name:", maybe with a comment behind it. */
static bool is_label(const struct line *line)
{
    const char *colon = memchr(line->text, ':', line->size);
    if (!colon) return false;
    for (const char *at = line->text; at < colon; at++)
        if (strchr(" \t=(,@%!", *at)) return false;
    return true;
}

/* The line of the next instruction of a function. False: it ends. */
static bool next_instruction(struct text *text, struct line *out)
{
    struct line rest;
    while (next_line(text, out)) {
        if (begins(out, "}")) return false;
        if (!out->size || out->text[0] == ';' || out->text[0] == '#' || is_label(out)) continue;
        if (begins(out, "switch ") && has(out, '[') && !has(out, ']'))
            while (next_line(text, &rest) && !has(&rest, ']')) {
            }
        return true;
    }
    return false;
}

/* The function that the line defines: what stands between "@" and "(". */
static LLVMValueRef defined_by(LLVMModuleRef module, const struct line *line)
{
    char name[256];
    const char *at = memchr(line->text, '@', line->size);
    size_t left = at ? (size_t)(line->text + line->size - ++at) : 0, size = 0;
    while (size < left && at[size] != '(') size++;
    if (size >= 2 && at[0] == '"' && at[size - 1] == '"') at++, size -= 2;
    if (!size || size >= sizeof name) return NULL;
    memcpy(name, at, size);
    name[size] = '\0';
    LLVMValueRef function = LLVMGetNamedFunction(module, name);
    return function && !LLVMIsDeclaration(function) ? function : NULL;
}

/* ---- functions --------------------------------------------------------------------------------------------------- */

static size_t count_instructions(LLVMValueRef function)
{
    size_t count = 0;
    for (LLVMBasicBlockRef b = LLVMGetFirstBasicBlock(function); b; b = LLVMGetNextBasicBlock(b))
        for (LLVMValueRef i = LLVMGetFirstInstruction(b); i; i = LLVMGetNextInstruction(i)) count++;
    return count;
}

static size_t count_lines(struct text body)
{
    struct line line;
    size_t count = 0;
    while (next_instruction(&body, &line)) count++;
    return count;
}

static LLVMMetadataRef describe(const struct builder *b, LLVMValueRef function, unsigned number)
{
    size_t size;
    const char *name = LLVMGetValueName2(function, &size);
    LLVMMetadataRef type = LLVMDIBuilderCreateSubroutineType(b->builder, b->file, NULL, 0, LLVMDIFlagZero);
    LLVMMetadataRef subprogram = LLVMDIBuilderCreateFunction(b->builder, b->file, name, size, name, size, b->file,
                                                             number, type, false, true, number, LLVMDIFlagZero, true);
    LLVMSetSubprogram(function, subprogram);
    return subprogram;
}

/* `body` is behind the line that defines the function. */
static void number_function(const struct builder *b, LLVMValueRef function, struct text body, unsigned first)
{
    LLVMMetadataRef subprogram = describe(b, function, first);
    bool fits = count_lines(body) == count_instructions(function);
    for (LLVMBasicBlockRef block = LLVMGetFirstBasicBlock(function); block; block = LLVMGetNextBasicBlock(block))
        for (LLVMValueRef i = LLVMGetFirstInstruction(block); i; i = LLVMGetNextInstruction(i)) {
            struct line line = {.number = first};
            if (fits) next_instruction(&body, &line);
            LLVMInstructionSetDebugLoc(i,
                                       LLVMDIBuilderCreateDebugLocation(b->context, line.number, 1, subprogram, NULL));
        }
}

/* ---- modules ----------------------------------------------------------------------------------------------------- */

static void add_flag(const struct builder *b, const char *name, unsigned value)
{
    LLVMValueRef number = LLVMConstInt(LLVMInt32TypeInContext(b->context), value, false);
    LLVMAddModuleFlag(b->module, LLVMModuleFlagBehaviorWarning, name, strlen(name), LLVMValueAsMetadata(number));
}

static void begin(struct builder *b, const char *name)
{
    static const char producer[] = "kiln";
    char path[264];
    size_t size = strnlen(name, sizeof path - 4);
    memcpy(path, name, size);
    memcpy(path + size, ".ll", 3);
    add_flag(b, "Dwarf Version", 4);
    add_flag(b, "Debug Info Version", LLVMDebugMetadataVersion());
    b->builder = LLVMCreateDIBuilder(b->module);
    b->file = LLVMDIBuilderCreateFile(b->builder, path, size + 3, "", 0);
    LLVMDIBuilderCreateCompileUnit(b->builder, LLVMDWARFSourceLanguageC, b->file, producer, sizeof producer - 1, true,
                                   "", 0, 0, "", 0, LLVMDWARFEmissionFull, 0, false, false, "", 0, "", 0);
}

static bool has_lines(LLVMModuleRef module)
{
    for (LLVMValueRef f = LLVMGetFirstFunction(module); f; f = LLVMGetNextFunction(f))
        if (LLVMGetSubprogram(f)) return true;
    return false;
}

void kiln__lines_set(LLVMModuleRef module, kiln_bytes bytes, const char *name)
{
    struct builder b = {.context = LLVMGetModuleContext(module), .module = module};
    struct text text = {bytes.data, (const char *)bytes.data + bytes.size, 0};
    struct line line;
    for (LLVMValueRef f = LLVMGetFirstFunction(module); f; f = LLVMGetNextFunction(f))
        if (!LLVMIsDeclaration(f)) kiln__attribute_add_text(b.context, f, "frame-pointer", "all");
    if (has_lines(module)) return; /* the text brings its own */
    begin(&b, name);
    while (next_line(&text, &line)) {
        LLVMValueRef function = begins(&line, "define ") ? defined_by(module, &line) : NULL;
        if (function && !LLVMGetSubprogram(function)) number_function(&b, function, text, line.number);
    }
    LLVMDIBuilderFinalize(b.builder);
    LLVMDisposeDIBuilder(b.builder);
}
