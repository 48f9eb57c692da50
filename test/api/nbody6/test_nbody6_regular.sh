#!/bin/sh
# examples/apps/nbody6_regular.f90: the call sequence of NBODY6++GPU, which compares every force and list with its own sums.

program=examples/nbody6_regular_f90
case ${SANITIZE:-} in ?*) echo "libraries of a sanitizer build are not for clients"; exit 77 ;; esac
[ -x $program ] || { echo "$program is missing: there is no Fortran compiler"; exit 77; }
work=$(mktemp -d) || exit 2
trap 'rm -rf "$work"' EXIT
failures=0

# runs TITLE ARGUMENT...: ends well, and says that no list is wrong
runs() {
    title=$1
    shift
    if timeout 60 $program "$@" >"$work/log" 2>&1 && grep -q 'lists that are wrong: 0' "$work/log"; then
        echo "ok - $title"
    else
        echo "not ok - $title"
        head -n 12 "$work/log" | sed 's/^/#   /'
        failures=$((failures + 1))
    fi
}

runs "2000 stars"
if grep -q 'blocks sent again: [1-9]' "$work/log"; then
    echo "ok - some lists did not fit at first"
else
    echo "not ok - some lists did not fit at first"
    failures=$((failures + 1))
fi
runs "3 stars" 3 1
runs "1100 stars, short lists" 1100 5
SAPPORO_PRECISION=dp runs "in dp" 500 20
if examples/sapporo info 2>/dev/null | grep -q '^  opencl 0 '; then
    SAPPORO_BACKEND=opencl SAPPORO_DEVICES=0 runs "on OpenCL" 1100 20
else
    echo "ok - on OpenCL # SKIP no OpenCL device"
fi
exit $((failures > 0))
