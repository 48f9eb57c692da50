#!/bin/sh
# test_hermite_collapse.sh - the examples hermite4, hermite6 and hermite8: steps that do not follow rounding errors, and
# what the programs say where steps collapse.  Prints TAP.  Nothing is judged by its time: --stop-after ends what would
# not end.

cd "$(dirname "$0")/../.." || exit 1
for order in 4 6 8; do
    [ -x examples/hermite$order ] || { echo "skipped: examples/hermite$order is not built"; exit 77; }
done
. test/support/tap.sh
forget_settings
SAPPORO_BACKEND=cpu
OMP_NUM_THREADS=1
export SAPPORO_BACKEND OMP_NUM_THREADS
work=$(mktemp -d "${TMPDIR:-/tmp}/test_collapse.XXXXXX") || exit 1
trap 'rm -rf "$work"' EXIT
shown="out err"

# go PROGRAM OPTION...: a run in $work/run, of at most 40,000 block steps
go() {
    program=$1
    shift
    rm -f "$work"/run.*
    "examples/$program" "$@" --stop-after 40000 -o "$work/run" >"$work/out" 2>"$work/err"
}

steps() { sed -n 's/^# done: .*, \([0-9]*\) block steps,.*/\1/p' "$work/out"; }

error_below() { awk -v most="$1" -F '[ ,]+' '/^# done/ { e = $6 < 0 ? -$6 : $6; good = e < most }
    END { exit !good }' "$work/out"; }

# ---- steps in proportion to eta, far below the default: derivatives beyond rounding errors count no more

# fine ORDER PRECISION END ETA ETA ERROR OPTION...: the second eta is a quarter of the first, and takes 2 to 8 times the
# steps: commensurate steps are powers of two
fine() {
    order=$1 precision=$2 end=$3 coarse=$4 eta=$5 error=$6
    shift 6
    SAPPORO_PRECISION=$precision
    export SAPPORO_PRECISION
    cluster="--model plummer -n 128 --eps 1/256 --interval 1/32 --end $end"
    # shellcheck disable=SC2086 # options
    go hermite"$order" $cluster --eta "$coarse" "$@"
    first=$(steps)
    # shellcheck disable=SC2086
    go hermite"$order" $cluster --eta "$eta" "$@" && error_below "$error" && [ ! -s "$work/err" ] &&
        [ "$(steps)" -gt $((2 * first)) ] && [ "$(steps)" -lt $((8 * first)) ]
    verdict $? "hermite$order in $precision, eta $eta $*: $(steps) block steps, $first of eta $coarse"
    unset SAPPORO_PRECISION
}

fine 8 dp 1/16 0.2 0.05 1e-10
fine 8 dp 1/32 0.04 0.01 1e-10
fine 6 dp 1/32 0.02 0.005 1e-10
fine 6 dp 1/32 0.008 0.002 1e-10
fine 8 ds 1/32 0.4 0.1 1e-7 --criterion aarseth
fine 6 ds 1/32 0.08 0.02 1e-7 --criterion aarseth

# In ds and with the averaged criterion of order 6, the first of the interpolated derivatives is noise.
SAPPORO_PRECISION=ds go hermite6 --model plummer -n 128 --eps 1/256 --end 1/32 --eta 0.01 && error_below 1e-7
verdict $? "hermite6 in ds, eta 0.01: $(steps) block steps"

# An eccentric pair whose coordinates are a thousand times its size: rounding errors of positions count as well.
awk 'BEGIN { e = 0.9; r = 1 + e; v = sqrt((1 - e) / (1 + e))
    printf "0.5 %.17g 0 0 0 %.17g 0\n0.5 %.17g 0 0 0 %.17g 0\n", 1000 + r / 2, v / 2, 1000 - r / 2, -v / 2 }' >"$work/far"
for order in 6 8; do
    go hermite$order "$work/far" -s 0 -d 1 -t 4 --eta "$((10 - order)).0e-2" && error_below 1e-6 && [ "$(steps)" -lt 5000 ]
    verdict $? "hermite$order: a pair far from the origin: $(steps) block steps"
done

# says TEXT...: all of them are in the messages
says() { for text in "$@"; do grep -q -- "$text" "$work/err" || return 1; done; }

# ---- collapse: the star, its neighbour and the remedy are named, once

printf '7 0.5 0.5 0 0 0 0 0\n9 0.5 -0.5 0 0 0 0 0\n3 1e-9 30 0 0 0 0.1 0\n' >"$work/fall"
for order in 4 6 8; do
    go hermite$order "$work/fall" -s 0 -d 2 -t 2
    says 'steps have collapsed' 'particle [79]; its nearest neighbour is particle [79], ' 'larger --eps' &&
        [ "$(grep -c collapsed "$work/err")" -eq 1 ]
    verdict $? "hermite$order: two stars fall onto each other"
done
SAPPORO_PRECISION=ds go hermite4 --model plummer -n 64 --eta 0.0005 -t 1/8 --eps 1/64
says 'steps have collapsed' 'is that of particle [0-9]*; its nearest neighbour is particle [0-9]*, ' 'larger --eta'
verdict $? "hermite4 in ds: a collapse by rounding errors"

if [ -x examples/hermite4_f90 ]; then
    { echo 0; echo 3; awk '{ print NR, $2, $3, $4, $5, $6, $7, $8 }' "$work/fall"; } >"$work/in"
    examples/hermite4_f90 "$work/in" 0.01 0 2 >"$work/out" 2>"$work/err"
    says 'steps have collapsed' 'particle [12] needs a step' 'nearest neighbour is particle [12],' 'larger EPS' &&
        [ "$(grep -c collapsed "$work/err")" -eq 1 ]
    verdict $? "hermite4_f90: two stars fall onto each other"
else
    skipped "hermite4_f90: two stars fall onto each other" "it is not built"
fi

# ---- progress: long stretches without an output are told, and what makes them long

printf '0.5 0.5 0 0 0 0.4 0\n0.5 -0.5 0 0 0 -0.4 0\n' >"$work/pair"
for order in 4 6; do
    rm -f "$work"/run.*
    examples/hermite$order "$work/pair" -s 0 -d 1 -t 1 --dt-max 1/1048576 --stop-after 140000 -o "$work/run" >"$work/out" 2>"$work/err"
    grep -q '^# time 0.0625: 65536 block steps since the last output; the next is at 1; ' "$work/out" &&
        ! grep -q collapsed "$work/err"
    verdict $? "hermite$order: says how far it is, without outputs"
done
examples/hermite4 "$work/pair" -s 0 -d 1 -t 1 --dt-max 1/4194304 --eta 1e-15 -q --stop-after 70000 -o "$work/slow" >"$work/out" 2>"$work/err"
says 'steps have collapsed' 'less than 1/64' 'particle 1; its nearest neighbour is particle 2, ' && [ ! -s "$work/out" ]
verdict $? "hermite4 --quiet: warns of steps that lead nowhere"

# ---- a star without acceleration is not too close to another, and begins with an ordinary step

printf '0.5 1 0 0 0 0.5 0\n0.5 -1 0 0 0 -0.5 0\n0.5 0 0 0 0 0 0.25\n' >"$work/middle"
printf '0.5 1 0 0 0 0.5 0\n0.5 -1 0 0 0 -0.5 0\n0.5 1e-17 0 0 0 0 0.25\n' >"$work/nearly"
printf '0.5 1 0 0 0 0.5 0\n0.5 -1 0 0 0 -0.5 0\n0.5 0 0 0 0 0 0\n' >"$work/resting"
for order in 4 6 8; do
    for stars in middle nearly resting; do
        go hermite$order "$work/$stars" -s 0.01 -t 1/4 && [ ! -s "$work/err" ] && [ "$(steps)" -lt 200 ] && error_below 1e-6
        verdict $? "hermite$order: no acceleration at first, $stars: $(steps) block steps"
    done
done

exit $((failures > 0))
