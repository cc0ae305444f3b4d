# Programs as a user would write them: public headers and the shared libraries, nothing else.
add_executable(c_kernels ${CMAKE_SOURCE_DIR}/examples/c_kernels/c_kernels.c)
target_include_directories(c_kernels PRIVATE include)
target_link_libraries(c_kernels PRIVATE kiln ${CMAKE_DL_LIBS})
if(TARGET mlxc)
  add_executable(quickstart ${CMAKE_SOURCE_DIR}/examples/quickstart.c)
  target_include_directories(quickstart PRIVATE include)
  target_link_libraries(quickstart PRIVATE mlxc)
endif()
