# The LLVM plug-in, libkiln-llvm.so, and the run-time library of math helpers as bitcode inside it: for x86-64 with and
# without fused multiply-adds, and for NVIDIA GPUs with and without bfloat16.
option(KILN_STATIC_LLVM "put LLVM into the plug-in, which then needs nothing but the C library" OFF)
find_program(LLVM_CONFIG NAMES llvm-config-19 REQUIRED)
find_program(CLANG_FOR_BITCODE NAMES clang-19 REQUIRED)
find_program(LLVM_LINK NAMES llvm-link-19 REQUIRED)
execute_process(COMMAND ${LLVM_CONFIG} --includedir OUTPUT_VARIABLE llvm_include OUTPUT_STRIP_TRAILING_WHITESPACE
                COMMAND_ERROR_IS_FATAL ANY)
execute_process(COMMAND ${LLVM_CONFIG} --libdir OUTPUT_VARIABLE llvm_libdir OUTPUT_STRIP_TRAILING_WHITESPACE
                COMMAND_ERROR_IS_FATAL ANY)

# Compiled in its own folder under relative names, so that the bitcode does not depend on where the tree is.
set(runtime_folder ${CMAKE_SOURCE_DIR}/src/codegen/runtime)
file(GLOB_RECURSE runtime_sources CONFIGURE_DEPENDS ${runtime_folder}/*.c ${runtime_folder}/*.h)
set(runtime_flags -std=gnu11 -O2 -c -emit-llvm -ffreestanding -fno-math-errno -ffp-contract=off -fno-vectorize -fno-slp-vectorize
    -fno-strict-aliasing -fno-unwind-tables -fno-asynchronous-unwind-tables -Wall -Wextra)
function(add_runtime output)
  add_custom_command(
    OUTPUT ${output}
    COMMAND ${CLANG_FOR_BITCODE} ${ARGN} ${runtime_flags} -I../.. runtime.c -o ${output}
    WORKING_DIRECTORY ${runtime_folder}
    DEPENDS ${runtime_sources} ${CMAKE_SOURCE_DIR}/src/array/threefry.h
    VERBATIM)
endfunction()
set(runtime_x86 ${CMAKE_BINARY_DIR}/kiln_runtime_x86.bc)
set(runtime_x86_fused ${CMAKE_BINARY_DIR}/kiln_runtime_x86_fused.bc)
set(runtime_nvptx ${CMAKE_BINARY_DIR}/kiln_runtime_nvptx.bc)
set(runtime_nvptx_bf16 ${CMAKE_BINARY_DIR}/kiln_runtime_nvptx_bf16.bc)
# With the kernels that are C, whose passes run when a text has chosen what they depend on; as code for x86 they are there
# for the emulated GPU of the tests, which takes the first of these.
function(add_runtime_with_kernels output passes)
  cmake_path(REPLACE_EXTENSION output LAST_ONLY helpers.bc OUTPUT_VARIABLE helpers)
  cmake_path(REPLACE_EXTENSION output LAST_ONLY kernels.bc OUTPUT_VARIABLE kernels)
  add_runtime(${helpers} ${ARGN})
  add_custom_command(
    OUTPUT ${kernels}
    COMMAND ${CLANG_FOR_BITCODE} ${ARGN} ${passes} ${runtime_flags} -I../../.. gpu_runtime.c -o ${kernels}
    WORKING_DIRECTORY ${runtime_folder}/gpu
    DEPENDS ${runtime_sources} ${CMAKE_SOURCE_DIR}/src/array/dtype.h
    VERBATIM)
  add_custom_command(OUTPUT ${output} COMMAND ${LLVM_LINK} ${helpers} ${kernels} -o ${output} DEPENDS ${helpers} ${kernels}
                     VERBATIM)
endfunction()
add_runtime_with_kernels(${runtime_x86} -Wno-pass-failed --target=x86_64-pc-linux-gnu)
add_runtime(${runtime_x86_fused} --target=x86_64-pc-linux-gnu -mfma)
# The least target of each family in family.c.
add_runtime_with_kernels(${runtime_nvptx} "-Xclang;-disable-llvm-passes" --target=nvptx64-nvidia-cuda -march=sm_70 -Xclang -target-feature
                         -Xclang +ptx81)
add_runtime_with_kernels(${runtime_nvptx_bf16} "-Xclang;-disable-llvm-passes" --target=nvptx64-nvidia-cuda -march=sm_80 -Xclang -target-feature
                         -Xclang +ptx81 -DKILN_HAS_BF16)
set(runtimes ${runtime_x86} ${runtime_x86_fused} ${runtime_nvptx} ${runtime_nvptx_bf16})

file(GLOB compiler_sources RELATIVE ${CMAKE_SOURCE_DIR} CONFIGURE_DEPENDS src/compiler/*.c)
list(APPEND compiler_sources src/base/buffer.c src/base/format.c src/base/status.c)
add_library(kiln-llvm MODULE ${compiler_sources})
set_property(SOURCE src/compiler/runtime_library.c APPEND PROPERTY OBJECT_DEPENDS "${runtimes}")
target_compile_definitions(kiln-llvm PRIVATE KILN_RUNTIME_X86="${runtime_x86}"
                           KILN_RUNTIME_X86_FUSED="${runtime_x86_fused}" KILN_RUNTIME_NVPTX="${runtime_nvptx}"
                           KILN_RUNTIME_NVPTX_BF16="${runtime_nvptx_bf16}")
target_include_directories(kiln-llvm PRIVATE ${CMAKE_SOURCE_DIR}/include ${CMAKE_SOURCE_DIR}/src)
target_include_directories(kiln-llvm SYSTEM PRIVATE ${llvm_include})
set(plugin_map ${CMAKE_SOURCE_DIR}/src/compiler/plugin.map)
target_link_options(kiln-llvm PRIVATE -Wl,--version-script=${plugin_map} -Wl,-z,nodelete -Wl,--build-id)
set_target_properties(kiln-llvm PROPERTIES PREFIX lib LINK_DEPENDS ${plugin_map})
if(KILN_STATIC_LLVM)
  # One file for machines without LLVM: it needs the C library only. Stripped, because the archives bring 200 MiB.
  execute_process(COMMAND ${LLVM_CONFIG} --link-static --libfiles x86codegen nvptxcodegen passes bitreader bitwriter irreader linker
                  OUTPUT_VARIABLE llvm_files OUTPUT_STRIP_TRAILING_WHITESPACE COMMAND_ERROR_IS_FATAL ANY)
  separate_arguments(llvm_files)
  target_compile_definitions(kiln-llvm PRIVATE KILN_STATIC_LLVM)
  target_link_options(kiln-llvm PRIVATE -Wl,--gc-sections -Wl,-z,defs -Wl,-s -static-libgcc)
  target_link_libraries(kiln-llvm PRIVATE ${llvm_files} -Wl,-Bstatic stdc++ zstd z -Wl,-Bdynamic m Threads::Threads ${CMAKE_DL_LIBS})
  set_target_properties(kiln-llvm PROPERTIES SKIP_BUILD_RPATH ON)
else()
  find_library(LLVM_LIBRARY NAMES LLVM-19 HINTS ${llvm_libdir} REQUIRED)
  set(llvm_files ${LLVM_LIBRARY})
  target_link_libraries(kiln-llvm PRIVATE ${LLVM_LIBRARY} Threads::Threads)
  set_target_properties(kiln-llvm PROPERTIES INSTALL_RPATH "${llvm_libdir}" BUILD_WITH_INSTALL_RPATH ON)
endif()

# Which tool chain this is, for plugin.c and, in libkiln.so, for src/cache/kernels/toolchain.c.
set(toolchain_header ${generated}/kiln_toolchain.h)
set(plugin_flags ${CMAKE_BINARY_DIR}/kiln_plugin_flags.txt)
string(TOUPPER "CMAKE_C_FLAGS_${CMAKE_BUILD_TYPE}" build_type_flags)
separate_arguments(plugin_c_flags NATIVE_COMMAND "${CMAKE_C_FLAGS} ${${build_type_flags}}")
file(GENERATE OUTPUT ${plugin_flags} CONTENT
  "$<JOIN:${plugin_c_flags};$<TARGET_PROPERTY:kiln-llvm,COMPILE_OPTIONS>;$<TARGET_PROPERTY:kiln-llvm,COMPILE_DEFINITIONS>,\n>\n")
add_custom_command(
  OUTPUT ${toolchain_header}
  COMMAND ${CMAKE_COMMAND} -DROOT=${CMAKE_SOURCE_DIR} "-DSOURCES=${compiler_sources}" -DFLAGS=${plugin_flags} "-DRUNTIMES=${runtimes}"
          "-DLLVM=${llvm_files}" -DREADELF=${CMAKE_READELF} -DOUTPUT=${toolchain_header} -P src/compiler/toolchain.cmake
  DEPENDS ${compiler_sources} ${plugin_flags} ${runtimes} ${llvm_files} src/compiler/toolchain.cmake
  WORKING_DIRECTORY ${CMAKE_SOURCE_DIR}
  DEPFILE ${toolchain_header}.d
  VERBATIM)
set_property(SOURCE src/compiler/plugin.c src/cache/kernels/toolchain.c APPEND PROPERTY OBJECT_DEPENDS ${toolchain_header})
