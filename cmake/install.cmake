# cmake --install, then find_package(bora) or pkg-config from a program outside the tree. The prefix may be moved later.
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

# bora_component(NAME lib...): bora::NAME is bora::bora and the libraries whose types <bora/NAME.h> uses.
function(bora_component name)
  add_library(bora_${name} INTERFACE)
  add_library(bora::${name} ALIAS bora_${name})
  set_target_properties(bora_${name} PROPERTIES EXPORT_NAME ${name})
  target_link_libraries(bora_${name} INTERFACE bora ${ARGN})
  install(TARGETS bora_${name} EXPORT bora_${name}_targets)
  install(EXPORT bora_${name}_targets NAMESPACE bora:: DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/bora)
endfunction()

function(bora_install)
  set(package ${CMAKE_INSTALL_LIBDIR}/cmake/bora)
  install(TARGETS bora EXPORT bora_targets LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
  # Strips the library and the command. What BORA_DEBUG_LINES adds to the library goes to .debug beside it, where
  # debuggers look for it.
  install(CODE "
    set(folder \"${CMAKE_INSTALL_LIBDIR}\")
    cmake_path(ABSOLUTE_PATH folder BASE_DIRECTORY \"\${CMAKE_INSTALL_PREFIX}\")
    set(folder \"\$ENV{DESTDIR}\${folder}\")
    set(debug \"\${folder}/.debug/$<TARGET_FILE_NAME:bora>.debug\")
    file(MAKE_DIRECTORY \"\${folder}/.debug\")
    execute_process(COMMAND \"${CMAKE_OBJCOPY}\" --only-keep-debug \"$<TARGET_FILE:bora>\" \"\${debug}\"
      COMMAND_ERROR_IS_FATAL ANY)
    execute_process(COMMAND \"${CMAKE_OBJCOPY}\" --strip-unneeded --remove-section=.gnu_debuglink
      \"--add-gnu-debuglink=\${debug}\"
      \"\${folder}/$<TARGET_FILE_NAME:bora>\" COMMAND_ERROR_IS_FATAL ANY)
    file(CHMOD \"\${debug}\" PERMISSIONS OWNER_READ OWNER_WRITE GROUP_READ WORLD_READ)
    message(STATUS \"Installing: \${debug}\")")
  if(TARGET bora_cli)
    install(TARGETS bora_cli DESTINATION ${CMAKE_INSTALL_BINDIR})
    install(CODE "
      set(folder \"${CMAKE_INSTALL_BINDIR}\")
      cmake_path(ABSOLUTE_PATH folder BASE_DIRECTORY \"\${CMAKE_INSTALL_PREFIX}\")
      execute_process(COMMAND \"${CMAKE_OBJCOPY}\" --strip-unneeded
        \"\$ENV{DESTDIR}\${folder}/$<TARGET_FILE_NAME:bora_cli>\" COMMAND_ERROR_IS_FATAL ANY)")
  endif()
  install(DIRECTORY ${PROJECT_SOURCE_DIR}/include/bora ${PROJECT_SOURCE_DIR}/transport/include/bora
    DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
  install(FILES ${PROJECT_SOURCE_DIR}/LICENSE ${PROJECT_SOURCE_DIR}/README.md ${PROJECT_SOURCE_DIR}/CHANGELOG.md
    DESTINATION ${CMAKE_INSTALL_DOCDIR})
  install(DIRECTORY ${PROJECT_SOURCE_DIR}/docs ${PROJECT_SOURCE_DIR}/examples DESTINATION ${CMAKE_INSTALL_DOCDIR}
    PATTERN CMakeLists.txt EXCLUDE)
  find_package(Python3 COMPONENTS Interpreter)
  if(Python3_Interpreter_FOUND)
    install(CODE "
      set(folder \"${CMAKE_INSTALL_DOCDIR}\")
      cmake_path(ABSOLUTE_PATH folder BASE_DIRECTORY \"\${CMAKE_INSTALL_PREFIX}\")
      execute_process(COMMAND \"${Python3_EXECUTABLE}\" \"${PROJECT_SOURCE_DIR}/tools/api_index\"
        OUTPUT_FILE \"\$ENV{DESTDIR}\${folder}/docs/api_index.md\" COMMAND_ERROR_IS_FATAL ANY)")
  endif()

  install(EXPORT bora_targets NAMESPACE bora:: DESTINATION ${package})
  configure_package_config_file(
    ${PROJECT_SOURCE_DIR}/cmake/bora-config.cmake.in ${PROJECT_BINARY_DIR}/bora-config.cmake
    INSTALL_DESTINATION ${package} NO_CHECK_REQUIRED_COMPONENTS_MACRO)
  write_basic_package_version_file(${PROJECT_BINARY_DIR}/bora-config-version.cmake COMPATIBILITY SameMinorVersion)
  install(FILES ${PROJECT_BINARY_DIR}/bora-config.cmake ${PROJECT_BINARY_DIR}/bora-config-version.cmake
    DESTINATION ${package})
  file(RELATIVE_PATH BORA_PC_TO_PREFIX ${CMAKE_INSTALL_FULL_LIBDIR}/pkgconfig ${CMAKE_INSTALL_PREFIX})
  configure_file(${PROJECT_SOURCE_DIR}/cmake/bora.pc.in ${PROJECT_BINARY_DIR}/bora.pc @ONLY)
  install(FILES ${PROJECT_BINARY_DIR}/bora.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
  # Programs find the library by their rpath, which packages of a distribution, for the loader's own folders, may not
  # have. The prefix is known when `cmake --install` runs.
  install(CODE "
    set(folder \"${CMAKE_INSTALL_LIBDIR}\")
    cmake_path(ABSOLUTE_PATH folder BASE_DIRECTORY \"\${CMAKE_INSTALL_PREFIX}\")
    if(folder MATCHES \"^/(usr/)?lib\")
      set(package \"\$ENV{DESTDIR}\${folder}/pkgconfig/bora.pc\")
      file(READ \"\${package}\" text)
      string(REPLACE \" -Wl,-rpath,\\\${libdir}\" \"\" text \"\${text}\")
      file(WRITE \"\${package}\" \"\${text}\")
    endif()")
endfunction()
