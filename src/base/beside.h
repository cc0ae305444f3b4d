/*
 * beside.h - what stands beside libkiln.so: libraries that are opened when they are needed, and files.
 *
 * Where the library is was noted when it was loaded, as an absolute path, so chdir() and a variable that names another
 * place change nothing. In a program that has this code inside (a test, or one linked with libkiln.a), its own folder
 * counts, and ../lib from there. Below each such folder, kiln/VERSION/ comes first: there `make install` puts what
 * belongs to one version, so that several stand side by side.
 */
#ifndef KILN_BASE_BESIDE_H
#define KILN_BASE_BESIDE_H

#include "base/status.h"

/* The folder of the library, or of the program, that this code is in; NULL: not known. */
const char *kiln__own_folder(void);

/* Where `file` ("libkiln-trust.so", "kiln/base.kilnpack") stands or would stand: in memory of its own. NULL: the folder
 * is not known, or out of memory. From every thread. */
char *kiln__path_beside(const char *file);

/*
 * Opens `file` ("libkiln-trust.so") and finds `symbol` in it. KILN_IO: it is not there, can't be opened or lacks the
 * symbol; the text says which. What was opened stays open. `err` may be NULL. From every thread.
 */
kiln_status kiln__open_beside(const char *file, const char *symbol, const void **out, kiln_error *err);

#endif
