# The array engine (an archive, for unit tests) and the mlx-c ABI on top of it: libmlxc.so.
layer_sources(engine_sources ${ENGINE_LAYERS})
if(engine_sources)
  add_library(kiln_engine STATIC ${engine_sources})
  target_include_directories(kiln_engine PUBLIC include src)
  target_link_libraries(kiln_engine PUBLIC Threads::Threads ${CMAKE_DL_LIBS} m)
endif()

# Every name of the table exists: a shim, or a weak definition that those in src/mlxc/*.c override.
find_program(AWK NAMES mawk awk gawk REQUIRED)
set(abi_table ${CMAKE_SOURCE_DIR}/src/mlxc/abi.tsv)
set(abi_functions ${CMAKE_BINARY_DIR}/mlxc_functions.c)
add_custom_command(OUTPUT ${abi_functions}
  COMMAND ${AWK} -f ${CMAKE_SOURCE_DIR}/tools/abi_functions.awk ${abi_table} > ${abi_functions}
  DEPENDS ${abi_table} ${CMAKE_SOURCE_DIR}/tools/abi_functions.awk VERBATIM)

layer_sources(mlxc_sources mlxc)
add_library(mlxc SHARED ${mlxc_sources} ${abi_functions})
target_include_directories(mlxc PUBLIC include PRIVATE src)
# The definitions meet the headers here: a name without a declaration, or with another type, does not compile.
set_source_files_properties(${abi_functions} PROPERTIES
  COMPILE_OPTIONS "-Wno-unused-parameter;-Werror=missing-prototypes")
target_link_libraries(mlxc PRIVATE -Wl,--whole-archive kiln_engine -Wl,--no-whole-archive kiln
                      Threads::Threads ${CMAKE_DL_LIBS} m)
set(mlxc_map ${CMAKE_SOURCE_DIR}/src/mlxc/mlxc.map)
target_link_options(mlxc PRIVATE -Wl,--version-script=${mlxc_map} -Wl,-z,nodelete -Wl,--build-id)
set_target_properties(mlxc PROPERTIES LINK_DEPENDS ${mlxc_map} INSTALL_RPATH "$ORIGIN" BUILD_WITH_INSTALL_RPATH ON)

# Headers and table agree: written anew from the table, each header comes out as it is.
enable_testing()
add_test(NAME mlxc_headers COMMAND sh ${CMAKE_SOURCE_DIR}/tools/abi_check.sh ${AWK} ${CMAKE_SOURCE_DIR})

install(TARGETS mlxc LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(DIRECTORY ${CMAKE_SOURCE_DIR}/include/mlx DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
