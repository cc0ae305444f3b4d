/*
 * roots.c - see roots.h. Invariant: modules that somebody refers to are known by different names; setting a root that
 * would change that fails.
 */
#include "key/roots.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "base/process/fork.h"
#include "base/trust.h"

struct root {
    char *name;
    char *absolute; /* the folder, as seen from the one that was the current one */
    char *given;    /* and as it was given, for modules only: a build may have been given relative paths too */
};

struct roots {
    struct root *data;
    size_t count;
};

struct kiln_module {
    struct kiln_module *next;
    uint32_t refs;
    char text[];
};

KILN_LEAF_LOCK(lock); /* guards what follows */
static struct roots roots;
static struct kiln_module *modules;
static _Atomic uint64_t version;

/* ---- paths ---------------------------------------------------------------------------------------------------- */

/* In place: no repeated slashes, no "." between them, none at the end. ".." stays: what it means depends on links. */
static void simplify(char *path)
{
    bool is_absolute = *path == '/';
    char *to = path + is_absolute;
    for (const char *at = path; *at;) {
        size_t size = strcspn(at, "/");
        if (size && !(size == 1 && *at == '.')) {
            if (to > path + is_absolute) *to++ = '/';
            memmove(to, at, size);
            to += size;
        }
        at += size + (at[size] == '/');
    }
    *to = '\0';
}

static char *simplified(const char *path)
{
    char *copy = strdup(path);
    if (copy) simplify(copy);
    return copy;
}

char *kiln__path_simple(const char *path)
{
    char *absolute = kiln__path_absolute(path, NULL);
    if (absolute) simplify(absolute);
    return absolute;
}

/* What of `path` is below the folder; NULL: it is not below it. Both are simple. */
static const char *below(const char *folder, const char *path)
{
    size_t size = strlen(folder);
    if (!size || strncmp(path, folder, size) != 0) return NULL;
    if (folder[size - 1] != '/' && path[size] != '/') return NULL;
    const char *rest = path + size + (folder[size - 1] != '/');
    return *rest ? rest : NULL;
}

/* ---- names ---------------------------------------------------------------------------------------------------- */

/* *rest: what of the path is below it. */
static const struct root *root_of(const struct roots *all, const char *path, bool is_module, const char **rest)
{
    const struct root *found = NULL;
    *rest = path;
    for (size_t i = 0; i < all->count; i++) {
        const struct root *root = &all->data[i];
        const char *it = below(root->absolute, path);
        if (!it && is_module) it = below(root->given, path);
        if (!it || it <= *rest) continue;
        found = root;
        *rest = it;
    }
    return found;
}

static void name_module(const struct roots *all, const char *module, struct kiln_buffer *out)
{
    char *path = all->count ? simplified(module) : NULL;
    const char *rest;
    const struct root *root = path ? root_of(all, path, true, &rest) : NULL;
    if (root)
        kiln__buffer_printf(out, "%s%s%s", root->name, *root->name ? "/" : "", rest);
    else
        kiln__buffer_append(out, module, strlen(module));
    if (all->count && !path) out->failed = true;
    free(path);
}

void kiln__module_name(const char *module, struct kiln_buffer *out)
{
    pthread_mutex_lock(&lock);
    name_module(&roots, module, out);
    pthread_mutex_unlock(&lock);
}

bool kiln__module_is(const char *module, const char *name)
{
    if (!kiln__roots_version()) return !strcmp(module, name);
    struct kiln_buffer known = {0};
    kiln__module_name(module, &known);
    bool is_it = !known.failed && known.data && !strcmp((const char *)known.data, name);
    kiln__buffer_release(&known);
    return is_it;
}

void kiln__path_name(const char *path, struct kiln_buffer *root, struct kiln_buffer *rest)
{
    const char *below_it;
    pthread_mutex_lock(&lock);
    const struct root *found = root_of(&roots, path, false, &below_it);
    const char *name = found ? found->name : "";
    kiln__buffer_append(root, name, strlen(name));
    kiln__buffer_append(rest, below_it, strlen(below_it));
    pthread_mutex_unlock(&lock);
}

void kiln__path_print(const char *path, struct kiln_buffer *out)
{
    struct kiln_buffer root = {0}, rest = {0};
    kiln__path_name(path, &root, &rest);
    if (!root.failed && !rest.failed)
        kiln__buffer_printf(out, "%s%s%s", (const char *)root.data, root.size ? "/" : "", (const char *)rest.data);
    kiln__buffer_release(&root);
    kiln__buffer_release(&rest);
}

static const struct root *find_root(const char *name)
{
    for (size_t i = 0; i < roots.count; i++)
        if (!strcmp(roots.data[i].name, name)) return &roots.data[i];
    return NULL;
}

enum kiln_outcome kiln__path_of(const char *root, const char *rest, char **out)
{
    bool is_absolute = !*root && *rest == '/';
    struct kiln_buffer path = {0};
    pthread_mutex_lock(&lock);
    const struct root *found = is_absolute ? NULL : find_root(root);
    if (found) kiln__buffer_printf(&path, "%s%s", found->absolute, found->absolute[1] ? "/" : "");
    kiln__buffer_printf(&path, "%s", rest);
    pthread_mutex_unlock(&lock);
    enum kiln_outcome outcome = path.failed ? KILN_FAILED : found || is_absolute ? KILN_DONE : KILN_MISS;
    if (outcome != KILN_DONE) kiln__buffer_release(&path);
    *out = (char *)path.data;
    return outcome;
}

uint64_t kiln__roots_version(void)
{
    return atomic_load_explicit(&version, memory_order_acquire);
}

/* ---- modules -------------------------------------------------------------------------------------------------- */

/* With the lock held: none of `others` may be known by the name of `module`. */
static kiln_status check_module(const struct roots *all, const char *module, const struct kiln_module *others,
                                kiln_error *err)
{
    struct kiln_buffer name = {0}, other = {0};
    kiln_status status = KILN_OK;
    name_module(all, module, &name);
    for (; others && all->count && !status; others = others->next) {
        kiln__buffer_clear(&other);
        name_module(all, others->text, &other);
        if (name.failed || other.failed)
            status = kiln__no_memory(err, "the name of a module");
        else if (name.size == other.size && !memcmp(name.data, other.data, name.size))
            status = kiln__fail(err, KILN_INVALID,
                                "%s and %s are both known as the module %s; set other roots, or name "
                                "one of them with KILN_WATCH_IN",
                                module, others->text, (const char *)name.data);
    }
    kiln__buffer_release(&name);
    kiln__buffer_release(&other);
    return status;
}

static struct kiln_module *find_module(const char *text)
{
    struct kiln_module *module = modules;
    while (module && strcmp(module->text, text) != 0) module = module->next;
    return module;
}

static kiln_status add_module(const char *text, struct kiln_module **out, kiln_error *err)
{
    kiln_status status = check_module(&roots, text, modules, err);
    if (status) return status;
    struct kiln_module *module = malloc(sizeof *module + strlen(text) + 1);
    if (!module) return kiln__no_memory(err, "a module");
    module->refs = 0;
    strcpy(module->text, text);
    module->next = modules;
    *out = modules = module;
    return KILN_OK;
}

kiln_status kiln__module_ref(const char *text, struct kiln_module **out, kiln_error *err)
{
    kiln_status status = KILN_OK;
    pthread_mutex_lock(&lock);
    struct kiln_module *module = find_module(text);
    if (!module) status = add_module(text, &module, err);
    if (!status) module->refs++;
    pthread_mutex_unlock(&lock);
    if (!status) *out = module;
    return status;
}

void kiln__module_unref(struct kiln_module *module)
{
    if (!module) return;
    pthread_mutex_lock(&lock);
    bool is_last = --module->refs == 0;
    if (is_last) {
        struct kiln_module **link = &modules;
        while (*link != module) link = &(*link)->next;
        *link = module->next;
    }
    pthread_mutex_unlock(&lock);
    if (is_last) free(module);
}

/* ---- setting roots -------------------------------------------------------------------------------------------- */

static void root_release(struct root *root)
{
    free(root->name);
    free(root->given);
    free(root->absolute);
}

static bool root_init(struct root *root, const char *name, const char *path)
{
    char *absolute = kiln__path_simple(path);
    *root = (struct root){.name = strdup(name), .absolute = absolute, .given = simplified(path)};
    return root->name && root->given && root->absolute;
}

/* The roots with one replaced, added or, without a path, left out; strings are shared. False: out of memory. */
static bool with_root(const char *name, const struct root *root, struct roots *out, struct root *replaced)
{
    out->data = malloc((roots.count + 1) * sizeof *out->data);
    if (!out->data) return false;
    for (size_t i = 0; i < roots.count; i++)
        if (strcmp(roots.data[i].name, name) != 0)
            out->data[out->count++] = roots.data[i];
        else
            *replaced = roots.data[i];
    if (root->name) out->data[out->count++] = *root;
    return true;
}

/* With the lock held. On success `root` is the table's, and `replaced` the caller's. */
static kiln_status set_root(const char *name, struct root *root, struct root *replaced, kiln_error *err)
{
    struct roots new = {0};
    struct root old = {0};
    if (!with_root(name, root, &new, &old)) return kiln__no_memory(err, "a root");
    kiln_status status = KILN_OK;
    for (const struct kiln_module *module = modules; module && !status; module = module->next)
        status = check_module(&new, module->text, module->next, err);
    if (!status) {
        struct root *before = roots.data;
        roots = new;
        new.data = before;
        *replaced = old;
        *root = (struct root){0};
        atomic_fetch_add_explicit(&version, 1, memory_order_acq_rel);
    }
    free(new.data);
    return status;
}

kiln_status kiln_set_root(const char *name, const char *path, kiln_error *err)
{
    if (!name || strchr(name, '/') || (path && !*path))
        return kiln__fail(err, KILN_INVALID, "kiln_set_root: needs a name without '/', which may be empty, and a path");
    struct root root = {0}, replaced = {0};
    bool is_made = !path || root_init(&root, name, path);
    kiln_status status = KILN_OK;
    pthread_mutex_lock(&lock);
    status = is_made ? set_root(name, &root, &replaced, err) : kiln__no_memory(err, "a root");
    pthread_mutex_unlock(&lock);
    root_release(&root);
    root_release(&replaced);
    return status;
}
