from spack.package import *


class Xbyak(CMakePackage):
    """A JIT assembler for x86, of headers alone."""

    git = "https://github.com/herumi/xbyak.git"
    version("6.68", tag="v6.68")
    depends_on("cxx", type="build")
