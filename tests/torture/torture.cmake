# tests/torture/torture_<name>.c: attacks with random choices (torture.h). Three rounds of each in `make test`, minutes of
# them in `make torture`. Each is a program as a client builds one: against the libraries, not the archives.
file(GLOB torture_programs CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/tests/torture/torture_*.c)
foreach(source ${torture_programs})
  get_filename_component(name ${source} NAME_WE)
  add_executable(${name} ${source} ${CMAKE_SOURCE_DIR}/tests/torture/torture.c)
  set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tests/torture)
  target_include_directories(${name} PRIVATE include tests)
  target_compile_definitions(${name} PRIVATE KILN_TEST_BUILD="${CMAKE_BINARY_DIR}")
  target_link_libraries(${name} PRIVATE mlxc kiln m Threads::Threads ${CMAKE_DL_LIBS})
  add_test(NAME ${name} COMMAND ${name})
  set_tests_properties(${name} PROPERTIES LABELS torture TIMEOUT 300
    ENVIRONMENT "KILN_CACHE_DIR=${CMAKE_BINARY_DIR}/tests/cache;KILN_PLUGIN=${CMAKE_BINARY_DIR}/lib/libkiln-llvm.so")
endforeach()

# Artifacts are forged with checksums that are right.
target_include_directories(torture_folder PRIVATE src)

# Preloaded into the program that torture_faults attacks.
add_library(faults MODULE ${CMAKE_SOURCE_DIR}/tests/torture/faults.c)
set_target_properties(faults PROPERTIES PREFIX "" LIBRARY_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tests/torture)
target_compile_options(faults PRIVATE -Wno-missing-prototypes -fno-builtin)
target_link_libraries(faults PRIVATE ${CMAKE_DL_LIBS})
add_dependencies(torture_faults faults)
