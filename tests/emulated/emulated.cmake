# The emulated driver: a libcuda.so.1 that programs find through LD_LIBRARY_PATH.
set(emulated_folder ${CMAKE_BINARY_DIR}/tests/emulated)
set(emulated_environment "LD_LIBRARY_PATH=${emulated_folder}" "KILN_CACHE_DIR=${CMAKE_BINARY_DIR}/tests/cache_emulated"
  "KILN_OPT_LEVEL=0")
set(emulated_sources code.c driver.c memory.c stream.c texts.c ../support/gpu_emulator.c)
list(TRANSFORM emulated_sources PREPEND ${CMAKE_SOURCE_DIR}/tests/emulated/)
add_library(emulated_driver SHARED ${emulated_sources})
set_target_properties(emulated_driver PROPERTIES OUTPUT_NAME cuda SOVERSION 1 LIBRARY_OUTPUT_DIRECTORY ${emulated_folder}
  LINK_DEPENDS ${CMAKE_SOURCE_DIR}/tests/emulated/driver.map)
target_include_directories(emulated_driver PRIVATE include src tests)
target_link_libraries(emulated_driver PRIVATE kiln_core m)
target_link_options(emulated_driver PRIVATE -Wl,--version-script=${CMAKE_SOURCE_DIR}/tests/emulated/driver.map -Wl,-z,defs
  -Wl,-Bsymbolic)
add_dependencies(emulated_driver kiln-llvm)
target_compile_definitions(emulated_driver PRIVATE EMULATED_PLUGIN="${CMAKE_BINARY_DIR}/lib/libkiln-llvm.so")

# ... and a libnvrtc.so.12 beside it.
add_library(emulated_nvrtc SHARED ${CMAKE_SOURCE_DIR}/tests/emulated/nvrtc.c)
set_target_properties(emulated_nvrtc PROPERTIES OUTPUT_NAME nvrtc SOVERSION 12 LIBRARY_OUTPUT_DIRECTORY ${emulated_folder}
  LINK_DEPENDS ${CMAKE_SOURCE_DIR}/tests/emulated/nvrtc.map)
target_include_directories(emulated_nvrtc PRIVATE include src tests)
target_link_libraries(emulated_nvrtc PRIVATE kiln_core)
target_link_options(emulated_nvrtc PRIVATE -Wl,--version-script=${CMAKE_SOURCE_DIR}/tests/emulated/nvrtc.map -Wl,-z,defs
  -Wl,-Bsymbolic -Wl,--build-id)
add_dependencies(emulated_driver emulated_nvrtc)

# tests/emulated/test_<name>.c: programs that only this driver can test. Each begins with an empty folder.
file(GLOB emulated_tests CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/tests/emulated/test_*.c)
foreach(source ${emulated_tests})
  get_filename_component(name ${source} NAME_WE)
  string(REGEX REPLACE "^test_" "emulated_" name ${name})
  add_executable(${name} ${source})
  set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${emulated_folder})
  target_include_directories(${name} PRIVATE include src tests)
  if(name STREQUAL "emulated_watch") # calls the driver itself
    target_link_libraries(${name} PRIVATE kiln_core checks)
  else()
    target_link_libraries(${name} PRIVATE mlxc kiln checks Threads::Threads ${CMAKE_DL_LIBS})
  endif()
  add_test(NAME ${name} COMMAND ${CMAKE_COMMAND} -E env KILN_CACHE_DIR=${emulated_folder}/${name}_cache sh -c
    "rm -rf $KILN_CACHE_DIR && exec $<TARGET_FILE:${name}>")
  set_tests_properties(${name} PROPERTIES TIMEOUT 300 ENVIRONMENT "${emulated_environment}")
endforeach()

# Without events each of these must fail.
foreach(test a_reader_waits_for_the_writer memory_is_not_reused_before_it_was_read an_update_waits_for_readers compiled_functions_have_streams)
  add_test(NAME without_events_${test} COMMAND ${CMAKE_SOURCE_DIR}/tests/must_fail.sh $<TARGET_FILE:emulated_streams> ${test})
  set_tests_properties(without_events_${test} PROPERTIES TIMEOUT 100 ENVIRONMENT "${emulated_environment};KILN_TEST_CUDA_NO_EVENTS=1")
endforeach()

foreach(test an_import_waits_for_the_producers_stream every_stream_of_ours_waits the_consumers_stream_waits_for_what_was_queued)
  add_test(NAME without_events_${test} COMMAND ${CMAKE_SOURCE_DIR}/tests/must_fail.sh $<TARGET_FILE:emulated_dlpack> ${test})
  set_tests_properties(without_events_${test} PROPERTIES TIMEOUT 100 ENVIRONMENT "${emulated_environment};KILN_TEST_CUDA_NO_EVENTS=1")
endforeach()

# For tests/process/gpu.sh.
add_executable(emulated_program ${CMAKE_SOURCE_DIR}/tests/emulated/program.c)
set_target_properties(emulated_program PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${emulated_folder} OUTPUT_NAME program)
target_include_directories(emulated_program PRIVATE include)
target_link_libraries(emulated_program PRIVATE mlxc kiln)
