#!/bin/sh
# test_galaxy_run.sh - the example galaxy: energy, restarts to the byte, images, film, bad options.  Prints TAP.

cd "$(dirname "$0")/../.." || exit 1
. test/support/tap.sh
. test/support/energy.sh
[ -x examples/galaxy ] || { echo "skipped: examples/galaxy is not built"; exit 77; }
forget_settings
SAPPORO_BACKEND=cpu
OMP_NUM_THREADS=1
export SAPPORO_BACKEND OMP_NUM_THREADS
work=$(mktemp -d "${TMPDIR:-/tmp}/test_galaxy.XXXXXX") || exit 1
trap 'rm -rf "$work"' EXIT
shown="out err"

# go ARGUMENT...: a run
go() { examples/galaxy "$@" >"$work/out" 2>"$work/err"; }

model="--model hernquist -n 2000 --eps 1/32 --interval 1/4 -t 1/2"
for steps in block shared; do
    # shellcheck disable=SC2086 # words of a command
    go $model --steps $steps -o "$work/e-$steps" && energy_below 1e-3
    verdict $? "energy by $steps steps"

    # Stopped in the middle of an interval, where particles have different times.
    # shellcheck disable=SC2086
    go $model --steps $steps -o "$work/a" --image 32 --half-width 3 --overwrite &&
        go $model --steps $steps -o "$work/b" --image 32 --half-width 3 --overwrite --stop-after 11 &&
        go --restart "$work/b.restart" --stop-after 1 && go --restart "$work/b.restart" &&
        cmp "$work/a.0002.txt" "$work/b.0002.txt" >>"$work/err" && cmp "$work/a.0002.pgm" "$work/b.0002.pgm" >>"$work/err"
    verdict $? "a run by $steps steps that was stopped goes on as if it had not been"
done

# A Hernquist sphere over ten dynamical times: 0.05 % by shared steps, 0.1 % by block steps (docs/stepper.md has 65,536).
sphere="--model hernquist -n 2000 --eps 1/32 --interval 10 -t 10"
# shellcheck disable=SC2086
go $sphere --steps shared -o "$work/s" && energy_below 5e-4
verdict $? "ten dynamical times by shared steps"
# shellcheck disable=SC2086
go $sphere --steps block --eta 0.00625 -o "$work/s" --overwrite && energy_below 1e-3
verdict $? "ten dynamical times by block steps"

# Of a run that was killed while it wrote its last file, the restart file before and its own file of steps are left.
# shellcheck disable=SC2086
go $model -o "$work/k" --stop-after 11 && cp "$work/k.restart" "$work/old" && go --restart "$work/k.restart" --stop-after 9 &&
    cp "$work/old" "$work/k.restart" && go --restart "$work/k.restart" &&
    cmp "$work/e-block.0002.txt" "$work/k.0002.txt" >>"$work/err"
verdict $? "a run goes on from the restart file before the last"

# shellcheck disable=SC2086
go $model --tree kdtree --rebuild 4 --criterion change -o "$work/c" && energy_below 1e-3 && grep -q '^# done' "$work/out"
verdict $? "energy with kd-trees, and steps by the change of accelerations"

go --demo && energy_below 1e-2 && grep -q 'Andromeda' "$work/out"
verdict $? "the demo"

# An image of one component, also after a restart, is that of a snapshot which has nothing else.
disc="--model disc -n 600 --eps 0.2 --interval 1/4 -t 1/2 --image 16 --half-width 3 --part disc"
# shellcheck disable=SC2086
go $disc -o "$work/d" && go $disc -o "$work/q" --stop-after 5 && go --restart "$work/q.restart" &&
    cmp "$work/d.0002.pgm" "$work/q.0002.pgm" >>"$work/err" &&
    grep -q '^# parts halo 500, disc 100' "$work/d.0002.txt" &&
    { grep '^#' "$work/d.0002.txt"; awk '!/^#/ && $1 > 500' "$work/d.0002.txt"; } >"$work/alone.txt" &&
    go "$work/alone.txt" --eps 0.2 --image 16 --half-width 3 -t 1 --interval 1/2 -o "$work/alone" &&
    cmp "$work/d.0002.pgm" "$work/alone.0000.pgm" >>"$work/err"
verdict $? "an image of one component"

# A program in the place of ffmpeg writes down what it was asked for.
mkdir -p "$work/bin" "$work/50%"
# shellcheck disable=SC2016 # words of the program
printf '#!/bin/sh\nfor last; do :; done\necho "$@" >"${last#file:}"\n' >"$work/bin/ffmpeg"
chmod +x "$work/bin/ffmpeg"
# shellcheck disable=SC2086
PATH=$work/bin:$PATH go $model --image 16 --half-width 3 --film -o "$work/50%/film" && grep -q '50%%/film.%04d.pgm' "$work/50%/film.mp4"
verdict $? "a film is asked for"
printf '#!/bin/sh\nexit 3\n' >"$work/bin/ffmpeg"
# shellcheck disable=SC2086
PATH=$work/bin:$PATH go $model --image 16 --half-width 3 --film -o "$work/g" && grep -q 'no film' "$work/err"
verdict $? "a film that fails is told, and the run is complete"

# refuses WORD ARGUMENT...: exit status 2, and a message with the word
refuses() {
    word=$1
    shift
    go "$@"
    [ $? -eq 2 ] && grep -q -e "$word" "$work/err"
    verdict $? "$*"
}
refuses eta --model plummer -n 10 --eta 0
refuses eps --model plummer -n 10 --eps 0 -o "$work/z"
refuses image --model plummer -n 10 --film
refuses "'never'" --model plummer -n 10 --rebuild never
refuses accuracy --model plummer -n 10 --accuracy -1
refuses error --model plummer -n 10 --error -1
refuses --error --model plummer -n 10 --error 1e-3 --accuracy 0.5
refuses --error --model plummer -n 10 --error 1e-3 --mac opening
refuses steps --restart "$work/c.restart" --steps shared

# A file of steps that was damaged is refused.
printf 'x' | dd of="$work/c.steps.0" bs=1 seek=200 conv=notrunc 2>/dev/null
printf 'x' | dd of="$work/c.steps.1" bs=1 seek=200 conv=notrunc 2>/dev/null
refuses steps --restart "$work/c.restart" --end 2

exit $((failures > 0))
