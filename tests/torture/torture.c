/*
 * torture.c - see torture.h. Invariant: a round never runs in the process that judges it, unless --here asks for that.
 */
#include "torture/torture.h"

#include <errno.h>
#include <signal.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
enum { SLOWER = 5 };
#else
enum { SLOWER = 1 };
#endif

enum { ROUNDS_OF_A_TEST = 3, SECONDS_OF_A_ROUND = 30 };

struct settings {
    const char *attack; /* NULL: all of them */
    uint64_t seed;
    double seconds; /* 0: `rounds` of each attack */
    unsigned rounds;
    bool here;
};

struct tally {
    unsigned rounds, failed;
};

static int usage(const char *program)
{
    fprintf(stderr, "usage: %s [--attack NAME] [--seed N] [--rounds N | --seconds N] [--here]\n", program);
    return 2;
}

static bool read_settings(int argc, char **argv, struct settings *settings)
{
    for (int i = 1; i < argc; i++) {
        const char *value = i + 1 < argc ? argv[i + 1] : NULL;
        if (!strcmp(argv[i], "--here")) {
            settings->here = true;
            continue;
        }
        if (!value) return false;
        if (!strcmp(argv[i], "--attack"))
            settings->attack = value;
        else if (!strcmp(argv[i], "--seed"))
            settings->seed = strtoull(value, NULL, 10);
        else if (!strcmp(argv[i], "--seconds"))
            settings->seconds = strtod(value, NULL);
        else if (!strcmp(argv[i], "--rounds"))
            settings->rounds = (unsigned)strtoul(value, NULL, 10);
        else
            return false;
        i++;
    }
    return true;
}

static double now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

/* The round as a new program, so that it starts with nothing of ours loaded but itself. */
static pid_t start_round(const struct torture_attack *attack, uint64_t seed, FILE *output)
{
    char number[32];
    snprintf(number, sizeof number, "%llu", (unsigned long long)seed);
    fflush(NULL);
    pid_t child = fork();
    if (child) return child;
    setpgid(0, 0);
    dup2(fileno(output), STDOUT_FILENO);
    dup2(fileno(output), STDERR_FILENO);
    execl("/proc/self/exe", attack->name, "--attack", attack->name, "--seed", number, "--here", (char *)NULL);
    _exit(127);
}

/* What every thread of a process that hangs is doing, where there is a debugger to tell. */
static void show_stacks(pid_t child)
{
    char command[128];
    snprintf(command, sizeof command, "gdb -p %d -batch -ex 'thread apply all bt 16' 2>/dev/null", (int)child);
    fflush(NULL);
    if (system(command) != 0) fprintf(stderr, "torture: no gdb to show where it hangs\n");
}

/* False: it did not end in time, and was killed with all the processes it had started. */
static bool wait_for(pid_t child, double seconds, int *status)
{
    double end = now() + seconds;
    while (waitpid(child, status, WNOHANG) == 0) {
        if (now() > end) {
            show_stacks(child);
            kill(-child, SIGKILL);
            kill(child, SIGKILL);
            waitpid(child, status, 0);
            return false;
        }
        nanosleep(&(struct timespec){0, 1000000}, NULL);
    }
    kill(-child, SIGKILL); /* what it left running */
    return true;
}

/* What the round printed; kept quiet unless it failed. */
static void show(FILE *output)
{
    char bytes[4096];
    rewind(output);
    for (size_t size; (size = fread(bytes, 1, sizeof bytes, output)) > 0;) fwrite(bytes, 1, size, stderr);
}

static bool is_as_planned(const struct torture_attack *attack, int status)
{
    return attack->signal ? WIFSIGNALED(status) && WTERMSIG(status) == attack->signal
                          : WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

static bool judge_round(const char *program, const struct torture_attack *attack, uint64_t seed, FILE *output)
{
    unsigned limit = (attack->seconds ? attack->seconds : SECONDS_OF_A_ROUND) * SLOWER;
    int status = 0;
    pid_t child = start_round(attack, seed, output);
    if (child < 0) {
        perror("torture: fork");
        return false;
    }
    bool ended = wait_for(child, limit, &status);
    if (ended && is_as_planned(attack, status)) return true;
    show(output);
    fprintf(stderr, "FAILED %s --attack %s --seed %llu --here: ", program, attack->name, (unsigned long long)seed);
    if (!ended)
        fprintf(stderr, "hung for %u s\n", limit);
    else if (WIFSIGNALED(status))
        fprintf(stderr, "ended by signal %d (%s)\n", WTERMSIG(status), strsignal(WTERMSIG(status)));
    else
        fprintf(stderr, "exit code %d\n", WEXITSTATUS(status));
    return false;
}

static bool run_round(const char *program, const struct torture_attack *attack, uint64_t seed)
{
    FILE *output = tmpfile();
    if (!output) {
        perror("torture: tmpfile");
        return false;
    }
    bool passed = judge_round(program, attack, seed, output);
    fclose(output);
    return passed;
}

static bool is_chosen(const struct settings *settings, const struct torture_attack *attack)
{
    return !settings->attack || !strcmp(settings->attack, attack->name);
}

static void run_rounds(const char *program, const struct settings *settings, const struct torture_attack *attacks,
                       size_t count, struct tally *tallies)
{
    double end = now() + settings->seconds;
    for (uint64_t round = 0; settings->seconds > 0 ? now() < end : round < settings->rounds; round++)
        for (size_t i = 0; i < count; i++) {
            if (!is_chosen(settings, &attacks[i])) continue;
            if (round && settings->seconds > 0 && now() >= end) return;
            tallies[i].rounds++;
            if (!run_round(program, &attacks[i], settings->seed + round)) tallies[i].failed++;
        }
}

void torture_use_emulated_driver(char **argv)
{
    static const char folder[] = KILN_TEST_BUILD "/tests/emulated";
    const char *folders = getenv("LD_LIBRARY_PATH");
    if (folders && strstr(folders, folder)) return;
    setenv("LD_LIBRARY_PATH", folder, 1);
    execv("/proc/self/exe", argv);
    perror("torture: exec");
}

int torture_main(int argc, char **argv, const struct torture_attack *attacks, size_t count)
{
    struct settings settings = {.seed = 1, .rounds = ROUNDS_OF_A_TEST};
    if (!read_settings(argc, argv, &settings)) return usage(argv[0]);
    size_t chosen = 0, first = 0;
    for (size_t i = count; i-- > 0;)
        if (is_chosen(&settings, &attacks[i])) chosen++, first = i;
    if (!chosen) {
        fprintf(stderr, "%s: there is no attack %s; there are:", argv[0], settings.attack);
        for (size_t i = 0; i < count; i++) fprintf(stderr, " %s", attacks[i].name);
        fputc('\n', stderr);
        return 2;
    }
    if (settings.here) return attacks[first].round(settings.seed);
    struct tally *tallies = calloc(count, sizeof *tallies);
    if (!tallies) return 2;
    run_rounds(argv[0], &settings, attacks, count, tallies);
    unsigned failed = 0;
    for (size_t i = 0; i < count; i++) {
        if (is_chosen(&settings, &attacks[i]))
            printf("%-40s %6u rounds, %u failed\n", attacks[i].name, tallies[i].rounds, tallies[i].failed);
        failed += tallies[i].failed;
    }
    free(tallies);
    return failed ? 1 : 0;
}
