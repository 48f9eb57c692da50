"""declarations.py - the public headers as declarations that cffi reads.

The C preprocessor removes comments and macros; system headers are replaced by empty files, because cffi knows their
types.  No declaration is written by hand, so the package cannot differ from the headers.
"""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

HEADERS = ("sapporo.h", "sapporo_experiments.h")
SYSTEM_HEADERS = ("stddef.h",)


def compiler() -> list[str]:
    """The C compiler and its arguments: $CC, or the first of cc, gcc and clang."""
    chosen = os.environ.get("CC") or next(filter(shutil.which, ("cc", "gcc", "clang")), "cc")
    return shlex.split(chosen)


def declarations(include: Path) -> str:
    """The text of all functions, types and constants of the headers in a folder."""
    with tempfile.TemporaryDirectory() as empty:
        for name in SYSTEM_HEADERS:
            Path(empty, name).touch()
        source = "".join(f"#include <{name}>\n" for name in HEADERS)
        command = [*compiler(), "-E", "-P", "-nostdinc", "-DSAPPORO_API=", f"-I{empty}", f"-I{include}", "-x", "c", "-"]
        return subprocess.run(command, input=source, capture_output=True, text=True, check=True).stdout


def write_module(include: Path, to: Path) -> None:
    """Writes the module `_native` with its object `ffi`, which holds the declarations."""
    from cffi import FFI

    ffi = FFI()
    ffi.cdef(declarations(include))
    ffi.set_source("sapporo._native", None)
    ffi.emit_python_code(str(to))


if __name__ == "__main__":
    write_module(Path(sys.argv[1]), Path(sys.argv[2]))
