/*
 * request.h - the one immutable struct from which key, lowering and compile all read.
 *
 * Made on a miss from the call key, so that what is compiled can't differ from what the key says. Lives on the stack of
 * the thread that works on the miss.
 */
#ifndef KILN_KEY_REQUEST_H
#define KILN_KEY_REQUEST_H

#include "device/device.h"
#include "key/options.h"
#include "key/watch.h"

struct kiln_text {
    struct kiln_buffer buffer;
};

/* A variable that lower() read for the entry being made: kiln_read(). */
struct kiln_read_record {
    struct kiln_read_record *next;
    const void *address;
    size_t size;
    char *module, *name; /* behind value */
    unsigned char value[];
};

struct kiln_request {
    kiln_cache *cache;
    kiln_device *device;
    const char *function;
    struct kiln_options options;
    bool without_options; /* the run-time library: the same whatever is pushed or set */
    size_t arg_count;
    const uint64_t **args; /* header word of each ARGUMENT item, inside the key */
    size_t watched_count;
    struct kiln_watched *watched; /* values inside the key */
    struct kiln_read_record *reads;
    kiln_status read_status; /* a kiln_read() that could not be recorded fails the miss */
};

/*
 * Adds what every content key has: format, compiler, tool chain, target and options; then the watched values and the
 * reads; then, when `with_arguments`, the signed arguments by type name; then the digest of the text.
 */
kiln_status kiln__request_content(const struct kiln_request *request, const char *compiler, const char *toolchain,
                                  kiln_bytes text, bool with_arguments, struct kiln_content_key *out, kiln_error *err);

/* Do the variables still hold what lower() read? */
bool kiln__reads_hold(const struct kiln_read_record *reads);
void kiln__reads_free(struct kiln_read_record *reads);

#endif
