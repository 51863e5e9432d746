# Run by CPack behind its packages, of which two things depend on the place where 3.25 stages their files: the installed
# size, which has the folders' sizes of that file system (here, as in Debian, 1 KiB each), and in debug packages the
# paths in md5sums, which must be those of the package.
foreach(package ${CPACK_PACKAGE_FILES})
  execute_process(COMMAND sh -ec [[
      rm -rf "$1.d" && mkdir -p "$1.d/control" && cd "$1.d/control"
      ar p "$1" control.tar.gz | tar -xpz
      sed -i 's|  /.*-dbgsym/|  |' md5sums
      size=$(ar p "$1" data.tar.xz | tar -tvJ |
        awk '{ n += substr($1, 1, 1) == "-" ? int(($3 + 1023) / 1024) : 1 } END { print n }')
      sed -i "s/^Installed-Size: .*/Installed-Size: $size/" control
      tar --sort=name --format=gnu --numeric-owner --owner=0 --group=0 --mtime="@${SOURCE_DATE_EPOCH:-$(date +%s)}" \
        -c ./* | gzip -9n > ../control.tar.gz
      ar rDS "$1" ../control.tar.gz
      cd ../.. && rm -r "$1.d"]]
    sh ${package} COMMAND_ERROR_IS_FATAL ANY)
endforeach()
