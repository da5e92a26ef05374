# What `cmake --install` puts where: libraries, headers, the program, a CMake package and a pkg-config file.
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

# weft::weft is everything that a user links: sessions and the importers they load models with.
add_library(weft_umbrella INTERFACE)
add_library(weft::weft ALIAS weft_umbrella)
target_link_libraries(weft_umbrella INTERFACE weft_runtime weft_import_onnx)
set_target_properties(weft_umbrella PROPERTIES EXPORT_NAME weft)

get_property(libraries GLOBAL PROPERTY WEFT_LIBRARIES)
install(TARGETS weft_umbrella ${libraries} EXPORT weftTargets ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(TARGETS weft RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
install(EXPORT weftTargets NAMESPACE weft:: DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/weft)

# The public face: headers directly in a folder, and those of ir/support and ir/import.
foreach(folder ir ir/support ir/import egraph passes backends runtime)
  file(GLOB headers CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/${folder}/*.hpp)
  install(FILES ${headers} DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/weft/${folder})
endforeach()
file(GLOB lists CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/ir/ops/*.inc)
install(FILES ${lists} DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/weft/ir/ops)

configure_package_config_file(tools/cmake/weft_config.cmake.in weftConfig.cmake INSTALL_DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/weft)
write_basic_package_version_file(weftConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${CMAKE_BINARY_DIR}/weftConfig.cmake ${CMAKE_BINARY_DIR}/weftConfigVersion.cmake DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/weft)

set(WEFT_PC_LIBS "")
foreach(library IN LISTS libraries)
  string(APPEND WEFT_PC_LIBS " -l${library}")
endforeach()
set(WEFT_PC_ONEDNN "")
if(TARGET weft_backend_onednn)
  set(WEFT_PC_ONEDNN "-ldnnl -lgomp")
endif()
file(RELATIVE_PATH WEFT_PC_PREFIX /p/${CMAKE_INSTALL_LIBDIR}/pkgconfig /p)  # relocatable: from the file up to the prefix
configure_file(tools/cmake/weft.pc.in weft.pc @ONLY)
install(FILES ${CMAKE_BINARY_DIR}/weft.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
