#!/bin/sh
# test_hermite_shift.sh - the examples hermite4, hermite6, hermite8 and their like: a run that is shifted in time, or
# whose units differ by powers of two, has the same steps to the last bit; also in pieces.  Prints TAP.

cd "$(dirname "$0")/../.." || exit 1
for order in 4 6 8; do
    [ -x examples/hermite$order ] || { echo "skipped: examples/hermite$order is not built"; exit 77; }
done
. test/support/tap.sh
forget_settings
SAPPORO_BACKEND=cpu
OMP_NUM_THREADS=1
export SAPPORO_BACKEND OMP_NUM_THREADS
work=$(mktemp -d "${TMPDIR:-/tmp}/test_shift.XXXXXX") || exit 1
trap 'rm -rf "$work"' EXIT
shown="out err log"

# cluster N: particles of a model, a line each: mass, position, velocity
cluster() {
    examples/hermite4 --model plummer -n "$1" --seed 3 -t 0 -q -o "$work/model" --overwrite
    awk '!/^#/ && NF >= 8 { print $2, $3, $4, $5, $6, $7, $8 }' "$work/model.0000.txt"
}

# result: the numbers of the last snapshot and of the last line of the run in $work/out, without times
result() {
    for snapshot in "$work"/run.*.txt; do :; done
    grep -v '^# time' "$snapshot"
    sed -n 's/.*, \([0-9]* block steps, mean block .*\)/\1/p' "$work/out" | tail -n 1
    echo "$work"/run.*.txt | wc -w
    rm -f "$work"/run.*
}

# whole PROGRAM TIME OPTION...: the result of a run of $work/particles that begins at a time
whole() {
    program=$1
    time=$2
    shift 2
    { echo "# time $time"; cat "$work/particles"; } >"$work/in"
    timeout 60 "examples/$program" "$work/in" -o "$work/run" --overwrite "$@" >"$work/out" 2>>"$work/err" || echo failed
    result
}

# pieces: as whole, stopped twice
pieces() {
    program=$1
    time=$2
    shift 2
    { echo "# time $time"; cat "$work/particles"; } >"$work/in"
    timeout 60 "examples/$program" "$work/in" -o "$work/run" --overwrite "$@" --stop-after 5 >"$work/out" 2>&1 || echo failed
    timeout 60 "examples/$program" --restart "$work/run.restart" --stop-after 9 >"$work/out" 2>&1 || echo failed
    timeout 60 "examples/$program" --restart "$work/run.restart" >"$work/out" 2>&1 || echo failed
    result
}

# ---- time

cluster 40 >"$work/particles"
for program in hermite4 hermite6 hermite8 leapfrog_direct leapfrog_tree galaxy; do
    whole "$program" 0 -d 1/16 -t 1/4 --eps 1/32 >"$work/first"
    : >"$work/log"
    for time in 2000:2000.25 1e6:1000000.25 1e10:10000000000.25 -2000:-1999.75 1e15:1000000000000000.25 0.7:0.95; do
        whole "$program" ${time%:*} -d 1/16 -t ${time#*:} --eps 1/32 >"$work/then"
        cmp "$work/first" "$work/then" >>"$work/log" 2>&1 || echo "a start at ${time%:*}" >>"$work/log"
    done
    pieces "$program" 1e12 -d 1/16 -t 1000000000000.25 --eps 1/32 >"$work/then"
    cmp "$work/first" "$work/then" >>"$work/log" 2>&1 || echo "in pieces" >>"$work/log"
    grep -q 'block steps' "$work/first" || echo "no steps" >>"$work/log"
    none "$program: the same steps whenever the run starts, and in pieces"
done

# Ends that are no sums of powers of two: their differences are rounded, and the length of the run is not.
whole hermite4 0 -t 0.1 >"$work/first"
: >"$work/log"
for time in 0.7:0.8 12345.678:12345.778 1e6:1000000.1; do
    whole hermite4 ${time%:*} -t ${time#*:} >"$work/then"
    cmp "$work/first" "$work/then" >>"$work/log" 2>&1 || echo "a start at ${time%:*}" >>"$work/log"
done
none "hermite4: an end at 1000000.1 is an end 0.1 after 1000000"

# The times of lines and snapshots are those of the particles.
whole hermite6 1e10 -d 1/4 -t 10000000000.25 >/dev/null
grep -q '^10000000000.25 ' "$work/out" || sed -n 's/^ *10000000000.25 .*/found/p' "$work/out" | grep -q found
verdict $? "lines tell the time of the particles, with its digits"

# Two particles at one place: their first steps have no acceleration to go by.
printf '0.5 1 0 0 0 0.5 0\n0.5 1 0 0 0 -0.5 0\n' >"$work/particles"
for program in hermite4 hermite6 hermite8; do
    whole "$program" 0 -s 0.01 -t 1/4 >"$work/first"
    whole "$program" 10000 -s 0.01 -t 10000.25 >"$work/then"
    cmp "$work/first" "$work/then" >"$work/log" 2>&1
    grep failed "$work/first" >>"$work/log"
    none "$program: two particles at one place, late"
done

if [ -x examples/hermite4_f90 ]; then
    cluster 40 >"$work/particles"
    : >"$work/log"
    for time in 0 1e6 -2000 1e10 1e15; do
        { echo $time; echo 40; awk '{ print NR, $0 }' "$work/particles"; } >"$work/in"
        timeout 60 examples/hermite4_f90 "$work/in" 0.01 1/256 1/4 1/16 | sed 's/.*, energy/energy/' >"$work/then"
        [ $time = 0 ] && cp "$work/then" "$work/first"
        grep -q 'block steps' "$work/then" && cmp "$work/first" "$work/then" >>"$work/log" 2>&1 || echo "$time" >>"$work/log"
    done
    none "hermite4_f90: the same steps whenever the run starts"
else
    skipped "hermite4_f90: the same steps whenever the run starts" "it is not built"
fi

# ---- units: masses by 2^a, lengths by 2^b, so times by 2^c, a = 3 b - 2 c

# power N: 2^N, which awk makes without rounding
power() { awk -v n="$1" 'BEGIN { x = 1; for (k = 0; k < n; k++) x *= 2; for (k = 0; k > n; k--) x /= 2; printf "%.17g", x }'; }

# scaled B C: $work/model in other units, and back with the signs of B and C turned
scaled() {
    awk -v l="$(power "$1")" -v t="$(power "$2")" '!/^#/ && NF >= 7 { n = NF - 7
        printf "%.17g", $(n + 1) * l / t * l / t * l
        for (k = 2; k <= 4; k++) printf " %.17g", $(n + k) * l
        for (k = 5; k <= 7; k++) printf " %.17g", $(n + k) * l / t
        print "" }'
}

# times A B: the product of powers as an option
product() { awk -v a="$1" -v b="$(power "$2")" 'BEGIN { printf "%.17g", a * b }'; }

cluster 40 >"$work/ordinary"
for program in hermite4 hermite6 hermite8; do
    : >"$work/log"
    for unit in 0:0 20:30 -40:-90 -60:-20 -100:-200 100:195; do
        length=${unit%:*} time=${unit#*:}
        scaled "$length" "$time" <"$work/ordinary" >"$work/particles"
        { echo "# time 0"; cat "$work/particles"; } >"$work/in"
        timeout 60 examples/$program "$work/in" -s "$(product 0.00390625 "$length")" -d "$(product 0.125 "$time")" \
            --dt-max "$(product 0.0625 "$time")" -t "$(product 0.25 "$time")" -o "$work/run" --overwrite \
            >"$work/out" 2>>"$work/log"
        { scaled $((-length)) $((-time)) <"$work/run.0002.txt"; grep '^# done' "$work/out"; } >"$work/then"
        [ $unit = 0:0 ] && cp "$work/then" "$work/first"
        cmp "$work/first" "$work/then" >>"$work/log" 2>&1 || echo "lengths and times by powers $unit" >>"$work/log"
        rm -f "$work"/run.*
    done
    grep -q 'block steps' "$work/first" || echo "no steps" >>"$work/log"
    none "$program: the same bits in units that differ by powers of two"
done

# Sun and Earth in parsec and Gyr, and in m and s: the steps of AU and years
earth() {
    awk -v r="$1" -v year="$2" 'BEGIN { pi = atan2(0, -1); w = 2 * pi / year; q = 3e-6; gm = w * w * r * r * r
        printf "%.17g %.17g 0 0 0 %.17g 0\n", gm, -q * r, -q * w * r
        printf "%.17g %.17g 0 0 0 %.17g 0\n", q * gm, r, w * r }'
}
for program in hermite4 hermite6 hermite8; do
    : >"$work/log"
    for unit in 1:1 4.84813681e-6:1e-9 1.496e11:31557600; do
        year=${unit#*:}
        earth ${unit%:*} "$year" >"$work/in"
        timeout 60 examples/$program "$work/in" -s 0 -t "$year" -d "$year" --dt-max "$year" -o "$work/run" --overwrite \
            >"$work/out" 2>>"$work/log"
        sed -n 's/^# done: .*, \([0-9]* block steps\).*/\1/p' "$work/out" >"$work/then"
        [ $unit = 1:1 ] && cp "$work/then" "$work/first"
        [ -s "$work/then" ] && cmp "$work/first" "$work/then" >>"$work/log" 2>&1 || echo "$unit" >>"$work/log"
    done
    none "$program: Sun and Earth in parsec and Gyr, and in m and s"
done

exit $((failures > 0))
