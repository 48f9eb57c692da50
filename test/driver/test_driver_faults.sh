#!/bin/sh
# Calls of a driver that fail, one after the other and in every way, in sessions of all interfaces (test/faults/):
# OpenCL's driver here.  On a GPU: SAPPORO_TEST_SPARING=0 SAPPORO_BACKEND=cuda make check TESTS=driver_faults.
#
# The clients are linked with the static library, whose drivers faulty_driver.h wraps.  SAPPORO_TEST_SPARING=0 leaves out
# no call; otherwise some of each session fail, each in two of the four ways: over a stub, test_faults and its like let
# every second call of the same flow fail.

case ${SANITIZE:-} in ?*) echo "clients are compiled without sanitizers"; exit 77 ;; esac
build=${BUILD:-$(cat build/current)}
[ -f "$build/test/libsupport.a" ] || { echo "$build/test/libsupport.a is missing: it comes with make tests"; exit 77; }
cc=${CC:-cc}
engine=${SAPPORO_BACKEND:-opencl}
examples/sapporo info 2>/dev/null | grep -qE "^  $engine +0 " || { echo "no $engine device"; exit 77; }
work=$(mktemp -d) || exit 2
trap 'rm -rf "$work"' EXIT
printf 'extern int _Fork(void);\nint main(void) { return _Fork() < 0; }\n' >"$work/probe.c"
# shellcheck disable=SC2086 # CC may be a command with arguments
$cc "$work/probe.c" -o "$work/probe" 2>/dev/null || { echo "glibc 2.34 is needed"; exit 77; }
failures=0

# walk EVERY NAME SOURCE ARGUMENT...: compiles a client, walks in every way
walk() {
    every=$1 name=$2 source=$3
    shift 3
    second=$((1 + every))
    every=$((2 * every))
    [ "${SAPPORO_TEST_SPARING:-1}" != 0 ] || every=1 second=1
    # shellcheck disable=SC2086 # lists of words
    if ! $cc -std=c11 -O1 -Wall -Wextra -Werror -Iinclude -Ilib -Itest/support "test/faults/$source.c" \
        test/faults/client.c test/faults/driver_faults.c "$@" "$build/test/libsupport.a" "$build/lib/libsapporo.a" \
        ${OPENMP_FLAGS:-} -ldl -lpthread -lcmocka -lm -o "$work/$name" 2>"$work/log"; then
        echo "not ok - $name does not compile"
        sed 's/^/#   /' "$work/log"
        failures=$((failures + 1))
        return
    fi
    SAPPORO_BACKEND=$engine SAPPORO_DEVICES=0 SAPPORO_VERBOSE=0 \
        "$work/$name" stay=1 "every=$every" memory lost "start=$second" launch error 2>"$work/log" || failures=$((failures + 1))
}

walk 17 g6 g6
walk 60 native native
walk 150 tree tree
walk 30 g5 g5
walk 30 nbody6pp nbody6 "$build/lib/libnbody6pp_gpu.a"
walk 40 sixth sixth "$build/lib/libsapporo6th.a"
exit $((failures > 0))
