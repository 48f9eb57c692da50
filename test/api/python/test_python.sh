#!/bin/sh
# test_python.sh - the Python package: its wheel is built and installed into an empty folder, and tested from there by
# pytest, mypy and auditwheel.  Prints TAP.
#
# PYTHON names the interpreter.  Default: the first of build/venv/bin/python (test/setup.sh), python3 and
# /usr/bin/python3 that has cffi, numpy, pytest and hatchling.

case ${SANITIZE:-} in ?*) echo "libraries of a sanitizer build are not for clients"; exit 77 ;; esac
cd "$(dirname "$0")/../../.." || exit 2
root=$PWD
work=$(mktemp -d) || exit 2
trap 'rm -rf "$work"' EXIT
. test/support/tap.sh
PYTHONDONTWRITEBYTECODE=1
export PYTHONDONTWRITEBYTECODE

needed="cffi numpy pytest hatchling"

# lacks PYTHON: what an interpreter lacks of `needed`; also a hatchling that is too old for pyproject.toml
lacks() {
    # shellcheck disable=SC2086 # a list of words
    "$1" -c 'import importlib.metadata, importlib.util, sys
missing = [m for m in sys.argv[1:] if not importlib.util.find_spec(m)]
if sys.version_info < (3, 9):
    missing = ["Python 3.9"]
elif "hatchling" not in missing and [int(n) for n in importlib.metadata.version("hatchling").split(".")[:2]] < [1, 27]:
    missing.append("hatchling 1.27")
sys.exit(", ".join(missing) or 0)' $needed 2>&1
}

python=
for candidate in ${PYTHON:-build/venv/bin/python python3 /usr/bin/python3}; do
    if command -v "$candidate" >/dev/null 2>&1 && missing=$(lacks "$candidate"); then python=$(command -v "$candidate") && break; fi
done
[ -n "$python" ] || { echo "missing for Python: ${missing:-python3} (test/setup.sh)"; exit 77; }
case $python in /*) ;; *) python=$root/$python ;; esac

has() { "$python" -c "import $1" 2>/dev/null; }

# ---- the wheel, by the make that runs the tests: everything is built already

variables=$(printf '%s\n' "${MAKEFLAGS:-}" | sed 's/ -j[0-9]*//; s/ --jobserver-[a-z]*=[^ ]*//g')
env -u MAKELEVEL -u MFLAGS MAKEFLAGS="$variables" "$python" -m pip wheel --no-build-isolation --no-deps --no-index \
    --disable-pip-version-check -w "$work/wheel" . >"$work/log" 2>&1
verdict $? "pip wheel ."
"$python" -m pip install --no-deps --no-index --disable-pip-version-check --root-user-action ignore \
    --target "$work/site" "$work"/wheel/*.whl >"$work/log" 2>&1
verdict $? "pip install of the wheel"
[ $failures -eq 0 ] || exit 1
PYTHONPATH=$work/site
export PYTHONPATH

if has auditwheel; then
    "$python" -m auditwheel show "$work"/wheel/*.whl >"$work/log" 2>&1 && grep -q '"manylinux_' "$work/log"
    verdict $? "auditwheel: the wheel is consistent with a manylinux tag"
else
    echo "ok - auditwheel # SKIP auditwheel is missing"
fi

if has mypy; then
    (cd "$root" && "$python" -m mypy --cache-dir build/mypy -p sapporo) >"$work/log" 2>&1
    verdict $? "mypy --strict"
    for program in examples/first_force.py test/api/python/typed_program.py; do
        MYPYPATH=$work/site "$python" -m mypy --strict --cache-dir build/mypy "$program" >"$work/log" 2>&1
        verdict $? "mypy --strict of $program, which uses the package"
    done
else
    echo "ok - mypy --strict # SKIP mypy is missing"
fi

"$python" test/api/python/typed_program.py >"$work/log" 2>&1
verdict $? "typed_program.py runs"

# ---- pytest

"$python" -m pytest -q --junitxml="$work/junit.xml" test/api/python >"$work/log" 2>&1
status=$?
"$python" - "$work/junit.xml" <<'END_OF_PYTHON' || verdict 1 "pytest runs"
import sys
import xml.etree.ElementTree as tree

for case in tree.parse(sys.argv[1]).iter("testcase"):
    name = f"{case.get('classname', '').split('.')[-1]}: {case.get('name')}"
    bad = case.find("failure") if case.find("failure") is not None else case.find("error")
    skipped = case.find("skipped")
    if bad is not None:
        print(f"not ok - {name}")
        for line in (bad.text or bad.get("message", "")).splitlines()[-15:]:
            print(f"#   {line}")
    elif skipped is not None:
        print(f"ok - {name} # SKIP {skipped.get('message')}")
    else:
        print(f"ok - {name}")
END_OF_PYTHON
[ $status -eq 0 ] || failures=$((failures + 1))

exit $((failures > 0))
