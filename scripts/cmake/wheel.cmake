# What scikit-build-core puts into the wheel (pyproject.toml): the libraries, beside the Python sources. auditwheel then
# adds what they need, oneDNN and libgomp, under names of its own and with relative paths (scripts/wheel).
set(package onnxruntime_ep_octet)
set(wheel_libraries octet_ep octet octet_reference)
# A wheel holds no symbolic links: plain names.
set_property(TARGET ${wheel_libraries} PROPERTY VERSION)
set_property(TARGET ${wheel_libraries} PROPERTY SOVERSION)
# Where auditwheel finds oneDNN; it leaves nothing of it.
get_target_property(onednn_library DNNL::dnnl LOCATION)
cmake_path(GET onednn_library PARENT_PATH onednn_dir)
set_target_properties(octet_ep octet PROPERTIES INSTALL_RPATH ${onednn_dir})
install(TARGETS ${wheel_libraries} LIBRARY DESTINATION ${package})
install(DIRECTORY ${PROJECT_SOURCE_DIR}/test/cases DESTINATION ${package}/compare FILES_MATCHING PATTERN "*.json"
        PATTERN "dispatch.json" EXCLUDE)
