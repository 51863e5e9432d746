# Run by CPack behind its packages. Two things depend on the place where 3.25 stages their files: the installed size,
# which has the folders' sizes of that file system (here, as in Debian, 1 KiB each), and in debug packages the paths in
# md5sums, which must be those of the package. And debug packages lack what Debian's have: the folder of documents, a
# link to that of the package which they need in the same version, and files that are not programs.
foreach(package ${CPACK_PACKAGE_FILES})
  execute_process(COMMAND sh -ec [[
      rm -rf "$1.d" && mkdir -p "$1.d/control" "$1.d/data"
      packed() {
        tar --sort=name --format=gnu --owner=root:0 --group=root:0 --mtime="@${SOURCE_DATE_EPOCH:-$(date +%s)}" "$@"
      }
      cd "$1.d/control"
      ar p "$1" control.tar.gz | tar -xpz
      name=$(sed -n 's/^Package: //p' control)
      if [ "${name%-dbgsym}" != "$name" ]; then
        sed -i 's|  /.*-dbgsym/|  |' md5sums
        (cd ../data && ar p "$1" data.tar.xz | tar -xpJ && chmod -R u=rwX,go=rX . &&
          find . -type f -exec chmod a-x {} + && mkdir -p usr/share/doc &&
          ln -s "${name%-dbgsym}" "usr/share/doc/$name" && packed -c ./* | xz -T1 >../data.tar.xz)
        ar rDS "$1" ../data.tar.xz
      fi
      size=$(ar p "$1" data.tar.xz | tar -tvJ |
        awk '{ n += substr($1, 1, 1) == "-" ? int(($3 + 1023) / 1024) : 1 } END { print n }')
      sed -i "s/^Installed-Size: .*/Installed-Size: $size/" control
      packed -c ./* | gzip -9n > ../control.tar.gz
      ar rDS "$1" ../control.tar.gz
      cd ../.. && rm -r "$1.d"]]
    sh ${package} COMMAND_ERROR_IS_FATAL ANY)
endforeach()
