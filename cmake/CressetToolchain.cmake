# Compiler flags, MLIR/LLVM 22, the optional accelerators of the build (ccache, mold), and the one
# function every room of src/ is declared with.

find_program(CCACHE ccache)
if(CCACHE)
  set(CMAKE_C_COMPILER_LAUNCHER ${CMAKE_COMMAND} -E env CCACHE_SLOPPINESS=pch_defines,time_macros ${CCACHE})
  set(CMAKE_CXX_COMPILER_LAUNCHER ${CMAKE_C_COMPILER_LAUNCHER})
endif()
find_program(MOLD mold)
if(MOLD)
  add_link_options(-fuse-ld=mold)
endif()

# The kernel cache tells builds of the compiler apart by it.
add_link_options(-Wl,--build-id)

set(CMAKE_CXX_FLAGS_RELEASE "-O2 -DNDEBUG")
add_compile_options(-Wall -Wextra -Wno-unused-parameter -Wno-comment -Wno-attributes -fno-semantic-interposition)
if(CMAKE_CXX_COMPILER_ID MATCHES Clang)
  # gcc 12's std::stable_sort calls what its own headers deprecate.
  add_compile_options($<$<COMPILE_LANGUAGE:CXX>:-Wno-deprecated-declarations>)
  # Lets ccache see through precompiled headers, as gcc's does.
  add_compile_options("$<$<COMPILE_LANGUAGE:CXX>:SHELL:-Xclang -fno-pch-timestamp>")
else()
  add_compile_options(-fpch-preprocess)
endif()

find_package(MLIR 22.1 REQUIRED CONFIG HINTS /usr/lib/llvm-22/lib/cmake/mlir)
list(APPEND CMAKE_MODULE_PATH ${MLIR_CMAKE_DIR} ${LLVM_CMAKE_DIR})
include(TableGen)
include(AddLLVM)
include(AddMLIR)

# MLIR and LLVM, statically: the shared libraries are 250 MB, whose relocations cost every process that imports torch 54 MB and a tenth of a
# second, they would have to be where they were when it was built, and another LLVM in the process could get into their way.
# Archives by file: the imported targets ask for the shared LLVM.
file(GLOB llvm_archives ${LLVM_LIBRARY_DIR}/libMLIR*.a ${LLVM_LIBRARY_DIR}/libLLVM*.a)
find_library(ZLIB_LIBRARY z REQUIRED)
find_library(ZSTD_LIBRARY zstd REQUIRED)
add_library(cresset_llvm INTERFACE)
target_include_directories(cresset_llvm SYSTEM INTERFACE ${MLIR_INCLUDE_DIRS} ${LLVM_INCLUDE_DIRS})
target_link_options(cresset_llvm INTERFACE -Wl,--gc-sections)
target_link_libraries(cresset_llvm INTERFACE -Wl,--start-group ${llvm_archives} -Wl,--end-group ${ZLIB_LIBRARY} ${ZSTD_LIBRARY} ${CMAKE_DL_LIBS})

# cresset_room(NAME [TORCH] DEPENDS other rooms…): a static library of every .cpp in this folder and those below.
# Rooms include each other by path from src/ ("runtime/program.h"); generated headers by the same path.
# TORCH rooms see PyTorch's headers; the others must not, so that the compiler builds without it.
function(cresset_room name)
  cmake_parse_arguments(ROOM "TORCH" "" "DEPENDS" ${ARGN})
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/*.cpp)
  add_library(cresset_${name} STATIC ${sources})
  target_include_directories(cresset_${name} PUBLIC ${PROJECT_SOURCE_DIR}/src ${PROJECT_SOURCE_DIR}/include
                                                    ${PROJECT_BINARY_DIR}/src)
  foreach(dependency ${ROOM_DEPENDS})
    target_link_libraries(cresset_${name} PUBLIC cresset_${dependency})
  endforeach()
  target_link_libraries(cresset_${name} PUBLIC cresset_llvm)
  if(ROOM_TORCH)
    target_link_libraries(cresset_${name} PUBLIC torch_headers)
    target_precompile_headers(cresset_${name} REUSE_FROM cresset_torch_pch)
  else()
    target_precompile_headers(cresset_${name} REUSE_FROM cresset_mlir_pch)
  endif()
endfunction()
