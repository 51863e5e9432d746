# cmake --install, then find_package(bora) or pkg-config from a program outside the tree. The prefix may be moved later.
# Components: lib, dev, command, doc, reader, mpi, debug. package.cmake makes packages of them.
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

# bora_component(NAME lib...): bora::NAME is bora::bora and the libraries whose types <bora/NAME.h> uses.
function(bora_component name)
  add_library(bora_${name} INTERFACE)
  add_library(bora::${name} ALIAS bora_${name})
  set_target_properties(bora_${name} PROPERTIES EXPORT_NAME ${name})
  target_link_libraries(bora_${name} INTERFACE bora ${ARGN})
  install(TARGETS bora_${name} EXPORT bora_${name}_targets)
  install(EXPORT bora_${name}_targets NAMESPACE bora:: DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/bora COMPONENT dev)
endfunction()

# Strips an installed target. Its symbols, and what BORA_DEBUG_LINES adds, go to .debug beside it, where debuggers look
# for them. In packages CPack does it, into packages of their own.
function(bora_strip target folder component)
  if(BORA_PACKAGES)
    return()
  endif()
  set(file $<TARGET_FILE_NAME:${target}>)
  set(begin "
    set(folder \"${folder}\")
    cmake_path(ABSOLUTE_PATH folder BASE_DIRECTORY \"\${CMAKE_INSTALL_PREFIX}\")
    set(installed \"\$ENV{DESTDIR}\${folder}/${file}\")")
  # The name and checksum of the debug file stand in what is stripped, so it is made for both components.
  set(split "
    file(MAKE_DIRECTORY \"\${debug}\")
    set(debug \"\${debug}/${file}.debug\")
    execute_process(COMMAND \"${CMAKE_OBJCOPY}\" --only-keep-debug \"$<TARGET_FILE:${target}>\" \"\${debug}\"
      COMMAND_ERROR_IS_FATAL ANY)
    file(CHMOD \"\${debug}\" PERMISSIONS OWNER_READ OWNER_WRITE GROUP_READ WORLD_READ)")
  install(CODE "${begin}
    set(debug \"${PROJECT_BINARY_DIR}/debug\")${split}
    execute_process(COMMAND \"${CMAKE_OBJCOPY}\" --strip-unneeded --remove-section=.gnu_debuglink
      \"--add-gnu-debuglink=\${debug}\" \"\${installed}\" COMMAND_ERROR_IS_FATAL ANY)" COMPONENT ${component})
  install(CODE "${begin}
    set(debug \"\$ENV{DESTDIR}\${folder}/.debug\")${split}
    message(STATUS \"Installing: \${debug}\")" COMPONENT debug)
endfunction()

# Programs find the library by their rpath, which packages of a distribution, for the loader's own folders, may not
# have. The prefix is known when `cmake --install` runs.
function(bora_install_pkg_config)
  file(RELATIVE_PATH BORA_PC_TO_PREFIX ${CMAKE_INSTALL_FULL_LIBDIR}/pkgconfig ${CMAKE_INSTALL_PREFIX})
  configure_file(${PROJECT_SOURCE_DIR}/cmake/bora.pc.in ${PROJECT_BINARY_DIR}/bora.pc @ONLY)
  install(FILES ${PROJECT_BINARY_DIR}/bora.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig COMPONENT dev)
  install(CODE "
    set(folder \"${CMAKE_INSTALL_LIBDIR}\")
    cmake_path(ABSOLUTE_PATH folder BASE_DIRECTORY \"\${CMAKE_INSTALL_PREFIX}\")
    if(folder MATCHES \"^/(usr/)?lib\")
      set(package \"\$ENV{DESTDIR}\${folder}/pkgconfig/bora.pc\")
      file(READ \"\${package}\" text)
      string(REPLACE \" -Wl,-rpath,\\\${libdir}\" \"\" text \"\${text}\")
      file(WRITE \"\${package}\" \"\${text}\")
    endif()" COMPONENT dev)
endfunction()

# bora_made(COMPONENT FOLDER COMMAND...): what a command makes when it is installed; FOLDER, below DESTDIR, is its last
# word. In packages the built command has no rpath.
function(bora_made component folder)
  list(JOIN ARGN "\" \"" words)
  install(CODE "
    set(folder \"${folder}\")
    cmake_path(ABSOLUTE_PATH folder BASE_DIRECTORY \"\${CMAKE_INSTALL_PREFIX}\")
    file(MAKE_DIRECTORY \"\$ENV{DESTDIR}\${folder}\")
    execute_process(COMMAND \"${CMAKE_COMMAND}\" -E env \"LD_LIBRARY_PATH=$<TARGET_FILE_DIR:bora>\" \"${words}\"
      \"\$ENV{DESTDIR}\${folder}\" OUTPUT_QUIET COMMAND_ERROR_IS_FATAL ANY)"
    COMPONENT ${component})
endfunction()

function(bora_install)
  set(package ${CMAKE_INSTALL_LIBDIR}/cmake/bora)
  install(TARGETS bora EXPORT bora_targets
    LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT lib NAMELINK_COMPONENT dev)
  bora_strip(bora ${CMAKE_INSTALL_LIBDIR} lib)
  if(BORA_MPI)
    install(TARGETS bora_mpi LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}/bora-${BORA_ABI} COMPONENT mpi)
    bora_strip(bora_mpi ${CMAKE_INSTALL_LIBDIR}/bora-${BORA_ABI} mpi)
  endif()
  find_package(Python3 COMPONENTS Interpreter)
  find_program(BORA_CMARK cmark-gfm)
  if(TARGET bora_cli)
    install(TARGETS bora_cli DESTINATION ${CMAKE_INSTALL_BINDIR} COMPONENT command)
    bora_strip(bora_cli ${CMAKE_INSTALL_BINDIR} command)
    install(DIRECTORY ${PROJECT_SOURCE_DIR}/examples DESTINATION ${CMAKE_INSTALL_DATADIR}/bora COMPONENT command
      FILES_MATCHING PATTERN *.yaml PATTERN tasks EXCLUDE)
    if(BORA_PACKAGES)
      install(FILES ${PROJECT_SOURCE_DIR}/tools/packaging/debian/bora-agent@.service
        DESTINATION lib/systemd/system COMPONENT command)
    endif()
    if(Python3_Interpreter_FOUND)
      bora_made(command ${CMAKE_INSTALL_DATADIR} ${Python3_EXECUTABLE} ${PROJECT_SOURCE_DIR}/tools/man
        $<TARGET_FILE:bora_cli>)
    endif()
  endif()
  install(DIRECTORY ${PROJECT_SOURCE_DIR}/include/bora ${PROJECT_SOURCE_DIR}/transport/include/bora
    DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} COMPONENT dev)
  install(FILES ${PROJECT_SOURCE_DIR}/LICENSE ${PROJECT_SOURCE_DIR}/README.md ${PROJECT_SOURCE_DIR}/CHANGELOG.md
    DESTINATION ${CMAKE_INSTALL_DOCDIR} COMPONENT doc)
  install(DIRECTORY ${PROJECT_SOURCE_DIR}/docs ${PROJECT_SOURCE_DIR}/examples DESTINATION ${CMAKE_INSTALL_DOCDIR}
    COMPONENT doc PATTERN CMakeLists.txt EXCLUDE)
  if(Python3_Interpreter_FOUND)
    bora_made(doc ${CMAKE_INSTALL_DOCDIR}/docs ${Python3_EXECUTABLE} ${PROJECT_SOURCE_DIR}/tools/api_index --into)
    if(BORA_CMARK AND TARGET bora_cli)
      bora_made(doc ${CMAKE_INSTALL_DOCDIR}/html ${Python3_EXECUTABLE} ${PROJECT_SOURCE_DIR}/tools/site
        --command $<TARGET_FILE:bora_cli>)
    endif()
  endif()
  install(FILES ${PROJECT_SOURCE_DIR}/tools/python/bora_reader.py DESTINATION lib/python3/dist-packages
    COMPONENT reader)
  install(EXPORT bora_targets NAMESPACE bora:: DESTINATION ${package} COMPONENT dev)
  configure_package_config_file(
    ${PROJECT_SOURCE_DIR}/cmake/bora-config.cmake.in ${PROJECT_BINARY_DIR}/bora-config.cmake
    INSTALL_DESTINATION ${package} NO_CHECK_REQUIRED_COMPONENTS_MACRO)
  write_basic_package_version_file(${PROJECT_BINARY_DIR}/bora-config-version.cmake COMPATIBILITY SameMinorVersion)
  install(FILES ${PROJECT_BINARY_DIR}/bora-config.cmake ${PROJECT_BINARY_DIR}/bora-config-version.cmake
    DESTINATION ${package} COMPONENT dev)
  bora_install_pkg_config()
endfunction()
