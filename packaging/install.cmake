# What `make install` puts where, and the target `installed`: what has to be built for it, so no test is.
#
#   lib/libkiln.so, lib/libmlxc.so, *.a    to link with; lib/cmake/Kiln, share/cmake/MLXC, lib/pkgconfig find them
#   lib/kiln/VERSION/                      what libkiln.so opens: the compiler, signatures, remotes, the base pack
#
# Nothing of it holds the prefix, so the installed tree can be moved.
include(CMakePackageConfigHelpers)
set(private_libdir ${CMAKE_INSTALL_LIBDIR}/kiln/${PROJECT_VERSION})

install(TARGETS kiln mlxc EXPORT KilnTargets LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(TARGETS kiln_static mlxc_static EXPORT KilnTargets ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(TARGETS kiln-llvm kiln-trust kiln-remote LIBRARY DESTINATION ${private_libdir})
install(TARGETS kiln_command RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
install(FILES ${CMAKE_BINARY_DIR}/share/man/man1/kiln.1 DESTINATION ${CMAKE_INSTALL_MANDIR}/man1)
foreach(shell "bash;bash-completion/completions;kiln" "zsh;zsh/site-functions;_kiln" "fish;fish/vendor_completions.d;kiln.fish")
  list(GET shell 0 language)
  list(GET shell 1 folder)
  list(GET shell 2 file)
  install(FILES ${CMAKE_BINARY_DIR}/share/completion.${language} DESTINATION ${CMAKE_INSTALL_DATADIR}/${folder} RENAME ${file})
endforeach()
# Of what is inside of the libraries and the command.
install(FILES third_party/pocketfft/LICENSE.md DESTINATION ${CMAKE_INSTALL_DATADIR}/doc/kiln RENAME pocketfft.LICENSE)
install(FILES LICENSE cli/report/vendor/uPlot.LICENSE DESTINATION ${CMAKE_INSTALL_DATADIR}/doc/kiln)
install(DIRECTORY include/ DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} FILES_MATCHING PATTERN "*.h")
# Where `make base-pack` has made it: libkiln.so looks for it there (src/cache/base_pack.c).
install(FILES ${CMAKE_BINARY_DIR}/lib/kiln/base.kilnpack DESTINATION ${private_libdir} OPTIONAL)

# ---- find_package(Kiln), and find_package(MLXC) as mlx-c installs it ------------------------------------------------
set(kiln_cmake ${CMAKE_INSTALL_LIBDIR}/cmake/Kiln)
set(mlxc_cmake share/cmake/MLXC)
set(MLX_C_VERSION 0.6.0) # the interface's: include/mlx/c
install(EXPORT KilnTargets NAMESPACE kiln:: DESTINATION ${kiln_cmake})
foreach(package Kiln MLXC)
  string(TOLOWER ${package} lower)
  configure_package_config_file(packaging/${package}Config.cmake.in ${CMAKE_BINARY_DIR}/${package}Config.cmake
    INSTALL_DESTINATION ${${lower}_cmake} PATH_VARS CMAKE_INSTALL_INCLUDEDIR CMAKE_INSTALL_LIBDIR kiln_cmake)
endforeach()
write_basic_package_version_file(${CMAKE_BINARY_DIR}/KilnConfigVersion.cmake COMPATIBILITY SameMajorVersion)
write_basic_package_version_file(${CMAKE_BINARY_DIR}/MLXCConfigVersion.cmake COMPATIBILITY SameMajorVersion VERSION ${MLX_C_VERSION})
install(FILES ${CMAKE_BINARY_DIR}/KilnConfig.cmake ${CMAKE_BINARY_DIR}/KilnConfigVersion.cmake DESTINATION ${kiln_cmake})
install(FILES ${CMAKE_BINARY_DIR}/MLXCConfig.cmake ${CMAKE_BINARY_DIR}/MLXCConfigVersion.cmake DESTINATION ${mlxc_cmake})

# ---- pkg-config: the prefix is seen from where the file lies --------------------------------------------------------
file(RELATIVE_PATH prefix_from_pkgconfig /${CMAKE_INSTALL_LIBDIR}/pkgconfig /)
string(REGEX REPLACE "/$" "" prefix_from_pkgconfig ${prefix_from_pkgconfig})
foreach(package kiln mlxc)
  configure_file(packaging/${package}.pc.in ${CMAKE_BINARY_DIR}/${package}.pc @ONLY)
  install(FILES ${CMAKE_BINARY_DIR}/${package}.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
endforeach()

add_custom_target(installed DEPENDS kiln mlxc kiln_static mlxc_static kiln-llvm kiln-trust kiln-remote kiln_command manual)
