#!/bin/sh
# precision_study.sh - double-single or double?  Sapporo2's question (Bedorf, Gaburov & Portegies Zwart 2015, section
# 3.7) as one command: Plummer spheres integrated in sixth order in both precisions.
#
#   examples/apps/precision_study.sh                256 to 2,048 stars, one time unit: minutes on a few cores
#   NUMBERS="8192 16384" examples/apps/precision_study.sh
#
# NUMBERS    numbers of stars
# ORDER      6, or 8
# END        time at which runs end (1)
# OUT        where files go (precision_study.out); table.txt is what is printed, table.dat its numbers for gnuplot
# PROGRAM    the integrator (hermite6 or hermite8 in the folder above this script)
# DEVICES    devices to compare, such as "0 0,1,2,3": the table is of the first, a second one tells what the others gain,
#            and whether they end with the same snapshots to the byte, as they must
# SAPPORO_BACKEND, SAPPORO_DEVICES, OMP_NUM_THREADS as usual
#
# A row tells the wall time, the mean active block, the relative energy error, and how much faster ds is than dp.

here=$(dirname "$0")
order=${ORDER:-6}
program=${PROGRAM:-$here/../hermite$order}
out=${OUT:-precision_study.out}
end=${END:-1}
numbers=${NUMBERS:-256 512 1024 2048}
# shellcheck disable=SC2086 # a list of words
set -- ${DEVICES:-}
[ $# = 0 ] || export SAPPORO_DEVICES="$1"

[ -x "$program" ] || { echo "$program is not built: make" >&2; exit 1; }
mkdir -p "$out" || exit 1

# study PRECISION N NAME: runs it; leaves seconds, block and error
study() {
    name=$out/$3
    start=$(date +%s.%N)
    SAPPORO_PRECISION=$1 "$program" --model plummer -n "$2" --end "$end" --interval "$end" -o "$name" --overwrite \
        >"$name.log" 2>&1 || { echo "$program failed: $name.log" >&2; exit 1; }
    seconds=$(echo "$start $(date +%s.%N)" | awk '{ printf "%.3f", $2 - $1 }')
    block=$(sed -n 's/^# done: .*mean block \(.*\)/\1/p' "$name.log")
    error=$(sed -n 's/^# done: relative energy error \([^,]*\),.*/\1/p' "$name.log")
}

{
    printf '%8s %10s %10s %10s %10s %12s %12s %8s\n' N 'ds, s' 'dp, s' 'block ds' 'block dp' 'dE/E ds' 'dE/E dp' 'ds gains'
    for n in $numbers; do
        study ds "$n" "ds.$n"
        row="$seconds $block $error"
        study dp "$n" "dp.$n"
        echo "$row" >"$out/ds.$n.row" && echo "$seconds" >"$out/dp.$n.row"
        echo "$n $row $seconds $block $error" | awk '{ printf "%8d %10.3f %10.3f %10.1f %10.1f %12.2e %12.2e %8.2f\n",
            $1, $2, $5, $3, $6, $4, $7, ($2 > 0 ? $5 / $2 : 0) }'
    done
} | tee "$out/table.txt"
sed 1d "$out/table.txt" >"$out/table.dat"

# ---- other devices

# same NAME NAME: whether two runs left the same snapshots
same() {
    for snapshot in "$out/$1".[0-9]*.txt; do
        cmp -s "$snapshot" "$out/$2${snapshot#"$out/$1"}" || return 1
    done
}

differ=0
if [ $# -gt 1 ]; then
    printf '\n%8s %6s %16s %10s %10s  %s\n' N of devices s gain snapshots
    for n in $numbers; do
        for precision in ds dp; do
            first=$(cut -d ' ' -f 1 "$out/$precision.$n.row")
            for devices in "$@"; do
                [ "$devices" != "$1" ] || continue
                export SAPPORO_DEVICES="$devices"
                study $precision "$n" "$precision.$n.on.$devices"
                verdict=same
                same "$precision.$n" "$precision.$n.on.$devices" || verdict=OTHER differ=1
                echo "$n $precision $devices $seconds $first $verdict" |
                    awk '{ printf "%8d %6s %16s %10.3f %10.2f  %s\n", $1, $2, $3, $4, ($4 > 0 ? $5 / $4 : 0), $6 }'
            done
        done
    done >"$out/devices.txt"
    cat "$out/devices.txt"
fi

# The four panels of the paper's figure, where there is gnuplot.
cat >"$out/figure.gnuplot" <<'END'
set terminal pngcairo size 900,700
set output 'figure.png'
set multiplot layout 2,2
set logscale x 2
set xlabel 'N'
set key left
set logscale y
set ylabel 'wall time, s'
plot 'table.dat' using 1:2 with linespoints title 'ds', '' using 1:3 with linespoints title 'dp'
set ylabel 'mean active block'
plot 'table.dat' using 1:4 with linespoints title 'ds', '' using 1:5 with linespoints title 'dp'
set ylabel '|dE/E|'
plot 'table.dat' using 1:(abs($6)) with linespoints title 'ds', '' using 1:(abs($7)) with linespoints title 'dp'
unset logscale y
set ylabel 'dp time / ds time'
plot 'table.dat' using 1:8 with linespoints notitle
END
if command -v gnuplot >/dev/null 2>&1; then (cd "$out" && gnuplot figure.gnuplot); fi
echo "# $out/table.txt, $out/figure.gnuplot"
exit $differ
