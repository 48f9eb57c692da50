#!/bin/sh
# test_hermite_orders.sh - the examples hermite4, hermite6 and hermite8: convergence, energy, restarts to the byte.
# Prints TAP.  Nothing is judged by its time.

cd "$(dirname "$0")/../.." || exit 1
for order in 4 6 8; do
    [ -x examples/hermite$order ] || { echo "skipped: examples/hermite$order is not built"; exit 77; }
done
. test/support/tap.sh
forget_settings
SAPPORO_BACKEND=cpu
export SAPPORO_BACKEND
work=$(mktemp -d "${TMPDIR:-/tmp}/test_orders.XXXXXX") || exit 1
trap 'rm -rf "$work"' EXIT
shown="out err"

# holds EXPRESSION NAME=VALUE...: arithmetic with real numbers; an empty value never holds
holds() {
    expression=$1
    shift
    for pair in "$@"; do [ -n "${pair#*=}" ] || return 1; done
    # shellcheck disable=SC2046 # two words for each variable
    awk $(for pair in "$@"; do printf ' -v %s' "$pair"; done) \
        "function abs(x) { return x < 0 ? -x : x } BEGIN { exit !($expression) }"
}

energy_error() { sed -n 's/^# done: relative energy error \([^,]*\),.*/\1/p' "$work/out"; }

# ---- convergence: a binary of e = 0.5, constant steps, position after one period against the first
#
# Of five places to begin at the geometric mean of the errors: one alone has higher terms and roundings of its own,
# and order 8 has no more than three octaves between the first where steps resolve the pericentre and the last above
# rounding errors.

# binary ANOMALY: M = 1, period 3/4, which takes 3 2^k steps
binary() {
    awk -v nu="$1" 'BEGIN { pi = atan2(0, -1); a = exp(2 / 3 * log(0.75 / (2 * pi))); e = 0.5; f = nu * pi / 180
        p = a * (1 - e * e); r = p / (1 + e * cos(f)); h = sqrt(1 / p)
        x = r * cos(f) / 2; y = r * sin(f) / 2; u = -h * sin(f) / 2; v = h * (e + cos(f)) / 2
        print 2; print 0
        printf "0.5 %.17g %.17g 0 %.17g %.17g 0\n0.5 %.17g %.17g 0 %.17g %.17g 0\n", x, y, u, v, -x, -y, -u, -v }'
}

# error ORDER STEPS: how far the first star is from where it began
error() {
    for anomaly in 60 90 120 150 180; do
        binary $anomaly >"$work/binary"
        SAPPORO_PRECISION=dp examples/hermite"$1" "$work/binary" --eps 0 --shared --dt-max "1/$(($2 * 4 / 3))" \
            --interval 1/4 --end 3/4 -o "$work/b" --overwrite >"$work/out" 2>"$work/err" || return 1
        cat "$work"/b.000[03].txt
    done | awk 'BEGIN { n = 0 } $1 == 1 && NF >= 8 { x[n] = $3; y[n] = $4; z[n++] = $5 }
        END { for (k = 0; k < n; k += 2)
            sum += log((x[k + 1] - x[k]) ^ 2 + (y[k + 1] - y[k]) ^ 2 + (z[k + 1] - z[k]) ^ 2)
            if (n == 10) printf "%.3e\n", exp(sum / 10) }'
}

# slope ORDER STEPS: over the three octaves from STEPS on
slope() {
    e0=$(error "$1" "$2")
    e1=$(error "$1" $(($2 * 2)))
    e2=$(error "$1" $(($2 * 4)))
    e3=$(error "$1" $(($2 * 8)))
    all=$(awk -v a="$e0" -v b="$e3" 'BEGIN { if (b > 0) printf "%.2f", log(a / b) / log(8) }')
    holds "abs(all - $1) < 0.3" "all=$all"
    verdict $? "hermite$1 converges with slope $all: $e0 $e1 $e2 $e3"
}

slope 4 384
slope 6 192
slope 8 96

# ---- energy of a cluster, in both precisions; in ds the averaged criterion is chosen unasked

for order in 6 8; do
    for precision in dp ds; do
        SAPPORO_PRECISION=$precision examples/hermite$order --model plummer -n 256 --end 1/2 -o "$work/e$order$precision" \
            >"$work/out" 2>"$work/err"
        status=$?
        error=$(energy_error)
        [ $status -eq 0 ] && [ ! -s "$work/err" ] && holds "abs(e) < 2e-7" "e=$error"
        verdict $? "hermite$order in $precision: energy error $error"
    done
done

# ---- restarts and threads: to the byte

for order in 6 8; do
    cluster="--model king -n 200 --imf salpeter --seed 5 --eps 1/512 --end 1/4 --interval 1/16"
    # shellcheck disable=SC2086 # options
    OMP_NUM_THREADS=1 examples/hermite$order $cluster -o "$work/whole" --overwrite >"$work/out" 2>"$work/err"
    # shellcheck disable=SC2086
    OMP_NUM_THREADS=3 examples/hermite$order $cluster -o "$work/parts" --overwrite --stop-after 333 >"$work/out" 2>"$work/err"
    OMP_NUM_THREADS=2 examples/hermite$order --restart "$work/parts.restart" >"$work/out" 2>"$work/err"
    same=0
    for k in 0 1 2 3 4; do cmp "$work/whole.000$k.txt" "$work/parts.000$k.txt" >>"$work/err" 2>&1 || same=1; done
    verdict $same "hermite$order in two pieces and with other threads gives the same bytes"
done

# ---- the study of precisions: a row for each number of stars, all of them numbers; times may be anything

NUMBERS="32 64" END=1/8 OUT="$work/study" examples/apps/precision_study.sh >"$work/out" 2>"$work/err" &&
    awk 'NF != 8 || $4 < 1 || $5 < 1 || $6 > 1e-4 || $7 > 1e-4 { bad = 1 }
        { for (k = 1; k <= NF; k++) if ($k !~ /^-?[0-9.]+(e[-+][0-9]+)?$/) bad = 1 }
        END { exit bad || NR != 2 }' "$work/study/table.dat"
verdict $? "precision_study.sh makes its table"

exit $((failures > 0))
