/*
 * test_link_elf.c - the loader, with objects that clang really makes, and each refusal.
 */
#include <elf.h>
#include <unistd.h>

#include "base/file.h"
#include "link/link.h"
#include "support/check.h"

static const char *const plain_flags = "-O2 -fPIC -mcmodel=small -fno-unwind-tables -fno-asynchronous-unwind-tables";

static const char kernel_source[] =
    "static const float table[8] = {1, 2, 3, 4, 5, 6, 7, 8};\n"
    "__attribute__((noinline)) static float helper(float x, long i) { return x * table[i & 7] + 0.5f; }\n"
    "void kernel(float *out, const float *in, long count) {\n"
    "    for (long i = 0; i < count; i++) out[i] = helper(in[i], i) * 1.5f; }\n";

/* Jump tables, tables of addresses, strings, constants of 4, 8 and 16 bytes, calls between functions. */
static const char many_source[] =
    "static const char *const words[] = {\"zero\", \"one\", \"two\", \"three\", \"four\"};\n"
    "__attribute__((noinline)) int twist(int k, int x) { switch (k) {\n"
    "    case 0: return x * 3; case 1: return x + 100; case 2: return -x; case 3: return x / 7;\n"
    "    case 4: return x ^ 0x55; case 5: return x << 3; case 6: return x % 5; default: return 1; } }\n"
    "static int add(int a) { return a + 1; }\n"
    "static int twice(int a) { return a * 2; }\n"
    "static int (*const steps[])(int) = {add, twice};\n"
    "__attribute__((noinline)) const char *word(int k) { return words[k]; }\n"
    "__attribute__((visibility(\"hidden\"))) extern const double scale[2];\n"
    "const double scale[2] = {1.25, 0.75};\n"
    "long many(int k, volatile int *which, double *out, long count) {\n"
    "    for (long i = 0; i < count; i++) out[i] = -out[i] * scale[i & 1] + 3.141592653589793;\n"
    "    return twist(k, 41) * 1000 + word(k % 5)[0] + steps[*which](7) * 100000; }\n";

static struct kiln_buffer compile(const char *source, const char *flags, const char *tail)
{
    char folder[] = "/tmp/kiln-test-XXXXXX", command[1024], path[64];
    struct kiln_buffer object = {0};
    CHECK_NOT_NULL(mkdtemp(folder));
    snprintf(path, sizeof(path), "%s/k.c", folder);
    CHECK_STATUS(kiln__file_publish(path, source, strlen(source), NULL), KILN_OK);
    snprintf(command, sizeof(command), "cd %s && clang-19 -w %s -o k.o %s k.c", folder, flags, tail);
    CHECK_EQ(system(command), 0);
    snprintf(path, sizeof(path), "%s/k.o", folder);
    CHECK_EQ(kiln__file_read(path, SIZE_MAX, &object, NULL), KILN_DONE);
    snprintf(command, sizeof(command), "rm -r %s", folder);
    CHECK_EQ(system(command), 0);
    return object;
}

static struct kiln_image *load(const struct kiln_buffer *object, const char *entry)
{
    struct kiln_image *image = NULL;
    kiln_error err = {0};
    if (kiln__image_load((kiln_bytes){object->data, object->size}, entry, &image, &err) != KILN_OK) {
        CHECK_FAIL("%s", err.text);
    }
    return image;
}

static void expect_refused(const struct kiln_buffer *object, const char *entry, const char *text)
{
    struct kiln_image *image = NULL;
    kiln_error err = {0};
    CHECK_STATUS(kiln__image_load((kiln_bytes){object->data, object->size}, entry, &image, &err), KILN_LINK_FAILED,
                 &err);
    CHECK_NULL(image);
    if (!strstr(err.text, text)) CHECK_FAIL("\"%s\" lacks \"%s\"", err.text, text);
}
#define expect_refused(...) CHECK_CALL(expect_refused, __VA_ARGS__)

static void check_kernel(const char *flags)
{
    float in[37], out[37];
    struct kiln_buffer object = compile(kernel_source, flags, "-c");
    struct kiln_image *image = load(&object, "kernel");
    void (*kernel)(float *, const float *, long);
    void *entry = kiln__image_entry(image);
    kiln__buffer_release(&object); /* an image needs the object no more */
    memcpy(&kernel, &entry, sizeof(kernel));
    for (int i = 0; i < 37; i++) in[i] = (float)i;
    kernel(out, in, 37);
    for (int i = 0; i < 37; i++) CHECK_EQ(out[i], ((float)i * (float)(i % 8 + 1) + 0.5f) * 1.5f);
    CHECK_GE(kiln__image_size(image), 4096);
    kiln__image_free(image);
}
#define check_kernel(...) CHECK_CALL(check_kernel, __VA_ARGS__)

static void kernels_run(void **state)
{
    (void)state;
    check_kernel(plain_flags);
    check_kernel("-O3 -fPIC -fno-unwind-tables -ffp-contract=off");
    check_kernel("-O0 -fPIC -fasynchronous-unwind-tables"); /* with .eh_frame, which is left out */
    check_kernel("-O2 -fPIC -g -ffunction-sections -fdata-sections");
    if (kiln__isa_host() >= KILN_ISA_X86_64_V3) check_kernel("-O3 -fPIC -march=x86-64-v3 -ffp-contract=off");
    if (kiln__isa_host() >= KILN_ISA_X86_64_V4) {
        check_kernel("-O3 -fPIC -march=x86-64-v4 -mprefer-vector-width=512 -ffp-contract=off");
    }
}

static void check_many(const char *flags)
{
    static const int twisted[] = {41 * 3, 141, -41, 41 / 7, 41 ^ 0x55, 41 << 3, 41 % 5, 1};
    struct kiln_buffer object = compile(many_source, flags, "-c");
    struct kiln_image *image = load(&object, "many");
    long (*many)(int, volatile int *, double *, long);
    void *entry = kiln__image_entry(image);
    memcpy(&many, &entry, sizeof(many));
    for (int k = 0; k < 8; k++) {
        double values[5] = {1, 2, 3, 4, 5};
        volatile int which = k & 1;
        long expected = twisted[k] * 1000L + "zottf"[k % 5] + (which ? 14 : 8) * 100000L;
        CHECK_EQ(many(k, &which, values, 5), expected);
        CHECK_TRUE(values[1] == -2 * 0.75 + 3.141592653589793 && values[4] == -5 * 1.25 + 3.141592653589793);
    }
    kiln__image_free(image);
    kiln__buffer_release(&object);
}
#define check_many(...) CHECK_CALL(check_many, __VA_ARGS__)

static void tables_and_constants_are_relocated(void **state)
{
    (void)state;
    check_many("-O2 -fPIC -fvisibility=hidden -ffp-contract=off");
    check_many("-O0 -fPIC -fvisibility=hidden -ffp-contract=off");
    check_many("-O2 -fPIC -fvisibility=hidden -ffp-contract=off -fno-jump-tables -fdata-sections");
}

/* The protection of the page that holds `address`, as "r-xp". */
static void protection_of(const void *address, char out[5])
{
    FILE *maps = fopen("/proc/self/maps", "r");
    char line[512];
    strcpy(out, "?");
    while (fgets(line, sizeof(line), maps)) {
        unsigned long start, end;
        char flags[5];
        if (sscanf(line, "%lx-%lx %4s", &start, &end, flags) != 3) continue;
        if ((uintptr_t)address >= start && (uintptr_t)address < end) strcpy(out, flags);
    }
    fclose(maps);
}

static void memory_is_never_writable_and_executable(void **state)
{
    (void)state;
    char flags[5];
    struct kiln_buffer object = compile(kernel_source, plain_flags, "-c");
    struct kiln_image *image = load(&object, "kernel");
    char *entry = kiln__image_entry(image);
    protection_of(entry, flags);
    CHECK_STR(flags, "r-xp");
    protection_of((char *)((uintptr_t)entry & ~(uintptr_t)4095) + kiln__image_size(image) - 1, flags);
    CHECK_STR(flags, "r-xp"); /* constants lie beside the code */
    kiln__image_free(image);
    kiln__buffer_release(&object);
}

/* Code and constants of an image were two mappings once, and a process may have 65,530. */
static void more_objects_than_mappings_are_loaded(void **state)
{
    (void)state;
    enum { MANY = 40000 };
    struct kiln_buffer object = compile(kernel_source, plain_flags, "-c");
    struct kiln_image **images = calloc(MANY, sizeof *images);
    void (*kernel)(float *, const float *, long);
    for (int i = 0; i < MANY; i++) images[i] = load(&object, "kernel");
    for (int i = 0; i < MANY; i++) {
        void *entry = kiln__image_entry(images[i]);
        float in = (float)i, out = 0;
        memcpy(&kernel, &entry, sizeof(kernel));
        kernel(&out, &in, 1);
        CHECK_EQ(out, (in + 0.5f) * 1.5f);
        CHECK_EQ(kiln__image_size(images[i]), 4096);
        kiln__image_free(images[i]);
    }
    free(images);
    kiln__buffer_release(&object);
}

static void expect_source_refused(const char *source, const char *flags, const char *text)
{
    struct kiln_buffer object = compile(source, flags, "-c");
    expect_refused(&object, "f", text);
    kiln__buffer_release(&object);
}
#define expect_source_refused(...) CHECK_CALL(expect_source_refused, __VA_ARGS__)

static void what_kernels_must_not_have_is_refused(void **state)
{
    (void)state;
    expect_source_refused("double sin(double); double f(double x) { return sin(x); }", plain_flags,
                          "symbol sin is not defined");
    expect_source_refused("int f(void) { static int n = 3; return n++; }", plain_flags, "writable");
    expect_source_refused("int f(void) { static int n; return n++; }", plain_flags, ".bss is writable");
    expect_source_refused("static _Thread_local int n; int *f(void) { return &n; }", "-O2 -fPIC -ftls-model=local-exec",
                          "thread-local");
    expect_source_refused(
        "__attribute__((constructor)) static void c(void) { __asm__(\"nop\"); } int f(void) { return 1; }", plain_flags,
        ".init_array");
    expect_source_refused("const int n = 3; const int *f(void) { return &n; }", plain_flags, "relocation type 42");
    expect_source_refused("static const int n[9]; const int *f(int i) { return &n[i]; }", "-O2 -fno-pic -mcmodel=small",
                          "relocation type");
    expect_source_refused("int g(void) { return 1; }", plain_flags, "no function f");
    expect_source_refused("static int g(void) { return 1; } __asm__(\".set f, 5\"); int h(void) { return g(); }",
                          plain_flags, "no function f");
    expect_source_refused("const int f[4] = {1, 2, 3, 4};", plain_flags, "no code");
    expect_source_refused("const int f[4] = {1, 2, 3, 4}; int g(void) { return 2; }", plain_flags, "not code");
    expect_source_refused("int f(void) { return 1; }", "-O2 -m32 -fPIC", "not for x86-64");
    expect_source_refused("_Alignas(8192) static const int n[4]; const int *f(int i) { return &n[i]; }", plain_flags,
                          "alignment 8192");
    struct kiln_buffer shared = compile("int f(void) { return 1; }", "-O2 -fPIC -nostdlib", "-shared");
    expect_refused(&shared, "f", "of type 3");
    kiln__buffer_release(&shared);
    struct kiln_buffer nothing = {0};
    expect_refused(&nothing, "f", "too short");
    kiln__buffer_append(&nothing, kernel_source, sizeof(kernel_source));
    expect_refused(&nothing, "f", "not an ELF file");
    kiln__buffer_release(&nothing);
}

/* ---- damage to single fields ---------------------------------------------------------------------------------- */

static Elf64_Shdr *section_of_type(struct kiln_buffer *object, uint32_t type)
{
    Elf64_Ehdr *header = (Elf64_Ehdr *)(void *)object->data;
    Elf64_Shdr *sections = (Elf64_Shdr *)(void *)(object->data + header->e_shoff);
    for (int i = 0; i < header->e_shnum; i++) {
        if (sections[i].sh_type == type) return &sections[i];
    }
    CHECK_FAIL("no section of type %u", type);
    return NULL;
}

static Elf64_Rela *first_relocation(struct kiln_buffer *object)
{
    return (Elf64_Rela *)(void *)(object->data + section_of_type(object, SHT_RELA)->sh_offset);
}

static Elf64_Sym *symbol_of_relocation(struct kiln_buffer *object)
{
    Elf64_Sym *symbols = (Elf64_Sym *)(void *)(object->data + section_of_type(object, SHT_SYMTAB)->sh_offset);
    return &symbols[ELF64_R_SYM(first_relocation(object)->r_info)];
}

static Elf64_Shdr *text_section(struct kiln_buffer *object)
{
    return section_of_type(object, SHT_PROGBITS);
}

static void break_table_offset(struct kiln_buffer *object)
{
    ((Elf64_Ehdr *)(void *)object->data)->e_shoff = UINT64_MAX - 8;
}
static void break_table_count(struct kiln_buffer *object)
{
    ((Elf64_Ehdr *)(void *)object->data)->e_shnum = 4000;
}
static void break_section_offset(struct kiln_buffer *object)
{
    text_section(object)->sh_offset = UINT64_MAX - 2;
}
static void break_section_size(struct kiln_buffer *object)
{
    text_section(object)->sh_size = object->size;
}
static void break_section_type(struct kiln_buffer *object)
{
    text_section(object)->sh_type = SHT_DYNAMIC;
}
static void break_section_code(struct kiln_buffer *object)
{
    text_section(object)->sh_type = SHT_NOBITS;
}
static void break_section_alignment(struct kiln_buffer *object)
{
    text_section(object)->sh_addralign = 24;
}
static void break_symbol_table(struct kiln_buffer *object)
{
    section_of_type(object, SHT_SYMTAB)->sh_size += object->size;
}
static void break_symbol_strings(struct kiln_buffer *object)
{
    section_of_type(object, SHT_SYMTAB)->sh_link = 60000;
}
static void break_string_end(struct kiln_buffer *object)
{
    section_of_type(object, SHT_STRTAB)->sh_size -= 1;
    object->data[section_of_type(object, SHT_STRTAB)->sh_offset + section_of_type(object, SHT_STRTAB)->sh_size - 1] =
        'x';
}
static void break_symbol_value(struct kiln_buffer *object)
{
    symbol_of_relocation(object)->st_value = 1u << 30;
}
static void break_symbol_section(struct kiln_buffer *object)
{
    symbol_of_relocation(object)->st_shndx = SHN_ABS;
}
static void break_symbol_undefined(struct kiln_buffer *object)
{
    symbol_of_relocation(object)->st_shndx = SHN_UNDEF;
}
static void break_relocation_offset(struct kiln_buffer *object)
{
    first_relocation(object)->r_offset = UINT64_MAX - 1;
}
static void break_relocation_end(struct kiln_buffer *object)
{
    first_relocation(object)->r_offset = text_section(object)->sh_size - 3;
}
static void break_relocation_symbol(struct kiln_buffer *object)
{
    first_relocation(object)->r_info = ELF64_R_INFO(1u << 20, R_X86_64_PC32);
}
static void break_relocation_type(struct kiln_buffer *object)
{
    first_relocation(object)->r_info = ELF64_R_INFO(1, R_X86_64_COPY);
}
static void break_relocation_addend(struct kiln_buffer *object)
{
    first_relocation(object)->r_addend = (int64_t)1 << 31;
}
static void break_relocation_target(struct kiln_buffer *object)
{
    section_of_type(object, SHT_RELA)->sh_info = 60000;
}
static void break_relocation_size(struct kiln_buffer *object)
{
    section_of_type(object, SHT_RELA)->sh_size = object->size;
}

static const struct {
    void (*damage)(struct kiln_buffer *object);
    const char *text;
} damages[] = {
    {break_table_offset, "section table"},           {break_table_count, "section table"},
    {break_section_offset, "not inside it"},         {break_section_size, "not inside it"},
    {break_section_type, "only code and constants"}, {break_section_code, "code without bytes"},
    {break_section_alignment, "alignment 24"},       {break_symbol_table, "symbol table is not inside"},
    {break_symbol_strings, "names of its symbols"},  {break_string_end, "names of its symbols"},
    {break_symbol_value, "outside its section"},     {break_symbol_section, "not in a section of code or constants"},
    {break_symbol_undefined, "not defined in it"},   {break_relocation_offset, "outside the section"},
    {break_relocation_end, "outside the section"},   {break_relocation_symbol, "names no symbol"},
    {break_relocation_type, "relocation type 5"},    {break_relocation_addend, "does not fit 32 bits"},
    {break_relocation_target, "not there"},          {break_relocation_size, "can't be read"},
};

static void damaged_objects_are_refused(void **state)
{
    (void)state;
    struct kiln_buffer object = compile(kernel_source, plain_flags, "-c");
    for (size_t i = 0; i < sizeof(damages) / sizeof(damages[0]); i++) {
        struct kiln_buffer copy = {0};
        kiln__buffer_append(&copy, object.data, object.size);
        damages[i].damage(&copy);
        expect_refused(&copy, "kernel", damages[i].text);
        kiln__buffer_release(&copy);
    }
    kiln__buffer_release(&object);
    kiln__image_free(NULL);
}

static void every_truncation_is_refused(void **state)
{
    (void)state;
    struct kiln_buffer object = compile(kernel_source, plain_flags, "-c");
    for (size_t size = 0; size < object.size; size++) {
        struct kiln_buffer copy = {.data = malloc(size > 0 ? size : 1), .size = size};
        memcpy(copy.data, object.data, size);
        expect_refused(&copy, "kernel", "object: ");
        free(copy.data);
    }
    kiln__buffer_release(&object);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(kernels_run),
        cmocka_unit_test(tables_and_constants_are_relocated),
        cmocka_unit_test(memory_is_never_writable_and_executable),
        cmocka_unit_test(more_objects_than_mappings_are_loaded),
        cmocka_unit_test(what_kernels_must_not_have_is_refused),
        cmocka_unit_test(damaged_objects_are_refused),
        cmocka_unit_test(every_truncation_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
