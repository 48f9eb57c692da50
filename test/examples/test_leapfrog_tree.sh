#!/bin/sh
# test_leapfrog_tree.sh - the example leapfrog_tree: energy, restarts to the byte, images, criteria.  Prints TAP.

cd "$(dirname "$0")/../.." || exit 1
[ -x examples/leapfrog_tree ] || { echo "skipped: examples/leapfrog_tree is not built"; exit 77; }
engines=${SAPPORO_TEST_ENGINES:-}
. test/support/tap.sh
forget_settings
SAPPORO_BACKEND=cpu
OMP_NUM_THREADS=1 # forces on hundreds of particles
export SAPPORO_BACKEND OMP_NUM_THREADS
work=$(mktemp -d "${TMPDIR:-/tmp}/test_leapfrog_tree.XXXXXX") || exit 1
trap 'rm -rf "$work"' EXIT
. test/support/energy.sh
shown="out err"

# go ARGUMENT...: a run
go() { examples/leapfrog_tree "$@" >"$work/out" 2>"$work/err"; }

model="--model hernquist -n 2000 --eps 1/32 --dt-max 1/64 --interval 1/4"
for mac in 'opening 0.7' 'multipole 0.1' 'acceleration 0.01'; do
    # shellcheck disable=SC2086 # words of a command
    go $model -t 1/2 --mac ${mac% *} --accuracy ${mac#* } -o "$work/e" --overwrite && energy_below 1e-3
    verdict $? "energy by $mac"
done

# shellcheck disable=SC2086
go $model -t 1/2 --error 1e-3 -o "$work/e" --overwrite && energy_below 1e-3
verdict $? "energy by an error of forces"

# A tree that is refreshed seven times is as good.
# shellcheck disable=SC2086
go $model -t 1/2 --rebuild 8 -o "$work/f" && energy_below 1e-3
verdict $? "energy by trees that are refreshed"

# shellcheck disable=SC2086
go $model -t 1/2 -o "$work/a" --image 32 && go $model -t 1/2 -o "$work/b" --image 32 --stop-after 21 &&
    go --restart "$work/b.restart" && cmp "$work/a.0002.txt" "$work/b.0002.txt" >>"$work/err" &&
    cmp "$work/a.0002.pgm" "$work/b.0002.pgm" >>"$work/err"
verdict $? "a run that was stopped goes on as if it had not been"

# shellcheck disable=SC2086
go $model -t 1/2 --rebuild 4 -o "$work/c" && go $model -t 1/2 --rebuild 4 -o "$work/d" --stop-after 9 &&
    go --restart "$work/d.restart" && cmp "$work/c.0002.txt" "$work/d.0002.txt" >>"$work/err"
verdict $? "the same with refreshed trees"

# A galaxy: all snapshots say units and components, also after a restart.
galaxy="--model andromeda -n 2000 --eps 1/2 --dt-max 1/16 --interval 1/4"
# shellcheck disable=SC2086
go $galaxy -t 1/2 -o "$work/m" && energy_below 1e-3 && go $galaxy -t 1/2 -o "$work/n" --stop-after 5 &&
    go --restart "$work/n.restart" && cmp "$work/m.0002.txt" "$work/n.0002.txt" >>"$work/err" &&
    grep -q '^# units .*1 kpc' "$work/n.0002.txt" && grep -q '^# parts halo 1844, bulge 73, disc 83$' "$work/n.0002.txt"
verdict $? "a galaxy with units, the same after a stop"
go "$work/m.0001.txt" --eps 1/2 --dt-max 1/16 -t 1/2 -o "$work/o" && head -n 4 "$work/m.0002.txt" >"$work/head" &&
    head -n 4 "$work/o.0001.txt" | cmp - "$work/head" >>"$work/err"
verdict $? "a galaxy from a snapshot keeps its units"
go --model andromeda -n 16 -t 0 -o "$work/p" && grep -q 'softening 0.016,' "$work/out"
verdict $? "the softening of the Andromeda model is 16 pc"

# Trees that the library builds when it pays, of the other kind.
auto="--tree kdtree --rebuild auto"
# shellcheck disable=SC2086
go $model -t 1/2 $auto -o "$work/g" && energy_below 1e-3 && go $model -t 1/2 $auto -o "$work/h" --stop-after 9 &&
    go --restart "$work/h.restart" && cmp "$work/g.0002.txt" "$work/h.0002.txt" >>"$work/err"
verdict $? "energy by kd-trees that are built when it pays; the same after a stop"

go --model plummer -n 10 --rebuild never
[ $? -eq 2 ] && grep -q "'never'" "$work/err"
verdict $? "a senseless --rebuild is refused"

# 32 x 32 grey values behind the head, the brightest 255, and the model in the middle
head -n 1 "$work/a.0000.pgm" >"$work/out"
tail -c 1024 "$work/a.0000.pgm" | od -An -v -tu1 -w32 >"$work/pixels"
grep -q '^P5$' "$work/out" && awk '{ for (k = 1; k <= NF; k++) { if ($k > most) { most = $k; x = k; y = NR }; lit += $k > 0 } }
    END { exit !(NR == 32 && most == 255 && x > 14 && x < 19 && y > 14 && y < 19 && lit > 100) }' "$work/pixels"
verdict $? "an image shows the model in its middle"

go --model plummer -n 10 --accuracy -1
[ $? -eq 2 ] && grep -q accuracy "$work/err"
verdict $? "a senseless accuracy is refused"

go --model plummer -n 10 --error 1e-3 --accuracy 0.5
[ $? -eq 2 ] && grep -q -e --error "$work/err"
verdict $? "an accuracy beside an error is refused"

# On a GPU, which needs seconds: a sphere in equilibrium keeps its energy for ten dynamical times.
if [ "$engines" = cuda ]; then
    SAPPORO_BACKEND=cuda go --model hernquist -n 65536 --eps 0.03 --dt-max 1/64 --interval 1 -t 10 --mac acceleration \
        --accuracy 0.01 --multipoles 1 -o "$work/s" && energy_below 5e-4
    verdict $? "energy of 65,536 particles over ten dynamical times"
fi

exit $((failures > 0))
