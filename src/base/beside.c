/*
 * beside.c - see beside.h. Invariant: no variable of the environment says which file is opened.
 */
#include "base/beside.h"

#include <dlfcn.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/trust.h"

static char *own_folder; /* written once, by note_folder() */
static bool is_program;  /* this code is inside of a program; likewise */

/*
 * The path by which the loader found the library is relative where an entry of LD_LIBRARY_PATH is, and true only until
 * the process goes to another folder; so it is made absolute while the library is being loaded. In a program that has
 * this code inside, the loader says argv[0], which is whatever the program was started with; the kernel knows better.
 */
__attribute__((constructor)) static void note_folder(void)
{
    Dl_info info;
    struct link_map *map = NULL;
    if (!dladdr1((const void *)&kiln__own_folder, &info, (void **)&map, RTLD_DL_LINKMAP) || !map) return;
    is_program = !map->l_name[0];
    char *path = is_program ? realpath("/proc/self/exe", NULL) : kiln__path_absolute(map->l_name, NULL);
    char *slash = path ? strrchr(path, '/') : NULL;
    if (slash) *slash = '\0';
    own_folder = path;
}

const char *kiln__own_folder(void)
{
    return own_folder;
}

/* What is not a file, such as a fifo, might be waited for. */
static bool is_file(const char *path)
{
    struct stat info;
    return stat(path, &info) == 0 && S_ISREG(info.st_mode);
}

/* In the folder of this version, so that what several versions installed stands side by side; else in `folder` itself.
 */
static char *path_in(const char *folder, const char *file)
{
    char *path;
    const char *slash = strrchr(file, '/');
    if (asprintf(&path, "%s/kiln/" KILN_VERSION "/%s", folder, slash ? slash + 1 : file) < 0) return NULL;
    if (is_file(path)) return path;
    free(path);
    return asprintf(&path, "%s/%s", folder, file) < 0 ? NULL : path;
}

char *kiln__path_beside(const char *file)
{
    char *library_folder;
    char *path = own_folder ? path_in(own_folder, file) : NULL;
    if (!path || !is_program || is_file(path)) return path;
    free(path);
    if (asprintf(&library_folder, "%s/../lib", own_folder) < 0) return NULL;
    path = path_in(library_folder, file);
    free(library_folder);
    return path;
}

static kiln_status open_at(const char *path, const char *symbol, const void **out, kiln_error *err)
{
    if (!is_file(path)) return kiln__fail(err, KILN_IO, "%s is not there; it is installed beside libkiln.so", path);
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!library) return kiln__fail(err, KILN_IO, "can't open %s: %s", path, dlerror());
    *out = dlsym(library, symbol);
    if (*out) return KILN_OK;
    dlclose(library);
    return kiln__fail(err, KILN_IO, "%s has no %s: it is not of this version", path, symbol);
}

kiln_status kiln__open_beside(const char *file, const char *symbol, const void **out, kiln_error *err)
{
    if (!own_folder) return kiln__fail(err, KILN_IO, "can't open %s: the folder of libkiln.so is not known", file);
    char *path = kiln__path_beside(file);
    if (!path) return kiln__no_memory(err, "a path");
    kiln_status status = open_at(path, symbol, out, err);
    free(path);
    return status;
}
