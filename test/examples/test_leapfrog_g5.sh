#!/bin/sh
# test_leapfrog_g5.sh - the example leapfrog_g5 in C and Fortran: its error falls with the square of the step.  Prints TAP.

cd "$(dirname "$0")/../.." || exit 1
[ -x examples/leapfrog_g5 ] || { echo "skipped: examples/leapfrog_g5 is not built"; exit 77; }
. test/support/tap.sh
forget_settings
OMP_NUM_THREADS=1 # forces on two particles
export OMP_NUM_THREADS
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
shown="out err"

# error COMMAND...: the largest relative error that a run prints
error() {
    "$@" >"$work/out" 2>"$work/err" || return 1
    sed -n 's/.*largest relative error *\([^,]*\),.*/\1/p' "$work/out"
}

# slopes TITLE COMMAND...: each halving of the step divides the error by 2^s, s within 0.1 of 2.
# At eccentricity 0.7, steps are 1/600 of the period and shorter; longer ones show the next order of the expansion.
slopes() {
    title=$1
    shift
    errors=
    for step in 0.01 0.005 0.0025 0.00125; do errors="$errors $(error "$@" $step 12.6)"; done
    told=$(echo "$errors" | awk 'NF == 4 { for (k = 1; k < 4; k++) { s = log($k / $(k + 1)) / log(2)
        printf "%s%.3f", (k > 1 ? ", " : ""), s; bad += !(s > 1.9 && s < 2.1) } } END { exit NF != 4 || bad > 0 }')
    verdict $? "$title: slopes $told"
}

for precision in sp ds dp; do
    SAPPORO_PRECISION=$precision
    export SAPPORO_PRECISION
    slopes "eccentric binary in $precision" examples/leapfrog_g5 2
done
unset SAPPORO_PRECISION

if [ -x examples/leapfrog_g5_f90 ]; then
    slopes "eccentric binary, Fortran" examples/leapfrog_g5_f90
    a=$(error examples/leapfrog_g5 2 0.01 12.6)
    b=$(error examples/leapfrog_g5_f90 0.01 12.6)
    [ -n "$a" ] && [ "$a" = "$(echo "$b" | tr E e)" ]
    verdict $? "C and Fortran have the same error: $a, $b"
else
    echo "ok - eccentric binary, Fortran # SKIP examples/leapfrog_g5_f90 is not built"
fi

e=$(error examples/leapfrog_g5 256 0.0078125 1)
awk -v e="$e" 'BEGIN { exit !(e > 0 && e < 1e-4) }'
verdict $? "256 stars: energy error $e"
examples/leapfrog_g5 1 >"$work/out" 2>"$work/err"
[ $? -eq 2 ] && grep -q '^usage' "$work/err"
verdict $? "a single star: wrong use"
SAPPORO_BACKEND=none examples/leapfrog_g5 2 >"$work/out" 2>"$work/err"
[ $? -eq 1 ] && grep -q SAPPORO_BACKEND "$work/err" && ! grep -q energy "$work/out"
verdict $? "no force: no result"
exit $((failures > 0))
