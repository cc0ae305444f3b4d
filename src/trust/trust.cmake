# libkiln-trust.so: signatures. It has what it needs of libsodium inside, hidden, and needs the C library only.
find_library(SODIUM_ARCHIVE libsodium.a REQUIRED)
find_path(SODIUM_INCLUDE sodium.h REQUIRED)
add_library(kiln-trust MODULE ${CMAKE_SOURCE_DIR}/src/trust/ed25519.c)
target_include_directories(kiln-trust PRIVATE ${CMAKE_SOURCE_DIR}/src)
target_include_directories(kiln-trust SYSTEM PRIVATE ${SODIUM_INCLUDE})
target_link_libraries(kiln-trust PRIVATE ${SODIUM_ARCHIVE} Threads::Threads)
set(trust_map ${CMAKE_SOURCE_DIR}/src/trust/trust.map)
target_link_options(kiln-trust PRIVATE -Wl,--version-script=${trust_map} -Wl,--exclude-libs,ALL -Wl,--gc-sections -Wl,-z,defs
                    -Wl,-z,nodelete -Wl,--build-id)
set_target_properties(kiln-trust PROPERTIES PREFIX lib LINK_DEPENDS ${trust_map} SKIP_BUILD_RPATH ON)
