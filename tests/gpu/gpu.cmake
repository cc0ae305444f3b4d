# Tests on a GPU: `make test-gpu`. agree.c compares it with the CPU; the tests of the ABI run again with the GPU's default
# stream wherever they ask for the CPU's. Left out are those whose subject is the host itself. `make test` runs all of them on
# the emulated driver: there kernels are compiled without optimisation, since most of the time goes there, and agree takes one
# case in KILN_TEST_EVERY.
set(gpu_tests acceptance_calls acceptance_kernels acceptance_lifetime array async chains closure compile compile_named compile_numbers_random compile_numbers_traps contractions
    elementwise fast index interpreter io layers numbers_cast numbers_elementwise numbers_layouts numbers_moves numbers_reduce
    ops products quantize random reduce reduce_means refusals reuse rows safetensors shape slice_dynamic sort step)
set(gpu_programs)
foreach(test ${gpu_tests})
  set(name gpu_${test})
  add_executable(${name} ${CMAKE_SOURCE_DIR}/tests/unit/test_mlxc_${test}.c)
  target_include_directories(${name} PRIVATE include src tests)
  target_compile_definitions(${name} PRIVATE mlx_default_cpu_stream_new=mlx_default_gpu_stream_new)
  target_link_libraries(${name} PRIVATE mlxc kiln checks Threads::Threads)
  list(APPEND gpu_programs ${name})
endforeach()
add_executable(gpu_agree ${CMAKE_SOURCE_DIR}/tests/gpu/agree.c ${CMAKE_SOURCE_DIR}/tests/gpu/agree_ordered.c) # in every build, so that it stays sound
target_include_directories(gpu_agree PRIVATE include)
target_link_libraries(gpu_agree PRIVATE mlxc kiln m)
list(APPEND gpu_programs gpu_agree)
add_executable(gpu_cuda_source ${CMAKE_SOURCE_DIR}/tests/gpu/gpu_cuda_source.c)
target_include_directories(gpu_cuda_source PRIVATE include tests)
target_link_libraries(gpu_cuda_source PRIVATE mlxc kiln checks)
list(APPEND gpu_programs gpu_cuda_source)
foreach(name ${gpu_programs})
  string(REGEX REPLACE "^gpu_" "emulated_" test ${name})
  add_test(NAME ${test} COMMAND ${name})
  set_tests_properties(${test} PROPERTIES TIMEOUT 300 ENVIRONMENT "${emulated_environment};KILN_TEST_EVERY=23")
endforeach()
set_tests_properties(emulated_cuda_source PROPERTIES FAIL_REGULAR_EXPRESSION "left out")
set_tests_properties(emulated_reduce PROPERTIES LABELS soak TIMEOUT 1500) # as long as all the others together
if(KILN_SANITIZE) # their threads wait for each other most, and switches are system calls there
  set_tests_properties(emulated_numbers_reduce emulated_reduce_means emulated_rows
    PROPERTIES LABELS soak TIMEOUT 1500)
endif()
set_target_properties(${gpu_programs} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tests/gpu)
add_custom_target(gpu_tests DEPENDS ${gpu_programs})

# Whole programs (bench/gpu/decode.c): a program of its own, which needs neither nvcc nor a compiler where kernels are ahead.
add_executable(gpu_decode ${CMAKE_SOURCE_DIR}/bench/gpu/decode.c)
target_include_directories(gpu_decode PRIVATE include)
target_link_libraries(gpu_decode PRIVATE mlxc kiln m ${CMAKE_DL_LIBS})
set_target_properties(gpu_decode PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tests/gpu OUTPUT_NAME decode_bench)
add_dependencies(gpu_tests gpu_decode)
add_test(NAME emulated_decode_bench COMMAND gpu_decode --few)
set_tests_properties(emulated_decode_bench PROPERTIES TIMEOUT 300 ENVIRONMENT "${emulated_environment}")

# Without a GPU it says so; with one, `make test-gpu` runs it.
add_test(NAME gpu_agree COMMAND gpu_agree)
set_tests_properties(gpu_agree PROPERTIES SKIP_RETURN_CODE 77 LABELS gpu
  ENVIRONMENT "KILN_CACHE_DIR=${CMAKE_BINARY_DIR}/tests/cache")
