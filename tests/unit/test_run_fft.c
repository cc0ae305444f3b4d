/*
 * test_run_fft.c - plans of Fourier transforms are kept, within bounds, for all threads.
 */
#include <pthread.h>

#include "pocketfft/pocketfft.h"
#include "run/fft/fft_plan.h"
#include "unit/run_support.h"

static struct kiln_fft_plan *get(int n, bool is_real)
{
    struct kiln_fft_plan *plan = NULL;
    must_be(kiln__fft_plan_get(n, is_real, &plan, &err));
    CHECK_EQ(plan->n, n);
    CHECK_EQ(plan->is_real, is_real);
    return plan;
}
#define get(...) CHECK_CALL(get, __VA_ARGS__)

static void test_plans_are_made_once(void **state)
{
    (void)state;
    uint64_t before = kiln__fft_plan_counts().made;
    struct kiln_fft_plan *first = get(100, false), *again = get(100, false), *real = get(100, true);
    CHECK_EQ(again, first);
    CHECK_TRUE(real != first);
    CHECK_EQ(kiln__fft_plan_counts().made, before + 2);
    kiln__fft_plan_put(first), kiln__fft_plan_put(again), kiln__fft_plan_put(real);
    kiln__fft_plan_put(get(100, false));
    CHECK_EQ(kiln__fft_plan_counts().made, before + 2);
}

/* The one that was not used for longest goes; who holds it goes on with it. */
static void test_few_are_kept(void **state)
{
    (void)state;
    struct kiln_fft_plan *held = get(7, false);
    for (int n = 1000; n < 1000 + KILN_FFT_PLANS; n++) kiln__fft_plan_put(get(n, true));
    struct kiln_fft_plan_counts counts = kiln__fft_plan_counts();
    CHECK_EQ(counts.kept, KILN_FFT_PLANS);
    kiln__fft_plan_put(get(1000, true)); /* is among them still */
    CHECK_EQ(kiln__fft_plan_counts().made, counts.made);
    double numbers[14] = {1};
    CHECK_EQ(pocketfft_run(held->transform, numbers, 0, 1), 0);
    CHECK_NEAR(numbers[12], 1, 1e-15);
    kiln__fft_plan_put(held);
    kiln__fft_plan_put(get(7, false));
    CHECK_EQ(kiln__fft_plan_counts().made, counts.made + 1);
}

static void test_long_ones_are_few(void **state)
{
    (void)state;
    for (int i = 0; i < 5; i++) kiln__fft_plan_put(get(KILN_FFT_PLANNED_NUMBERS / 3 + i, true));
    CHECK_LE(kiln__fft_plan_counts().numbers, KILN_FFT_PLANNED_NUMBERS);
    CHECK_LE(kiln__fft_plan_counts().kept, 3);
    int64_t numbers = kiln__fft_plan_counts().numbers;
    kiln__fft_plan_put(get(KILN_FFT_PLANNED_NUMBERS + 1, true)); /* too long for the list */
    CHECK_EQ(kiln__fft_plan_counts().numbers, numbers);
}

enum { THREADS = 4, ROUNDS = 400 };

/* More lengths than are kept, so that plans go while others use them. */
static void *use_plans(void *ctx)
{
    unsigned at = (unsigned)(size_t)ctx * 77;
    for (int i = 0; i < ROUNDS; i++) {
        int n = 2 + (int)((at = at * 1103515245 + 12345) >> 16) % (2 * KILN_FFT_PLANS);
        struct kiln_fft_plan *plan = NULL;
        double numbers[2 * (2 + 2 * KILN_FFT_PLANS)] = {[2] = 1};
        if (kiln__fft_plan_get(n, false, &plan, NULL) || plan->n != n) return "no plan";
        int code = pocketfft_run(plan->transform, numbers, 0, 1) || pocketfft_run(plan->transform, numbers, 1, 1.0 / n);
        kiln__fft_plan_put(plan);
        if (code || !(numbers[2] > 1 - 1e-12 && numbers[2] < 1 + 1e-12)) return "a wrong transform";
    }
    return NULL;
}

static void test_threads(void **state)
{
    pthread_t threads[THREADS];
    (void)state;
    for (size_t i = 0; i < THREADS; i++) CHECK_EQ(pthread_create(&threads[i], NULL, use_plans, (void *)i), 0);
    for (int i = 0; i < THREADS; i++) {
        void *result;
        CHECK_EQ(pthread_join(threads[i], &result), 0);
        if (result) CHECK_FAIL("%s", (const char *)result);
    }
    CHECK_LE(kiln__fft_plan_counts().kept, KILN_FFT_PLANS);
}

/* Four at once give the bits of one. */
static void test_lanes(void **state)
{
    enum { LONGEST = 700 };
    static double four[8 * LONGEST] __attribute__((aligned(32))), one[2 * LONGEST];
    (void)state;
    if (!__builtin_cpu_supports("avx2")) return;
    for (int n = 1; n < LONGEST; n += n < 130 ? 1 : 37)
        for (int way = 0; way < 4; way++) {
            int width = way < 2 ? 2 * n : n;
            struct kiln_fft_plan *plan = get(n, way >= 2);
            for (int i = 0; i < 4 * width; i++) four[i] = (i * 37 % 101 - 50) / 8.0;
            for (int i = 0; i < width; i++) one[i] = four[4 * i + 2];
            CHECK_EQ(pocketfft_run_four(plan->transform, four, way & 1, 0.5), 0);
            CHECK_EQ(pocketfft_run(plan->transform, one, way & 1, 0.5), 0);
            for (int i = 0; i < width; i++)
                if (memcmp(&one[i], &four[4 * i + 2], 8)) CHECK_FAIL("n %d, way %d: number %d differs", n, way, i);
            kiln__fft_plan_put(plan);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_plans_are_made_once),
        cmocka_unit_test(test_few_are_kept),
        cmocka_unit_test(test_long_ones_are_few),
        cmocka_unit_test(test_threads),
        cmocka_unit_test(test_lanes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
