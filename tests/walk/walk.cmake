# Every function of the public headers with NULL in the place of each pointer (walk.h). The calls are made from the headers.
function(add_walk name prefix headers good)
  set(calls ${CMAKE_BINARY_DIR}/tests/walk_${name}_calls.c)
  set(includes ${CMAKE_BINARY_DIR}/tests/walk_${name}_headers.c)
  set(text "")
  set(depends "")
  foreach(header ${headers})
    string(APPEND text "#include \"${header}\"\n")
    list(APPEND depends ${CMAKE_SOURCE_DIR}/include/${header})
  endforeach()
  file(CONFIGURE OUTPUT ${includes} CONTENT "${text}" @ONLY)
  add_custom_command(OUTPUT ${calls}
    COMMAND ${CMAKE_C_COMPILER} -E -P -I ${CMAKE_SOURCE_DIR}/include ${includes} | ${AWK} -v "prefix=${prefix}"
            -v values=walk/values_${name}.h -v "good=${good}" -f ${CMAKE_SOURCE_DIR}/tests/walk/walk.awk ${ARGN} - > ${calls}
    DEPENDS ${depends} ${includes} ${good} ${CMAKE_SOURCE_DIR}/tests/walk/walk.awk ${ARGN} VERBATIM)
  set_source_files_properties(${calls} PROPERTIES COMPILE_OPTIONS "-Wno-incompatible-pointer-types")
  add_executable(walk_${name} ${calls} ${CMAKE_SOURCE_DIR}/tests/walk/walk.c ${CMAKE_SOURCE_DIR}/tests/walk/values_${name}.c)
  set_target_properties(walk_${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tests)
  target_include_directories(walk_${name} PRIVATE include tests)
  target_link_libraries(walk_${name} PRIVATE mlxc kiln m)
  add_test(NAME walk_${name} COMMAND walk_${name} absent)
  set_tests_properties(walk_${name} PROPERTIES TIMEOUT 300 ENVIRONMENT "KILN_CACHE_DIR=")
endfunction()

add_walk(kiln ^kiln_ "kiln.h;kiln/gpu.h;kiln/inspect.h;kiln/maintain.h;kiln/remote.h;kiln/trust.h" "" ${CMAKE_SOURCE_DIR}/tests/walk/fine_kiln.tsv)
add_walk(mlxc "^(_?mlx|kiln)_" "mlx/c/mlx.h;kiln/compile.h;kiln/dlpack.h" ${CMAKE_SOURCE_DIR}/tests/walk/good_mlxc.tsv
         ${CMAKE_SOURCE_DIR}/tests/walk/fine_mlxc.tsv
         ${CMAKE_SOURCE_DIR}/src/mlxc/abi.tsv)

# Each name of the table with good values: it succeeds, and what it gives can be computed; or good_mlxc.tsv permits its refusal.
add_test(NAME walk_mlxc_good COMMAND walk_mlxc good)
set_tests_properties(walk_mlxc_good PROPERTIES TIMEOUT 300 ENVIRONMENT "KILN_CACHE_DIR=")

# What each name is seen to do, for docs/operations.md (tools/operations.sh).
add_executable(walk_mlxc_facts ${CMAKE_BINARY_DIR}/tests/walk_mlxc_calls.c ${CMAKE_SOURCE_DIR}/tests/walk/facts_mlxc.c
               ${CMAKE_SOURCE_DIR}/tests/walk/values_mlxc.c)
set_target_properties(walk_mlxc_facts PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tests)
target_include_directories(walk_mlxc_facts PRIVATE include tests)
target_link_libraries(walk_mlxc_facts PRIVATE mlxc kiln m)
add_test(NAME mlxc_operations COMMAND sh ${CMAKE_SOURCE_DIR}/tools/operations.sh ${CMAKE_BINARY_DIR})
set_tests_properties(mlxc_operations PROPERTIES TIMEOUT 300 ENVIRONMENT "KILN_CACHE_DIR=;AWK=${AWK}")
