# Installs the build, moves the installation, and uses it there as other programs do: find_package, pkg-config, a
# debugger's look-up. SOURCE: outside/  BUILD: the build to install  WORK: a folder of our own  LIBDIR: lib or
# CMAKE_INSTALL_LIBDIR
function(run result output)
  execute_process(COMMAND ${ARGN} RESULT_VARIABLE rc OUTPUT_VARIABLE out ERROR_VARIABLE out)
  set(${result} "${rc}" PARENT_SCOPE)
  set(${output} "${out}" PARENT_SCOPE)
endfunction()
function(must)
  run(rc out ${ARGN})
  if(NOT rc EQUAL 0)
    message(FATAL_ERROR "${ARGN}\n${out}")
  endif()
  set(out "${out}" PARENT_SCOPE)
endfunction()
function(expect what)
  if(NOT (${ARGN}))
    message(FATAL_ERROR "${what}")
  endif()
endfunction()

file(REMOVE_RECURSE ${WORK})
must(${CMAKE_COMMAND} --install ${BUILD} --prefix ${WORK}/first)
file(RENAME ${WORK}/first ${WORK}/installed)
set(installed ${WORK}/installed)
set(configure ${CMAKE_COMMAND} -G Ninja -S ${SOURCE} -DCMAKE_PREFIX_PATH=${installed}
  -DCMAKE_EXPORT_COMPILE_COMMANDS=ON)
set(program_build ${WORK}/build)
must(${configure} -B ${program_build} -DNEEDED=eigen)
must(${CMAKE_COMMAND} --build ${program_build})
foreach(program outside with_eigen with_xtensor)
  must(${program_build}/${program})
endforeach()

# Line tables (-g1) are on, except where the user's flags set -g or the target declines.
function(count_g1 expected)
  file(REMOVE_RECURSE ${WORK}/flags)
  must(${configure} -B ${WORK}/flags ${ARGN})
  file(READ ${WORK}/flags/compile_commands.json commands)
  string(REGEX MATCHALL " -g1 " found "${commands}")
  list(LENGTH found n)
  expect("${n} targets of 4 are compiled with -g1, not ${expected}, with: ${ARGN}" n EQUAL expected)
endfunction()
count_g1(3)
count_g1(3 -DCMAKE_BUILD_TYPE=Release)
count_g1(0 -DCMAKE_BUILD_TYPE=RelWithDebInfo)
count_g1(0 -DCMAKE_BUILD_TYPE=Release -DCMAKE_CXX_FLAGS=-g3)

# The error for a missing component names it, with a remedy.
run(rc out ${configure} -B ${WORK}/none -DNEEDED=numpy)
expect("a component that does not exist:\n${out}"
  NOT rc EQUAL 0 AND out MATCHES "component numpy: there are[ \n]+eigen[ \n]+and[ \n]+xtensor")
run(rc out ${configure} -B ${WORK}/none -DNEEDED=eigen -DCMAKE_DISABLE_FIND_PACKAGE_Eigen3=ON)
expect("a component without its package:\n${out}"
  NOT rc EQUAL 0 AND out MATCHES "component eigen: Eigen3[ \n]+was[ \n]+not[ \n]+found: [^)]*libeigen3-dev")
must(${configure} -B ${WORK}/none -DCMAKE_DISABLE_FIND_PACKAGE_Eigen3=ON -DNEEDED=)

# A user needs neither headers nor package files of the library's own dependencies.
file(GLOB package ${installed}/${LIBDIR}/cmake/bora/bora-config.cmake
  ${installed}/${LIBDIR}/cmake/bora/bora_targets*.cmake)
expect("no package file in ${installed}/${LIBDIR}/cmake/bora" package)
foreach(file ${package})
  file(READ ${file} text)
  expect("${file} speaks of what only Bora's build needs"
    NOT text MATCHES "dnnl|OpenCL|OpenMP|ZMQ|INTERFACE_LINK_LIBRARIES")
endforeach()

# README's lines without CMake, where nothing else names the library, make a program that starts.
file(READ ${installed}/share/doc/bora/README.md page)
string(REGEX MATCH "\n(export PKG_CONFIG_PATH=[^\n]+\n[^\n]+)\n" found "${page}")
expect("README has no lines without CMake" found)
string(REPLACE "=DIR/lib/" "=${installed}/${LIBDIR}/" lines "${CMAKE_MATCH_1}")
file(MAKE_DIRECTORY ${WORK}/by_pkg_config)
configure_file(${SOURCE}/main.cpp ${WORK}/by_pkg_config/program.cpp COPYONLY)
must(${CMAKE_COMMAND} -E env --unset=LD_LIBRARY_PATH --unset=LD_RUN_PATH
  ${CMAKE_COMMAND} -E chdir ${WORK}/by_pkg_config sh -ec "${lines}")
# A distribution's package, for a folder where the loader looks by itself, asks for no rpath.
must(${CMAKE_COMMAND} -E env DESTDIR=${WORK}/package ${CMAKE_COMMAND} --install ${BUILD} --prefix /usr)
file(STRINGS ${WORK}/package/usr/${LIBDIR}/pkgconfig/bora.pc libs REGEX "^Libs:")
expect("bora.pc below /usr: ${libs}" libs STREQUAL "Libs: -L\${libdir} -lbora")
file(REMOVE_RECURSE ${WORK}/package)

# The command uses its own library, whichever LD_LIBRARY_PATH names.
file(WRITE ${WORK}/other/libbora.so.0.1 "")
must(${CMAKE_COMMAND} -E env LD_LIBRARY_PATH=${WORK}/other ${installed}/bin/bora help)

# Licence and docs
foreach(file LICENSE README.md docs/numerics.md docs/api_index.md examples/quickstart.cpp)
  expect("not installed: ${file}" EXISTS ${installed}/share/doc/bora/${file})
endforeach()

# The library is stripped; its debug file still gives lines, if they were built.
file(STRINGS ${BUILD}/CMakeCache.txt debug_lines REGEX "^BORA_DEBUG_LINES:BOOL=ON|^CMAKE_BUILD_TYPE:STRING=Debug")
find_program(readelf readelf REQUIRED)
find_program(addr2line addr2line REQUIRED)
file(GLOB library ${installed}/${LIBDIR}/libbora.so.*.*.*)
must(${readelf} -SW ${library})
expect("the library is not stripped" NOT out MATCHES "debug_info" AND NOT out MATCHES "[.]symtab")
must(${readelf} -sW --dyn-syms ${library})
string(REGEX MATCH "([0-9a-f]+) +[0-9]+ FUNC +GLOBAL +DEFAULT +[0-9]+ _ZN4bora8describe[A-Za-z0-9]*ERKNS_6SourceE"
  found "${out}")
expect("no function 'describe' in ${library}" found)
set(address ${CMAKE_MATCH_1})
must(${addr2line} -e ${library} ${address})
expect("with its debug file the library has lines: ${out}" NOT debug_lines OR out MATCHES "source.cpp:[0-9]+")
file(RENAME ${installed}/${LIBDIR}/.debug ${WORK}/moved)
must(${addr2line} -e ${library} ${address})
expect("without its debug file the library has no lines: ${out}" NOT out MATCHES "source.cpp")
file(REMOVE_RECURSE ${installed})
