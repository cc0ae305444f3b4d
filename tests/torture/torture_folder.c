/*
 * torture_folder.c - a folder under attack: commands beside writers and readers, damaged entries, files that may not
 * grow, writers that are killed, many writers at its bound.
 */
#include "torture/folder_support.h"

#include <elf.h>
#include <fcntl.h>
#include <sys/resource.h>

#include "base/digest.h"
#include "kiln/inspect.h"

/* ---- commands on a live folder ----------------------------------------------------------------------------------- */

enum { KEYS = 60, COMMANDS = 10, FEW_FILES = 25 };

/* Until it is killed: opens caches on the folder and asks for random texts; what was evicted is compiled again. */
static void use_folder(const char *folder, uint64_t seed)
{
    const kiln_compiler compiler = copy_compiler(NULL);
    for (;;) {
        kiln_cache *cache = open_bounded(folder, 0, FEW_FILES);
        for (unsigned i = 0; i < 40; i++) {
            char text[4096];
            size_t size = 16 + torture_below(&seed, sizeof text - 16);
            unsigned number = (unsigned)torture_below(&seed, KEYS);
            memset(text, 'x', sizeof text);
            snprintf(text, 16, "%u", number);
            text[strlen(text)] = ' ';
            get_text(cache, &compiler, text, number % 2 ? size : 16);
        }
        kiln_counters counters;
        kiln_cache_counters(cache, &counters);
        TORTURE_REQUIRE(counters.corrupt == 0, "%llu", (unsigned long long)counters.corrupt);
        TORTURE_REQUIRE(counters.cache_faults == 0, "%llu", (unsigned long long)counters.cache_faults);
        kiln_cache_close(cache);
    }
}

static void require_healthy(const char *words)
{
    static const char *const wrong[] = {"damaged:", "damaged  ", "bad:", "\"kind\":\"bad\"", "is not a cache folder",
                                        "is gone"};
    static char said[1 << 16];
    int status = run_kiln(words, said, sizeof said);
    TORTURE_REQUIRE(status == 0, "kiln %s: exit code %d: %s", words, status, said);
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        TORTURE_REQUIRE(!strstr(said, wrong[i]), "kiln %s: %s", words, said);
}

static int commands_on_a_live_folder(uint64_t seed)
{
    static const char *const commands[] = {
        "verify",    "verify --json",    "verify --repair", "stats",       "stats --json",      "ls",
        "ls --json", "prune --files 10", "prune --size 9K", "clear --yes", "clear --yes --json"};
    char root[FOLDER_SIZE], folder[FOLDER_SIZE + 8];
    pid_t users[2];
    make_folder(root);
    snprintf(folder, sizeof folder, "%s/cache", root);
    mkdir(folder, 0700);
    for (unsigned i = 0; i < 2; i++)
        if (!(users[i] = fork())) use_folder(folder, seed + i);
    for (unsigned i = 0; i < COMMANDS; i++) {
        char words[128];
        const char *command = commands[torture_below(&seed, sizeof commands / sizeof *commands)];
        snprintf(words, sizeof words, "%s --folder %s", command, folder);
        require_healthy(words);
    }
    for (unsigned i = 0; i < 2; i++) {
        int status = 0;
        TORTURE_REQUIRE(waitpid(users[i], &status, WNOHANG) == 0, "a user of the folder has failed: %#x",
                        (unsigned)status);
        kill(users[i], SIGKILL);
        waitpid(users[i], &status, 0);
    }
    remove_folder(root);
    return 0;
}

/* ---- damaged entries ----------------------------------------------------------------------------------------------
 */

static const char text_of_kernel[] = "define i64 @kernel(i64 %x) {\n  %y = mul i64 %x, 3\n  ret i64 %y\n}\n";

/* A fresh cache's result is right, whatever is in the folder. */
static kiln_counters call_kernel(const char *folder, const char *what)
{
    kiln_cache *cache = open_bounded(folder, 0, 0);
    const kiln_function_options options = {
        .struct_size = sizeof options, .name = "triple", .text = {text_of_kernel, strlen(text_of_kernel)}};
    kiln_function *function = NULL;
    void *executable = NULL;
    kiln_error err = {KILN_OK, ""};
    int64_t (*kernel)(int64_t);
    kiln_counters counters;
    TORTURE_REQUIRE(kiln_function_new(cache, &options, &function, &err) == KILN_OK, "%s", err.text);
    kiln_status status = kiln_get(function, NULL, 0, NULL, &executable, &err);
    TORTURE_REQUIRE(status == KILN_OK, "%s: %s", what, err.text);
    memcpy(&kernel, &executable, sizeof kernel);
    TORTURE_REQUIRE(kernel(14) == 42, "%s: %lld", what, (long long)kernel(14));
    kiln_cache_counters(cache, &counters);
    kiln_function_free(function);
    kiln_cache_close(cache);
    return counters;
}

struct file {
    char path[PATH_MAX];
    unsigned char *data;
    size_t size;
    size_t object, object_size, entry; /* where they stand in the file; 0: it has none */
};

static uint64_t read_number(const struct file *file, size_t at, size_t size)
{
    uint64_t value = 0;
    TORTURE_REQUIRE(at + size <= file->size, "%s is too short", file->path);
    memcpy(&value, file->data + at, size);
    return value;
}

/* docs/formats/artifact.md: the header, then target, entry, key, table and sections. */
static void find_parts(struct file *file)
{
    enum { HEADER = 40, NAME = 32, ROW = 40 };
    uint64_t target = read_number(file, 24, 4), entry = read_number(file, 28, 4), key = read_number(file, 32, 4),
             count = read_number(file, 36, 4);
    size_t table = HEADER + target + entry + key, at = table + count * ROW;
    file->entry = entry ? HEADER + target : 0;
    for (size_t i = 0; i < count; i++) {
        at = (at + 15) / 16 * 16;
        size_t size = read_number(file, table + i * ROW + NAME, 8);
        if (!strcmp((const char *)file->data + table + i * ROW, "object")) file->object = at, file->object_size = size;
        at += size;
    }
}

static void read_file(struct file *file)
{
    struct stat info;
    int fd = open(file->path, O_RDONLY);
    TORTURE_REQUIRE(fd >= 0 && fstat(fd, &info) == 0, "%s", file->path);
    file->size = (size_t)info.st_size;
    file->data = malloc(file->size + 64);
    TORTURE_REQUIRE(file->data && read(fd, file->data, file->size) == info.st_size, "%s", file->path);
    close(fd);
}

static void find_kernel(const char *path, const struct stat *info, void *context)
{
    struct file *found = context;
    (void)info;
    if (!strstr(path, ".kiln") || strstr(path, ".tmp-") || found->object) return;
    snprintf(found->path, sizeof found->path, "%s", path);
    read_file(found);
    find_parts(found);
    if (!found->object) free(found->data);
}

/* As the file's own writer would have done it. */
static void write_checksum(struct file *file)
{
    uint64_t compared = read_number(file, 16, 8);
    struct kiln_digest digest = kiln__digest(file->data, compared - KILN_DIGEST_SIZE);
    memcpy(file->data + compared - KILN_DIGEST_SIZE, digest.bytes, KILN_DIGEST_SIZE);
}

/* Bytes that nobody checks but the checksum; its result says what was done. */
static const char *damage(struct file *file, uint64_t *seed)
{
    size_t at = torture_below(seed, file->size), other = torture_below(seed, file->size);
    switch (torture_below(seed, 5)) {
    case 0:
        file->data[at] ^= (unsigned char)(1 + torture_below(seed, 255));
        return "a flipped byte";
    case 1:
        file->size = at;
        return "a cut file";
    case 2:
        memset(file->data + file->size, 0, 64), file->size += 1 + torture_below(seed, 63);
        return "a longer file";
    case 3:
        if (at == other) file->data[at] ^= 1;
        memmove(file->data + (at < other ? at : other), file->data + (at < other ? other : at),
                file->size - (at < other ? other : at));
        file->data[file->size / 2] ^= 1;
        return "a spliced file";
    default:
        memset(file->data + at, 0, file->size - at), file->data[0] ^= (at == file->size - 1);
        return "zeros at its end";
    }
}

/* Parts of the artifact with checksums that are right: only linking finds them. */
static const char *forge(struct file *file, uint64_t *seed)
{
    Elf64_Ehdr *header = (Elf64_Ehdr *)(file->data + file->object);
    const char *what = "";
    switch (torture_below(seed, 7)) {
    case 0:
        header->e_machine = EM_AARCH64, what = "another machine";
        break;
    case 1:
        header->e_type = ET_EXEC, what = "another type";
        break;
    case 2:
        header->e_ident[EI_CLASS] = ELFCLASS32, what = "another class";
        break;
    case 3:
        header->e_shoff = (uint64_t)1 << torture_below(seed, 64) | file->object_size, what = "no section table";
        break;
    case 4:
        header->e_shnum = (uint16_t)(torture_below(seed, 2) ? 0 : 0xffff), what = "a number of sections";
        break;
    case 5:
        memset(header, (int)torture_below(seed, 256), sizeof *header), what = "no header";
        break;
    default:
        file->data[file->entry] ^= 1, what = "another entry";
        break;
    }
    write_checksum(file);
    return what;
}

static void write_file(const struct file *file)
{
    int fd = open(file->path, O_WRONLY | O_TRUNC | O_CREAT, 0600); /* in place, as cp does it */
    TORTURE_REQUIRE(fd >= 0 && write(fd, file->data, file->size) == (ssize_t)file->size, "%s", file->path);
    close(fd);
}

static int damaged_entries(uint64_t seed)
{
    char root[FOLDER_SIZE], words[128];
    static char said[1 << 16];
    make_folder(root);
    call_kernel(root, "the first call");
    for (unsigned i = 0; i < 6; i++) {
        struct file file = {.object = 0};
        each_file(root, find_kernel, &file);
        TORTURE_REQUIRE(file.object && file.entry, "there is no kernel in %s", root);
        bool is_forged = torture_below(&seed, 2);
        const char *what = is_forged ? forge(&file, &seed) : damage(&file, &seed);
        write_file(&file);
        free(file.data);
        snprintf(words, sizeof words, "verify --folder %s", root);
        int status = run_kiln(words, said, sizeof said);
        TORTURE_REQUIRE(status == 1 && strstr(said, "bad:"), "%s: kiln verify gave %d: %s", what, status, said);
        kiln_counters counters = call_kernel(root, what);
        TORTURE_REQUIRE(counters.corrupt == 1 && counters.compiles == 1, "%s: %llu corrupt, %llu compiles", what,
                        (unsigned long long)counters.corrupt, (unsigned long long)counters.compiles);
        counters = call_kernel(root, "the next call");
        TORTURE_REQUIRE(counters.corrupt == 0 && counters.compiles == 0 && counters.disk_hits == 1,
                        "after %s: %llu corrupt, %llu compiles", what, (unsigned long long)counters.corrupt,
                        (unsigned long long)counters.compiles);
    }
    remove_folder(root);
    return 0;
}

/* ---- files that may not grow ---------------------------------------------------------------------------------------
 */

static void set_limit(rlim_t size)
{
    struct rlimit limit;
    getrlimit(RLIMIT_FSIZE, &limit);
    limit.rlim_cur = size;
    setrlimit(RLIMIT_FSIZE, &limit);
}

static int full_files(uint64_t seed)
{
    const kiln_compiler compiler = copy_compiler(NULL);
    static char text[20000];
    char root[FOLDER_SIZE];
    make_folder(root);
    memset(text, 'x', sizeof text);
    for (unsigned i = 0; i < 20; i++) {
        rlim_t limit = torture_below(&seed, 4) ? torture_below(&seed, 24000) : torture_below(&seed, 200);
        set_limit(limit);
        bool is_llvm = torture_below(&seed, 10) == 0;
        if (is_llvm) {
            call_kernel(root, "a small file");
        } else {
            kiln_cache *cache = open_bounded(root, 1 << 20, 100);
            size_t size = torture_below(&seed, sizeof text - 20) + 20;
            snprintf(text, 20, "%u of %llu", i, (unsigned long long)limit);
            text[strlen(text)] = ' ';
            get_text(cache, &compiler, text, size);
            kiln_counters counters;
            kiln_cache_counters(cache, &counters);
            TORTURE_REQUIRE(counters.corrupt == 0, "limit %llu", (unsigned long long)limit);
            TORTURE_REQUIRE(limit < size ? counters.cache_faults > 0 : 1, "limit %llu, %zu bytes: no fault",
                            (unsigned long long)limit, size);
            kiln_cache_close(cache);
        }
        require_nothing_left(root);
    }
    set_limit(RLIM_INFINITY);
    remove_folder(root);
    return 0;
}

/* ---- writers that are killed ----------------------------------------------------------------------------------------
 */

enum { KILLED = 30, KILLED_KEYS = 8 };

static void get_keys(const char *folder, unsigned sleep_us, uint64_t seed)
{
    const kiln_compiler compiler = copy_compiler(&sleep_us);
    kiln_cache *cache = open_bounded(folder, 0, 0);
    for (unsigned i = 0; i < KILLED_KEYS; i++) {
        char text[4000];
        memset(text, 'a' + (char)((i + seed) % KILLED_KEYS), sizeof text);
        get_text(cache, &compiler, text, sizeof text);
    }
    kiln_counters counters;
    kiln_cache_counters(cache, &counters);
    TORTURE_REQUIRE(counters.corrupt == 0 && counters.cache_faults == 0, "%llu corrupt, %llu faults",
                    (unsigned long long)counters.corrupt, (unsigned long long)counters.cache_faults);
    kiln_cache_close(cache);
}

static double seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

/* A lock whose holder is gone is worth nothing: nobody waits for it. One that stalls a key does so for 5 s. */
static int killed_writers(uint64_t seed)
{
    char root[FOLDER_SIZE];
    make_folder(root);
    for (unsigned i = 0; i < KILLED; i++) {
        pid_t child = fork();
        if (!child) {
            get_keys(root, 300, seed + i);
            _exit(0);
        }
        sleep_us(torture_below(&seed, 6000));
        if (torture_below(&seed, 3) == 0) {
            kill(child, SIGSTOP);
            sleep_us(torture_below(&seed, 2000));
        }
        kill(child, SIGKILL);
        waitpid(child, NULL, 0);
        if (i % 10 != 9) continue;
        double start = seconds();
        pid_t next = fork();
        if (!next) {
            get_keys(root, 0, 0);
            _exit(0);
        }
        end_well(next);
        TORTURE_REQUIRE(seconds() - start < 4.5, "%.1f s for %d keys after kills", seconds() - start, KILLED_KEYS);
        remove_folder(root);
        mkdir(root, 0700);
    }
    remove_folder(root);
    return 0;
}

/* ---- many writers at the bound
 * ---------------------------------------------------------------------------------------- */

enum { WRITERS = 16, LARGEST = 8192, BOUND = 1 << 20 };

static void fill_folder(const char *folder, uint64_t seed)
{
    static char text[LARGEST];
    const kiln_compiler compiler = copy_compiler(NULL);
    kiln_cache *cache = open_bounded(folder, BOUND, 0);
    memset(text, 'x', sizeof text);
    for (unsigned i = 0; i < 40; i++) {
        snprintf(text, 40, "%llx", (unsigned long long)torture_next(&seed));
        text[strlen(text)] = ' ';
        get_text(cache, &compiler, text, 1000 + torture_below(&seed, sizeof text - 1000));
        if (torture_below(&seed, 4) == 0) sleep_us(torture_below(&seed, 3000));
    }
    kiln_cache_close(cache);
}

static void add_size(const char *path, const struct stat *info, void *total)
{
    if (!strcmp(path + strlen(path) - 5, ".kiln")) *(uint64_t *)total += (uint64_t)info->st_size;
}

static int many_writers(uint64_t seed)
{
    enum { OVERHEAD = 4096 }; /* of an artifact: key, and the text once more */
    const uint64_t most = BOUND + (uint64_t)WRITERS * (2 * LARGEST + OVERHEAD);
    char root[FOLDER_SIZE];
    pid_t writers[WRITERS];
    make_folder(root);
    for (unsigned i = 0; i < WRITERS; i++) {
        if ((writers[i] = fork())) continue;
        fill_folder(root, seed * 1000 + i);
        _exit(0);
    }
    for (unsigned look = 0; look < 20; look++) {
        uint64_t total = 0;
        sleep_us(torture_below(&seed, 20000));
        for (unsigned i = 0; i < WRITERS; i++) kill(writers[i], SIGSTOP);
        each_file(root, add_size, &total);
        for (unsigned i = 0; i < WRITERS; i++) kill(writers[i], SIGCONT);
        TORTURE_REQUIRE(total <= most, "%llu bytes, bound %d", (unsigned long long)total, BOUND);
    }
    for (unsigned i = 0; i < WRITERS; i++) end_well(writers[i]);
    uint64_t total = 0;
    each_file(root, add_size, &total);
    TORTURE_REQUIRE(total <= most && total > BOUND / 2, "%llu bytes, bound %d", (unsigned long long)total, BOUND);
    remove_folder(root);
    return 0;
}

int main(int argc, char **argv)
{
    static const struct torture_attack attacks[] = {
        {.name = "commands_on_a_live_folder", .round = commands_on_a_live_folder},
        {.name = "damaged_entries", .round = damaged_entries},
        {.name = "full_files", .round = full_files},
        {.name = "killed_writers", .round = killed_writers},
        {.name = "many_writers", .round = many_writers},
    };
    return torture_main(argc, argv, attacks, sizeof attacks / sizeof *attacks);
}
