#!/bin/sh
# test_fuzz_ranks.sh - the fuzzer of collective calls finds planted defects, a crash and a hang with their stacks, and
# reduces a sequence; and it finds nothing where nothing is planted.  Prints TAP.  BUILD is the folder of the build.

case ${SANITIZE:-} in ?*) echo "what is preloaded does not go with sanitizers"; exit 77 ;; esac
build=${BUILD:-$(cat build/current)}
fuzz=$build/test/fuzz/fuzz_ranks
[ -x "$fuzz" ] || { echo "$fuzz has not been built: make fuzz-build, with an MPI"; exit 77; }
work=$(mktemp -d) || exit 2
trap 'rm -rf "$work"' EXIT
. test/support/tap.sh

# run SEQUENCES SEED OPTION...: on two and on three ranks
run() {
    sequences=$1 seed=$2
    shift 2
    SEQUENCES=$sequences nice test/fuzz/ranks/run.sh "$fuzz" 60 "$seed" "$@" >"$work/log" 2>&1
}

run 6 1
verdict $? "nothing is found where nothing is planted"

mpicc -O1 -g -shared -fPIC -Iinclude -o "$work/planted.so" test/fuzz/planted/ranks.c -ldl >"$work/log" 2>&1
verdict $? "the planted defects compile"

# planted DEFECT SEQUENCES SEED WORDS OPTION...: sequences on two ranks, in which a planted defect is found
planted() {
    what=$1 sequences=$2 seed=$3 words=$4
    shift 4
    LD_PRELOAD="$work/planted.so" FUZZ_PLANT="$what" RANKS=2 run "$sequences" "$seed" "$@"
    [ $? -eq 1 ] && grep -q "$words" "$work/log"
    verdict $? "a planted defect of ranks is found: $what"
}
planted stale 1 4 'a failed force leaves numbers' --most 0
planted status 2 2 'refresh: status 0 here, another one on other ranks' --most 0
planted ends 6 1 'rank 1 of 2, call .*: hangs or ends the process' --most 0
planted hangs 6 1 'rank 1 of 2, call .*: hangs or ends the process' --most 0 --timeout 2
planted wrong 1 4 'force: row 2 of .* differs' --most 1
grep -q '^ *0 sums' "$work/log" && [ "$(grep -c '^ *[0-9]* sums' "$work/log")" -le 4 ]
verdict $? "it is reduced to a few calls"
again=$(sed -n 's/^  again: mpirun -n 2 fuzz_ranks --seed 4 --sequences 1 //p' "$work/log" | head -n 1)
# shellcheck disable=SC2086 # a list of options
planted wrong 1 4 'call [0-3], rank 1: force: row 2 of .* differs' --most 0 $again

exit $((failures > 0))
