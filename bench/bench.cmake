# The bench: build/bin/kiln-bench. Floors are loops by hand, so they are optimised like ones; floors.c for this very
# processor, rounded as kernels are, and by clang whoever builds the rest: it makes the best of the helpers' source.
if(TARGET mlxc)
  set(floors_object ${CMAKE_BINARY_DIR}/kiln_bench_floors.o)
  add_custom_command(
    OUTPUT ${floors_object}
    COMMAND ${CLANG_FOR_BITCODE} -std=gnu11 -D_GNU_SOURCE -O3 -march=native -mprefer-vector-width=512 -ffp-contract=off
            -fno-math-errno -fno-trapping-math -fPIC -Wall -Wextra -Wshadow -I${CMAKE_SOURCE_DIR}/src
            -c ${CMAKE_SOURCE_DIR}/bench/floors.c -o ${floors_object}
    DEPENDS ${CMAKE_SOURCE_DIR}/bench/floors.c ${CMAKE_SOURCE_DIR}/bench/floors.h ${CMAKE_SOURCE_DIR}/bench/parallel.h
            ${runtime_sources}
    VERBATIM)
  file(GLOB bench_sources CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/bench/*.c)
  list(REMOVE_ITEM bench_sources ${CMAKE_SOURCE_DIR}/bench/floors.c)
  add_executable(kiln_bench ${bench_sources} ${floors_object})
  set_target_properties(kiln_bench PROPERTIES OUTPUT_NAME kiln-bench)
  target_compile_options(kiln_bench PRIVATE -O3)
  target_include_directories(kiln_bench PRIVATE include)
  target_link_libraries(kiln_bench PRIVATE llama_decoder kiln_json mlxc kiln Threads::Threads ${CMAKE_DL_LIBS} m)
endif()

# bench/fleet: entries over remotes, through Kiln and by hand (make bench-fleet).
if(TARGET kiln-remote)
  set(fleet_bench ${CMAKE_SOURCE_DIR}/bench/fleet)
  add_executable(kiln_fleet_mover ${fleet_bench}/mover.c ${fleet_bench}/mover_curl.c ${fleet_bench}/mover_redis.c ${fleet_bench}/times.c)
  set_target_properties(kiln_fleet_mover PROPERTIES OUTPUT_NAME kiln-fleet-mover)
  target_link_libraries(kiln_fleet_mover PRIVATE ${CURL_LIBRARY} ${HIREDIS_LIBRARY} Threads::Threads)
  add_executable(kiln_fleet_load ${fleet_bench}/load.c ${fleet_bench}/times.c)
  set_target_properties(kiln_fleet_load PROPERTIES OUTPUT_NAME kiln-fleet-load)
  target_include_directories(kiln_fleet_load PRIVATE include)
  target_link_libraries(kiln_fleet_load PRIVATE kiln)
endif()

# bench/peers: our part of make peers.
if(TARGET kiln_bench)
  add_executable(kiln_peers ${CMAKE_SOURCE_DIR}/bench/peers/kiln_peers.c ${CMAKE_SOURCE_DIR}/bench/arrays.c
                 ${CMAKE_SOURCE_DIR}/bench/backward.c ${CMAKE_SOURCE_DIR}/bench/parallel.c ${floors_object})
  set_target_properties(kiln_peers PROPERTIES OUTPUT_NAME kiln-peers)
  target_compile_options(kiln_peers PRIVATE -O2)
  target_include_directories(kiln_peers PRIVATE include bench)
  target_link_libraries(kiln_peers PRIVATE mlxc Threads::Threads m)
endif()
