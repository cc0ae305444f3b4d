# tests/unit/test_<layer>_<file>.c: one program each, against the archives, so that internals can be tested.
enable_testing()

# The tree itself: no include points upwards, names are unique, docs/threads.md is complete, sources are formatted.
foreach(check layers names threads format)
  add_test(NAME tree_${check} COMMAND ${CMAKE_SOURCE_DIR}/tools/${check}.sh --check)
endforeach()
add_test(NAME tree_links COMMAND ${CMAKE_SOURCE_DIR}/tools/links.sh ${CMAKE_BINARY_DIR})

find_library(CMOCKA cmocka REQUIRED)
add_library(checks STATIC ${CMAKE_SOURCE_DIR}/tests/support/check.c) # checks that say what broke, over cmocka
target_include_directories(checks PRIVATE include tests)
target_link_libraries(checks PUBLIC ${CMOCKA} m)
set(engine_tests "array|graph|ops|codegen|trace|transform|run")
file(GLOB unit_tests CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/tests/unit/test_*.c)
foreach(source ${unit_tests})
  get_filename_component(name ${source} NAME_WE)
  add_executable(${name} ${source})
  set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tests)
  target_include_directories(${name} PRIVATE include src tests)
  if(name MATCHES "^test_(${engine_tests})_")
    target_link_libraries(${name} PRIVATE kiln_engine)
  endif()
  if(name MATCHES "_gpu(_|$)") # kernels for GPUs run here
    target_sources(${name} PRIVATE ${CMAKE_SOURCE_DIR}/tests/support/gpu_emulator.c)
  endif()
  if(name MATCHES "^test_mlxc_")
    target_link_libraries(${name} PRIVATE mlxc kiln checks Threads::Threads)
  else()
    target_link_libraries(${name} PRIVATE kiln_core checks)
  endif()
  add_test(NAME ${name} COMMAND ${name})
  if(name MATCHES "^test_soak_") # minutes, not seconds: `make soak`
    set_tests_properties(${name} PROPERTIES LABELS soak)
  endif()
  set_tests_properties(${name} PROPERTIES TIMEOUT 300
    ENVIRONMENT "KILN_CACHE_DIR=${CMAKE_BINARY_DIR}/tests/cache;KILN_PLUGIN=${CMAKE_BINARY_DIR}/lib/libkiln-llvm.so;XDG_CONFIG_HOME=/nonexistent")
endforeach()

# Files of every version of the format.
foreach(name test_store_artifact test_store_folder test_store_signing)
  target_compile_definitions(${name} PRIVATE KILN_CORPUS="${CMAKE_SOURCE_DIR}/tests/corpus")
endforeach()

# Every helper that runtime.h declares is compiled for GPUs.
target_compile_definitions(test_compiler_ptx PRIVATE KILN_RUNTIME_HEADER="${CMAKE_SOURCE_DIR}/src/codegen/runtime/runtime.h")

# Hits allocate nothing and take no lock: what the archive calls is counted by the test.
target_link_options(test_cache_hit PRIVATE -Wl,--wrap=malloc,--wrap=calloc,--wrap=realloc,--wrap=aligned_alloc
                    -Wl,--wrap=pthread_mutex_lock,--wrap=syscall)

# Allocations of the archive fail one after the other.
target_link_options(test_cache_memory PRIVATE -Wl,--wrap=malloc,--wrap=calloc,--wrap=realloc,--wrap=strdup)

# Pretends to be another machine.
target_link_options(test_store_live PRIVATE -Wl,--wrap=kiln__isa_host)

# Counts how often a thread that waits gives up the processor, and how often it sleeps.
target_link_options(test_cache_barrier PRIVATE -Wl,--wrap=sched_yield,--wrap=nanosleep)

# Counts registrations of fork handlers.
target_link_options(test_base_fork PRIVATE -Wl,--wrap=pthread_atfork)

# Counts how often one that removes something sleeps. Built again with removers that do not wait: there each must fail.
target_link_options(test_cache_readers PRIVATE -Wl,--wrap=nanosleep)
add_executable(test_cache_readers_without_readers ${CMAKE_SOURCE_DIR}/tests/unit/test_cache_readers.c)
set_target_properties(test_cache_readers_without_readers PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tests)
target_include_directories(test_cache_readers_without_readers PRIVATE include src tests)
target_compile_definitions(test_cache_readers_without_readers PRIVATE KILN_TEST_WITHOUT_READERS)
target_link_options(test_cache_readers_without_readers PRIVATE -Wl,--wrap=nanosleep,--wrap=kiln__wait_for_readers)
target_link_libraries(test_cache_readers_without_readers PRIVATE kiln_core checks)
foreach(test test_removed test_taken_with_its_device test_evicted test_cleared)
  add_test(NAME without_readers_${test} COMMAND ${CMAKE_SOURCE_DIR}/tests/must_fail.sh
           $<TARGET_FILE:test_cache_readers_without_readers> ${test})
  set_tests_properties(without_readers_${test} PROPERTIES TIMEOUT 100)
endforeach()

# A clock that stands where the test puts it.
target_link_options(test_store_prune PRIVATE -Wl,--wrap=time)

# Mappings that the system refuses.
target_link_options(test_link_code PRIVATE -Wl,--wrap=mmap,--wrap=mprotect)

# Counts how often the system is asked for processors.
target_link_options(test_run_pool PRIVATE -Wl,--wrap=kiln__cores)

# Counts the parts of large launches.
target_link_options(test_run_sum PRIVATE -Wl,--wrap=kiln__pool_run)

# Counts how often LAPACK goes over a batch; calls what is vendored.
target_link_options(test_run_linalg PRIVATE -Wl,--wrap=kiln__matrices_run)
target_include_directories(test_run_fft PRIVATE third_party)

# Counts the kernels that are compiled side by side, and lets some fail.
target_link_options(test_run_prepare PRIVATE -Wl,--wrap=kiln__pool_run,--wrap=kiln__kernel_from_text)

# Holds the compiler, and lets it fail, while unfused kernels serve.
target_link_options(test_run_background PRIVATE -Wl,--wrap=kiln__kernel_from_text)

add_executable(test_run_background_wrong_bits ${CMAKE_SOURCE_DIR}/tests/unit/test_run_background.c)
set_target_properties(test_run_background_wrong_bits PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tests)
target_include_directories(test_run_background_wrong_bits PRIVATE include src tests)
target_compile_definitions(test_run_background_wrong_bits PRIVATE KILN_TEST_WRONG_BITS)
target_link_options(test_run_background_wrong_bits PRIVATE -Wl,--wrap=kiln__kernel_from_text)
target_link_libraries(test_run_background_wrong_bits PRIVATE kiln_engine kiln_core checks)
add_test(NAME wrong_bits_of_swapped_plans COMMAND ${CMAKE_SOURCE_DIR}/tests/must_fail.sh
         $<TARGET_FILE:test_run_background_wrong_bits> test_unfused_kernels_serve_and_are_swapped)
set_tests_properties(wrong_bits_of_swapped_plans PROPERTIES TIMEOUT 100
                     ENVIRONMENT "KILN_PLUGIN=${CMAKE_BINARY_DIR}/lib/libkiln-llvm.so;XDG_CONFIG_HOME=/nonexistent")

# The cache again with all hashes equal: nothing may rest on them.
cache_archive(kiln_core_equal_hashes EXCLUDE_FROM_ALL)
target_compile_definitions(kiln_core_equal_hashes PUBLIC KILN_TEST_EQUAL_HASHES)
foreach(name test_cache_memo_table test_cache_get test_cache_watch test_cache_threads test_cache_classes_more)
  add_executable(${name}_equal_hashes ${CMAKE_SOURCE_DIR}/tests/unit/${name}.c)
  set_target_properties(${name}_equal_hashes PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tests)
  target_include_directories(${name}_equal_hashes PRIVATE tests)
  target_link_libraries(${name}_equal_hashes PRIVATE kiln_core_equal_hashes checks)
  add_test(NAME ${name}_equal_hashes COMMAND ${name}_equal_hashes)
  set_tests_properties(${name}_equal_hashes PROPERTIES TIMEOUT 300 ENVIRONMENT "KILN_CACHE_DIR=${CMAKE_BINARY_DIR}/tests/cache")
endforeach()

# Modules that tests load and unload.
foreach(number one two)
  add_library(module_${number} MODULE ${CMAKE_SOURCE_DIR}/tests/support/module.c)
  set_target_properties(module_${number} PROPERTIES PREFIX "" LIBRARY_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tests)
  target_include_directories(module_${number} PRIVATE include)
  target_compile_definitions(module_${number} PRIVATE MODULE_TEXT="${number}")
endforeach()
add_dependencies(test_cache_classes module_one module_two)
set_target_properties(test_cache_classes PROPERTIES ENABLE_EXPORTS ON) # for the modules

# The sources that a segment of the key is in: those that name it, or all of the layers key and cache when a header does.
# They stand before the same ones of kiln_core when a program is linked; all others are taken from there.
function(segment_sources segment out)
  set(sources)
  file(GLOB_RECURSE files ${CMAKE_SOURCE_DIR}/src/*.h ${CMAKE_SOURCE_DIR}/src/*.c)
  list(FILTER files EXCLUDE REGEX "/segments.h$")
  foreach(file ${files})
    file(STRINGS ${file} lines REGEX "KILN_(SEGMENT|TEST_WITHOUT)_${segment}([^A-Z_]|$)")
    if(lines AND file MATCHES "[.]h$")
      layer_sources(found key cache)
      list(APPEND sources ${found})
    elseif(lines)
      list(APPEND sources ${file})
    endif()
  endforeach()
  if(NOT sources)
    message(FATAL_ERROR "no source has the segment ${segment}")
  endif()
  list(REMOVE_DUPLICATES sources)
  set(${out} ${sources} PARENT_SCOPE)
endfunction()

# Tests of stale code against a build without that segment of the key, and of signatures against one that checks none: there each must fail, or it would notice nothing.
set(segment_tests
  "WATCHES test_cache_classes test_key_class_01_stale_global test_key_class_02_behind_helpers test_key_class_03_pointee"
  "WATCHES test_cache_classes test_key_class_05_second_owner test_key_class_06_configuration test_key_class_07_payload_in_place"
  "WATCHES test_cache_classes test_key_class_12_variable_changes_meanwhile"
  "WATCHES test_cache_classes_more test_key_class_34_callee_watches test_key_class_41_bound_global"
  "REFUSALS test_cache_compile test_argument_of_a_lowered_function test_name"
  "INPUTS test_cache_compile test_values"
  "INPUTS test_cache_inputs test_value_that_compile_asks_for test_value_that_nobody_watches test_longer_set"
  "DEPENDED test_cache_depended test_edited test_shadowed test_nested test_fixed_text test_values test_many_files"
  "DEPENDED test_cache_depended_changes test_lowered test_named_by_threads test_called_while_it_is_edited"
  "INPUTS test_cache_depended test_edited test_shadowed"
  "READS test_cache_depended test_edited"
  "READS test_cache_depended_changes test_lowered"
  "STEADINESS test_cache_depended_changes test_changed_while_it_is_compiled test_changed_all_the_time test_lowered"
  "FILES test_cache_files test_followed test_absent test_disguised test_written_at_once test_fixed_text"
  "FILES test_cache_files test_written_while_it_is_lowered test_written_while_it_is_compiled"
  "EPOCHS test_cache_meanwhile test_variable_returns"
  "WATCHES test_cache_meanwhile test_values_of_the_request"
  "ENVIRONMENT test_cache_meanwhile test_environment_changes"
  "READS test_cache_meanwhile test_waiting_for_an_old_read"
  "READS test_cache_classes test_key_class_04_read_in_a_branch"
  "IDENTITY test_cache_classes test_key_class_07_payload_at_the_same_address test_key_class_08_reloaded_module test_key_class_09_threads"
  "ENVIRONMENT test_cache_classes test_key_class_10_environment"
  "ENVIRONMENT test_cache_classes_more test_key_class_41_bound_environment"
  "OPTIONS test_cache_classes test_key_class_12_key_and_compile"
  "OPTIONS test_cache_classes_more test_key_class_35_options"
  "DEVICE test_cache_classes_more test_key_class_30_device"
  "ARGUMENTS test_cache_classes_more test_key_class_13_scalars test_key_class_14_neighbours test_key_class_15_layout"
  "ARGUMENTS test_cache_classes_more test_key_class_16_padding test_key_class_41_bound_argument"
  "GENERATION test_cache_classes_more test_key_class_34_redefined test_key_class_34_mutual"
  "SIGNATURES test_store_signing test_unsigned test_unknown_signer test_every_flipped_byte test_signed_for_another_key"
  "SIGNATURES test_store_signing test_signer_replaced test_revoked test_list_that_cant_be_used test_named_list"
  "SIGNATURES test_store_signing test_shared_folder test_shared_file test_revoked_in_our_folder"
  "SIGNATURES test_cache_remotes test_signed_by_nobody test_signed_by_nobody_who_is_trusted test_signed_by_a_revoked_key"
  "COMPARISON test_cache_remotes test_entry_of_another_key")
foreach(row ${segment_tests})
  separate_arguments(row)
  list(POP_FRONT row segment program)
  string(TOLOWER ${segment} suffix)
  set(library kiln_core_without_${suffix})
  if(NOT TARGET ${library})
    segment_sources(${segment} sources)
    add_library(${library} STATIC EXCLUDE_FROM_ALL ${sources})
    target_include_directories(${library} PUBLIC include src)
    target_compile_definitions(${library} PUBLIC KILN_TEST_WITHOUT_${segment})
  endif()
  set(variant ${program}_without_${suffix})
  if(NOT TARGET ${variant})
    add_executable(${variant} ${CMAKE_SOURCE_DIR}/tests/unit/${program}.c)
    set_target_properties(${variant} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tests ENABLE_EXPORTS ON)
    target_include_directories(${variant} PRIVATE tests)
    target_compile_definitions(${variant} PRIVATE KILN_CORPUS="${CMAKE_SOURCE_DIR}/tests/corpus")
    target_link_libraries(${variant} PRIVATE -Wl,--whole-archive ${library} -Wl,--no-whole-archive kiln_core checks)
    add_dependencies(${variant} module_one module_two)
  endif()
  foreach(test ${row})
    add_test(NAME without_${suffix}_${test} COMMAND ${CMAKE_SOURCE_DIR}/tests/must_fail.sh $<TARGET_FILE:${variant}> ${test})
    set_tests_properties(without_${suffix}_${test} PROPERTIES TIMEOUT 100 ENVIRONMENT "KILN_CACHE_DIR=${CMAKE_BINARY_DIR}/tests/cache")
  endforeach()
endforeach()

# tests/process/<name>.sh BUILD SOURCE: whole programs, each in a temporary folder, with counters asserted.
if(TARGET mlxc AND TARGET kiln_command)
  add_executable(maps ${CMAKE_SOURCE_DIR}/tests/process/maps.c)
  set_target_properties(maps PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tests)
  target_include_directories(maps PRIVATE include)
  target_link_libraries(maps PRIVATE mlxc)
  add_executable(shown ${CMAKE_SOURCE_DIR}/tests/process/shown.c)
  set_target_properties(shown PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tests)
  target_include_directories(shown PRIVATE include)
  target_link_libraries(shown PRIVATE mlxc)
  add_executable(exported ${CMAKE_SOURCE_DIR}/tests/process/exported.c)
  set_target_properties(exported PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tests)
  target_include_directories(exported PRIVATE include)
  target_link_libraries(exported PRIVATE mlxc m)
  add_executable(weights ${CMAKE_SOURCE_DIR}/tests/process/weights.c)
  set_target_properties(weights PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tests)
  target_include_directories(weights PRIVATE include)
  target_link_libraries(weights PRIVATE mlxc)
  add_executable(named ${CMAKE_SOURCE_DIR}/tests/process/named.c)
  set_target_properties(named PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tests)
  target_include_directories(named PRIVATE include)
  target_link_libraries(named PRIVATE mlxc)
  add_executable(forgetful ${CMAKE_SOURCE_DIR}/tests/process/forgetful.c)
  set_target_properties(forgetful PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tests)
  target_include_directories(forgetful PRIVATE include)
  target_link_libraries(forgetful PRIVATE kiln)
  add_executable(trusting ${CMAKE_SOURCE_DIR}/tests/process/trusting.c)
  set_target_properties(trusting PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tests)
  target_include_directories(trusting PRIVATE include)
  target_link_libraries(trusting PRIVATE kiln)
  add_library(foreign MODULE ${CMAKE_SOURCE_DIR}/tests/process/foreign.c)
  set_target_properties(foreign PROPERTIES PREFIX "" LIBRARY_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tests)
  add_executable(described ${CMAKE_SOURCE_DIR}/tests/process/described.c)
  set_target_properties(described PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tests)
  target_include_directories(described PRIVATE include)
  target_link_libraries(described PRIVATE mlxc kiln)
  add_executable(llama_reference ${CMAKE_SOURCE_DIR}/tests/process/llama_reference.c)
  set_target_properties(llama_reference PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tests)
  target_include_directories(llama_reference PRIVATE include)
  target_link_libraries(llama_reference PRIVATE mlxc m)
  add_executable(train_reference ${CMAKE_SOURCE_DIR}/tests/process/train_reference.c)
  set_target_properties(train_reference PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tests)
  set_source_files_properties(${CMAKE_SOURCE_DIR}/tests/process/train_reference.c PROPERTIES COMPILE_OPTIONS -O3)
  target_include_directories(train_reference PRIVATE examples)
  target_link_libraries(train_reference PRIVATE m)
  add_executable(dlopen ${CMAKE_SOURCE_DIR}/tests/process/dlopen.c) # not linked with what it opens
  set_target_properties(dlopen PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tests)
  target_include_directories(dlopen PRIVATE include)
  target_link_libraries(dlopen PRIVATE ${CMAKE_DL_LIBS})
  file(GLOB process_tests CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/tests/process/*.sh)
  list(FILTER process_tests EXCLUDE REGEX "/lib\\.sh$")
  foreach(script ${process_tests})
    get_filename_component(name ${script} NAME_WE)
    add_test(NAME process_${name} COMMAND ${script} ${CMAKE_BINARY_DIR} ${CMAKE_SOURCE_DIR})
    set_tests_properties(process_${name} PROPERTIES TIMEOUT 300)
  endforeach()
  set_tests_properties(process_go process_dist PROPERTIES SKIP_RETURN_CODE 77)
  set_tests_properties(process_reproducible PROPERTIES TIMEOUT 900) # it builds the libraries
  set_tests_properties(process_install process_docs PROPERTIES RESOURCE_LOCK install_manifest) # both write it
  set_tests_properties(process_base_pack_whole PROPERTIES TIMEOUT 1500 LABELS "soak;base-pack")
endif()

# tests/fleet/<name>.sh BUILD SOURCE [all]: remotes on servers of this machine. The long form has the label fleet: `make fleet`.
if(TARGET kiln_command AND TARGET kiln-remote)
  foreach(name hosts attacks signatures secrets leases doctor bench)
    set(script ${CMAKE_SOURCE_DIR}/tests/fleet/${name}.sh)
    add_test(NAME fleet_${name} COMMAND ${script} ${CMAKE_BINARY_DIR} ${CMAKE_SOURCE_DIR})
    add_test(NAME fleet_${name}_long COMMAND ${script} ${CMAKE_BINARY_DIR} ${CMAKE_SOURCE_DIR} all)
    set_tests_properties(fleet_${name} PROPERTIES TIMEOUT 300 SKIP_RETURN_CODE 77)
    set_tests_properties(fleet_${name}_long PROPERTIES TIMEOUT 1500 SKIP_RETURN_CODE 77 LABELS fleet)
  endforeach()
endif()

# tests/fuzz/<name>.c: one libFuzzer program each, against the archives; only with clang and -DKILN_FUZZ=ON.
option(KILN_FUZZ "fuzz targets (clang)" OFF)
if(KILN_FUZZ)
  add_custom_target(fuzzers)
  set(fuzzed_libraries kiln_core)
  if(TARGET kiln_engine)
    set(fuzzed_libraries kiln_engine kiln_core)
  endif()
  foreach(library ${fuzzed_libraries})
    target_compile_options(${library} PRIVATE -fsanitize=fuzzer-no-link,address)
  endforeach()
  file(GLOB fuzz_tests CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/tests/fuzz/*.c)
  foreach(source ${fuzz_tests})
    get_filename_component(name ${source} NAME_WE)
    string(REGEX REPLACE "^fuzz_" "" name ${name})
    add_executable(fuzz_${name} EXCLUDE_FROM_ALL ${source})
    set_target_properties(fuzz_${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/fuzz)
    target_include_directories(fuzz_${name} PRIVATE include src)
    target_compile_options(fuzz_${name} PRIVATE -fsanitize=fuzzer,address -Wno-missing-prototypes)
    target_link_options(fuzz_${name} PRIVATE -fsanitize=fuzzer,address)
    target_link_libraries(fuzz_${name} PRIVATE ${fuzzed_libraries} m)
    add_dependencies(fuzzers fuzz_${name})
  endforeach()
endif()

include(${CMAKE_SOURCE_DIR}/tests/emulated/emulated.cmake)
include(${CMAKE_SOURCE_DIR}/tests/gpu/gpu.cmake)
if(TARGET kiln-remote)
  include(${CMAKE_SOURCE_DIR}/tests/remote/remote_tests.cmake)
endif()
if(TARGET mlxc)
  include(${CMAKE_SOURCE_DIR}/tests/walk/walk.cmake)
  include(${CMAKE_SOURCE_DIR}/tests/torture/torture.cmake)
endif()

# A base pack that was built here would be found beside the library. Only its own tests use one.
get_property(all_tests DIRECTORY PROPERTY TESTS)
set_property(TEST ${all_tests} APPEND PROPERTY ENVIRONMENT "KILN_BASE_PACK=")
# Fused kernels are what most tests are about, and counters after a first call: they wait. Those of the other way say so.
set_property(TEST ${all_tests} APPEND PROPERTY ENVIRONMENT "KILN_TIER=0")
