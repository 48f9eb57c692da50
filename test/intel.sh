#!/bin/sh
# intel.sh - tests over Intel's OpenCL for CPUs, beside PoCL a second reading of the kernels.
#
#   intel.sh            what .ci/run runs: all checks of an engine, conformance, bits, few targets, neighbours, trees
#   intel.sh NAME...    all checks of an engine, and these tests
#
# The runtime comes from PyPI into build/intel (300 MB to load); where that fails, all is skipped.  What was compiled is
# kept in build/intel/cache.  The last line reads `N passed, N failed, N skipped`.

cd "$(dirname "$0")/.." || exit 2
own=$PWD/build/intel
modules="intel-opencl-rt intel-cmplr-lib-rt" # the second one has libsvml.so, which the first one lacks
few="bits few gpu_lists tree"

. test/support/counts.sh

skip() { left_out "OpenCL of Intel: $1"; }

[ -f "$(cat build/current 2>/dev/null)/test/libsupport.a" ] || skip "nothing is built: make check does that"
if [ ! -f "$own/done" ]; then
    python3 -m venv --clear "$own" >/dev/null 2>&1 || skip "python3 makes no virtual environment"
    # shellcheck disable=SC2086 # a list of words
    "$own/bin/python" -m pip install --quiet --disable-pip-version-check $modules >/dev/null 2>&1 || skip "PyPI gives no $modules"
    : >"$own/done"
fi
mkdir -p "$own/vendors"
echo "$own/lib/libintelocl.so" >"$own/vendors/intel.icd"
export OCL_ICD_VENDORS="$own/vendors" LD_LIBRARY_PATH="$own/lib" SAPPORO_CACHE="$own/cache"
export SAPPORO_BACKEND=opencl SAPPORO_TEST_ENGINES=opencl
device=$(examples/sapporo info 2>/dev/null | grep '^  opencl ')
case $device in *Intel*) ;; *) skip "${device#  opencl }" ;; esac

suite=
[ $# -gt 0 ] || { CONFORMANCE_BACKENDS=opencl test/conformance.sh >"$own/suite" 2>&1 & suite=$!; }

for precision in ds dp sp; do
    examples/sapporo check --backend opencl --precision $precision --n 300 >"$own/log"
    status=$?
    grep -E 'FAILED|absent' "$own/log"
    verdict $status "sapporo check --precision $precision"
done
# shellcheck disable=SC2086 # a list of words
[ $# -gt 0 ] || set -- $few
LOGS="$own/logs" test/run.sh "$(cat build/current)" "$@" | tee "$own/log"
add "$own/log"
if [ -n "$suite" ]; then
    wait "$suite"
    case $? in 77) skipped=$((skipped + 1)) ;; *) add "$own/suite" ;; esac
    grep '^not ok' "$own/suite"
fi
told
