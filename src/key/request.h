/*
 * request.h - the one immutable struct from which key, lowering and compile all read.
 *
 * Made on a miss from the call key, so that what is compiled can't differ from what the key says. Lives on the stack of
 * the thread that works on the miss.
 */
#ifndef KILN_KEY_REQUEST_H
#define KILN_KEY_REQUEST_H

#include "device/device.h"
#include "key/file_looks.h"
#include "key/inputs.h"
#include "key/options.h"
#include "key/watch.h"

struct kiln_text {
    struct kiln_buffer buffer;
    bool lacks_bytes; /* NULL was appended: the miss fails, since what is there is not what lower() meant */
};

/* A variable that lower() read for the entry being made: kiln_read(). Or files that lower() or compile() named. */
struct kiln_read_record {
    struct kiln_read_record *next;
    struct kiln_file_contents *files; /* owned; not NULL: these, and nothing of what follows */
    const void *address;
    size_t size;
    char *module, *name; /* behind value */
    unsigned char value[];
};

/* What a content key holds besides compiler, tool chain, target, options and text. */
enum kiln_keyed {
    KILN_KEYED_TEXT,      /* nothing: lower() has printed what counts into the text */
    KILN_KEYED_ARGUMENTS, /* the text is fixed: arguments and watched values */
    KILN_KEYED_REQUEST,   /* those, what lower() read, the function's name and the device: KILN_KEY_REQUEST */
};

struct kiln_argument {
    const uint64_t *item;    /* header word of the ARGUMENT item, inside the key */
    size_t start_at, end_at; /* in the request's arg_bytes */
};

struct kiln_request {
    kiln_cache *cache;
    kiln_device *device;
    const char *function;
    struct kiln_options options;
    bool without_options; /* the run-time library: the same whatever is pushed or set */
    enum kiln_keyed keyed;
    bool is_compiling;             /* compile() has it: what the content key does not hold is not answered */
    uint64_t refused;              /* what compile() asked for all the same: kiln__request_check() */
    struct kiln_inputs *inputs;    /* within compile(): what it depends on besides the content key; else NULL */
    struct kiln_file_looks *looks; /* within lower() and compile(): the files that it named; else NULL */
    char *refused_file;            /* the first one that can't be depended on; to be freed */
    int refused_error;             /* and why */
    size_t arg_count;
    struct kiln_argument *args;
    struct kiln_buffer arg_bytes; /* what kiln_request_arg() gives, of one argument after the other */
    size_t watched_count;
    struct kiln_watched *watched; /* values inside the key */
    struct kiln_read_record *reads;
    kiln_status read_status; /* what could not be read or recorded, for want of memory, fails the miss */
};

/* Takes the arguments out of a key: `count` ARGUMENT items at `words`. KILN_NO_MEMORY: the request has none. */
kiln_status kiln__request_arguments(struct kiln_request *request, const uint64_t *words, size_t count);
/* Frees arguments and watched values. What was read belongs to the entry. */
void kiln__request_release(struct kiln_request *request);

/* Adds what every content key has: format, compiler, tool chain, target and options; then what `keyed` says, the
 * arguments by type name; then the digest of the text. */
kiln_status kiln__request_content(const struct kiln_request *request, const char *compiler, const char *toolchain,
                                  kiln_bytes text, struct kiln_content_key *out, kiln_error *err);

/*
 * Around compile(), which may read watched files where they are in the content key. `begin`: do they hold what the key
 * says? `stand`, afterwards: they held it all the time. If not, what was compiled belongs to no key.
 */
bool kiln__request_files_begin(const struct kiln_request *request);
bool kiln__request_files_stand(const struct kiln_request *request);

/* A content key and, for each name of a set, a field with the value that it has for this request; of a file as it is
 * in `looks`, which are added to. */
kiln_status kiln__request_inputs_content(const struct kiln_request *request, kiln_bytes set,
                                         struct kiln_file_looks *looks, const struct kiln_content_key *content,
                                         struct kiln_content_key *out, kiln_error *err);

/* Files of sets, in request_files.c. Looks at those of a set; true: it has files. *status: KILN_NO_MEMORY, else as it
 * was. */
bool kiln__set_look(kiln_bytes set, struct kiln_file_looks *looks, kiln_status *status);
/* The field of a file: what it holds, as it is in `looks`. */
void kiln__file_input_content(const struct kiln_input *input, struct kiln_file_looks *looks,
                              struct kiln_content_key *key);
/* Puts the files of a set, as they are in `looks`, in front of what an entry depends on. KILN_NO_MEMORY. */
kiln_status kiln__reads_add_set(struct kiln_read_record **reads, kiln_bytes set, struct kiln_file_looks *looks);
/* A field for each file of an entry. */
void kiln__contents_content(const struct kiln_file_contents *contents, struct kiln_content_key *key);
/* All files of `looks`. */
kiln_status kiln__reads_add_looks(struct kiln_read_record **reads, const struct kiln_file_looks *looks);
/* Files that changed while they were read: what is made from them serves one call, and then holds no more. */
kiln_status kiln__reads_add_unsure(struct kiln_read_record **reads);

/* `status`, with words, when the callback of that name named a file that can't be depended on; else KILN_OK. */
kiln_status kiln__request_check_files(const struct kiln_request *request, const char *callback, kiln_status status,
                                      kiln_error *err);

/* After compile(): KILN_COMPILE_FAILED when it asked for something that its content key does not hold, and that it
 * can't be told; whoever finds the artifact under that key would get code that was made for somebody else. Or what it
 * asked for could not be recorded. */
kiln_status kiln__request_check(const struct kiln_request *request, kiln_error *err);

/* Do the variables still hold what lower() read? */
bool kiln__reads_hold(const struct kiln_read_record *reads);
void kiln__reads_free(struct kiln_read_record *reads);

#endif
