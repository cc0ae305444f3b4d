/*
 * digest.h - SHA-256: names of content keys, checksums of artifacts.
 *
 * Built in, because a warm start should not pay 1.5 ms for a crypto library's first digest. Uses the CPU's SHA
 * instructions where there are some; the portable code gives the same bytes (tested on both).
 */
#ifndef KILN_BASE_DIGEST_H
#define KILN_BASE_DIGEST_H

#include <stddef.h>
#include <stdint.h>

enum { KILN_DIGEST_SIZE = 32, KILN_DIGEST_HEX = 65 };

struct kiln_digest {
    uint8_t bytes[KILN_DIGEST_SIZE];
};

struct kiln_sha256 {
    uint32_t state[8];
    uint64_t size_bytes;
    uint8_t block[64];
};

void kiln__sha256_init(struct kiln_sha256 *sha);
void kiln__sha256_update(struct kiln_sha256 *sha, const void *data, size_t size);
void kiln__sha256_final(struct kiln_sha256 *sha, struct kiln_digest *out);

struct kiln_digest kiln__digest(const void *data, size_t size);
/* 64 lower-case hexadecimal digits and a NUL. */
void kiln__digest_hex(const struct kiln_digest *digest, char out[KILN_DIGEST_HEX]);

/* For tests: never use the CPU's instructions when `portable` is not 0. */
void kiln__sha256_force_portable(int portable);

#endif
