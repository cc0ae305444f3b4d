# Drivers of remotes: libkiln-remote.so opened as Kiln opens it, against real servers on loopback where there are some
# (run.sh; tests are skipped where not), and against one that misbehaves.
add_library(remote_support STATIC ${CMAKE_SOURCE_DIR}/tests/remote/remote_support.c)
target_include_directories(remote_support PUBLIC include src tests)
target_compile_definitions(remote_support PRIVATE KILN_REMOTE_LIBRARY="$<TARGET_FILE:kiln-remote>")
target_link_libraries(remote_support PUBLIC kiln_core checks Threads::Threads ${CMAKE_DL_LIBS})
add_dependencies(remote_support kiln-remote)

function(add_remote_test name)
  add_executable(${name} ${CMAKE_SOURCE_DIR}/tests/remote/${name}.c ${ARGN})
  set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tests)
  target_link_libraries(${name} PRIVATE remote_support)
endfunction()

foreach(server http s3 redis)
  add_remote_test(test_remote_${server})
  add_test(NAME test_remote_${server} COMMAND ${CMAKE_SOURCE_DIR}/tests/remote/run.sh ${server} $<TARGET_FILE:test_remote_${server}>)
  set_tests_properties(test_remote_${server} PROPERTIES TIMEOUT 300 SKIP_RETURN_CODE 77)
endforeach()

add_remote_test(test_remote_faults ${CMAKE_SOURCE_DIR}/tests/remote/fake_server.c)
set_target_properties(test_remote_faults PROPERTIES ENABLE_EXPORTS ON) # its getaddrinfo() goes before the C library's
add_test(NAME test_remote_faults COMMAND test_remote_faults)
set_tests_properties(test_remote_faults PROPERTIES TIMEOUT 300)
