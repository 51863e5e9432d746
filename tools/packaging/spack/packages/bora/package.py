from spack.package import *

try:  # since Spack 1.0; before it CMakePackage is in spack.package
    from spack_repo.builtin.build_systems.cmake import CMakePackage
except ImportError:
    pass


class Bora(CMakePackage):
    """Functional, sharded numerical computing and training of language models on CPU clusters."""

    # The sources are those in which this file lies: spack dev-build, as tools/packaging/build does.
    version("0.1.0")
    variant("mpi", default=False, description="carry data between hosts over MPI where BORA_CARRIER=mpi asks for it")

    depends_on("cxx", type="build")
    depends_on("cmake@3.25:", type="build")
    depends_on("pkgconfig", type="build")
    depends_on("onednn")
    depends_on("tbb")
    for name in ("boost", "cereal", "cli11", "cppzmq", "eigen@3", "nlohmann-json", "xbyak",
                 "xtensor@0.24"):
        depends_on(name, type="build")
    # The library is shared, so that static ones in it would have to be position-independent.
    for name in ("highway", "libbacktrace+shared", "libzmq", "openssl", "pcre2", "sentencepiece", "snappy+shared",
                 "utf8proc+shared", "yaml-cpp+shared", "zlib", "zstd"):
        depends_on(name)
    depends_on("mpi", when="+mpi")

    def cmake_args(self):
        return [self.define_from_variant("BORA_MPI", "mpi"), self.define("BORA_TESTS", False),
                self.define("BORA_EXAMPLES", False)]
