#!/bin/sh
# test_units_run.sh - programs in units of their users: --G, --units and headers that name units.  An orbit of one year in
# three systems, a cluster in Msun, pc and km/s against the same one with G = 1, labels, restarts, refusals.  Prints TAP.

cd "$(dirname "$0")/../.." || exit 1
programs="hermite4 hermite6 hermite8 leapfrog_tree leapfrog_direct galaxy"
for program in $programs; do
    [ -x "examples/$program" ] || { echo "skipped: examples/$program is not built"; exit 77; }
done
. test/support/tap.sh
forget_settings
SAPPORO_BACKEND=cpu SAPPORO_PRECISION=dp OMP_NUM_THREADS=1
export SAPPORO_BACKEND SAPPORO_PRECISION OMP_NUM_THREADS
root=$PWD
work=$(mktemp -d "${TMPDIR:-/tmp}/test_units_run.XXXXXX") || exit 1
trap 'rm -rf "$work"' EXIT
shown="out err"
cd "$work" || exit 1

# pair MASS LENGTH TIME: a circular orbit of two stars, 1 Msun and 1 au, in such units (in kg, m, s); its period is
# 1.0000188867 years: 365.256898 days, the year of Gauss
pair() {
    awk -v M="$1" -v L="$2" -v T="$3" 'BEGIN {
        GM = 1.3271244e20; au = 149597870700; v = sqrt(GM / au) * T / L; G = 6.67430e-11; sun = GM / G / M
        printf "%.17g %.17g 0 0 0 %.17g 0\n", 0.75 * sun, 0.25 * au / L, 0.25 * v
        printf "%.17g %.17g 0 0 0 %.17g 0\n", 0.25 * sun, -0.75 * au / L, -0.75 * v }'
}
# angle FILE LENGTH: by which the first star is past the beginning of its orbit; fails if it is not at its distance
angle() {
    awk -v L="$2" '!/^#/ && n++ == 0 { a = 149597870700 / L / 4; print atan2($4, $3); exit !(sqrt($3 * $3 + $4 * $4) / a - 1 < 1e-4) }' "$1"
}
# Sizes of units: kg, m, s.
sun=$(awk 'BEGIN { printf "%.17g", 1.3271244e20 / 6.67430e-11 }') au=149597870700 year=31557600
# orbit UNITS MASS LENGTH TIME PROGRAM BOUND OPTION...: one year; the remainder of the orbit is a year of Gauss
orbit() {
    units=$1 mass=$2 length=$3 time=$4 program=$5 bound=$6
    shift 6
    pair "$mass" "$length" "$time" >orbit.txt
    end=$(awk -v t="$time" 'BEGIN { printf "%.17g", 31557600 / t }')
    step=$(awk -v t="$time" 'BEGIN { printf "%.17g", 31557600 / t / 4096 }')
    "$root/examples/$program" orbit.txt --units "$units" -s "$(awk -v l="$length" 'BEGIN { printf "%.17g", 1e6 / l }')" -t "$end" \
        -d "$end" --dt-max "$step" -o orbit --overwrite "$@" >out 2>err &&
        angle orbit.0001.txt "$length" >turned &&
        awk -v bound="$bound" '{ lag = -8 * atan2(1, 1) * 0.0000188864; d = $1 - lag; exit !(d * d < bound * bound) }' turned
    verdict $? "$program: a year in $units"
}
for program in hermite4 hermite6 hermite8; do
    orbit msun,au,yr "$sun" "$au" "$year" "$program" 1e-8
    orbit si 1 1 1 "$program" 1e-8
    orbit cgs 1e-3 1e-2 1 "$program" 1e-8
done
for program in leapfrog_direct leapfrog_tree galaxy; do
    orbit msun,au,yr "$sun" "$au" "$year" "$program" 1e-5
    orbit si 1 1 1 "$program" 1e-5
    orbit cgs 1e-3 1e-2 1 "$program" 1e-5
done

# A cluster with G = 1, and the same one in Msun, pc and km/s, where a mass of 1 is 1000 Msun and a length of 1 is 2 pc.
"$root/examples/hermite4" --model plummer -n 64 -s 0.05 -t 0 -o model >out 2>err
scales='M = 1000; L = 2; G = 1.3271244e20 / (648000 / 3.14159265358979323846 * 149597870700) / 1e6; V = sqrt(G * M / L); T = L / V'
awk "BEGIN { $scales }"' /^#/ { next } { printf "%d", $1; printf " %.17g", $2 * M
    for (k = 3; k <= 5; k++) printf " %.17g", $k * L
    for (k = 6; k <= 8; k++) printf " %.17g", $k * V
    print "" }' model.0000.txt >pc.txt
{ echo '# m[Msun] x[pc] v[km/s]' && cat pc.txt; } >named.txt
grep -v '^#' model.0000.txt >plain.txt
number() { awk "BEGIN { $scales; printf \"%.17g\", $1 }"; }
for program in hermite4 galaxy; do
    "$root/examples/$program" plain.txt -s 0.05 -t 1/2 -d 1/4 --dt-max 1/64 -o one --overwrite >told 2>err &&
        "$root/examples/$program" pc.txt --units msun,pc,km/s -s "$(number 'L * 0.05')" -t "$(number 'T / 2')" \
            -d "$(number 'T / 4')" --dt-max "$(number 'T / 64')" -o pc --overwrite >out 2>err &&
        grep -v '^#' one.0002.txt >one.rows && grep -v '^#' pc.0002.txt | paste -d ' ' one.rows - | awk "BEGIN { $scales }"'
            { for (k = 2; k <= 8; k++) { s = k == 2 ? M : k < 6 ? L : V; d = $(k + 8) / s - $k; if (d * d > 1e-20) bad = 1; n++ } }
            END { exit bad || n != 448 }'
    verdict $? "$program: a cluster in Msun, pc, km/s moves as the same one with G = 1"
    energies=$(awk '!/^#/ { e = $2 } END { print e }' told) && awk -v e="$energies" "BEGIN { $scales }"'
        !/^#/ { mine = $2 } END { d = mine / (e * M * V * V) - 1; exit !(d * d < 1e-18) }' out
    verdict $? "$program: energies are in Msun (km/s)^2"
    grep -q '^# G = 0.00430091727$' out && grep -q '^# units: 1 Msun, 1 pc, 1 km/s, 0.977792 Myr$' out &&
        grep -q '^# G 0.00430091727' pc.0002.txt && grep -q '^# units 1 Msun, 1 pc, 1 km/s, 0.977792 Myr$' pc.0002.txt
    verdict $? "$program: output and snapshots name units and G"
    run() { "$root/examples/$program" "$@" -s 0.1 -t 1 -d 1 -o header --overwrite >out 2>err; }
    run pc.txt --units msun,pc,km/s && mv header.0001.txt wanted.txt && run named.txt && cmp header.0001.txt wanted.txt
    verdict $? "$program: units in the header do what --units does"
    run named.txt --units msun,pc,km/s && cmp header.0001.txt wanted.txt && run wanted.txt -t 2 && cmp header.0000.txt wanted.txt
    verdict $? "$program: both may say the same; a snapshot is read as it was written"
    "$root/examples/$program" --restart header.restart -t 3 >out 2>err && grep -q '^# units: 1 Msun, 1 pc' out &&
        grep -q '^# G = 0.0043' out && grep -q '^# units 1 Msun, 1 pc' header.0002.txt
    verdict $? "$program: a restart keeps units and G"
done

# says STATUS TEXT PROGRAM ARGUMENT...: a run, its exit status, and a text among its messages
says() {
    wanted=$1 text=$2 program=$3
    shift 3
    "$root/examples/$program" "$@" -o none >out 2>err </dev/null
    got=$?
    [ $got -eq "$wanted" ] && grep -q -e "$text" err && ! grep -q 'dE/|E|' out
    verdict $? "$program $*: $text"
}
{ echo && echo '# units: Msun pc furlong' && cat pc.txt; } >unknown.txt
{ echo '# units: Msun pc' && cat pc.txt; } >short.txt
{ echo '# G 0.0043' && echo '# units: kg m s' && cat pc.txt; } >both.txt
{ echo '# x[pc] y[kpc] z[pc] vx[km/s] vy[km/s] vz[km/s] mass[Msun]' && awk '{ print $3, $4, $5, $6, $7, $8, $2 }' pc.txt; } >two.txt
for program in $programs; do
    says 2 "unknown.txt:2: 'furlong' is no unit known here.*give --units or --G" "$program" unknown.txt
    says 2 'belongs to the run from its start' "$program" --restart header.restart --units si
    says 2 'belongs to the run from its start' "$program" --restart header.restart --G 2
    says 2 "named.txt:1: the units 'Msun, pc, km/s' have G = 0.004300917.*--units si says 6.67" "$program" named.txt --units si
    says 2 'units have no effect on models\|--units has no effect on models' "$program" --model plummer --units si
done
{ echo '#mass,x,y,z,vx,vy,vz' && echo '#MJupiter,au,au,au,au / yr,au / yr,au / yr' && awk '{ print $2, $3, $4, $5, $6, $7, $8 }' pc.txt; } >jupiter.txt
says 2 "jupiter.txt:2: 'MJupiter' is no unit known here" hermite4 jupiter.txt
says 2 'short.txt:1: .*no unit of velocity or time' hermite4 short.txt
says 2 'two.txt:1: there are two units of length' hermite4 two.txt
says 2 'named.txt:1: .*--G says 2' hermite4 named.txt --G 2
says 2 "both.txt:2: the units 'kg m s' have G = .* but a comment says G = 0.0043" hermite4 both.txt
says 2 'exclude each other' hermite4 pc.txt --G 1 --units nbody
says 2 "'furlong' is no unit known here" hermite4 pc.txt --units msun,furlong,km/s
says 2 'is not the G of wanted.txt' hermite4 wanted.txt --G 0.0043
says 2 'units si have G = .* not the G of wanted.txt' hermite4 wanted.txt --units si
"$root/examples/hermite4" unknown.txt --G 2 -s 0.1 -t 0 -o none >out 2>err && grep -q '^# units Msun pc furlong$' none.0000.txt
verdict $? "units without a word are a remark where --G says what they mean"
"$root/examples/hermite4" plain.txt -s 0.1 -t 1 -o plain >out 2>err && "$root/examples/hermite4" plain.txt --units nbody -s 0.1 -t 1 -o nbody >out 2>err &&
    ! grep -q -e '# G' -e '# units' plain.0004.txt && grep -v '^# units N-body: G = 1$' nbody.0004.txt | cmp - plain.0004.txt
verdict $? "nbody is G = 1, to the bit"

if [ -x "$root/examples/hermite4_f90" ]; then
    awk 'BEGIN { print 0; print 64 } { print $1; print $2; print $3, $4, $5; print $6, $7, $8 }' plain.txt >one.init
    awk 'BEGIN { print 0; print 64 } { print $1; printf "%.17g\n", $2 / 4; print $3, $4, $5; print $6, $7, $8 }' plain.txt >four.init
    "$root/examples/hermite4_f90" one.init 0.01 0.05 1/4 >one 2>err && "$root/examples/hermite4_f90" --G 4 four.init 0.01 0.05 1/4 >out 2>err &&
        awk '/# time/ { for (k = 1; k < NF; k++) if ($k == "energy") e[NR == FNR] = $(k + 1) } END { d = e[0] * 4 - e[1]; exit !(d * d < 1e-20) }' one out
    verdict $? "hermite4_f90 --G: energies in the units of the file"
    for wrong in "--G 0 one.init" "--G -1 one.init" "--G x one.init" "--G" "--G 2"; do
        # shellcheck disable=SC2086 # words
        "$root/examples/hermite4_f90" $wrong >out 2>err
        [ $? -eq 2 ] && grep -q -e '--G' err
        verdict $? "hermite4_f90 $wrong is refused"
    done
fi

exit $((failures > 0))
