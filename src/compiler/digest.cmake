# Writes the SHA-256 of INPUT as a C string to OUTPUT.
file(SHA256 ${INPUT} digest)
file(WRITE ${OUTPUT} "#define KILN_RUNTIME_DIGEST \"${digest}\"\n")
