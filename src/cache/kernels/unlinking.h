/*
 * unlinking.h - who is unlinking executables at this moment.
 *
 * Executables are taken out of tables under locks and unlinked after those were given up, because unlink() is code of
 * the user's, which may call us. In between, only the thread that took them out knows of them. So a thread announces in
 * its own record that it is going to unlink, and whoever frees a function, whose compiler may go next, waits for those
 * that began earlier.
 */
#ifndef KILN_CACHE_KERNELS_UNLINKING_H
#define KILN_CACHE_KERNELS_UNLINKING_H

/* Around taking executables out of a table and unlinking them. May nest: unlink() may free a function. */
void kiln__unlinking_begin(void);
void kiln__unlinking_end(void);
/* Waits for other threads that began before this call. Inside of an unlink() of its own a thread waits for nobody. */
void kiln__unlinking_wait(void);

#endif
