/*
 * test_link_code.c - memory for code: many images share few mappings, freed pages are used again, a forked child has
 * its own, and a mapping that the system refuses fails one link and harms nothing.
 */
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "link/code.h"
#include "support/check.h"

/* ---- the system refuses ---------------------------------------------------------------------------------------- */

static int refuse_maps, refuse_protections; /* so many calls of the library fail, from now on */

void *__real_mmap(void *address, size_t size, int protection, int flags, int fd, off_t offset);
void *__wrap_mmap(void *address, size_t size, int protection, int flags, int fd, off_t offset);
int __real_mprotect(void *address, size_t size, int protection);
int __wrap_mprotect(void *address, size_t size, int protection);

void *__wrap_mmap(void *address, size_t size, int protection, int flags, int fd, off_t offset)
{
    if (refuse_maps <= 0) return __real_mmap(address, size, protection, flags, fd, offset);
    refuse_maps--;
    errno = ENOMEM;
    return MAP_FAILED;
}

int __wrap_mprotect(void *address, size_t size, int protection)
{
    if (refuse_protections <= 0) return __real_mprotect(address, size, protection);
    refuse_protections--;
    errno = ENOMEM;
    return -1;
}

/* ---- support --------------------------------------------------------------------------------------------------- */

static unsigned count_mappings(bool *has_both)
{
    FILE *maps = fopen("/proc/self/maps", "r");
    char line[512];
    unsigned count = 0;
    *has_both = false;
    while (fgets(line, sizeof line, maps)) {
        char flags[5] = "";
        if (sscanf(line, "%*x-%*x %4s", flags) == 1) *has_both |= flags[1] == 'w' && flags[2] == 'x';
        count++;
    }
    fclose(maps);
    return count;
}

typedef uint32_t kernel(void);

/* mov eax, number; ret */
static struct kiln_code make(uint32_t number, size_t size)
{
    struct kiln_code code;
    if (!kiln__code_new(size, &code)) CHECK_FAIL("no memory for code %u", number);
    code.base[0] = 0xb8;
    memcpy(code.base + 1, &number, sizeof number);
    code.base[5] = 0xc3;
    if (!kiln__code_seal(&code)) CHECK_FAIL("code %u can't be sealed: %s", number, strerror(errno));
    return code;
}

static uint32_t call(const struct kiln_code *code)
{
    kernel *run;
    memcpy(&run, &code->base, sizeof run);
    return run();
}

/* ---- tests ----------------------------------------------------------------------------------------------------- */

/* More than the system lets a process map one by one. */
enum { MANY = 70000 };
#ifdef __SANITIZE_THREAD__
enum { FEW = 1000 }; /* it maps something beside each arena, and keeps that */
#else
enum { FEW = 20 };
#endif
static struct kiln_code many[MANY];

static void many_images_share_few_mappings(void **state)
{
    (void)state;
    bool had_both, has_both; /* a sanitizer may have such memory of its own */
    unsigned before = count_mappings(&had_both);
    for (uint32_t i = 0; i < MANY; i++) {
        many[i] = make(i, 100);
        unsigned now = i % 10000 ? before : count_mappings(&has_both);
        if (now > before + FEW) CHECK_FAIL("%u mappings for %u images, %u before", now, i + 1, before);
    }
    for (uint32_t i = 0; i < MANY; i++) CHECK_EQ(call(&many[i]), i);
    count_mappings(&has_both);
    CHECK_EQ(has_both, had_both);
#ifndef KILN_DEBUG /* there, each hole is a mapping without access */
    for (uint32_t i = 0; i < MANY; i += 2) kiln__code_free(&many[i]);
    for (uint32_t i = 0; i < MANY; i += 2) many[i] = make(i + MANY, 100);
    for (uint32_t i = 0; i < MANY; i++) CHECK_EQ(call(&many[i]), i % 2 ? i : i + MANY);
    CHECK_LT(count_mappings(&has_both), before + FEW);
#endif
    for (uint32_t i = 0; i < MANY; i++) kiln__code_free(&many[i]);
    unsigned after = count_mappings(&has_both);
    if (after > before + FEW) CHECK_FAIL("%u mappings stay, %u before", after, before);
}

static void freed_pages_are_used_again_and_zero(void **state)
{
    (void)state;
    struct kiln_code first = make(1, 5000), second = make(2, 1), again;
    unsigned char *base = first.base;
    CHECK_EQ(first.size, 2 * KILN_CODE_PAGE);
    CHECK_EQ(second.size, KILN_CODE_PAGE);
    CHECK_EQ(second.base, first.base + first.size);
    kiln__code_free(&first);
    CHECK_TRUE(kiln__code_new(8000, &again));
    CHECK_EQ(again.base, base);
    for (size_t i = 0; i < again.size; i++) CHECK_EQ(again.base[i], 0);
    kiln__code_free(&again);
    CHECK_EQ(call(&second), 2);
    kiln__code_free(&second);
}

static void large_images_have_room(void **state)
{
    (void)state;
    struct kiln_code small = make(7, 1), large = make(8, 5 << 20);
    CHECK_EQ(large.size, 5 << 20);
    CHECK_EQ(call(&large) + call(&small), 15);
    kiln__code_free(&large);
    CHECK_EQ(call(&small), 7);
    kiln__code_free(&small);
}

static void a_refusal_harms_nothing(void **state)
{
    (void)state;
    struct kiln_code code, here = make(3, 1), *filler = calloc(512, sizeof *filler);
    refuse_protections = 1;
    CHECK_FALSE(kiln__code_new(1, &code));
    size_t count = 0;
    refuse_maps = 1;
    while (count < 512 && kiln__code_new(1, &filler[count])) count++; /* until a new arena is needed */
    CHECK_LT(count, 512);
    CHECK_EQ(refuse_maps, 0);
    code = make(4, 1); /* the next one works */
    CHECK_EQ(call(&code) + call(&here), 7);
    kiln__code_free(&code);
    CHECK_TRUE(kiln__code_new(1, &code));
    refuse_protections = 1;
    CHECK_FALSE(kiln__code_seal(&code));
    kiln__code_free(&code);
    for (size_t i = 0; i < count; i++) kiln__code_free(&filler[i]);
    free(filler);
    kiln__code_free(&here);
}

/* What one of the two frees and makes anew, the other does not see. */
static void a_forked_child_has_its_own(void **state)
{
    (void)state;
    enum { COUNT = 300 };
    struct kiln_code codes[COUNT];
    for (uint32_t i = 0; i < COUNT; i++) codes[i] = make(i, 1);
    pid_t child = fork();
    for (uint32_t i = 0; i < COUNT; i += 2) kiln__code_free(&codes[i]);
    uint32_t base = child ? 1000 : 2000, wrong = 0;
    for (uint32_t i = 0; i < COUNT; i += 2) codes[i] = make(base + i, 1);
    for (int round = 0; round < 100; round++)
        for (uint32_t i = 0; i < COUNT; i++) wrong += call(&codes[i]) != (i % 2 ? i : base + i);
    for (uint32_t i = 0; i < COUNT; i++) kiln__code_free(&codes[i]);
    if (!child) _exit(wrong ? 1 : 0);
    int status = -1;
    CHECK_EQ(waitpid(child, &status, 0), child);
    CHECK_EQ(status, 0);
    CHECK_EQ(wrong, 0);
}

static _Atomic unsigned wrong_results;

static void *come_and_go(void *context)
{
    struct kiln_code codes[64] = {{0}};
    uint32_t seed = *(uint32_t *)context;
    for (uint32_t i = 0; i < 20000; i++) {
        uint32_t at = (seed = seed * 1664525u + 1013904223u) >> 26;
        if (codes[at].base) {
            wrong_results += call(&codes[at]) != (at | *(uint32_t *)context);
            kiln__code_free(&codes[at]);
        } else {
            codes[at] = make(at | *(uint32_t *)context, 1 + (seed >> 8) % 9000);
        }
    }
    for (uint32_t i = 0; i < 64; i++)
        if (codes[i].base) kiln__code_free(&codes[i]);
    return NULL;
}

static void threads_share_arenas(void **state)
{
    (void)state;
    uint32_t seeds[4] = {1 << 8, 2 << 8, 3 << 8, 4 << 8};
    pthread_t threads[4];
    for (int i = 0; i < 4; i++) pthread_create(&threads[i], NULL, come_and_go, &seeds[i]);
    for (int i = 0; i < 4; i++) pthread_join(threads[i], NULL);
    CHECK_EQ(wrong_results, 0);
}

#ifdef KILN_DEBUG
static void freed_code_is_closed(void **state)
{
    (void)state;
    pid_t child = fork();
    if (!child) {
        signal(SIGSEGV, SIG_DFL); /* cmocka has a handler of its own */
        struct kiln_code code = make(1, 1), stale = code;
        kiln__code_free(&code);
        _exit((int)call(&stale));
    }
    int status = 0;
    waitpid(child, &status, 0);
    CHECK_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGSEGV);
}
#endif

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(many_images_share_few_mappings), cmocka_unit_test(freed_pages_are_used_again_and_zero),
        cmocka_unit_test(large_images_have_room),         cmocka_unit_test(a_refusal_harms_nothing),
        cmocka_unit_test(a_forked_child_has_its_own),     cmocka_unit_test(threads_share_arenas),
#ifdef KILN_DEBUG
        cmocka_unit_test(freed_code_is_closed),
#endif
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
