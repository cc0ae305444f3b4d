/*
 * child.h - other processes of the bench, and the folders they work in.
 */
#ifndef KILN_BENCH_CHILD_H
#define KILN_BENCH_CHILD_H

#include <stdbool.h>
#include <sys/types.h>

struct child {
    pid_t process;
    int output; /* -1: it was not started */
};

/* Starts this program with `--child phase`; it inherits the environment as it is now. */
bool child_start(const char *phase, struct child *child);
/* Waits for its end. False: it failed, or did not print three numbers. */
bool child_finish(struct child *child, double out[3]);
bool run_child(const char *phase, double out[3]);

/* A new, empty folder that KILN_CACHE_DIR then names. */
bool new_folder(char folder[64]);
void remove_folder(const char *folder);
/* KILN_CACHE_DIR as it was: take a copy, set it back (which frees the copy). */
char *folder_before(void);
void folder_back(char *before);

/* Every artifact with machine code in KILN_CACHE_DIR, from its file to executable memory: time, 0 when there is none.
 */
double load_by_hand(void);

#endif
