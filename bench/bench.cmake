# The bench: build/bin/kiln-bench. Floors are loops by hand, so they are optimised like ones.
if(TARGET mlxc)
  file(GLOB bench_sources CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/bench/*.c)
  add_executable(kiln_bench ${bench_sources})
  set_target_properties(kiln_bench PROPERTIES OUTPUT_NAME kiln-bench)
  target_compile_options(kiln_bench PRIVATE -O3)
  target_include_directories(kiln_bench PRIVATE include)
  target_link_libraries(kiln_bench PRIVATE mlxc kiln Threads::Threads ${CMAKE_DL_LIBS})
endif()
