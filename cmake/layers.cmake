# One OBJECT library per layer: registries fill themselves at start-up; a linker would drop them from a static archive.
set(BORA_LAYERS "" CACHE INTERNAL "")

# Instrumented loops take minutes to compile at -O3.
set(BORA_KERNEL_OPTIMIZATION -O3)
if(BORA_SANITIZE)
  set(BORA_KERNEL_OPTIMIZATION -O1)
endif()

# One precompiled header for each set of compiler flags: a target with those of `owner` uses the owner's.
function(bora_reuse_pch target owner)
  if(BORA_PCH)
    target_precompile_headers(${target} REUSE_FROM ${owner})
  endif()
endfunction()

# The library and the command use that of base; layers that only stage programs that of the first of them, since g++
# applies the -O of the precompiled header to functions in it. Kernels have none: their flags are others.
function(bora_library_pch target)
  get_target_property(stages ${target} BORA_STAGES)
  set(owner bora_base)
  if(stages)
    set(owner bora_named)
  endif()
  if(NOT BORA_PCH OR target STREQUAL bora_kernels)
    return()
  elseif(NOT target STREQUAL owner)
    bora_reuse_pch(${target} ${owner})
  else()
    target_precompile_headers(${target} PRIVATE
      <algorithm> <array> <cmath> <cstdint> <functional> <map> <memory> <optional> <sstream> <string>
      <string_view> <unordered_map> <utility> <variant> <vector>)
  endif()
endfunction()

# A unit of each `batch` files of a target, unless BORA_UNITY is off.
function(bora_unity target batch)
  if(BORA_UNITY)
    set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_MODE BATCH UNITY_BUILD_BATCH_SIZE ${batch})
    # What is in an unnamed namespace g++ knows to be of one unit for the file that it compiles alone.
    target_compile_options(${target} PRIVATE $<$<CXX_COMPILER_ID:GNU>:-Wno-subobject-linkage>)
  endif()
endfunction()

# bora_layer(NAME [STAGES] [LINK lib...]): src/NAME/*.cpp and sources in its folders; sources in a folder isa are built
# once per instruction set, each in its own namespace. STAGES: its code makes programs and computes nothing itself, so
# that -O1, which compiles in four fifths of the time, costs a run nothing.
function(bora_layer name)
  cmake_parse_arguments(L "STAGES" "" "LINK" ${ARGN})
  file(GLOB sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/src/${name}/*.cpp ${PROJECT_SOURCE_DIR}/src/${name}/*/*.cpp)
  file(GLOB isa_sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/src/${name}/*/isa/*.cpp)
  add_library(bora_${name} OBJECT ${sources})
  target_include_directories(bora_${name}
    PUBLIC $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include>
      $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/transport/include>
    PRIVATE ${PROJECT_SOURCE_DIR}/src)
  target_link_libraries(bora_${name} PUBLIC bora_flags PRIVATE bora_warnings ${L_LINK})
  if(L_STAGES)
    set_target_properties(bora_${name} PROPERTIES BORA_STAGES ON)
    target_compile_options(bora_${name} PRIVATE $<$<CONFIG:Release>:-O1>)
  endif()
  bora_library_pch(bora_${name})
  if(name STREQUAL kernels)
    target_compile_options(bora_${name} PRIVATE ${BORA_KERNEL_OPTIMIZATION} -Wno-maybe-uninitialized)
    # g++ 12 contracts a vectorised product of complex numbers (vfmaddsub) also with -ffp-contract=off: bits would
    # depend on where a loop is cut.
    set_source_files_properties(src/kernels/loop/complex.cpp src/kernels/fft/fft.cpp PROPERTIES
      COMPILE_OPTIONS -fno-tree-vectorize)
  endif()
  list(APPEND BORA_LAYERS ${name})
  foreach(isa v3 v4)
    if(isa_sources)
      add_library(bora_${name}_${isa} OBJECT ${isa_sources})
      target_include_directories(bora_${name}_${isa} PRIVATE ${PROJECT_SOURCE_DIR}/include ${PROJECT_SOURCE_DIR}/src)
      if(NOT TARGET bora_march_${isa})   # a direct option would precede bora_flags' -march and lose
        add_library(bora_march_${isa} INTERFACE)
        target_compile_options(bora_march_${isa} INTERFACE -march=x86-64-${isa})
      endif()
      target_link_libraries(bora_${name}_${isa} PRIVATE bora_flags bora_warnings bora_march_${isa})
      # g++ 12 reports intrinsics of AVX-512 as uninitialised.
      target_compile_options(bora_${name}_${isa} PRIVATE
        ${BORA_KERNEL_OPTIMIZATION} -fno-math-errno -fno-trapping-math -Wno-maybe-uninitialized -Wno-uninitialized)
      target_compile_definitions(bora_${name}_${isa} PRIVATE BORA_ISA=${isa})
      list(APPEND BORA_LAYERS ${name}_${isa})
    endif()
  endforeach()
  set(BORA_LAYERS "${BORA_LAYERS}" CACHE INTERNAL "")
endfunction()

function(bora_finish_library)
  set(objects "")
  foreach(layer ${BORA_LAYERS})
    list(APPEND objects $<TARGET_OBJECTS:bora_${layer}>)
  endforeach()
  add_library(bora SHARED ${objects})
  add_library(bora::bora ALIAS bora)
  target_include_directories(bora PUBLIC
    $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include> $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/transport/include>
    $<INSTALL_INTERFACE:include>)
  target_compile_features(bora PUBLIC cxx_std_20)
  target_link_libraries(bora PRIVATE
    bora_flags OpenMP::OpenMP_CXX Threads::Threads ${DNNL_LIBRARY} Eigen3::Eigen TBB::tbb yaml-cpp PkgConfig::HWY
    OpenSSL::Crypto ZLIB::ZLIB PkgConfig::ZSTD PkgConfig::PCRE2 PkgConfig::UTF8PROC PkgConfig::SENTENCEPIECE
    bora_transport backtrace ${CMAKE_DL_LIBS})
  target_link_options(bora PRIVATE -Wl,-z,nodelete)   # its threads outlive a dlclose
  set_target_properties(bora PROPERTIES VERSION ${PROJECT_VERSION} SOVERSION 0)
endfunction()

function(bora_app)
  bora_layer(app STAGES LINK yaml-cpp nlohmann_json::nlohmann_json)
  target_compile_definitions(bora_app PRIVATE BORA_VERSION="${PROJECT_VERSION}")
  add_executable(bora_cli)
  set_target_properties(bora_cli PROPERTIES OUTPUT_NAME bora LINKER_LANGUAGE CXX)
  target_link_libraries(bora_cli PRIVATE bora_app bora_launch bora bora_transport yaml-cpp)
endfunction()
