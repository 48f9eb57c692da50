#!/bin/sh
# OpenCL as it may be found when a process starts: no loader, one that is too old, no platform, and a CPU that is split
# into two devices, whose forces must have the bits of one.  Prints TAP.

build=${BUILD:-build}
program=$build/test/test_opencl
[ -x "$program" ] || { echo "test_opencl is not built"; exit 77; }
[ "$(uname -s)" = Linux ] || { echo "libOpenCL.so.1 is a library of Linux"; exit 77; }

work=$(mktemp -d) || exit 2
trap 'rm -rf "$work"' EXIT
. test/support/tap.sh

# before FOLDER: the search path with FOLDER first; CMocka may be found by what was there
before() { echo "LD_LIBRARY_PATH=$1${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}"; }

# says TITLE WORDS NAME=VALUE...: with these variables there is no device, for this reason, and forces are computed
says() {
    title=$1
    words=$2
    shift 2
    env "$@" "$program" >"$work/log" 2>&1 && grep -q "# 0 devices, .*$words" "$work/log" &&
        ! env "$@" examples/sapporo bench --backend opencl --n 16 >>"$work/log" 2>&1 &&
        env "$@" examples/sapporo bench --n 16 --min-time 0 >>"$work/log" 2>&1
    verdict $? "$title"
}

mkdir "$work/none" "$work/broken" "$work/old"
echo 'no library' >"$work/broken/libOpenCL.so.1"
says "a loader that does not load" "no OpenCL: .*libOpenCL.so.1" "$(before "$work/broken")"
# shellcheck disable=SC2086 # CC may be a command with arguments
echo 'int clGetPlatformIDs(void) { return 0; }' | ${CC:-cc} -shared -fPIC -x c -o "$work/old/libOpenCL.so.1" - &&
    says "a loader that is too old" "older than 1.2: .* has no clGetPlatformInfo" "$(before "$work/old")"
if ldconfig -p 2>/dev/null | grep -q 'libOpenCL\.so\.1'; then
    says "no platform" "no platform" OCL_ICD_VENDORS="$work/none"
else
    echo "ok - no platform # SKIP no libOpenCL.so.1"
fi

# `auto` does not load PoCL where it is the only driver and there is no GPU; a variable of OpenCL makes it ask.
# loads NAME=VALUE...: whether a program that names no backend loads PoCL
loads() { env "$@" LD_DEBUG=files examples/first_force 2>&1 | grep 'calling init: .*libpocl' >"$work/log"; }
others=$(for file in /etc/OpenCL/vendors/*.icd; do grep -L libpocl "$file"; done 2>/dev/null)
if [ -f /etc/OpenCL/vendors/pocl.icd ] && [ -z "$others" ] && [ -x examples/first_force ] &&
    ! ls /dev/dri/renderD* /dev/nvidia* /dev/kfd /dev/dxg /dev/accel >/dev/null 2>&1; then
    (
        forget_settings
        unset OCL_ICD_VENDORS OCL_ICD_FILENAMES OPENCL_VENDOR_PATH POCL_DEVICES
        ! loads A=1
        verdict $? "PoCL alone is not loaded to be left"
        loads POCL_DEVICES=
        verdict $? "PoCL is loaded and asked if a variable of OpenCL is set"
        SAPPORO_VERBOSE=2 examples/first_force >"$work/log" 2>&1
        grep -q "opencl is not used: .*PoCL" "$work/log"
        verdict $? "a message says why"
        if [ -z "${SANITIZE:-}" ]; then
            # shellcheck disable=SC3045 # dash and bash have it
            (ulimit -v 300000 && examples/first_force) >"$work/log" 2>&1
            verdict $? "forces with 300 MB of address space"
        else
            skipped "forces with 300 MB of address space" "sanitizers take memory of their own"
        fi
        exit $((failures > 0))
    )
    failures=$((failures + $?))
else
    echo "ok - PoCL alone is not loaded to be left # SKIP PoCL is not the only driver, or there is a GPU"
fi

export SAPPORO_TEST_ENGINES=opencl SAPPORO_OPENCL_SPLIT=2
CMOCKA_TEST_FILTER=table "$program" >"$work/log" 2>&1
if grep -q '# 2 devices, 0 of them' "$work/log"; then
    CMOCKA_TEST_FILTER=devices "$build/test/test_bits" >"$work/log" 2>&1
    verdict $? "the same bits on two halves of a CPU"
    for test in several choice faults; do
        CMOCKA_TEST_FILTER=$test "$program" >"$work/log" 2>&1
        verdict $? "test_opencl's '$test' on two halves of a CPU"
    done
else
    echo "ok - the same bits on two halves of a CPU # SKIP no CPU that can be split in two"
fi
exit $((failures > 0))
