# The array engine (an archive, for unit tests) and the mlx-c ABI on top of it: libmlxc.so.
layer_sources(engine_sources ${ENGINE_LAYERS})
# Fourier transforms. With AVX2 four at once, with the same bits: nothing is contracted.
set(pocketfft ${CMAKE_SOURCE_DIR}/third_party/pocketfft)
set(pocketfft_sources ${pocketfft}/pocketfft_one.c ${pocketfft}/pocketfft_four.c)
set_source_files_properties(${pocketfft_sources} PROPERTIES COMPILE_OPTIONS "-w;-ffp-contract=off")
set_property(SOURCE ${pocketfft}/pocketfft_four.c APPEND PROPERTY COMPILE_OPTIONS "-mavx2")
list(APPEND engine_sources ${pocketfft_sources})
if(engine_sources)
  add_library(kiln_engine STATIC ${engine_sources})
  target_include_directories(kiln_engine PUBLIC include src PRIVATE third_party)
  target_link_libraries(kiln_engine PUBLIC Threads::Threads ${CMAKE_DL_LIBS} m)
endif()

# The names of the table that are shims; the others are in src/mlxc/*.c.
find_program(AWK NAMES mawk awk gawk REQUIRED)
set(abi_table ${CMAKE_SOURCE_DIR}/src/mlxc/abi.tsv)
set(abi_functions ${CMAKE_BINARY_DIR}/mlxc_functions.c)
add_custom_command(OUTPUT ${abi_functions}
  COMMAND ${AWK} -f ${CMAKE_SOURCE_DIR}/tools/abi_functions.awk ${abi_table} > ${abi_functions}
  DEPENDS ${abi_table} ${CMAKE_SOURCE_DIR}/tools/abi_functions.awk VERBATIM)

layer_sources(mlxc_sources mlxc)
add_library(mlxc_objects OBJECT ${mlxc_sources} ${abi_functions})
target_include_directories(mlxc_objects PRIVATE include src)
add_library(mlxc SHARED $<TARGET_OBJECTS:mlxc_objects>)
target_include_directories(mlxc PUBLIC $<BUILD_INTERFACE:${CMAKE_SOURCE_DIR}/include> $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
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

# libmlxc.a: one object, in which the same names are global as in libmlxc.so.
set(mlxc_object ${CMAKE_BINARY_DIR}/mlxc_static.o)
add_custom_command(OUTPUT ${mlxc_object}
  COMMAND ${CMAKE_LINKER} -r -o ${mlxc_object}.new $<TARGET_OBJECTS:mlxc_objects> $<TARGET_OBJECTS:kiln_engine>
  COMMAND ${CMAKE_OBJCOPY} --wildcard --keep-global-symbol=mlx_* --keep-global-symbol=_mlx_* ${mlxc_object}.new ${mlxc_object}
  DEPENDS mlxc_objects kiln_engine $<TARGET_OBJECTS:mlxc_objects> $<TARGET_OBJECTS:kiln_engine> COMMAND_EXPAND_LISTS VERBATIM)
add_library(mlxc_static STATIC ${mlxc_object})
set_target_properties(mlxc_static PROPERTIES LINKER_LANGUAGE C OUTPUT_NAME mlxc)
target_include_directories(mlxc_static INTERFACE $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
target_link_libraries(mlxc_static INTERFACE kiln_static m)
