/*
 * test_key_file_looks.c - when files are believed to have been what was found all the time since some moment.
 */
#include "files_support.h"

#include "key/file_looks.h"

static char folder[64], path[96];

static int set_up_folder(void **state)
{
    (void)state;
    make_folder(folder, sizeof folder);
    snprintf(path, sizeof path, "%s/scale.h", folder);
    write_file(path, "one");
    return 0;
}

static int tear_down_folder(void **state)
{
    (void)state;
    remove_folder(folder);
    return 0;
}

#define WITH_FOLDER(test) cmocka_unit_test_setup_teardown(test, set_up_folder, tear_down_folder)

static const int64_t second = 1000000000;

/* The file's clock, past everything that was done before. */
static int64_t later(void)
{
    pass_a_tick();
    return kiln__file_clock_ns();
}

static void take(struct kiln_file_looks *looks, const char *file)
{
    struct kiln_file_look look;
    CHECK_STATUS(kiln__looks_take(looks, file, &look), KILN_OK);
}
#define take(...) CHECK_CALL(take, __VA_ARGS__)

static void test_since(void **state)
{
    (void)state;
    struct kiln_file_looks looks;
    int64_t before = kiln__file_clock_ns() - 30 * 1000000, since = later();
    kiln__looks_init(&looks);
    take(&looks, path);
    CHECK_TRUE(kiln__looks_stand(&looks, NULL, since));
    CHECK_FALSE(kiln__looks_stand(&looks, NULL, before));   /* it may have been written after that */
    CHECK_FALSE(kiln__looks_stand(&looks, &looks, before)); /* also where it was the same earlier: there and back */
    touch_file(path);
    CHECK_FALSE(kiln__looks_stand(&looks, NULL, since));
    kiln__looks_release(&looks);
}

/* Seen from a clock that is a second behind the file's, the same look before and after is what is known. */
static void test_times_in_the_future(void **state)
{
    (void)state;
    struct kiln_file_looks looks, earlier, other;
    kiln__looks_init(&looks), kiln__looks_init(&earlier), kiln__looks_init(&other);
    take(&other, path);
    pass_a_tick();
    write_file(path, "two");
    take(&earlier, path);
    take(&looks, path);
    int64_t since = kiln__file_clock_ns() - second;
    CHECK_FALSE(kiln__looks_stand(&looks, NULL, since));
    CHECK_FALSE(kiln__looks_stand(&looks, &other, since));
    CHECK_TRUE(kiln__looks_stand(&looks, &earlier, since));
    kiln__looks_release(&looks), kiln__looks_release(&earlier), kiln__looks_release(&other);
}

/* What was there and is gone has changed the nearest folder. */
static void test_absent(void **state)
{
    (void)state;
    struct kiln_file_looks looks, earlier, other;
    char absent[128], deep[128];
    snprintf(absent, sizeof absent, "%s/none.h", folder);
    snprintf(deep, sizeof deep, "%s/no/folder/none.h", folder);
    kiln__looks_init(&looks), kiln__looks_init(&earlier), kiln__looks_init(&other);
    take(&earlier, absent), take(&earlier, deep);
    int64_t since = later();
    take(&looks, absent), take(&looks, deep);
    CHECK_TRUE(kiln__looks_stand(&looks, NULL, since));
    CHECK_EQ(unlink(path), 0);
    CHECK_FALSE(kiln__looks_stand(&looks, NULL, since)); /* who knows which file went */
    CHECK_TRUE(kiln__looks_stand(&looks, &earlier, since));
    CHECK_FALSE(kiln__looks_stand(&looks, &other, since));
    write_file(absent, "");
    CHECK_FALSE(kiln__looks_stand(&looks, &earlier, since));
    kiln__looks_release(&looks), kiln__looks_release(&earlier), kiln__looks_release(&other);
}

/* Each file once, the first look. */
static void test_first_look(void **state)
{
    (void)state;
    struct kiln_file_looks looks;
    struct kiln_file_look first, second_look;
    kiln__looks_init(&looks);
    CHECK_STATUS(kiln__looks_take(&looks, path, &first), KILN_OK);
    write_file(path, "two");
    CHECK_STATUS(kiln__looks_take(&looks, path, &second_look), KILN_OK);
    CHECK_TRUE(kiln__file_values_equal(&first.value, &second_look.value));
    CHECK_EQ(looks.count, 1);
    kiln__looks_release(&looks);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        WITH_FOLDER(test_since),
        WITH_FOLDER(test_times_in_the_future),
        WITH_FOLDER(test_absent),
        WITH_FOLDER(test_first_look),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
