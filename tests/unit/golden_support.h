/*
 * golden_support.h - golden texts of kernels. A file in tests/golden is its own input: the heading of a kernel
 * describes its group in full, so a test reads the heading, prints that group and compares the whole text.
 * KILN_GOLDEN_UPDATE=1 writes the files anew.
 */
#ifndef KILN_TESTS_GOLDEN_SUPPORT_H
#define KILN_TESTS_GOLDEN_SUPPORT_H

#include "base/file.h"
#include "codegen/gpu/gpu_schedule.h"
#include "support/check.h"

enum { LIMIT = 32 };

struct description {
    struct kiln_group group;
    uint8_t operands[LIMIT], constants[LIMIT];
    struct kiln_instr instrs[LIMIT];
    uint32_t outputs[LIMIT];
    char layouts[LIMIT + 1];
    unsigned flags;                /* of a kernel for CPUs */
    struct kiln_gpu_config config; /* of one for GPUs */
};

static int dtype_named(const char *name)
{
    for (int i = 0; i < KILN_DTYPE_COUNT; i++)
        if (strcmp(kiln__dtypes[i].name, name) == 0) return i;
    CHECK_FAIL("no dtype %s", name);
    return 0;
}
#define dtype_named(...) CHECK_CALL(dtype_named, __VA_ARGS__)

static int op_named(const char *name)
{
    for (int i = 0; i < KILN_OP_COUNT; i++)
        if (strcmp(kiln__ops[i].name, name) == 0) return i;
    CHECK_FAIL("no operation %s", name);
    return 0;
}
#define op_named(...) CHECK_CALL(op_named, __VA_ARGS__)

static char layout_named(const char *word)
{
    static const char layouts[] = "csvrti";
    for (const char *layout = layouts; *layout; layout++)
        if (strcmp(kiln__layout_word(*layout), word) == 0) return *layout;
    CHECK_FAIL("no layout %s", word);
    return 0;
}
#define layout_named(...) CHECK_CALL(layout_named, __VA_ARGS__)

/* The number of the value "a0", "c0" or "v0"; operands and constants stand before what uses them. */
static uint32_t value_named(const struct description *d, char kind, unsigned number)
{
    return number + (kind == 'a' ? 0 : d->group.operand_count) + (kind == 'v' ? d->group.constant_count : 0);
}

static void read_form(struct description *d, const char *line)
{
    static const char *const schedules[] = {"packed",  "strided", "tiled",  "rows",     "columns",
                                            "indexed", "placed",  "random", "argreduce"};
    char schedule[32] = "";
    unsigned axes = 0;
    CHECK_EQ(sscanf(line, "; kiln gpu kernel, %31[^,], %u axes", schedule, &axes), 2);
    for (int i = 0; i < (int)(sizeof schedules / sizeof *schedules); i++)
        if (strcmp(schedule, schedules[i]) == 0) d->config.schedule = (enum kiln_gpu_schedule)i;
    d->config.axes = (uint8_t)axes;
    d->config.wide = strstr(line, ", wide") != NULL;
    d->config.is_long = strstr(line, ", long") != NULL;
}
#define read_form(...) CHECK_CALL(read_form, __VA_ARGS__)

static void read_line(struct description *d, const char *line)
{
    char first[32], second[32], kinds[3] = {0};
    unsigned value, in[3] = {0};
    if (strncmp(line, "; kiln element-wise", 19) == 0) {
        d->flags = strstr(line, "streaming") ? KILN_GROUP_STREAMING : 0;
    } else if (strncmp(line, "; kiln gpu", 10) == 0) {
        read_form(d, line);
    } else if (strncmp(line, "; kiln row kernel", 17) == 0) {
        d->flags = KILN_GROUP_ROWS | (strstr(line, "short") ? KILN_GROUP_SHORT : 0) |
                   (strstr(line, "streaming") ? KILN_GROUP_STREAMING : 0);
    } else if (sscanf(line, "; operand a%u: %31[^,], %31s", &value, first, second) == 3) {
        d->layouts[d->group.operand_count] = layout_named(second);
        d->operands[d->group.operand_count++] = (uint8_t)dtype_named(first);
    } else if (sscanf(line, "; constant c%u: %31s", &value, first) == 2) {
        d->constants[d->group.constant_count++] = (uint8_t)dtype_named(first);
    } else if (sscanf(line, "; operation v%u: %31s %31[^(](%c%u, %c%u, %c%u", &value, first, second, &kinds[0], &in[0],
                      &kinds[1], &in[1], &kinds[2], &in[2]) >= 5) {
        struct kiln_instr instr = {.op = (uint16_t)op_named(second), .dtype = (uint8_t)dtype_named(first)};
        for (int i = 0; i < 3 && kinds[i]; i++) instr.in[i] = value_named(d, kinds[i], in[i]);
        d->instrs[d->group.instr_count++] = instr;
    } else if (sscanf(line, "; result %c%u:", &kinds[0], &value) == 2) {
        d->outputs[d->group.output_count++] = value_named(d, kinds[0], value);
    } else {
        CHECK_FAIL("not a heading: %s", line);
    }
}
#define read_line(...) CHECK_CALL(read_line, __VA_ARGS__)

static void describe(struct description *d, const char *heading)
{
    char line[256];
    memset(d, 0, sizeof *d);
    d->group.operand_dtypes = d->operands;
    d->group.constant_dtypes = d->constants;
    d->group.instrs = d->instrs;
    d->group.outputs = d->outputs;
    for (; *heading == ';'; heading = strchr(heading, '\n') + 1) {
        snprintf(line, sizeof line, "%.*s", (int)(strchr(heading, '\n') - heading), heading);
        read_line(d, line);
    }
}
#define describe(...) CHECK_CALL(describe, __VA_ARGS__)

static void golden_path(char *out, size_t size, const char *name)
{
    const char *slash = strrchr(__FILE__, '/');
    snprintf(out, size, "%.*s/../golden/%s", (int)(slash - __FILE__), __FILE__, name);
}

/* Compares `text` with tests/golden/NAME. */
static void expect_golden(const char *name, const struct kiln_buffer *text)
{
    char path[512];
    struct kiln_buffer expected = {0};
    kiln_error err = {0};
    golden_path(path, sizeof path, name);
    if (getenv("KILN_GOLDEN_UPDATE")) {
        CHECK_OK(kiln__file_publish(path, text->data, text->size, &err), &err);
        return;
    }
    if (kiln__file_read(path, 1 << 20, &expected, &err)) CHECK_FAIL("%s: %s", path, err.text);
    CHECK_STR((const char *)text->data, (const char *)expected.data);
    kiln__buffer_release(&expected);
}
#define expect_golden(...) CHECK_CALL(expect_golden, __VA_ARGS__)

/* Reads the heading of tests/golden/NAME. */
static void describe_golden(struct description *d, const char *name)
{
    char path[512];
    struct kiln_buffer heading = {0};
    kiln_error err = {0};
    golden_path(path, sizeof path, name);
    if (kiln__file_read(path, 1 << 20, &heading, &err)) CHECK_FAIL("%s: %s", path, err.text);
    describe(d, (const char *)heading.data);
    kiln__buffer_release(&heading);
}
#define describe_golden(...) CHECK_CALL(describe_golden, __VA_ARGS__)

#endif
