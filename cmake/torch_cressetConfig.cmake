# find_package(torch_cresset PATHS <site-packages>/torch_cresset/cmake): links the device into a C++ program. The program links
# libtorch itself; loading the library registers the device.
get_filename_component(TORCH_CRESSET_ROOT "${CMAKE_CURRENT_LIST_DIR}/.." ABSOLUTE)
if(NOT TARGET torch_cresset::torch_cresset)
  add_library(torch_cresset::torch_cresset SHARED IMPORTED)
  set_target_properties(torch_cresset::torch_cresset PROPERTIES
    IMPORTED_LOCATION "${TORCH_CRESSET_ROOT}/lib/libtorch_cresset.so"
    INTERFACE_INCLUDE_DIRECTORIES "${TORCH_CRESSET_ROOT}/include"
    INTERFACE_LINK_OPTIONS "-Wl,--no-as-needed")
endif()
