#!/bin/sh
# OpenCL's kernels for GPUs, which share memory of a group, on a CPU: the tests of engines run once more, on these.
# Prints TAP.

build=${BUILD:-build}
work=$(mktemp -d) || exit 2
trap 'rm -rf "$work"' EXIT
failures=0
device= # there is one: what follows the tests of engines asks for it

# To give the binary that would be kept PoCL compiles each kernel once more, for groups of any size, which nobody runs.
export SAPPORO_CACHE=off

for name in accuracy bits g5_input multi; do
    program=$build/test/test_$name
    if [ ! -x "$program" ]; then
        echo "ok - test_$name # SKIP it is not built"
        continue
    elif [ -z "$device" ] && [ "$name" != accuracy ] && [ "$name" != bits ]; then
        echo "ok - test_$name # SKIP no OpenCL device"
        continue
    fi
    SAPPORO_OPENCL_VECTORS=0 SAPPORO_TEST_ENGINES=opencl SAPPORO_BACKEND=opencl "$program" >"$work/log" 2>&1
    status=$?
    if [ $status != 0 ] || grep '^not ok' "$work/log" | grep -qv '# SKIP'; then
        echo "not ok - test_$name"
        grep -v 'SKIP\|^skip: ' "$work/log" | tail -n 20 | sed 's/^/#   /'
        failures=$((failures + 1))
    elif grep '^ok' "$work/log" | grep -qv '# SKIP'; then
        echo "ok - test_$name"
        if grep '^ok.*opencl' "$work/log" | grep -qv '# SKIP'; then device=1; fi
    else
        echo "ok - test_$name # SKIP no OpenCL device"
    fi
done
exit $((failures > 0))
