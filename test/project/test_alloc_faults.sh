#!/bin/sh
# Memory that runs out: sessions of all interfaces (test/faults/), in which every allocation of the library fails, once,
# or for good from there, and under limits on memory.  docs/contributing.md, "Faults", tells how to run one by hand.
#
# Of allocations that the same chain of callers in the library asks for, the first, second, fourth, eighth and so on
# fail.  Walks of interfaces that share their sources with others take every second to fifth of these, and walks over
# OpenCL, where each session loads its kernels for seconds, every tens.  Of two in turn the first fails once, the second
# for good (start=2).  SAPPORO_TEST_SPARING=0 leaves out no allocation.

case ${SANITIZE:-} in ?*) echo "sanitizers bring allocations of their own"; exit 77 ;; esac
[ "$(uname -s)" = Linux ] || { echo "LD_PRELOAD is needed as Linux has it"; exit 77; }
[ -f lib/libsapporo.so ] || { echo "lib/libsapporo.so is missing"; exit 77; }
cc=${CC:-cc}
work=$(mktemp -d) || exit 2
trap 'rm -rf "$work"' EXIT
printf '#include <features.h>\n#ifndef __GLIBC__\n#error\n#endif\nextern int _Fork(void);\nint main(void) { return _Fork() < 0; }\n' >"$work/probe.c"
# shellcheck disable=SC2086 # CC may be a command with arguments
$cc "$work/probe.c" -o "$work/probe" 2>/dev/null || { echo "glibc 2.34 is needed"; exit 77; }
failures=0

# build OUTPUT ARGUMENT...
build() {
    output=$1
    shift
    # shellcheck disable=SC2086
    $cc -std=c11 -O1 -g1 -Wall -Wextra -Werror -Iinclude "$@" -o "$work/$output" 2>"$work/log" && return
    echo "not ok - $output does not compile"
    sed 's/^/#   /' "$work/log"
    exit 1
}

sapporo="test/faults/client.c -Llib -lsapporo -ldl -lm"
build alloc_faults.so -shared -fPIC test/faults/alloc_faults.c
# shellcheck disable=SC2086 # a list of words
{
    build g6 test/faults/g6.c $sapporo
    build g6_fortran -DFORTRAN_NAMES=1 test/faults/g6.c $sapporo
    build g5 test/faults/g5.c $sapporo
    build native test/faults/native.c $sapporo
    build tree test/faults/tree.c $sapporo
    build stepper test/faults/stepper.c $sapporo
    build sixth test/faults/sixth.c -Llib -lsapporo6th $sapporo
    build yebisu -DSAPPORO_YEBISU=1 test/faults/sixth.c -Llib -lyebisug6 $sapporo
    build nbody6pp test/faults/nbody6.c -Llib -lnbody6pp_gpu $sapporo
    build nbody6 -DSAPPORO_NBODY6_AARSETH=1 test/faults/nbody6.c -Llib -lnbody6_gpu $sapporo
}

# walk EVERY PROGRAM ARGUMENT...: one line of TAP per argument
chains=1
[ "${SAPPORO_TEST_SPARING:-1}" != 0 ] || chains=0
walk() {
    every=$1
    program=$2
    shift 2
    [ $chains -eq 1 ] || every=1
    [ $chains -eq 1 ] || [ "$1" != start=2 ] || shift
    SAPPORO_VERBOSE=0 LD_LIBRARY_PATH=lib LD_PRELOAD="$work/alloc_faults.so" \
        "$work/$program" "every=$every" "chains=$chains" "$@" 2>"$work/log" ||
        { failures=$((failures + 1)); sed 's/^/#   /' "$work/log"; }
}

export SAPPORO_BACKEND=cpu
for program in g6 g5 native sixth nbody6pp; do
    walk 2 "$program" once
    walk 2 "$program" start=2 forever
    walk 2 "$program" address data
done
# Other names of the same functions, or a sister of the same sources.
for program in g6_fortran yebisu nbody6; do
    walk 4 "$program" once
    walk 4 "$program" start=2 forever
    walk 5 "$program" address data
done
walk 2 tree once
walk 4 tree start=2 forever
walk 4 tree address data
walk 8 stepper once
walk 8 stepper start=2 forever
SAPPORO_METHOD=tree walk 4 g5 once
SAPPORO_METHOD=tree walk 4 g5 start=2 forever
SAPPORO_METHOD=tree walk 6 g5 address data

# Memory of the host that the flow of accelerators takes.  Drivers do not bear limits, so there are none.  `once` opens
# the device in each child.  `forever` stays in one process, which has it open, for a third of the time.
if examples/sapporo info 2>/dev/null | grep -q '^  opencl 0 '; then
    export SAPPORO_BACKEND=opencl SAPPORO_DEVICES=0
    walk 60 g6 once
    walk 16 g6 stay=1 forever
    walk 160 native once
    walk 40 native stay=1 forever
    walk 120 tree once
    walk 40 tree stay=1 forever
    walk 200 stepper once
    walk 90 nbody6pp once
    walk 16 nbody6pp stay=1 forever
    walk 60 sixth once
    walk 8 sixth stay=1 forever
    SAPPORO_METHOD=tree walk 120 g5 once
else
    echo "ok - host memory of OpenCL # SKIP no OpenCL device"
fi
exit $((failures > 0))
