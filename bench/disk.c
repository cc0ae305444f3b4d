/*
 * disk.c - what the folder costs: 100 kernels in a new process, and a folder of 100,000 artifacts.
 *
 * The crowd of artifacts is made by hand: copies of one real artifact under names of their own, which a look-up never
 * opens and pruning treats as it does any other. Times of last use are spread, so that pruning has an order to find.
 */
#include <dirent.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "bench.h"
#include "child.h"
#include "fake.h"
#include "kiln/maintain.h"

enum { KERNELS = 100, CROWD = 100000, LOOK_UPS = 200, MAX_RUNS = 7, SUB_FOLDERS = 256 };

/* ---- 100 kernels --------------------------------------------------------------------------------------------- */

static kiln_status get_kernel(int number)
{
    char text[200];
    int size =
        snprintf(text, sizeof text,
                 "define i64 @kernel(i64 %%x) {\n  %%y = mul i64 %%x, %d\n  %%z = add i64 %%y, %d\n  ret i64 %%z\n}\n",
                 number + 3, number);
    const kiln_function_options options = {
        .struct_size = sizeof options, .name = "kernel", .text = {text, (size_t)size}};
    kiln_function *function = NULL;
    void *executable;
    kiln_status status = kiln_function_new(kiln_cache_default(), &options, &function, NULL);
    if (status == KILN_OK) status = kiln_get(function, NULL, 0, NULL, &executable, NULL);
    return status; /* the function stays: freeing is not part of a start */
}

bool disk_phase(const char *phase, double out[3])
{
    kiln_counters counters;
    if (strcmp(phase, "kernels") != 0 && strcmp(phase, "kernels by hand") != 0) return false;
    if (strcmp(phase, "kernels by hand") == 0) return (out[0] = load_by_hand()) > 0;
    double start = now_ns();
    for (int i = 0; i < KERNELS; i++)
        if (get_kernel(i) != KILN_OK) return false;
    out[0] = now_ns() - start;
    kiln_cache_counters(kiln_cache_default(), &counters);
    out[1] = (double)counters.compiles;
    return true;
}

static void measure_kernels(struct row *row, int repeats)
{
    struct samples kiln = {.count = 0}, hand = {.count = 0};
    char folder[64], *before = folder_before();
    double filled[3], loaded[3], by_hand[3];
    if (!new_folder(folder) || !run_child("kernels", filled)) row_fail(row, "the folder could not be filled");
    for (int i = 0; i < repeats && i < MAX_RUNS && !row->is_missing; i++) {
        if (!run_child("kernels", loaded) || !run_child("kernels by hand", by_hand))
            row_fail(row, "a process failed");
        else if (loaded[1] > 0)
            row_fail(row, "%.0f kernels were compiled again", loaded[1]);
        sample_add(&kiln, loaded[0]);
        sample_add(&hand, by_hand[0]);
    }
    remove_folder(folder);
    folder_back(before);
    row->ns = sample_median(&kiln);
    row->floor_ns = sample_median(&hand);
}

/* ---- 100,000 artifacts --------------------------------------------------------------------------------------- */

/* Artifacts of a function that is looked up with other arguments each time. */
static kiln_status get_numbered(kiln_function *function, int64_t number)
{
    const kiln_arg arg = {&kiln_const_i64, &number};
    void *executable;
    return kiln_get(function, &arg, 1, NULL, &executable, NULL);
}

/* Time of one look-up that finds its artifact in the folder, in a cache that has nothing in memory; 0: it failed. */
static double time_look_ups(const char *folder, const struct fake *fake)
{
    const kiln_cache_options options = {.struct_size = sizeof options, .folder = folder};
    const kiln_function_options numbered = {
        .struct_size = sizeof numbered, .name = "numbered", .compiler = &fake->compiler, .text = {"numbered", 8}};
    kiln_cache *cache = NULL;
    kiln_function *function = NULL;
    bool is_fine = kiln_cache_open(&options, &cache, NULL) == KILN_OK &&
                   kiln_function_new(cache, &numbered, &function, NULL) == KILN_OK;
    double start = now_ns();
    for (int i = 0; i < LOOK_UPS && is_fine; i++) is_fine = get_numbered(function, i) == KILN_OK;
    double ns = (now_ns() - start) / LOOK_UPS;
    kiln_function_free(function);
    kiln_cache_close(cache);
    return is_fine ? ns : 0;
}

static size_t read_artifact(const char *folder, char *data, size_t size)
{
    kiln_inspector *inspector = NULL;
    kiln_entry *entry = NULL;
    kiln_entry_info info;
    size_t got = 0;
    if (kiln_inspect_open(folder, &inspector, NULL) == KILN_OK &&
        kiln_entry_open(inspector, 0, &entry, NULL) == KILN_OK) {
        kiln_entry_describe(entry, &info);
        FILE *file = fopen(info.path, "r");
        if (file) {
            got = fread(data, 1, size, file);
            fclose(file);
        }
    }
    kiln_entry_close(entry);
    kiln_inspect_close(inspector);
    return got;
}

/* Adds copies until there are CROWD artifacts; the name's digits are evenly spread, as digests are. */
static bool add_crowd(const char *folder)
{
    char data[65536], path[256];
    size_t size = read_artifact(folder, data, sizeof data);
    time_t now = time(NULL);
    bool is_fine = size > 0 && size < sizeof data;
    for (unsigned i = 0; i < SUB_FOLDERS; i++) {
        snprintf(path, sizeof path, "%s/%02x", folder, i);
        mkdir(path, 0700);
    }
    for (unsigned i = 0; i < CROWD - LOOK_UPS && is_fine; i++) {
        snprintf(path, sizeof path, "%s/%02x/%02x%062x.kiln", folder, i % SUB_FOLDERS, i % SUB_FOLDERS, i);
        int file = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
        const struct timespec used[2] = {{.tv_sec = now - i * 7 % 1000003}, {.tv_sec = now - i * 7 % 1000003}};
        is_fine = file >= 0 && write(file, data, size) == (ssize_t)size && futimens(file, used) == 0;
        if (file >= 0) close(file);
    }
    return is_fine;
}

/* What pruning can't do without: list, ask for size and time, remove. Gives the time, and how many went. */
static double remove_by_hand(const char *folder, uint64_t *removed)
{
    char path[128];
    double start = now_ns();
    *removed = 0;
    for (unsigned i = 0; i < SUB_FOLDERS; i++) {
        snprintf(path, sizeof path, "%s/%02x", folder, i);
        DIR *list = opendir(path);
        struct stat info;
        for (struct dirent *item; list && (item = readdir(list));)
            if (fstatat(dirfd(list), item->d_name, &info, AT_SYMLINK_NOFOLLOW) == 0 && S_ISREG(info.st_mode))
                *removed += unlinkat(dirfd(list), item->d_name, 0) == 0;
        if (list) closedir(list);
    }
    return now_ns() - start;
}

/* The same look-ups in both folders by turns, so that whatever else the machine does meets both alike. */
static bool compare_look_ups(const char *folder, const char *small, struct row *row, int repeats)
{
    struct fake fake;
    struct samples crowded = {.count = 0}, alone = {.count = 0};
    fake_init(&fake);
    bool is_fine = time_look_ups(folder, &fake) > 0 && time_look_ups(small, &fake) > 0 && add_crowd(folder);
    int compiles = atomic_load(&fake.compiles);
    for (int i = 0; i < repeats && is_fine; i++) {
        sample_add(&crowded, time_look_ups(folder, &fake));
        sample_add(&alone, time_look_ups(small, &fake));
    }
    row->ns = sample_median(&crowded);
    row->floor_ns = sample_median(&alone);
    if (!is_fine || !row->ns || !row->floor_ns) row_fail(row, "the folders could not be filled");
    if (atomic_load(&fake.compiles) != compiles) row_fail(row, "an artifact was not found");
    return is_fine;
}

static void measure_prune(const char *folder, struct row *row)
{
    kiln_prune_report report = {0};
    const kiln_prune_options half = {.struct_size = sizeof half, .max_files = CROWD / 2};
    uint64_t removed;
    double start = now_ns();
    kiln_status status = kiln_prune(folder, &half, &report, NULL);
    row->ns = now_ns() - start;
    row->floor_ns = remove_by_hand(folder, &removed);
    if (status != KILN_OK || report.kept_files != CROWD / 2 || removed != CROWD / 2)
        row_fail(row, "%llu files were kept", (unsigned long long)report.kept_files);
}

static void measure_crowd(struct row *look_up, struct row *prune, int repeats)
{
    char folder[64], small[64], *before = folder_before();
    if (!new_folder(folder)) {
        row_fail(look_up, "no folder could be made");
        row_fail(prune, "no folder could be made");
        return;
    }
    if (new_folder(small) && compare_look_ups(folder, small, look_up, repeats))
        measure_prune(folder, prune);
    else
        row_fail(prune, "the folder could not be filled");
    remove_folder(small);
    remove_folder(folder);
    folder_back(before);
}

int bench_disk(struct row *rows, int repeats)
{
    static const char kernels[] = "100 kernels from disk, new process", look_up[] = "from disk, of 100,000 artifacts",
                      prune[] = "prune 100,000 artifacts to half";
    int count = 0;
    if (is_wanted(kernels)) {
        rows[count] = (struct row){.name = kernels, .floor_name = "files to executable memory", .aim = "15 ms"};
        measure_kernels(&rows[count++], repeats);
    }
    if (is_heavy_wanted(look_up) || is_heavy_wanted(prune)) {
        rows[count] = (struct row){.name = look_up, .floor_name = "of 200", .aim = "1.0 of the floor"};
        rows[count + 1] = (struct row){.name = prune, .floor_name = "list and remove the other half", .aim = "seconds"};
        measure_crowd(&rows[count], &rows[count + 1], repeats);
        count += 2;
    }
    return count;
}
