#!/bin/sh
# test_hermite_ways.sh - hermite4, 6 and 8 on the device and by calls: the same snapshots, to the byte, on every engine,
# in every precision, with softening and without; a run goes on the way it began.

cd "$(dirname "$0")/../.." || exit 1
for order in 4 6 8; do
    [ -x examples/hermite$order ] || { echo "skipped: examples/hermite$order is not built"; exit 77; }
done
. test/support/tap.sh
only=${SAPPORO_TEST_ENGINES:-}
forget_settings
root=$PWD
work=$(mktemp -d "${TMPDIR:-/tmp}/test_ways.XXXXXX") || exit 1
trap 'rm -rf "$work"' EXIT
shown="out err"

# The engines that have a device, of those that SAPPORO_TEST_ENGINES names.
engines=$(examples/sapporo info | awk -v only="$only" '($1 == "cuda" || $1 == "opencl" || $1 == "cpu") &&
    $2 ~ /^[0-9]+$/ && (only == "" || $1 == only) && !seen[$1]++ { print $1 }')
cd "$work" || exit 1

# same NUMBER: both ways have the same snapshot of this number
same() { cmp -s "calls.$1.txt" "device.$1.txt"; }

for order in 4 6 8; do
    for engine in $engines; do
        for precision in ds dp; do
            set -- --model plummer -n 150 -t 1/8 --interval 1/16 --overwrite
            [ $precision = ds ] && set -- "$@" --eps 0.01
            [ $precision = dp ] && set -- "$@" --imf salpeter --eps 1e-4
            export SAPPORO_BACKEND="$engine" SAPPORO_PRECISION="$precision"
            "$root/examples/hermite$order" "$@" --by-calls -o calls >out 2>err &&
                "$root/examples/hermite$order" "$@" --on-device -o device >out 2>err &&
                same 0001 && same 0002
            verdict $? "hermite$order on $engine in $precision: the same by calls and by steppers"
        done
    done
done
unset SAPPORO_PRECISION
export SAPPORO_BACKEND=cpu

# A run that is stopped goes on the way it began, without being told.
"$root/examples/hermite4" --model plummer -n 100 -t 1/4 --interval 1/8 --on-device -o whole >out 2>err &&
    "$root/examples/hermite4" --model plummer -n 100 -t 1/4 --interval 1/8 --on-device --stop-after 50 -o part >out 2>err
verdict $? "a run is stopped"
"$root/examples/hermite4" --restart part.restart >out 2>err && cmp -s whole.0002.txt part.0002.txt
verdict $? "it goes on to the same end"
"$root/examples/hermite4" --restart part.restart --by-calls >out 2>err
[ $? -eq 2 ] && grep -q "cannot be changed by --restart" err
verdict $? "by calls it is refused"
"$root/examples/hermite6" --demo --by-calls --on-device >out 2>err
[ $? -eq 2 ] && grep -q "exclude each other" err
verdict $? "both ways at once are refused"
exit $((failures > 0))
