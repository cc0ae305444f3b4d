# Writes the SHA-256 over those of FILES, a list, as a C string to OUTPUT.
set(all)
foreach(file ${FILES})
  file(SHA256 ${file} digest)
  string(APPEND all "${digest}\n")
endforeach()
string(SHA256 digest "${all}")
file(WRITE ${OUTPUT} "#define KILN_RUNTIME_DIGEST \"${digest}\"\n")
