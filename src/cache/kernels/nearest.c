/*
 * nearest.c - see nearest.h. What the process knows itself is compared by cache/why.c; this looks at what others
 * stored.
 */
#include "cache/kernels/nearest.h"

#include "base/log.h"
#include "cache/cache.h"
#include "kiln/inspect.h"

static void print(const kiln_entry *nearest, const kiln_difference *difference, const char *function)
{
    kiln_entry_info info;
    kiln_entry_describe(nearest, &info);
    const char *words = *difference->content ? difference->content : difference->call;
    kiln__log(KILN_LOG_MISS, "nearest stored to %s: %.12s, %s%s%s", function, info.digest, words,
              *words && *difference->text ? "; " : "", difference->text);
}

static void tell(const kiln_inspector *inspector, const struct kiln_job *job)
{
    char hex[KILN_DIGEST_HEX];
    size_t index;
    kiln_entry *own = NULL, *nearest = NULL;
    kiln_difference difference;
    kiln__digest_hex(&job->content->digest, hex);
    if (kiln_inspect_find(inspector, hex, &index, NULL) || kiln_entry_open(inspector, index, &own, NULL)) return;
    if (kiln_inspect_nearest(inspector, own, &nearest, &difference, NULL) == KILN_OK && nearest) {
        print(nearest, &difference, job->request->function);
        kiln_difference_release(&difference);
        kiln_entry_close(nearest);
    } else {
        kiln__log(KILN_LOG_MISS, "nearest stored to %s: none, the folder has no other artifact of it",
                  job->request->function);
    }
    kiln_entry_close(own);
}

void kiln__tell_nearest(const struct kiln_job *job)
{
    static _Atomic bool is_told;
    kiln_inspector *inspector = NULL;
    const char *folder = kiln__cache_written_folder(job->request->cache);
    if (!folder || !kiln__log_on(KILN_LOG_MISS) || atomic_exchange(&is_told, true)) return;
    if (kiln_inspect_open(folder, &inspector, NULL) == KILN_OK) tell(inspector, job);
    kiln_inspect_close(inspector);
}
