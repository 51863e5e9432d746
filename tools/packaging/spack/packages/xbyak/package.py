from spack.package import *

try:  # since Spack 1.0; before it CMakePackage is in spack.package
    from spack_repo.builtin.build_systems.cmake import CMakePackage
except ImportError:
    pass


class Xbyak(CMakePackage):
    """A JIT assembler for x86, of headers alone."""

    git = "https://github.com/herumi/xbyak.git"
    version("6.68", tag="v6.68")
    depends_on("cxx", type="build")
