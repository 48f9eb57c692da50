"""build_hook.py - what hatchling calls while it builds the wheel: make, then the declarations of the headers.

make takes its settings from the environment: `MAKEFLAGS="CUDA=0" pip install .` builds without kernels for NVIDIA GPUs.
WHEEL_ARCH names the processors that CC compiles for, if they are others than those of this machine (python.mk).
"""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
import sysconfig
import tempfile
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


def load_declarations(folder: Path) -> Any:
    """The module declarations.py beside this file, which is in no package."""
    spec = importlib.util.spec_from_file_location("declarations", folder / "declarations.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


class BuildHook(BuildHookInterface):  # type: ignore[type-arg]
    """Adds the library and the declarations to a wheel."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Builds what the wheel needs, and names it and its platform."""
        if version == "editable":
            raise RuntimeError("the package cannot be installed with -e: its library is built; run pip install . again")
        root = Path(self.root)
        self.made = tempfile.TemporaryDirectory()
        library = Path(self.made.name, "libsapporo" + (".dylib" if sys.platform == "darwin" else ".so"))
        native = Path(self.made.name, "_native.py")
        subprocess.run(
            ["make", "--no-print-directory", "python-library", f"PYTHON_LIBRARY={library}"], cwd=root, check=True
        )
        load_declarations(root / "lib/api/python").write_module(root / "include", native)
        build_data["force_include"].update({str(f): f"sapporo/{f.name}" for f in (library, native)})
        build_data["pure_python"] = False
        # The library uses nothing of Python: one wheel serves all its versions.
        arch = os.environ.get("WHEEL_ARCH")
        platform = (f"linux-{arch}" if arch else sysconfig.get_platform()).replace("-", "_").replace(".", "_")
        build_data["tag"] = f"py3-none-{platform}"

    def finalize(self, version: str, build_data: dict[str, Any], artifact_path: str) -> None:
        """Deletes the files that are in the wheel now."""
        self.made.cleanup()
