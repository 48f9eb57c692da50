#!/bin/sh
# OpenCL's kernels for GPUs, which share memory of a group, on a CPU: the tests of engines run once more, on these.
# Prints TAP.

build=${BUILD:-build}
work=$(mktemp -d) || exit 2
trap 'rm -rf "$work"' EXIT
failures=0
device= # there is one: what follows the tests of engines asks for it

# runs TITLE NAME FILTER: inner tests of a program whose names match
runs() {
    program=$build/test/test_$2
    if [ ! -x "$program" ]; then
        echo "ok - $1 # SKIP it is not built"
        return
    elif [ -z "$device" ] && [ "$2" != accuracy ]; then
        echo "ok - $1 # SKIP no OpenCL device"
        return
    fi
    SAPPORO_OPENCL_VECTORS=0 SAPPORO_TEST_ENGINES=opencl SAPPORO_BACKEND=opencl CMOCKA_TEST_FILTER=$3 \
        "$program" >"$work/log" 2>&1
    status=$?
    if [ $status != 0 ] || grep '^not ok' "$work/log" | grep -qv '# SKIP'; then
        echo "not ok - $1"
        grep -v 'SKIP\|^skip: ' "$work/log" | tail -n 20 | sed 's/^/#   /'
        failures=$((failures + 1))
    elif grep '^ok' "$work/log" | grep -qv '# SKIP'; then
        echo "ok - $1"
        if grep '^ok.*opencl' "$work/log" | grep -qv '# SKIP'; then device=1; fi
    else
        echo "ok - $1 # SKIP no OpenCL device"
    fi
}

# Each kernel takes seconds to compile; SAPPORO_TEST_SPARING=0 looks at bits in order 2 as well.  `sp` has the text of `ds` without its second words, and `dp`, of which the bits
# tell, that of `sp` with other words; promises of accuracy, and
# all bits, are looked at on the form for CPUs, which is the same text, and on GPUs by test/gpu.sh.
runs "cases of ds" accuracy 'cases, opencl ds'
runs "cases of sp, order 2" accuracy 'cases, opencl sp, *'
if [ "${SAPPORO_TEST_SPARING:-1}" = 0 ]; then orders='*'; else orders=; fi
runs "bits over batches" bits "threads_and_batches$orders"
runs "GRAPE-5, odd input" g5_input '*'
runs "batches with moments and counts" batch_more '*s'

# Of orders 6 and 8 one: a context tests itself when it is opened, forces of both shapes against double precision.
if [ -z "$device" ]; then
    echo "ok - order 6 # SKIP no OpenCL device"
elif SAPPORO_OPENCL_VECTORS=0 examples/sapporo bench --backend opencl --api native --hermite 6 --precision dp --n 256 \
    --neighbours both --min-time 0 >"$work/log" 2>&1; then
    echo "ok - order 6"
else
    echo "not ok - order 6"
    sed 's/^/#   /' "$work/log"
    failures=$((failures + 1))
fi
exit $((failures > 0))
