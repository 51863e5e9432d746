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

# The first layer of each optimisation owns a precompiled header: g++ applies the -O of the precompiled header to
# functions in it. Kernels have none: their flags are others.
function(bora_library_pch target optimization)
  if(NOT BORA_PCH)
    return()
  endif()
  get_property(owner GLOBAL PROPERTY bora_pch_owner${optimization})
  if(owner)
    bora_reuse_pch(${target} ${owner})
  else()
    set_property(GLOBAL PROPERTY bora_pch_owner${optimization} ${target})
    target_precompile_headers(${target} PRIVATE
      <algorithm> <array> <cmath> <cstdint> <functional> <map> <memory> <optional> <sstream> <string>
      <string_view> <unordered_map> <utility> <variant> <vector>)
  endif()
endfunction()

# A unit of each `batch` files of a target, unless BORA_UNITY is off.
function(bora_unity target batch)
  if(BORA_UNITY)
    set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_MODE BATCH UNITY_BUILD_BATCH_SIZE ${batch})
    # g++ warns of members from unnamed namespaces in every file but the one that it compiles.
    target_compile_options(${target} PRIVATE $<$<CXX_COMPILER_ID:GNU>:-Wno-subobject-linkage>)
  endif()
endfunction()

# bora_objects(NAME -O1|-O2 source...): sources of a layer with one optimisation, eight or six in a unit. In Release
# they have no debug information, which nothing reads: errors quote lines of the program, never of the library.
function(bora_objects name optimization)
  add_library(bora_${name} OBJECT ${ARGN})
  target_include_directories(bora_${name}
    PUBLIC $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include>
      $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/transport/include>
    PRIVATE ${PROJECT_SOURCE_DIR}/src)
  target_link_libraries(bora_${name} PUBLIC bora_flags PRIVATE bora_warnings)
  target_compile_options(bora_${name} PRIVATE -fvisibility-inlines-hidden $<$<CONFIG:Release>:${optimization}>
    $<$<AND:$<CONFIG:Release>,$<BOOL:${BORA_DEBUG_LINES}>>:-g1>)
  bora_library_pch(bora_${name} ${optimization})
  set(batch 8)
  if(optimization STREQUAL -O2)
    set(batch 6)
  endif()
  bora_unity(bora_${name} ${batch})
  set(BORA_LAYERS ${BORA_LAYERS} ${name} CACHE INTERNAL "")
endfunction()

# bora_layer(NAME [HOT file...] [LINK lib...]): src/NAME/*.cpp and sources in its folders, two deep. Most layers make
# programs and compute nothing themselves, so that -O1, which compiles in four fifths of the time, costs a run nothing.
# Files of HOT (patterns below src/NAME, without .cpp) work on data, or run at every call, and are built with -O2.
function(bora_layer name)
  cmake_parse_arguments(L "" "" "HOT;LINK" ${ARGN})
  set(folder ${PROJECT_SOURCE_DIR}/src/${name})
  file(GLOB sources CONFIGURE_DEPENDS ${folder}/*.cpp ${folder}/*/*.cpp ${folder}/*/*/*.cpp)
  set(hot "")
  foreach(pattern ${L_HOT})
    file(GLOB found ${folder}/${pattern}.cpp)
    if(NOT found)
      message(FATAL_ERROR "bora_layer(${name}): no file is called ${pattern}.cpp")
    endif()
    list(APPEND hot ${found})
  endforeach()
  if(hot)
    list(REMOVE_ITEM sources ${hot})
  endif()
  if(hot AND sources)
    bora_objects(${name} -O1 ${sources})
    bora_objects(${name}_hot -O2 ${hot})
    target_link_libraries(bora_${name}_hot PRIVATE ${L_LINK})
  elseif(hot)
    bora_objects(${name} -O2 ${hot})
  else()
    bora_objects(${name} -O1 ${sources})
  endif()
  target_link_libraries(bora_${name} PRIVATE ${L_LINK})
endfunction()

# bora_embed(LAYER FILE): a file of the sources as the text of a string: the layer's sources include NAME_EXTENSION.inc.
function(bora_embed layer file)
  set(path ${PROJECT_SOURCE_DIR}/${file})
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${path})
  file(READ ${path} text)
  get_filename_component(name ${file} NAME)
  string(REPLACE "." "_" name ${name})
  file(CONFIGURE OUTPUT ${PROJECT_BINARY_DIR}/generated/${name}.inc CONTENT "R\"page(@text@)page\"" @ONLY)
  target_include_directories(bora_${layer} PRIVATE ${PROJECT_BINARY_DIR}/generated)
endfunction()

# The kernels: always optimised, a unit for each file. Those in a folder isa are built once for each instruction set,
# each time in a namespace of its name.
function(bora_kernels)
  file(GLOB sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/src/kernels/*.cpp ${PROJECT_SOURCE_DIR}/src/kernels/*/*.cpp)
  file(GLOB isa_sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/src/kernels/*/isa/*.cpp)
  add_library(bora_kernels OBJECT ${sources})
  target_link_libraries(bora_kernels PRIVATE bora_dnnl PkgConfig::HWY OpenMP::OpenMP_CXX)
  # g++ 12 contracts a vectorised product of complex numbers (vfmaddsub) also with -ffp-contract=off: bits would depend
  # on where a loop is cut.
  set_source_files_properties(src/kernels/loop/complex.cpp src/kernels/fft/fft.cpp PROPERTIES
    COMPILE_OPTIONS -fno-tree-vectorize)
  foreach(isa v3 v4)
    add_library(bora_kernels_${isa} OBJECT ${isa_sources})
    add_library(bora_march_${isa} INTERFACE)   # a direct option would precede bora_flags' -march and lose
    target_compile_options(bora_march_${isa} INTERFACE -march=x86-64-${isa})
    # g++ 12 reports intrinsics of AVX-512 as uninitialised.
    target_compile_options(bora_kernels_${isa} PRIVATE -fno-math-errno -fno-trapping-math -Wno-uninitialized)
    target_compile_definitions(bora_kernels_${isa} PRIVATE BORA_ISA=${isa})
    target_link_libraries(bora_kernels_${isa} PRIVATE bora_flags bora_march_${isa})
  endforeach()
  foreach(target bora_kernels bora_kernels_v3 bora_kernels_v4)
    target_include_directories(${target} PRIVATE ${PROJECT_SOURCE_DIR}/include ${PROJECT_SOURCE_DIR}/src)
    target_link_libraries(${target} PRIVATE bora_flags bora_warnings)
    target_compile_options(${target} PRIVATE ${BORA_KERNEL_OPTIMIZATION} -Wno-maybe-uninitialized
      $<$<AND:$<CONFIG:Release>,$<BOOL:${BORA_DEBUG_LINES}>>:-g1>)
  endforeach()
  set(BORA_LAYERS ${BORA_LAYERS} kernels kernels_v3 kernels_v4 CACHE INTERNAL "")
endfunction()

# bora: the library; it exports what programs may use, cmake/exports.cmake. bora_whole: the same objects with all their
# symbols, for tests and benchmarks that read private headers. No program links to both.
function(bora_finish_library)
  set(objects "")
  foreach(layer ${BORA_LAYERS})
    list(APPEND objects $<TARGET_OBJECTS:bora_${layer}>)
  endforeach()
  set(BORA_OBJECTS ${objects} PARENT_SCOPE)
  add_library(bora_needs INTERFACE)
  target_link_libraries(bora_needs INTERFACE
    bora_flags OpenMP::OpenMP_CXX Threads::Threads ${DNNL_LIBRARY} Eigen3::Eigen TBB::tbb yaml-cpp PkgConfig::HWY
    OpenSSL::Crypto ZLIB::ZLIB PkgConfig::ZMQ PkgConfig::ZSTD Snappy::snappy PkgConfig::PCRE2 PkgConfig::UTF8PROC
    PkgConfig::SENTENCEPIECE backtrace ${CMAKE_DL_LIBS})
  add_library(bora SHARED ${objects})
  add_library(bora::bora ALIAS bora)
  add_library(bora_whole SHARED ${objects})
  set_target_properties(bora_whole PROPERTIES EXCLUDE_FROM_ALL ON)
  foreach(library bora bora_whole)
    target_include_directories(${library} PUBLIC
      $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include> $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/transport/include>
      $<INSTALL_INTERFACE:include>)
    target_compile_features(${library} PUBLIC cxx_std_20)
    target_link_libraries(${library} PRIVATE bora_needs)
    # nodelete: its threads outlive a dlclose. Bsymbolic-functions: it calls its own functions directly, which saves
    # 15 % of a small eager operation; its data, such as names of types, are shared with programs all the same.
    target_link_options(${library} PRIVATE -Wl,-z,nodelete -Wl,-Bsymbolic-functions)
  endforeach()
  bora_export_map(${PROJECT_BINARY_DIR}/exports.map)
  target_link_options(bora PRIVATE -Wl,--version-script,${PROJECT_BINARY_DIR}/exports.map)
  set_target_properties(bora PROPERTIES VERSION ${PROJECT_VERSION} SOVERSION ${BORA_ABI}
    LINK_DEPENDS ${PROJECT_BINARY_DIR}/exports.map)
endfunction()

# The command: the layers launch, http and app, with libbora.so.
function(bora_app)
  set_source_files_properties(src/app/main.cpp PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)   # tests have their own
  bora_layer(app LINK yaml-cpp)
  bora_embed(app src/app/demo.sh)
  bora_embed(app examples/gpt_fortunes.yaml)
  target_compile_definitions(bora_app PRIVATE BORA_VERSION="${PROJECT_VERSION}")
  add_executable(bora_cli $<TARGET_OBJECTS:bora_app> $<TARGET_OBJECTS:bora_launch> $<TARGET_OBJECTS:bora_http>)
  target_link_libraries(bora_cli PRIVATE bora bora_flags yaml-cpp OpenSSL::SSL Threads::Threads)
  # It finds the library beside itself (built) or in lib (installed), so that both may be moved together. An RPATH goes
  # before LD_LIBRARY_PATH, which may name another installation for programs that the command starts.
  file(RELATIVE_PATH libraries ${CMAKE_INSTALL_FULL_BINDIR} ${CMAKE_INSTALL_FULL_LIBDIR})
  set_target_properties(bora_cli PROPERTIES OUTPUT_NAME bora LINKER_LANGUAGE CXX BUILD_WITH_INSTALL_RPATH ON
    INSTALL_RPATH "$ORIGIN;$ORIGIN/${libraries}")
  target_link_options(bora_cli PRIVATE -Wl,--disable-new-dtags)
endfunction()
