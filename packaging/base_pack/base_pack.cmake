# The base pack (docs/base-pack.md): the program that calls what is to be in it, and the target base-pack, which runs it.
if(TARGET mlxc AND TARGET kiln_command)
  set(base_pack_folder ${CMAKE_SOURCE_DIR}/packaging/base_pack)
  set(reduction_calls ${generated}/reduction_calls.h)
  add_custom_command(OUTPUT ${reduction_calls}
    COMMAND ${AWK} -f ${base_pack_folder}/reduction_calls.awk ${abi_table} > ${reduction_calls}
    DEPENDS ${abi_table} ${base_pack_folder}/reduction_calls.awk VERBATIM)
  file(GLOB base_pack_sources CONFIGURE_DEPENDS ${base_pack_folder}/*.c)
  add_executable(kiln_base_pack ${base_pack_sources} ${reduction_calls})
  set_target_properties(kiln_base_pack PROPERTIES OUTPUT_NAME kiln-base-pack)
  target_include_directories(kiln_base_pack PRIVATE include src) # of src, graph/ops.def only: a table
  target_link_libraries(kiln_base_pack PRIVATE mlxc m)

  set(base_pack ${CMAKE_BINARY_DIR}/lib/kiln/base.kilnpack)
  add_custom_command(OUTPUT ${base_pack}
    COMMAND ${CMAKE_SOURCE_DIR}/tools/base_pack.sh ${CMAKE_BINARY_DIR} ${base_pack}
    DEPENDS kiln_base_pack kiln_command kiln mlxc kiln-llvm ${CMAKE_SOURCE_DIR}/tools/base_pack.sh
    USES_TERMINAL VERBATIM)
  add_custom_target(base-pack DEPENDS ${base_pack})
endif()
