/*
 * values_kiln.c - see values_kiln.h.
 */
#include "walk/values_kiln.h"

struct world world;

static const struct walk_row *row;
static uint32_t absent;
static struct walk_result *result;
static bool is_called;

/* From inside of a callback, if it is the one that has what the row needs. */
static void call_here(const char *type)
{
    char word[64];
    snprintf(word, sizeof word, " %s ", type);
    if (!strstr(row->types, word) || is_called) return;
    is_called = true;
    row->call(absent, result);
}

static kiln_status compile(void *self, const kiln_request *request, kiln_bytes text, kiln_artifact *out,
                           kiln_error *err)
{
    (void)self, (void)request, (void)err;
    world.artifact = out;
    call_here("kiln_artifact_p");
    return kiln_artifact_put(out, "code", text.data, text.size);
}

static kiln_status link_it(void *self, const kiln_artifact *artifact, kiln_device *device, void **executable,
                           kiln_error *err)
{
    (void)artifact, (void)device, (void)err;
    *executable = self;
    return KILN_OK;
}

static kiln_status lower(void *payload, const kiln_request *request, kiln_text *text, kiln_error *err)
{
    (void)payload, (void)err;
    world.request = request;
    world.text = text;
    call_here("kiln_request_p");
    call_here("kiln_text_p");
    return kiln_text_append(text, "text", 4);
}

static kiln_status sign(kiln_signature *signature, const void *value)
{
    (void)value;
    world.signature = signature;
    call_here("kiln_signature_p");
    kiln_sign_u64(signature, 1);
    return KILN_OK;
}

static int anything;
static char own_digest[32]; /* another for each call, so that it compiles */
static const kiln_compiler compiler = {.struct_size = sizeof compiler,
                                       .name = "none",
                                       .digest = own_digest,
                                       .compile = compile,
                                       .link = link_it,
                                       .self = &anything};
const kiln_cache_options walk_cache_options = {.struct_size = sizeof walk_cache_options, .folder = ""};
const kiln_function_options walk_function_options = {
    .struct_size = sizeof walk_function_options, .name = "f", .compiler = &compiler, .lower = lower};

/* Nobody asks for a remote of this scheme. */
static kiln_status open_none(const char *url, const kiln_remote_host *host, void **remote, kiln_error *err)
{
    (void)url, (void)host, (void)remote, (void)err;
    return KILN_INVALID;
}

static void close_none(void *remote)
{
    (void)remote;
}

static kiln_status get_none(void *remote, kiln_remote_entry *entries, size_t count, unsigned timeout_ms,
                            kiln_error *err)
{
    (void)remote, (void)entries, (void)count, (void)timeout_ms, (void)err;
    return KILN_IO;
}

static kiln_status put_none(void *remote, const char *name, kiln_bytes bytes, const char *token, unsigned timeout_ms,
                            kiln_error *err)
{
    (void)remote, (void)name, (void)bytes, (void)token, (void)timeout_ms, (void)err;
    return KILN_IO;
}

static kiln_status exists_none(void *remote, const char *name, bool *out, unsigned timeout_ms, kiln_error *err)
{
    (void)remote, (void)name, (void)out, (void)timeout_ms, (void)err;
    return KILN_IO;
}

const kiln_remote_driver walk_driver = {.struct_size = sizeof walk_driver,
                                        .scheme = "none",
                                        .open = open_none,
                                        .close = close_none,
                                        .get = get_none,
                                        .put = put_none,
                                        .exists = exists_none};

static void require(bool condition, const char *what)
{
    if (condition) return;
    fprintf(stderr, "walk: %s: %s\n", what, world.error.text);
    exit(2);
}

static void make_world(void)
{
    static const kiln_type type = {"called", sign};
    static const kiln_type *const types[] = {&kiln_const_i64};
    const kiln_arg arg = {&type, NULL};
    void *executable;
    const kiln_cache_options options = {.struct_size = sizeof options, .folder = "cache"};
    static unsigned number;
    world = (struct world){0};
    snprintf(own_digest, sizeof own_digest, "%d.%u", (int)getpid(), number++);
    require(!kiln_cache_open(&options, &world.cache, &world.error), "open");
    require(!kiln_function_new(world.cache, &walk_function_options, &world.function, &world.error), "new");
    require(!kiln_function_declare(world.function, types, 1, &world.error), "declare");
    require(!kiln_var_new("v", "value", 5, &world.var, &world.error), "var");
    require(!kiln_watch_var(world.function, world.var, &world.error), "watch");
    bool failed = kiln_get(world.function, &arg, 1, NULL, &executable, &world.error);
    if (is_called) return;
    require(!failed, "get");
    require(!kiln_inspect_open("cache", &world.inspector, &world.error), "inspect");
    require(!kiln_entry_open(world.inspector, 0, &world.entry, &world.error), "entry");
    require(!kiln_keys_open(&world.keys, &world.error), "keys");
    world.error = (kiln_error){KILN_OK, ""};
}

void walk_call(const struct walk_row *which, uint32_t without, struct walk_result *out)
{
    row = which;
    absent = without;
    result = out;
    is_called = false;
    make_world();
    if (!is_called) row->call(absent, result);
}

/* NULL is answered by "" or, where a header says so, by NULL. */
static bool judge_text(const struct walk_result *got, FILE *out)
{
    if (!got->pointer || !got->text[0]) return true;
    fprintf(out, "it answers \"%s\"\n", got->text);
    return false;
}

bool walk_judge(const struct walk_row *which, uint32_t without, const struct walk_result *got, FILE *out)
{
    uint32_t needed = without & which->pointers & ~which->fine;
    bool has_error = strstr(which->types, " kiln_error_p ") && !(without >> (which->count - 1) & 1);
    if (!needed) return true; /* that it comes back is all */
    if (got->is_text) return judge_text(got, out);
    if (strcmp(which->returns, "kiln_status") != 0) {
        if (!got->number && !got->pointer) return true;
        fprintf(out, "it answers %lld, %p\n", got->number, got->pointer);
        return false;
    }
    if (got->number != KILN_INVALID) fprintf(out, "it answers %s\n", kiln_status_name((kiln_status)got->number));
    if (has_error && !world.error.text[0]) fprintf(out, "it says nothing\n");
    return got->number == KILN_INVALID && (!has_error || world.error.text[0]);
}
