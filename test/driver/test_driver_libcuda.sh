#!/bin/sh
# The CUDA driver over a libcuda.so.1 that we make (test/support/fake_libcuda.c), so that all of it runs without a
# GPU: the cases of test_driver, then drivers that are too old, without devices, or broken.  Prints TAP.

program=${BUILD:-build}/test/test_driver
[ "$(uname -s)" = Linux ] || { echo "libcuda.so.1 is a library of Linux"; exit 77; }
[ -x "$program" ] || { echo "test_driver is not built"; exit 77; }

work=$(mktemp -d) || exit 2
trap 'rm -rf "$work"' EXIT
export LD_LIBRARY_PATH="$work${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}"
failures=0

# fake FLAG...: builds the library
fake() {
    # shellcheck disable=SC2086 # CC may be a command with arguments
    ${CC:-cc} -std=c11 -O1 -shared -fPIC -Ilib -Iinclude "$@" -o "$work/libcuda.so.1" test/support/fake_libcuda.c
}

# CMocka calls what it skips not ok.
failed() { grep '^not ok' "$work/log" | grep -v 'SKIP'; }

# says TITLE WORDS: test_driver finds no device and says why
says() {
    "$program" >"$work/log" 2>&1
    if grep -q "0 devices: .*$2" "$work/log" && ! failed >/dev/null; then
        echo "ok - $1"
    else
        echo "not ok - $1"
        { grep 'devices: ' "$work/log"; failed; } | sed 's/^/#   /'
        failures=$((failures + 1))
    fi
}

fake || exit 1
"$program" || failures=1

FAKE_CUDA_INIT=100 says "no device" "cuInit: .*CUDA_ERROR_OF_FAKE, 100"
FAKE_CUDA_DEVICES=0 says "a count of none" "CUDA 12.4 has no device"
fake -DcuLaunchKernel=cuLaunchNothing
says "too old" "too old: its libcuda.so.1 has no cuLaunchKernel"
echo 'no library' >"$work/libcuda.so.1"
says "not a library" "no NVIDIA driver: .*libcuda.so.1"
exit $((failures > 0))
