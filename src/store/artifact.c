/*
 * artifact.c - the portable result of a compile, in memory and as one file (docs/formats/artifact.md).
 *
 * Invariants: sections stand in ascending order of their names, so equal content always encodes to equal bytes; a
 * decoded artifact's sections point into the file's bytes, everything else is copied; a decoder never reads past the
 * bytes it was given, and nothing is taken from them before the checksum over them was right.
 */
#include "store/artifact.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"

static const char text_name[] = "text"; /* of the section with what was compiled */
static const uint8_t magic[8] = {0x89, 'K', 'I', 'L', 'N', '\r', '\n', 0x1a};

enum {
    FORMAT_VERSION = 2,
    CHECKSUM_SHA256 = 1,
    PAYLOAD_RAW = 0,
    MAC_NONE = 0,
    HEADER_SIZE = 40,
    TABLE_ROW = KILN_ARTIFACT_NAME + 8,
    METADATA_HEADER = 24,
    SIGNED_BY_NOBODY = 0,
    SIGNED_ED25519 = 1,
    SIGNATURE_HEADER = 8,
    PAYLOAD_ALIGNMENT = 16,
};

/* The most bytes of each field. A file with more is refused before anything is allocated for it. */
enum {
    MAX_TARGET = 47,
    MAX_ENTRY = 4095,
    MAX_KEY = 1 << 28,
    MAX_SECTION = 1 << 30,
    MAX_FUNCTION = 4095,
    MAX_CALL_KEY = 1 << 24,
};

/* ---- in memory ----------------------------------------------------------------------------------------------- */

struct kiln_artifact *kiln__artifact_new(void)
{
    struct kiln_artifact *artifact = calloc(1, sizeof(*artifact));
    if (!artifact) return NULL;
    atomic_init(&artifact->refs, 1);
    artifact->isa = KILN_ISA_X86_64_V1;
    artifact->entry = strdup("");
    artifact->target = strdup("");
    artifact->function = strdup("");
    if (artifact->entry && artifact->target && artifact->function) return artifact;
    kiln__artifact_unref(artifact);
    return NULL;
}

void kiln__artifact_ref(struct kiln_artifact *artifact)
{
    atomic_fetch_add_explicit(&artifact->refs, 1, memory_order_relaxed);
}

static void free_section(struct kiln_section *section)
{
    if (section->owned) free((void *)(uintptr_t)section->data);
}

void kiln__artifact_unref(struct kiln_artifact *artifact)
{
    if (!artifact || atomic_fetch_sub_explicit(&artifact->refs, 1, memory_order_acq_rel) != 1) return;
    for (size_t i = 0; i < artifact->section_count; i++) free_section(&artifact->sections[i]);
    free(artifact->entry);
    free(artifact->target);
    free(artifact->function);
    kiln__buffer_release(&artifact->key);
    kiln__buffer_release(&artifact->call_key);
    if (artifact->mapping.data) kiln__file_unmap(artifact->mapping);
    free(artifact);
}

size_t kiln__artifact_size(const struct kiln_artifact *artifact)
{
    size_t size = artifact->key.size + artifact->call_key.size;
    for (size_t i = 0; i < artifact->section_count; i++) size += artifact->sections[i].size;
    return size;
}

/* The field of `name`, or where it would stand; `*is_there` says which. */
static size_t find_section(const struct kiln_artifact *artifact, const char *name, bool *is_there)
{
    size_t idx = 0;
    int order = -1;
    while (idx < artifact->section_count && (order = strcmp(artifact->sections[idx].name, name)) < 0) idx++;
    *is_there = idx < artifact->section_count && order == 0;
    return idx;
}

static bool has_room(const struct kiln_artifact *artifact, const char *section)
{
    bool has_text;
    find_section(artifact, text_name, &has_text);
    bool is_kept = artifact->keeps_room && !has_text && strcmp(section, text_name) != 0;
    return artifact->section_count + is_kept < KILN_ARTIFACT_MAX_SECTIONS;
}

/* What was said about the bytes is no longer true of them. */
static void forget_checksum(struct kiln_artifact *artifact)
{
    artifact->has_checksum = false;
    artifact->signing = (struct kiln_signing){0};
}

/* The first one: a compile() that does not look at the status must not publish what is not complete. */
static kiln_status remember_put(struct kiln_artifact *artifact, const char *section, kiln_status status)
{
    if (artifact->put_status == KILN_OK) {
        artifact->put_status = status;
        strcpy(artifact->refused_name, section);
    }
    return status;
}

kiln_status kiln__artifact_check(const struct kiln_artifact *artifact, const char *function, kiln_error *err)
{
    if (artifact->put_status == KILN_OK) return KILN_OK;
    if (artifact->put_status == KILN_NO_MEMORY) return kiln__no_memory(err, "a section of an artifact");
    return kiln__fail(
        err, KILN_COMPILE_FAILED,
        "%s: section '%s' is one too many: an artifact has at most %d sections of the compiler's, and '%s', "
        "which is Kiln's",
        function, artifact->refused_name, KILN_ARTIFACT_MAX_SECTIONS - 1, text_name);
}

kiln_status kiln_artifact_put(kiln_artifact *artifact, const char *section, const void *data, size_t size)
{
    if (!artifact || !section || (!data && size > 0)) return KILN_INVALID;
    size_t name_size = strlen(section);
    if (name_size == 0 || name_size >= KILN_ARTIFACT_NAME || size > MAX_SECTION) return KILN_INVALID;
    bool is_there;
    size_t idx = find_section(artifact, section, &is_there);
    if (!is_there && !has_room(artifact, section)) return remember_put(artifact, section, KILN_INVALID);
    void *copy = malloc(size > 0 ? size : 1);
    if (!copy) return remember_put(artifact, section, KILN_NO_MEMORY);
    if (size > 0) memcpy(copy, data, size);
    struct kiln_section *slot = &artifact->sections[idx];
    if (is_there)
        free_section(slot);
    else
        memmove(slot + 1, slot, (artifact->section_count++ - idx) * sizeof(*slot));
    forget_checksum(artifact);
    *slot = (struct kiln_section){.data = copy, .size = size, .owned = true};
    memcpy(slot->name, section, name_size);
    return KILN_OK;
}

static char *replace_text(char **field, const char *text)
{
    free(*field);
    return *field = strdup(text);
}

struct kiln_artifact *kiln__artifact_copy(const struct kiln_artifact *artifact)
{
    struct kiln_artifact *copy = kiln__artifact_new();
    if (!copy) return NULL;
    copy->isa = artifact->isa;
    copy->digest = artifact->digest;
    copy->compile_ns = artifact->compile_ns;
    copy->created_unix_s = artifact->created_unix_s;
    copy->is_remote = artifact->is_remote;
    kiln__buffer_append(&copy->key, artifact->key.data, artifact->key.size);
    kiln__buffer_append(&copy->call_key, artifact->call_key.data, artifact->call_key.size);
    bool complete = replace_text(&copy->entry, artifact->entry) && replace_text(&copy->target, artifact->target) &&
                    replace_text(&copy->function, artifact->function) && !copy->key.failed && !copy->call_key.failed;
    for (size_t i = 0; i < artifact->section_count && complete; i++) {
        const struct kiln_section *section = &artifact->sections[i];
        complete = kiln_artifact_put(copy, section->name, section->data, section->size) == KILN_OK;
    }
    if (complete) return copy;
    kiln__artifact_unref(copy);
    return NULL;
}

kiln_bytes kiln_artifact_get(const kiln_artifact *artifact, const char *section)
{
    if (!artifact || !section) return (kiln_bytes){NULL, 0};
    bool is_there;
    size_t idx = find_section(artifact, section, &is_there);
    if (!is_there) return (kiln_bytes){NULL, 0};
    return (kiln_bytes){artifact->sections[idx].data, artifact->sections[idx].size};
}

kiln_status kiln_artifact_set_entry(kiln_artifact *artifact, const char *entry)
{
    if (!artifact || !entry || strlen(entry) > MAX_ENTRY) return KILN_INVALID;
    char *copy = strdup(entry);
    if (!copy) return KILN_NO_MEMORY;
    free(artifact->entry);
    artifact->entry = copy;
    forget_checksum(artifact);
    return KILN_OK;
}

const char *kiln_artifact_entry(const kiln_artifact *artifact)
{
    return artifact ? artifact->entry : "";
}

/* ---- encode -------------------------------------------------------------------------------------------------- */

/* Zero bytes up to the alignment, counted from the start of the file. */
static void append_padding(struct kiln_buffer *out, size_t start)
{
    static const uint8_t zeros[PAYLOAD_ALIGNMENT];
    size_t past = (out->size - start) % PAYLOAD_ALIGNMENT;
    if (past > 0) kiln__buffer_append(out, zeros, PAYLOAD_ALIGNMENT - past);
}

static void append_checksum(struct kiln_buffer *out, size_t start)
{
    if (out->failed) return;
    struct kiln_digest digest = kiln__digest(out->data + start, out->size - start);
    kiln__buffer_append(out, digest.bytes, sizeof(digest.bytes));
}

static size_t round_up(size_t size)
{
    return (size + PAYLOAD_ALIGNMENT - 1) / PAYLOAD_ALIGNMENT * PAYLOAD_ALIGNMENT;
}

/* All the bytes that two compiles of one text must agree on, and their checksum. */
static size_t compared_size(const struct kiln_artifact *artifact)
{
    size_t size = HEADER_SIZE + strlen(artifact->target) + strlen(artifact->entry) + artifact->key.size +
                  artifact->section_count * TABLE_ROW;
    for (size_t i = 0; i < artifact->section_count; i++) size = round_up(size) + artifact->sections[i].size;
    return size + KILN_DIGEST_SIZE;
}

static void append_compared(const struct kiln_artifact *artifact, struct kiln_buffer *out)
{
    size_t start = out->size, target_size = strlen(artifact->target), entry_size = strlen(artifact->entry);
    kiln__buffer_append(out, magic, sizeof(magic));
    kiln__buffer_u32(out, FORMAT_VERSION);
    kiln__buffer_u8(out, CHECKSUM_SHA256);
    kiln__buffer_u8(out, PAYLOAD_RAW);
    kiln__buffer_u8(out, MAC_NONE);
    kiln__buffer_u8(out, (uint8_t)artifact->isa);
    kiln__buffer_u64(out, compared_size(artifact));
    kiln__buffer_u32(out, (uint32_t)target_size);
    kiln__buffer_u32(out, (uint32_t)entry_size);
    kiln__buffer_u32(out, (uint32_t)artifact->key.size);
    kiln__buffer_u32(out, (uint32_t)artifact->section_count);
    kiln__buffer_append(out, artifact->target, target_size);
    kiln__buffer_append(out, artifact->entry, entry_size);
    kiln__buffer_append(out, artifact->key.data, artifact->key.size);
    for (size_t i = 0; i < artifact->section_count; i++) {
        kiln__buffer_append(out, artifact->sections[i].name, KILN_ARTIFACT_NAME);
        kiln__buffer_u64(out, artifact->sections[i].size);
    }
    for (size_t i = 0; i < artifact->section_count; i++) {
        append_padding(out, start);
        kiln__buffer_append(out, artifact->sections[i].data, artifact->sections[i].size);
    }
    append_checksum(out, start);
}

/* For people: a name that is too long is cut, a call key that is too long is left out. */
static void append_metadata(const struct kiln_artifact *artifact, struct kiln_buffer *out)
{
    const char *function = artifact->function ? artifact->function : "";
    size_t start = out->size, function_size = strnlen(function, MAX_FUNCTION);
    size_t call_key_size = artifact->call_key.size <= MAX_CALL_KEY ? artifact->call_key.size : 0;
    kiln__buffer_u64(out, artifact->compile_ns);
    kiln__buffer_u64(out, artifact->created_unix_s);
    kiln__buffer_u32(out, (uint32_t)function_size);
    kiln__buffer_u32(out, (uint32_t)call_key_size);
    kiln__buffer_append(out, function, function_size);
    kiln__buffer_append(out, artifact->call_key.data, call_key_size);
    append_checksum(out, start);
}

static void append_signature(const struct kiln_signing *signing, struct kiln_buffer *out)
{
    static const uint8_t zeros[SIGNATURE_HEADER - 1];
    kiln__buffer_u8(out, signing->is_signed ? SIGNED_ED25519 : SIGNED_BY_NOBODY);
    kiln__buffer_append(out, zeros, sizeof(zeros));
    if (!signing->is_signed) return;
    kiln__buffer_append(out, signing->signer, sizeof(signing->signer));
    kiln__buffer_append(out, signing->bytes, sizeof(signing->bytes));
}

static kiln_status check_encodable(const struct kiln_artifact *artifact, kiln_error *err)
{
    if (artifact->isa < KILN_ISA_X86_64_V1 || artifact->isa > KILN_ISA_X86_64_V4) {
        return kiln__fail(err, KILN_INVALID, "artifact: unknown instruction set %d", (int)artifact->isa);
    }
    if (!artifact->target || strlen(artifact->target) > MAX_TARGET) {
        return kiln__fail(err, KILN_INVALID, "artifact: a target name has at most %d bytes", MAX_TARGET);
    }
    if (artifact->key.failed || artifact->call_key.failed) return kiln__no_memory(err, "the key of an artifact");
    if (artifact->key.size > MAX_KEY) {
        return kiln__fail(err, KILN_INVALID, "artifact: a key of %zu bytes; at most %d", artifact->key.size, MAX_KEY);
    }
    return KILN_OK;
}

kiln_status kiln__artifact_encode(const struct kiln_artifact *artifact, struct kiln_buffer *out, kiln_error *err)
{
    kiln_status status = check_encodable(artifact, err);
    if (status != KILN_OK) return status;
    append_compared(artifact, out);
    append_metadata(artifact, out);
    append_signature(&artifact->signing, out);
    return out->failed ? kiln__no_memory(err, "an artifact's file") : KILN_OK;
}

kiln_status kiln__artifact_checksum(const struct kiln_artifact *artifact, struct kiln_digest *out, kiln_error *err)
{
    struct kiln_buffer bytes = {0};
    *out = artifact->checksum;
    if (artifact->has_checksum) return KILN_OK;
    kiln_status status = check_encodable(artifact, err);
    if (status != KILN_OK) return status;
    append_compared(artifact, &bytes);
    if (bytes.failed)
        status = kiln__no_memory(err, "an artifact's file");
    else
        memcpy(out->bytes, bytes.data + bytes.size - KILN_DIGEST_SIZE, KILN_DIGEST_SIZE);
    kiln__buffer_release(&bytes);
    return status;
}

/* ---- decode -------------------------------------------------------------------------------------------------- */

/* Reads forward through `bytes`. The first read past the end marks it; from then on every read gives zeros. */
struct reader {
    const uint8_t *bytes;
    size_t size, at;
    bool failed;
};

static const uint8_t *take(struct reader *reader, size_t size)
{
    if (reader->failed || size > reader->size - reader->at) {
        reader->failed = true;
        return NULL;
    }
    reader->at += size;
    return reader->bytes + reader->at - size;
}

static uint64_t take_integer(struct reader *reader, size_t size)
{
    const uint8_t *bytes = take(reader, size);
    uint64_t value = 0;
    for (size_t i = 0; bytes && i < size; i++) value |= (uint64_t)bytes[i] << (8 * i);
    return value;
}

struct header {
    uint64_t version, checksum, compression, mac, isa, compared_size, target_size, entry_size, key_size, section_count;
};

static kiln_status fail_damaged(kiln_error *err, const char *what)
{
    return kiln__fail(err, KILN_INVALID, "damaged artifact: %s", what);
}

static kiln_status read_header(struct reader *reader, struct header *out, kiln_error *err)
{
    const uint8_t *start = take(reader, sizeof(magic));
    if (!start || memcmp(start, magic, sizeof(magic)) != 0) {
        return kiln__fail(err, KILN_INVALID, "not an artifact: it does not start with the magic bytes");
    }
    *out = (struct header){.version = take_integer(reader, 4)};
    if (!reader->failed && out->version != FORMAT_VERSION) {
        return kiln__fail(err, KILN_INVALID, "artifact of format version %u; this library reads version %d",
                          (unsigned)out->version, FORMAT_VERSION);
    }
    uint64_t *const fields[] = {&out->checksum, &out->compression, &out->mac, &out->isa};
    for (size_t i = 0; i < sizeof(fields) / sizeof(fields[0]); i++) *fields[i] = take_integer(reader, 1);
    out->compared_size = take_integer(reader, 8);
    uint64_t *const sizes[] = {&out->target_size, &out->entry_size, &out->key_size, &out->section_count};
    for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) *sizes[i] = take_integer(reader, 4);
    return reader->failed ? fail_damaged(err, "it ends within the header") : KILN_OK;
}

static kiln_status check_header(const struct header *header, size_t file_size, kiln_error *err)
{
    if (header->checksum != CHECKSUM_SHA256) return fail_damaged(err, "unknown checksum algorithm");
    if (header->compression != PAYLOAD_RAW) return fail_damaged(err, "unknown compression");
    if (header->mac != MAC_NONE) return fail_damaged(err, "unknown authentication");
    if (header->isa < KILN_ISA_X86_64_V1 || header->isa > KILN_ISA_X86_64_V4) {
        return fail_damaged(err, "unknown instruction set");
    }
    if (header->target_size > MAX_TARGET || header->entry_size > MAX_ENTRY || header->key_size > MAX_KEY ||
        header->section_count > KILN_ARTIFACT_MAX_SECTIONS) {
        return fail_damaged(err, "a length is over its limit");
    }
    if (header->compared_size > file_size) return fail_damaged(err, "it is truncated");
    if (header->compared_size < HEADER_SIZE + KILN_DIGEST_SIZE) return fail_damaged(err, "its size is too small");
    return KILN_OK;
}

static bool checksum_fits(const uint8_t *bytes, size_t size)
{
    struct kiln_digest digest = kiln__digest(bytes, size - KILN_DIGEST_SIZE);
    return memcmp(digest.bytes, bytes + size - KILN_DIGEST_SIZE, KILN_DIGEST_SIZE) == 0;
}

/* A text field of the file as a string of our own; NULL marks the reader. An inner NUL would hide what follows. */
static char *take_text(struct reader *reader, size_t size)
{
    const uint8_t *bytes = take(reader, size);
    if (!bytes || memchr(bytes, '\0', size)) {
        reader->failed = true;
        return NULL;
    }
    return strndup((const char *)bytes, size);
}

static void take_buffer(struct reader *reader, size_t size, struct kiln_buffer *out)
{
    const uint8_t *bytes = take(reader, size);
    if (bytes) kiln__buffer_append(out, bytes, size);
}

/* Names: at least one byte, padded with zeros to the end, and each greater than the one before. */
static bool is_section_name(const char *name, const char *before)
{
    size_t size = strnlen(name, KILN_ARTIFACT_NAME);
    if (size == 0 || size == KILN_ARTIFACT_NAME) return false;
    for (size_t i = size; i < KILN_ARTIFACT_NAME; i++) {
        if (name[i] != '\0') return false;
    }
    return !before || strcmp(before, name) < 0;
}

static void take_table(struct reader *reader, struct kiln_artifact *artifact, size_t count)
{
    for (size_t i = 0; i < count && !reader->failed; i++) {
        struct kiln_section *section = &artifact->sections[i];
        const uint8_t *name = take(reader, KILN_ARTIFACT_NAME);
        uint64_t size = take_integer(reader, 8);
        if (!name || size > MAX_SECTION) {
            reader->failed = true;
            return;
        }
        memcpy(section->name, name, KILN_ARTIFACT_NAME);
        section->size = (size_t)size;
        if (!is_section_name(section->name, i > 0 ? section[-1].name : NULL)) reader->failed = true;
    }
    artifact->section_count = reader->failed ? 0 : count;
}

static void take_payload(struct reader *reader, struct kiln_artifact *artifact)
{
    for (size_t i = 0; i < artifact->section_count && !reader->failed; i++) {
        size_t padding = round_up(reader->at) - reader->at;
        const uint8_t *zeros = take(reader, padding);
        for (size_t k = 0; zeros && k < padding; k++) reader->failed |= zeros[k] != 0;
        artifact->sections[i].data = take(reader, artifact->sections[i].size);
    }
}

/* Replaces a string made by kiln__artifact_new. */
static void set_text(char **slot, char *text)
{
    free(*slot);
    *slot = text;
}

static kiln_status decode_compared(struct reader *reader, const struct header *header, struct kiln_artifact *artifact,
                                   kiln_error *err)
{
    artifact->isa = (enum kiln_isa)header->isa;
    set_text(&artifact->target, take_text(reader, header->target_size));
    set_text(&artifact->entry, take_text(reader, header->entry_size));
    take_buffer(reader, header->key_size, &artifact->key);
    take_table(reader, artifact, header->section_count);
    take_payload(reader, artifact);
    if (reader->failed || reader->at != reader->size) return fail_damaged(err, "its fields do not fit its size");
    if (!artifact->target || !artifact->entry || artifact->key.failed) {
        return kiln__no_memory(err, "an artifact");
    }
    artifact->digest = kiln__digest(artifact->key.data, artifact->key.size);
    return KILN_OK;
}

/* From the reader on: nothing of it is taken but the lengths, until the checksum behind it was right. */
static kiln_status decode_metadata(struct reader *reader, struct kiln_artifact *artifact, kiln_error *err)
{
    size_t start = reader->at;
    artifact->compile_ns = take_integer(reader, 8);
    artifact->created_unix_s = take_integer(reader, 8);
    size_t function_size = take_integer(reader, 4), call_key_size = take_integer(reader, 4);
    if (function_size > MAX_FUNCTION || call_key_size > MAX_CALL_KEY) {
        return fail_damaged(err, "a length in the metadata is over its limit");
    }
    size_t end = start + METADATA_HEADER + function_size + call_key_size + KILN_DIGEST_SIZE;
    if (reader->failed || end > reader->size) return fail_damaged(err, "it is truncated in the metadata");
    if (!checksum_fits(reader->bytes + start, end - start)) {
        return fail_damaged(err, "the checksum of the metadata is wrong");
    }
    set_text(&artifact->function, take_text(reader, function_size));
    take_buffer(reader, call_key_size, &artifact->call_key);
    if (reader->failed) return fail_damaged(err, "a name in the metadata is no text");
    if (!artifact->function || artifact->call_key.failed) return kiln__no_memory(err, "an artifact");
    reader->at = end;
    return KILN_OK;
}

static kiln_status decode_signature(struct reader *reader, struct kiln_signing *out, kiln_error *err)
{
    uint64_t algorithm = take_integer(reader, 1), zeros = take_integer(reader, SIGNATURE_HEADER - 1);
    if (reader->failed) return fail_damaged(err, "it is truncated in the signature");
    if (algorithm > SIGNED_ED25519 || zeros != 0) return fail_damaged(err, "unknown kind of signature");
    out->is_signed = algorithm == SIGNED_ED25519;
    if (out->is_signed) {
        const uint8_t *signer = take(reader, sizeof(out->signer)), *bytes = take(reader, sizeof(out->bytes));
        if (!signer || !bytes) return fail_damaged(err, "it is truncated in the signature");
        memcpy(out->signer, signer, sizeof(out->signer));
        memcpy(out->bytes, bytes, sizeof(out->bytes));
    }
    return reader->at == reader->size ? KILN_OK : fail_damaged(err, "something follows the signature");
}

static kiln_status decode_all(kiln_bytes bytes, struct kiln_artifact *artifact, kiln_error *err)
{
    struct reader reader = {.bytes = bytes.data, .size = bytes.size};
    struct header header;
    kiln_status status = read_header(&reader, &header, err);
    if (status == KILN_OK) status = check_header(&header, bytes.size, err);
    if (status != KILN_OK) return status;
    size_t compared = (size_t)header.compared_size;
    if (!checksum_fits(reader.bytes, compared)) return fail_damaged(err, "the checksum is wrong");
    reader.size = compared - KILN_DIGEST_SIZE;
    status = decode_compared(&reader, &header, artifact, err);
    if (status != KILN_OK) return status;
    memcpy(artifact->checksum.bytes, reader.bytes + reader.size, KILN_DIGEST_SIZE);
    artifact->has_checksum = true;
    reader.at = compared, reader.size = bytes.size;
    status = decode_metadata(&reader, artifact, err);
    return status == KILN_OK ? decode_signature(&reader, &artifact->signing, err) : status;
}

/* The version of a whole artifact, 0 of anything else. All formats have magic, version and compared_size in the same
 * places, and the digest at the end of `compared`. */
static uint64_t whole_version(kiln_bytes bytes)
{
    struct reader reader = {.bytes = bytes.data, .size = bytes.size};
    const uint8_t *start = take(&reader, sizeof(magic));
    if (!start || memcmp(start, magic, sizeof(magic)) != 0) return 0;
    uint64_t version = take_integer(&reader, 4);
    if (version == FORMAT_VERSION) return version; /* the decoder looks at the rest */
    take(&reader, 4);
    uint64_t compared_size = take_integer(&reader, 8);
    if (reader.failed || compared_size > bytes.size || compared_size < HEADER_SIZE + KILN_DIGEST_SIZE) return 0;
    return checksum_fits(bytes.data, (size_t)compared_size) ? version : 0;
}

bool kiln__artifact_is_newer(kiln_bytes bytes)
{
    return whole_version(bytes) > FORMAT_VERSION;
}

bool kiln__artifact_is_earlier(kiln_bytes bytes)
{
    uint64_t version = whole_version(bytes);
    return version > 0 && version < FORMAT_VERSION;
}

kiln_status kiln__artifact_decode(kiln_bytes bytes, bool is_mapping, struct kiln_artifact **out, kiln_error *err)
{
    struct kiln_artifact *artifact = kiln__artifact_new();
    if (!artifact) return kiln__no_memory(err, "an artifact");
    kiln_status status = decode_all(bytes, artifact, err);
    if (status != KILN_OK) {
        kiln__artifact_unref(artifact); /* the mapping is still the caller's */
        return status;
    }
    if (is_mapping) artifact->mapping = bytes;
    *out = artifact;
    return KILN_OK;
}
