# Copyright 2026, the libsapporo developers
#
# SPDX-License-Identifier: BSD-3-Clause
"""The Spack recipe of libsapporo; docs/packaging/README.md says what was checked."""

from spack_repo.builtin.build_systems.cuda import CudaPackage
from spack_repo.builtin.build_systems.makefile import MakefilePackage

from spack.package import *


class Libsapporo(MakefilePackage, CudaPackage):
    """Gravitational forces for N-body codes, by direct sum and by tree, behind the interfaces of
    GRAPE-6, GRAPE-5 and NBODY6, on NVIDIA GPUs, OpenCL devices and CPUs."""

    homepage = "https://REPOSITORY/libsapporo"
    git = "https://REPOSITORY/libsapporo.git"

    license("BSD-3-Clause")

    version("main", branch="main")

    depends_on("c", type="build")
    depends_on("cxx", type="build", when="+cuda")  # of nvcc
    depends_on("gmake@4:", type="build")
    depends_on("cuda@11:", type="build", when="+cuda")  # the driver is loaded at run time

    def settings(self):
        """What make is told; the same for building and installing."""
        settings = [f"PREFIX={self.prefix}", "MPI=0", "HDF5=0"]
        if self.spec.satisfies("+cuda"):
            settings += ["CUDA=1", f"NVCC={self.spec['cuda'].prefix.bin.nvcc}"]
            archs = [arch for arch in self.spec.variants["cuda_arch"].value if arch != "none"]
            names = " ".join(f"sm_{arch}" for arch in archs)
            settings += [f"CUDA_ARCHS={names}" if archs else "FULL=1"]
        else:
            settings += ["CUDA=0"]
        return settings

    @property
    def build_targets(self):
        return ["all", *self.settings()]

    @property
    def install_targets(self):
        return ["install", *self.settings()]

    def check(self):
        """Quick tests; `make check` would install packages of the system."""

    def compute(self):
        """Forces of the CPU engine are right."""
        tool = Executable(self.prefix.bin.sapporo)
        tool("check", "--backend", "cpu", "--n", "256", "--precision", "ds")

    @run_after("install")
    @on_package_attributes(run_tests=True)
    def check_install(self):
        """The installed tool, where the user asks for tests."""
        self.compute()

    def test_check(self):
        """Forces of the CPU engine are right."""
        self.compute()
