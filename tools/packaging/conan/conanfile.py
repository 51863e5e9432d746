"""conan create tools/packaging/conan: Debian's packages are its dependencies, since oneDNN is none of Conan's."""
import os
import re

from conan import ConanFile
from conan.tools.cmake import CMake, CMakeToolchain, cmake_layout
from conan.tools.files import copy
from conan.tools.system.package_manager import Apt


class Bora(ConanFile):
    name = "bora"
    version = "0.1.0"
    description = "Functional, sharded numerical computing and training of language models on CPU clusters"
    license = "Apache-2.0"
    package_type = "shared-library"
    settings = "os", "arch", "compiler", "build_type"
    options = {"with_mpi": [True, False]}
    default_options = {"with_mpi": False}

    def export_sources(self):
        top = os.path.join(self.recipe_folder, "../../..")
        for part in ("CMakeLists.txt", "LICENSE", "README.md", "CHANGELOG.md", "cmake/*", "include/*", "src/*",
                     "transport/*", "docs/*", "examples/*", "tools/*"):
            copy(self, part, top, self.export_sources_folder)

    def layout(self):
        cmake_layout(self)

    def system_requirements(self):
        with open(os.path.join(self.recipe_folder, "packages.txt")) as file:
            names = re.findall(r"^([\w.+-]+)", file.read(), re.M)
        Apt(self).install(names + ["libopenmpi-dev"] * bool(self.options.with_mpi), check=True)

    def export(self):
        copy(self, "packages.txt", os.path.join(self.recipe_folder, "../.."), self.export_folder)

    def generate(self):
        toolchain = CMakeToolchain(self, generator="Ninja")
        toolchain.cache_variables.update(BORA_TESTS=False, BORA_EXAMPLES=False,
                                         BORA_MPI=bool(self.options.with_mpi))
        toolchain.generate()

    def build(self):
        cmake = CMake(self)
        cmake.configure()
        cmake.build()

    def package(self):
        CMake(self).install()

    def package_info(self):
        self.cpp_info.set_property("cmake_find_mode", "none")  # the package's own bora-config.cmake
        self.cpp_info.builddirs = ["lib/cmake/bora"]
        self.cpp_info.libs = ["bora"]
