/*
 * walk.c - see walk.h. Usage: walk_NAME absent|good [FUNCTION]. Exit code 1 when anything is wrong; one line for each.
 */
#include "walk/walk.h"

#include <ftw.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

size_t walk_absurd;
static bool is_good; /* one call, with nothing absent */

/* Allocations that are too large fail under the sanitizer as well, instead of ending the program. */
const char *__asan_default_options(void);
const char *__asan_default_options(void)
{
    return "allocator_may_return_null=1";
}

/* One call: what is absent, and what an absurd count is. */
struct walk_case {
    uint32_t absent;
    size_t absurd;
};

/* Written by the child that makes the calls of some rows, read by its parent. */
static struct shared {
    size_t row, at; /* the case that is being tried */
    unsigned calls, failures;
} *shared;

static size_t list_cases(const struct walk_row *row, struct walk_case *cases)
{
    static const size_t absurd[] = {SIZE_MAX, SIZE_MAX / 4 + 2, SIZE_MAX / 8 + 2, SIZE_MAX / 16 + 2};
    size_t count = 0;
    if (is_good) return cases[0] = (struct walk_case){0, 0}, 1;
    for (unsigned i = 0; i < row->count; i++) {
        if (row->pointers & 1u << i) cases[count++] = (struct walk_case){1u << i, 0};
        for (size_t k = 0; row->counts & 1u << i && k < sizeof absurd / sizeof *absurd; k++)
            cases[count++] = (struct walk_case){1u << i, absurd[k]};
    }
    if (row->pointers & (row->pointers - 1)) cases[count++] = (struct walk_case){row->pointers, 0};
    return count;
}

/* "kiln_get(executable NULL)" */
static void print_case(const struct walk_row *row, const struct walk_case *what)
{
    const char *between = "";
    printf("%s(", row->function);
    for (unsigned i = 0; i < row->count; i++) {
        if (!(what->absent & 1u << i)) continue;
        printf("%s%s %s", between, row->parameters[i], row->counts & 1u << i ? "absurd" : "NULL");
        between = ", ";
    }
    printf("): ");
}

static void run_cases(const struct walk_row *row, const struct walk_case *cases, size_t count)
{
    for (; shared->at < count; shared->at++) {
        const struct walk_case *what = &cases[shared->at];
        struct walk_result result = {0};
        char *said = NULL;
        size_t size = 0;
        FILE *out = open_memstream(&said, &size);
        alarm(60);
        walk_absurd = what->absurd;
        shared->calls++;
        walk_call(row, what->absent, &result);
        bool is_right = walk_judge(row, what->absent, &result, out);
        fclose(out);
        if (!is_right) {
            shared->failures++;
            print_case(row, what);
            printf("answers what it should not: %s\n", said);
        }
        free(said);
    }
}

/* In a child, so that a signal ends nothing else; goes on behind the case that ended the last child. */
static void run_rows(size_t end)
{
    for (; shared->row < end; shared->row++, shared->at = 0) {
        struct walk_case cases[WALK_MOST_PARAMETERS * 5];
        run_cases(&walk_rows[shared->row], cases, list_cases(&walk_rows[shared->row], cases));
    }
    fflush(stdout);
    _exit(0);
}

/* Good calls of operations leave nothing behind and share a child, which loads the compiler once. */
static size_t end_of_rows(size_t first)
{
    static const char operation[] = " mlx_array_p mlx_array ";
    size_t end = first;
    while (is_good && end < walk_row_count && !strncmp(walk_rows[end].types, operation, sizeof operation - 1)) end++;
    return end == first ? first + 1 : end;
}

static void walk_some(size_t first, size_t end)
{
    for (shared->row = first, shared->at = 0; shared->row < end; shared->at++) {
        int status = 0;
        fflush(NULL);
        pid_t child = fork();
        if (child == 0) run_rows(end);
        if (child < 0 || waitpid(child, &status, 0) != child) {
            perror("walk");
            exit(2);
        }
        if (!WIFSIGNALED(status) && WEXITSTATUS(status) == 0) continue;
        struct walk_case cases[WALK_MOST_PARAMETERS * 5];
        list_cases(&walk_rows[shared->row], cases);
        shared->failures++;
        print_case(&walk_rows[shared->row], &cases[shared->at]);
        if (WIFSIGNALED(status))
            printf("ended by signal %d (%s)\n", WTERMSIG(status), strsignal(WTERMSIG(status)));
        else
            printf("left the process with %d\n", WEXITSTATUS(status));
    }
}

static int remove_one(const char *path, const struct stat *info, int kind, struct FTW *walk)
{
    (void)info, (void)kind, (void)walk;
    return remove(path);
}

int main(int count, char **words)
{
    bool is_found = false;
    shared = mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    char folder[] = "/tmp/kiln-walk-XXXXXX";
    if (shared == MAP_FAILED || !mkdtemp(folder) || chdir(folder) != 0) {
        perror(folder);
        return 2;
    }
    is_good = count > 1 && strcmp(words[1], "good") == 0;
    for (size_t i = 0, end; i < walk_row_count; i = end) {
        end = count > 2 ? i + 1 : end_of_rows(i);
        if (count > 2 && strcmp(words[2], walk_rows[i].function) != 0) continue;
        is_found = true;
        walk_some(i, end);
    }
    if (chdir("/") == 0) nftw(folder, remove_one, 16, FTW_DEPTH | FTW_PHYS);
    if (!is_found) printf("there is no function %s\n", count > 2 ? words[2] : "at all");
    printf("%u functions, %u calls, %u wrong\n", (unsigned)walk_row_count, shared->calls, shared->failures);
    return shared->failures || !is_found ? 1 : 0;
}
