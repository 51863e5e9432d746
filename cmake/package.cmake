# Debian packages by CPack: `./run package` builds for the prefix /usr and calls cpack. One for each component of
# install.cmake but debug; their files of /usr/share/doc/PACKAGE are made here.
set(CPACK_GENERATOR DEB)
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_SET_DESTDIR ON)   # scripts of install.cmake see the prefix that programs will see
set(CPACK_STRIP_FILES OFF)
set(CPACK_PACKAGE_VENDOR Bora)
set(CPACK_PACKAGE_CONTACT "The developers of Bora <bora@packages.debian.org>")
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_RELEASE 0bora1)   # below a 1 that Debian might give it
set(CPACK_DEBIAN_COMPRESSION_TYPE xz)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS_PRIVATE_DIRS ${PROJECT_BINARY_DIR})
set(CPACK_DEBIAN_PACKAGE_GENERATE_SHLIBS ON)
set(CPACK_DEBIAN_PACKAGE_GENERATE_SHLIBS_POLICY ">=")
set(CPACK_DEBIAN_PACKAGE_CONTROL_STRICT_PERMISSION ON)
set(CPACK_OUTPUT_FILE_PREFIX ${PROJECT_BINARY_DIR}/packages)
set(CPACK_POST_BUILD_SCRIPTS ${PROJECT_SOURCE_DIR}/cmake/debian_control.cmake)
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "")   # each package has its own
set(CPACK_COMPONENTS_ALL "")

# The time of SOURCE_DATE_EPOCH: the same sources make the same packages.
string(TIMESTAMP BORA_DAY "%a, %d %b %Y %H:%M:%S +0000" UTC)
set(scripts ${PROJECT_SOURCE_DIR}/tools/packaging/debian)
set(same "(= ${PROJECT_VERSION}-${CPACK_DEBIAN_PACKAGE_RELEASE})")

# bora_package(COMPONENT NAME SECTION [ALL] [BINARY] [DEPENDS d] [RECOMMENDS r] [SUGGESTS s] [CONTROL file..]
#   SUMMARY text TEXT text). BINARY: its programs and libraries say what it depends on, and leave their debug
# information to a package NAME-dbgsym.
function(bora_package component name section)
  cmake_parse_arguments(P "ALL;BINARY" "DEPENDS;RECOMMENDS;SUGGESTS;SUMMARY;TEXT" "CONTROL" ${ARGN})
  string(TOUPPER ${component} key)
  set(CPACK_COMPONENTS_ALL ${CPACK_COMPONENTS_ALL} ${component} PARENT_SCOPE)
  set(CPACK_DEBIAN_${key}_PACKAGE_NAME ${name} PARENT_SCOPE)
  set(CPACK_DEBIAN_${key}_PACKAGE_SECTION ${section} PARENT_SCOPE)
  set(CPACK_DEBIAN_${key}_DESCRIPTION "${P_SUMMARY}
Bora runs pure functions over arrays on clusters of ordinary hosts, and
trains and serves language models there.
.
${P_TEXT}" PARENT_SCOPE)
  set(CPACK_DEBIAN_${key}_PACKAGE_DEPENDS "${P_DEPENDS}" PARENT_SCOPE)
  set(CPACK_DEBIAN_${key}_PACKAGE_RECOMMENDS "${P_RECOMMENDS}" PARENT_SCOPE)
  set(CPACK_DEBIAN_${key}_PACKAGE_SUGGESTS "${P_SUGGESTS}" PARENT_SCOPE)
  set(CPACK_DEBIAN_${key}_PACKAGE_SHLIBDEPS ${P_BINARY} PARENT_SCOPE)
  set(CPACK_DEBIAN_${key}_DEBUGINFO_PACKAGE ${P_BINARY} PARENT_SCOPE)
  set(CPACK_DEBIAN_${key}_PACKAGE_CONTROL_EXTRA "${P_CONTROL}" PARENT_SCOPE)
  if(P_ALL)
    set(CPACK_DEBIAN_${key}_PACKAGE_ARCHITECTURE all PARENT_SCOPE)
  endif()
  set(folder ${PROJECT_BINARY_DIR}/packaging/${name})
  set(BORA_PACKAGE ${name})
  configure_file(${PROJECT_SOURCE_DIR}/tools/packaging/debian/changelog.in ${folder}/changelog @ONLY)
  find_program(BORA_GZIP gzip REQUIRED)
  execute_process(COMMAND ${BORA_GZIP} -9nc ${folder}/changelog OUTPUT_FILE ${folder}/changelog.Debian.gz
    COMMAND_ERROR_IS_FATAL ANY)
  install(FILES ${folder}/changelog.Debian.gz ${PROJECT_SOURCE_DIR}/tools/packaging/debian/copyright
    DESTINATION share/doc/${name} COMPONENT ${component})
endfunction()

# CPack adds scripts that call ldconfig, which a trigger does once for all packages, unless it is given scripts. It
# leaves out files that are not there.
file(WRITE ${PROJECT_BINARY_DIR}/packaging/triggers "activate-noawait ldconfig\n")
bora_package(lib libbora${BORA_ABI} libs BINARY
  CONTROL ${PROJECT_BINARY_DIR}/packaging/triggers none/postinst none/postrm
  SUMMARY "numerical computing and language models on CPU clusters"
  TEXT "This is its shared library.")
bora_package(dev libbora-dev libdevel DEPENDS "libbora${BORA_ABI} ${same}"
  SUGGESTS "libeigen3-dev, libxtensor-dev, bora-doc"
  SUMMARY "headers of Bora's library"
  TEXT "This package has what programs are compiled with: headers, and files for
CMake and pkg-config.")
bora_package(command bora science BINARY DEPENDS "libbora${BORA_ABI} ${same}" RECOMMENDS "fortunes, curl"
  SUGGESTS "bora-doc, openssh-client" CONTROL ${scripts}/bora/postinst ${scripts}/bora/prerm ${scripts}/bora/postrm
  SUMMARY "trains and serves language models on CPU clusters"
  TEXT "This is the command: it trains, evaluates, generates, serves, quantizes, on
one host or many. `bora demo` shows it at work.")
bora_package(doc bora-doc doc ALL SUMMARY "documents of Bora"
  TEXT "These are its tutorials, guides and reference, as pages that work offline.")
bora_package(reader python3-bora-reader python ALL DEPENDS "python3, python3-numpy"
  CONTROL ${scripts}/python3-bora-reader/postinst ${scripts}/python3-bora-reader/prerm
  SUMMARY "reads Bora's checkpoints and metrics in Python"
  TEXT "This module reads what Bora wrote, with numpy alone.")
if(BORA_MPI)
  bora_package(mpi bora-mpi libs BINARY DEPENDS "libbora${BORA_ABI} ${same}"
    SUMMARY "carries Bora's data between hosts over MPI"
    TEXT "This is the library that BORA_CARRIER=mpi loads, for clusters with a fast
fabric.")
endif()
include(CPack)
