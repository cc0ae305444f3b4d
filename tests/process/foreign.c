/*
 * foreign.c - a library of somebody else's under the name of the compiler plug-in: all it does is say that its code
 * runs. For trust.sh.
 */
#include <stdio.h>
#include <unistd.h>

__attribute__((constructor)) static void run(void)
{
    fprintf(stderr, "foreign code runs as user %u\n", (unsigned)geteuid());
}
