#!/bin/sh
# test_leapfrog_direct.sh - the example leapfrog_direct: energy, restarts to the byte, also of runs that are killed at any
# moment, images, bad options.  Prints TAP.

cd "$(dirname "$0")/../.." || exit 1
. test/support/tap.sh
. test/support/energy.sh
[ -x examples/leapfrog_direct ] || { echo "skipped: examples/leapfrog_direct is not built"; exit 77; }
engines=${SAPPORO_TEST_ENGINES:-}
forget_settings
SAPPORO_BACKEND=cpu
OMP_NUM_THREADS=1
export SAPPORO_BACKEND OMP_NUM_THREADS
work=$(mktemp -d "${TMPDIR:-/tmp}/test_leapfrog_direct.XXXXXX") || exit 1
trap 'rm -rf "$work"' EXIT
shown="out err"

# go ARGUMENT...: a run
go() { examples/leapfrog_direct "$@" >"$work/out" 2>"$work/err"; }

model="--model hernquist -n 700 --eps 1/32 --dt-max 1/64 --interval 1/4 -t 1/2"
for backend in cpu opencl cuda; do
    SAPPORO_BACKEND=$backend
    case " $engines " in "  " | *" $backend "*) ;; *) skipped "$backend" "the run excludes it" && continue ;; esac
    examples/sapporo info 2>/dev/null | grep -qE "^  $backend +0 " || { skipped "$backend" "no such device" && continue; }
    for precision in sp dp; do
        SAPPORO_PRECISION=$precision
        export SAPPORO_PRECISION
        # shellcheck disable=SC2086 # words of a command
        go $model -o "$work/a" --image 32 --overwrite && energy_below 1e-3 && grep -q "per second, $backend .*direct" "$work/out" &&
            go $model -o "$work/b" --image 32 --overwrite --stop-after 21 && go --restart "$work/b.restart" &&
            cmp "$work/a.0002.txt" "$work/b.0002.txt" >>"$work/err" && cmp "$work/a.0002.pgm" "$work/b.0002.pgm" >>"$work/err"
        verdict $? "$backend, $precision: energy, and a run that was stopped goes on as if it had not been"
    done
done
SAPPORO_BACKEND=cpu
unset SAPPORO_PRECISION

# The step is chosen by softening, speeds and masses.
go --model plummer -n 300 -o "$work/c" && energy_below 1e-3 && grep -q '^# one step for all particles: ' "$work/out"
verdict $? "a chosen step keeps the energy"

# ---- a run that is killed at any moment

# killed SECONDS ARGUMENT...: starts a run and kills it; the status is 0 if it had ended before
killed() {
    after=$1
    shift
    "$@" >"$work/out" 2>"$work/err" &
    pid=$!
    sleep "$after"
    kill -KILL $pid 2>/dev/null
    wait $pid 2>/dev/null
}

# kills NAME PROGRAM ARGUMENT...: kills a run ten times at different moments, which goes on from its last file each time;
# the last snapshot is that of a run that was left alone
kills() {
    title=$1
    program=$2
    shift 2
    "examples/$program" "$@" -o "$work/left" >"$work/out" 2>"$work/err"
    last=$(cd "$work" && for file in left.*.txt; do echo "$file"; done | tail -n 1)
    rm -f "$work"/killed.*
    number=0 begun=0
    for after in 0.05 0.31 0.12 0.44 0.09 0.23 0.36 0.17 0.28 0.4; do
        if [ -f "$work/killed.restart" ]; then
            begun=$((begun + 1))
            killed $after "examples/$program" --restart "$work/killed.restart" && break
        else
            killed $after "examples/$program" "$@" -o "$work/killed" && break
        fi
        number=$((number + 1))
    done
    if [ -f "$work/killed.restart" ]; then go_on="--restart $work/killed.restart"; else go_on="$* -o $work/killed"; fi
    # shellcheck disable=SC2086 # words of a command
    "examples/$program" $go_on >"$work/out" 2>"$work/err" && cmp "$work/$last" "$work/killed${last#left}" >>"$work/err"
    verdict $? "$title: killed at any moment, it restarts from its last file"
    echo "# $title: $number kills, $begun restarts"
    rm -f "$work"/left.* "$work"/killed.*
}
kills leapfrog_direct leapfrog_direct --model plummer -n 400 --eps 1/32 --dt-max 1/256 --interval 1/64 -t 3
kills galaxy galaxy --model plummer -n 400 --eps 1/32 --interval 1/64 -t 1

# ---- wrong use

# refuses WORD ARGUMENT...: exit status 2, and a message with the word
refuses() {
    word=$1
    shift
    go "$@"
    [ $? -eq 2 ] && grep -q -e "$word" "$work/err"
    verdict $? "$*"
}
refuses 'eps 0.*give --eps' --model plummer -n 10 --eps 0
refuses 'larger --eps' --demo --eps 1e-7
refuses image --model plummer -n 10 --film
refuses half-width --model plummer -n 10 --half-width 0
refuses steps --model plummer -n 10 --steps block
go --model plummer -n 10 --eps 0 --dt-max 1/1024 -t 1/8 -o "$work/f" && energy_below 1
verdict $? "a step of the user goes without softening"

exit $((failures > 0))
