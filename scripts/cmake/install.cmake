# What `cmake --install` writes:
#   include/octet/                    the public headers
#   lib/liboctet.so, lib/cmake/Octet  find_package(Octet): Octet::octet, Octet::graph, and component onnx: Octet::onnx
#   lib/pkgconfig/octet.pc
#   lib/octet/                        the oneDNN and libgomp that came with the build, found by relative paths
#   lib/libonnxruntime_ep_octet.so, lib/liboctet_reference.so, bin/octet
# Nothing installed refers to the build or source tree.

get_target_property(onednn_library DNNL::dnnl LOCATION)
file(REAL_PATH "${onednn_library}" onednn_library)
cmake_path(IS_PREFIX PROJECT_SOURCE_DIR "${onednn_library}" NORMALIZE onednn_is_local)
option(OCTET_BUNDLE_ONEDNN "Install the oneDNN that was built against (and the libgomp beside it)" ${onednn_is_local})

set(config_dir ${CMAKE_INSTALL_LIBDIR}/cmake/Octet)
set(bundle_dir ${CMAKE_INSTALL_LIBDIR}/octet)

if(OCTET_BUNDLE_ONEDNN)
  # The real file under its soname: install(FILES) would copy a symlink that leads nowhere.
  install(FILES ${onednn_library} DESTINATION ${bundle_dir} RENAME $<TARGET_SONAME_FILE_NAME:DNNL::dnnl>)
  cmake_path(GET onednn_library PARENT_PATH onednn_dir)
  if(EXISTS ${onednn_dir}/libgomp.so.1)
    file(REAL_PATH ${onednn_dir}/libgomp.so.1 onednn_libgomp)
    install(FILES ${onednn_libgomp} DESTINATION ${bundle_dir} RENAME libgomp.so.1)
  endif()
endif()

set(octet_installed_libraries octet)
install(TARGETS octet EXPORT OctetTargets LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(EXPORT OctetTargets NAMESPACE Octet:: DESTINATION ${config_dir})
if(TARGET octet_graph)
  list(APPEND octet_installed_libraries octet_graph)
  set_target_properties(octet_graph PROPERTIES EXPORT_NAME graph)
  install(TARGETS octet_graph EXPORT OctetGraphTargets LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
  install(EXPORT OctetGraphTargets NAMESPACE Octet:: DESTINATION ${config_dir})
endif()
if(TARGET octet_onnx)
  set_target_properties(octet_onnx PROPERTIES EXPORT_NAME onnx)
  install(TARGETS octet_onnx EXPORT OctetOnnxTargets ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR})
  install(EXPORT OctetOnnxTargets NAMESPACE Octet:: DESTINATION ${config_dir})
endif()
foreach(library IN ITEMS octet_ep octet_reference)
  if(TARGET ${library})
    list(APPEND octet_installed_libraries ${library})
    install(TARGETS ${library} LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
  endif()
endforeach()
set_target_properties(${octet_installed_libraries} PROPERTIES INSTALL_RPATH "$ORIGIN;$ORIGIN/octet")

if(TARGET octet_cli)
  file(RELATIVE_PATH libdir_from_bindir /${CMAKE_INSTALL_BINDIR} /${CMAKE_INSTALL_LIBDIR})
  set_target_properties(octet_cli PROPERTIES INSTALL_RPATH "$ORIGIN/${libdir_from_bindir}")
  install(TARGETS octet_cli RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
endif()

file(GLOB octet_headers CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/include/octet/*.h
                                          ${PROJECT_SOURCE_DIR}/include/octet/*.hpp)
install(FILES ${octet_headers} ${PROJECT_BINARY_DIR}/include/octet/version.h
        DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/octet)
install(FILES ${PROJECT_SOURCE_DIR}/LICENSE ${PROJECT_SOURCE_DIR}/README.md ${PROJECT_SOURCE_DIR}/CHANGELOG.md
        DESTINATION ${CMAKE_INSTALL_DOCDIR})
install(DIRECTORY ${PROJECT_SOURCE_DIR}/docs/licenses DESTINATION ${CMAKE_INSTALL_DOCDIR})

configure_package_config_file(scripts/cmake/OctetConfig.cmake.in OctetConfig.cmake INSTALL_DESTINATION ${config_dir})
write_basic_package_version_file(OctetConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/OctetConfig.cmake ${PROJECT_BINARY_DIR}/OctetConfigVersion.cmake
        DESTINATION ${config_dir})

file(RELATIVE_PATH prefix_from_pkgconfig /${CMAKE_INSTALL_LIBDIR}/pkgconfig /)
configure_file(scripts/cmake/octet.pc.in octet.pc @ONLY)
install(FILES ${PROJECT_BINARY_DIR}/octet.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)

# `cpack` in the build folder, or its target `package`: the same tree as an archive.
set(CPACK_GENERATOR TGZ)
set(CPACK_PACKAGE_NAME octet)
set(CPACK_PACKAGE_VENDOR Octet)
set(CPACK_PACKAGE_CHECKSUM SHA256)
set(CPACK_RESOURCE_FILE_LICENSE ${PROJECT_SOURCE_DIR}/LICENSE)
set(CPACK_STRIP_FILES ON)
set(CPACK_THREADS 0)
set(CPACK_VERBATIM_VARIABLES ON)
include(CPack)
