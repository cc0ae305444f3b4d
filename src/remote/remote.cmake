# libkiln-remote.so: the drivers of remotes, with libcurl and hiredis behind them. Opened when a remote is used.
find_library(CURL_LIBRARY curl REQUIRED)
find_library(HIREDIS_LIBRARY hiredis REQUIRED)
file(GLOB remote_sources CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/src/remote/*.c)
set(remote_map ${CMAKE_SOURCE_DIR}/src/remote/remote.map)
add_library(kiln-remote MODULE ${remote_sources} ${CMAKE_SOURCE_DIR}/src/base/buffer.c ${CMAKE_SOURCE_DIR}/src/base/digest.c
            ${CMAKE_SOURCE_DIR}/src/base/format.c ${CMAKE_SOURCE_DIR}/src/base/status.c)
target_include_directories(kiln-remote PRIVATE ${CMAKE_SOURCE_DIR}/include ${CMAKE_SOURCE_DIR}/src)
# nodelete: libcurl keeps state for the process, and a thread that looks up a host may outlive the call that started it.
target_link_options(kiln-remote PRIVATE -Wl,--version-script=${remote_map} -Wl,-z,defs -Wl,-z,nodelete -Wl,--build-id)
target_link_libraries(kiln-remote PRIVATE ${CURL_LIBRARY} ${HIREDIS_LIBRARY} Threads::Threads ${CMAKE_DL_LIBS})
set_target_properties(kiln-remote PROPERTIES PREFIX lib LINK_DEPENDS ${remote_map} SKIP_BUILD_RPATH ON)
