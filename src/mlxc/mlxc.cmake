# The array engine (an archive, for unit tests) and the mlx-c ABI on top of it: libmlxc.so.
room_sources(engine_sources ${ENGINE_ROOMS})
if(engine_sources)
  add_library(kiln_engine STATIC ${engine_sources})
  target_include_directories(kiln_engine PUBLIC include src)
  target_link_libraries(kiln_engine PUBLIC Threads::Threads ${CMAKE_DL_LIBS} m)
endif()
