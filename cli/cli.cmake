# JSON and printable text for the command and the bench, which otherwise see public headers only: a copy of their own,
# hidden, so that nothing of theirs is bound to libkiln.so's private names.
add_library(kiln_json STATIC src/base/json.c src/base/buffer.c src/base/format.c)
target_include_directories(kiln_json PUBLIC src)
target_compile_options(kiln_json PRIVATE -fvisibility=hidden)

# The command: build/bin/kiln.
if(TARGET mlxc)
  file(GLOB cli_sources RELATIVE ${CMAKE_SOURCE_DIR} CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/cli/*.c)
  add_executable(kiln_command ${cli_sources})
  set_target_properties(kiln_command PROPERTIES OUTPUT_NAME kiln BUILD_RPATH "$ORIGIN/../lib"
    INSTALL_RPATH "$ORIGIN/../${CMAKE_INSTALL_LIBDIR}")
  target_include_directories(kiln_command PRIVATE include)
  target_link_libraries(kiln_command PRIVATE kiln_json mlxc kiln m Threads::Threads ${CMAKE_DL_LIBS})
  file(GLOB_RECURSE report_parts CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/cli/report/*)
  set_source_files_properties(cli/report_parts.c PROPERTIES COMPILE_DEFINITIONS KILN_REPORT="${CMAKE_SOURCE_DIR}/cli/report"
    OBJECT_DEPENDS "${report_parts}")
  # The manual page, from the texts of --help.
  set(manual_page ${CMAKE_BINARY_DIR}/share/man/man1/kiln.1)
  file(MAKE_DIRECTORY ${CMAKE_BINARY_DIR}/share/man/man1)
  add_custom_command(OUTPUT ${manual_page} COMMAND kiln_command --man > ${manual_page}.new
    COMMAND ${CMAKE_COMMAND} -E rename ${manual_page}.new ${manual_page} DEPENDS kiln_command VERBATIM)
  set(completions)
  foreach(shell bash zsh fish)
    set(completion ${CMAKE_BINARY_DIR}/share/completion.${shell})
    add_custom_command(OUTPUT ${completion} COMMAND kiln_command --completion ${shell} > ${completion}.new
      COMMAND ${CMAKE_COMMAND} -E rename ${completion}.new ${completion} DEPENDS kiln_command VERBATIM)
    list(APPEND completions ${completion})
  endforeach()
  add_custom_target(manual ALL DEPENDS ${manual_page} ${completions})
endif()
