/*
 * test_soak_processes.c - a minute of everything at once on one folder: eight processes that ask for a few dozen keys
 * under a bound that evicts, killed, stopped, with entries cut, flipped and deleted under them. Results stay right,
 * nobody hangs, and in the end the folder is within its bound. Run by `make soak`; KILN_SOAK_SECONDS changes the
 * minute.
 */
#include "process_support.h"

#include "store/lock.h"

enum { KEYS = 48, MAX_FILES = 32, TEXT_SIZE = 3000 };

static void fill_text(char text[TEXT_SIZE], unsigned key)
{
    for (size_t i = 0; i < TEXT_SIZE - 1; i++) text[i] = (char)('a' + (i * (key + 1)) % 26);
    snprintf(text, 16, "key %u", key);
    text[strlen(text)] = ' ';
    text[TEXT_SIZE - 1] = '\0';
}

/* Random keys for ever, each with a cache and a function of its own now and then. */
static void ask(struct shared *shared, const char *folder, unsigned index)
{
    const kiln_cache_options options = {.struct_size = sizeof options, .folder = folder, .max_files = MAX_FILES};
    const kiln_compiler compiler = compiler_of(shared);
    unsigned seed = index + 1;
    for (;;) {
        kiln_cache *cache = NULL;
        require(kiln_cache_open(&options, &cache, NULL) == KILN_OK);
        for (unsigned i = 0; i < 20; i++) {
            char text[TEXT_SIZE];
            kiln_function *function = NULL;
            void *executable = NULL;
            kiln_error err = {0};
            fill_text(text, (unsigned)rand_r(&seed) % KEYS);
            const kiln_function_options of = {
                .struct_size = sizeof of, .name = "f", .compiler = &compiler, .text = {text, TEXT_SIZE - 1}};
            require(kiln_function_new(cache, &of, &function, &err) == KILN_OK);
            kiln_status status = kiln_get(function, NULL, 0, NULL, &executable, &err);
            if (status) fprintf(stderr, "%s\n", err.text);
            require(status == KILN_OK && !strcmp(executable, text));
            kiln_function_free(function);
            alarm(PATIENCE_MS / 1000); /* from here on */
        }
        kiln_counters counters;
        kiln_cache_counters(cache, &counters);
        atomic_fetch_add(&shared->disk_hits, counters.disk_hits);
        atomic_fetch_add(&shared->corrupt, counters.corrupt);
        atomic_fetch_add(&shared->done, 1);
        kiln_cache_close(cache);
    }
}

/* Puts a cut or flipped copy in the place of the entry; in place, it would change under the feet of who maps it. */
static void spoil(const char *path, unsigned *seed)
{
    static unsigned char bytes[1 << 16];
    char copy[PATH_MAX + 8];
    int fd = open(path, O_RDONLY);
    ssize_t size = fd < 0 ? -1 : read(fd, bytes, sizeof bytes);
    if (fd >= 0) close(fd);
    if (size <= 0) return;
    if (rand_r(seed) % 2)
        size = rand_r(seed) % size;
    else
        bytes[rand_r(seed) % size] ^= (unsigned char)(1u << rand_r(seed) % 8);
    snprintf(copy, sizeof copy, "%s.spoilt", path);
    fd = open(copy, O_CREAT | O_WRONLY | O_TRUNC, 0600);
    bool written = fd >= 0 && write(fd, bytes, (size_t)size) == size;
    if (fd >= 0) close(fd);
    if (!written || rename(copy, path) != 0) unlink(copy);
}

/* Spoils or removes one entry, or all of them. */
static void damage(const char *folder, unsigned *seed)
{
    char path[PATH_MAX] = "";
    unsigned how = (unsigned)rand_r(seed) % 16;
    if (how == 0)
        remove_folder(folder);
    else if (count_files(folder, ".kiln", path) && how % 3)
        spoil(path, seed);
    else
        unlink(path);
}

static void check_killed(pid_t child)
{
    int status = status_of(child);
    if (!WIFSIGNALED(status) || WTERMSIG(status) != SIGKILL)
        CHECK_FAIL("child %d ended by itself, with status %#x", (int)child, (unsigned)status);
}
#define check_killed(...) CHECK_CALL(check_killed, __VA_ARGS__)

static void test_everything(void **state)
{
    (void)state;
    char top[64], folder[96];
    struct shared *shared = share();
    pid_t children[CHILDREN];
    unsigned seed = (unsigned)time(NULL), kills = 0;
    const char *wanted = getenv("KILN_SOAK_SECONDS");
    time_t end = time(NULL) + (wanted ? atoi(wanted) : 60);
    print_message("seed %u\n", seed);
    make_folder(top, sizeof top);
    snprintf(folder, sizeof folder, "%s/cache", top);
    kiln__lock_set_limits(2000, 300);
    shared->sleep_ms = 2;
    for (unsigned i = 0; i < CHILDREN; i++) children[i] = start_child(ask, shared, folder, seed + i);
    while (time(NULL) < end) {
        unsigned index = (unsigned)rand_r(&seed) % CHILDREN;
        sleep_ms((unsigned)rand_r(&seed) % 20);
        damage(folder, &seed);
        if (rand_r(&seed) % 8 == 0) {
            kill(children[index], SIGSTOP);
            sleep_ms((unsigned)rand_r(&seed) % 600);
            kill(children[index], SIGCONT);
        } else {
            kill(children[index], SIGKILL);
            check_killed(children[index]);
            children[index] = start_child(ask, shared, folder, seed + index + ++kills);
        }
    }
    unsigned done = shared->done;
    CHECK_TRUE(wait_for(&shared->done, done + 2 * CHILDREN)); /* undisturbed, they get on */
    for (unsigned i = 0; i < CHILDREN; i++) kill(children[i], SIGKILL);
    for (unsigned i = 0; i < CHILDREN; i++) check_killed(children[i]);
    print_message("%u killed, %u compiles, %llu hits, %llu damaged\n", kills, shared->compiles,
                  (unsigned long long)shared->disk_hits, (unsigned long long)shared->corrupt);
    CHECK_TRUE(shared->disk_hits > 0 && shared->corrupt > 0 && kills > 0);
    CHECK_BETWEEN(count_files(folder, ".kiln", NULL), 1, MAX_FILES + CHILDREN + 1);
    remove_folder(top);
    unshare_memory(shared);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_everything)};
    unsetenv("KILN_MODE");
    unsetenv("KILN_CACHE_PATH");
    setenv("KILN_LOG", "", 1);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
