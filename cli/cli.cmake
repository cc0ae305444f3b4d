# The command: build/bin/kiln. It sees public headers only.
if(TARGET mlxc)
  file(GLOB cli_sources CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/cli/*.c)
  add_executable(kiln_command ${cli_sources})
  set_target_properties(kiln_command PROPERTIES OUTPUT_NAME kiln BUILD_RPATH "$ORIGIN/../lib"
    INSTALL_RPATH "$ORIGIN/../${CMAKE_INSTALL_LIBDIR}")
  target_compile_definitions(kiln_command PRIVATE KILN_VERSION_TEXT="${PROJECT_VERSION}")
  target_include_directories(kiln_command PRIVATE include)
  target_link_libraries(kiln_command PRIVATE mlxc kiln m Threads::Threads ${CMAKE_DL_LIBS})
endif()
