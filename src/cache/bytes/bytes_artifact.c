/*
 * bytes_artifact.c - see bytes_artifact.h.
 */
#include "cache/bytes/bytes_artifact.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "store/signing.h"

static const char section_name[] = "bytes";

static bool fill(struct kiln_artifact *artifact, const struct kiln_content_key *key, kiln_bytes value,
                 const struct kiln_bytes_facts *facts)
{
    const char *about = facts->about ? facts->about : "";
    free(artifact->function);
    artifact->function = strdup(facts->name ? facts->name : "");
    artifact->compile_ns = facts->made_ns;
    artifact->created_unix_s = (uint64_t)time(NULL);
    artifact->digest = key->digest;
    kiln__buffer_append(&artifact->key, key->fields.data, key->fields.size);
    kiln__buffer_append(&artifact->call_key, about, strlen(about));
    return artifact->function && !artifact->key.failed && !artifact->call_key.failed &&
           !kiln_artifact_put(artifact, section_name, value.data, value.size);
}

struct kiln_artifact *kiln__bytes_artifact(const struct kiln_content_key *key, kiln_bytes value,
                                           const struct kiln_bytes_facts *facts)
{
    struct kiln_artifact *artifact = kiln__artifact_new();
    if (artifact && !fill(artifact, key, value, facts)) {
        kiln__artifact_unref(artifact);
        return NULL;
    }
    /* Here, while nobody else has it: a put would have to sign a copy. When it fails, the put says so. */
    if (artifact) kiln__artifact_sign(artifact, NULL);
    return artifact;
}

kiln_bytes kiln__bytes_of(const struct kiln_artifact *artifact)
{
    return kiln_artifact_get(artifact, section_name);
}
