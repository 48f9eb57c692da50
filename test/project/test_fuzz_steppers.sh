#!/bin/sh
# test_fuzz_steppers.sh - the fuzzer of steppers of which allocations fail finds planted defects, a crash and a hang, and
# reduces a sequence; and it finds nothing where nothing is planted.  Prints TAP.  BUILD is the folder of the build.

case ${SANITIZE:-} in ?*) echo "the fuzzer runs without sanitizers"; exit 77 ;; esac
build=${BUILD:-$(cat build/current)}
fuzz=$build/test/fuzz/fuzz_steppers
[ -x "$fuzz" ] || { echo "$fuzz has not been built: make fuzz-build"; exit 77; }
[ "$(uname -s)" = Linux ] || { echo "the fuzzer needs Linux"; exit 77; }
work=$(mktemp -d) || exit 2
trap 'rm -rf "$work"' EXIT
. test/support/tap.sh
cc=${CC:-cc}
export OMP_NUM_THREADS=1 SAPPORO_VERBOSE=0 TMPDIR="$work"

"$fuzz" --sequences 60 >"$work/log" 2>&1
verdict $? "nothing is found where nothing is planted"
lost=$(sed -n 's/.*; \([0-9]*\) calls failed for lack of memory/\1/p' "$work/log")
[ "${lost:-0}" -ge 200 ] || echo "only ${lost:-0} calls failed" >>"$work/log"
[ "${lost:-0}" -ge 200 ]
verdict $? "memory was short in $lost calls of 60 sequences"

$cc -O1 -g -Iinclude -Wl,--wrap=malloc,--wrap=calloc,--wrap=realloc,--wrap=aligned_alloc \
    -Wl,--wrap=sapporo_stepper_get,--wrap=sapporo_stepper_advance,--wrap=sapporo_stepper_restore,--wrap=sapporo_stepper_energy \
    -o "$work/planted" "$build"/test/fuzz/steppers/*.o test/fuzz/planted/steppers.c "$build/examples/libcommon.a" \
    "$build/lib/libsapporo.a" -ldl -lpthread -lm >"$work/log" 2>&1
verdict $? "the planted defects link"

# planted SEQUENCES DEFECT WORDS: the program finds a planted defect, and says so
planted() {
    FUZZ_PLANT="$2" "$work/planted" --sequences "$1" --most "${most:-0}" --timeout "${limit:-60}" >"$work/log" 2>&1
    [ $? -eq 1 ] && grep -q "$3" "$work/log"
    verdict $? "a planted defect of steppers is found: $2"
}
planted 60 stale 'outputs of a failed call are numbers'
planted 40 restored 'status -1 while memory is short; without that 0'
planted 40 ends 'ends the process'
limit=2 planted 12 hangs ': hangs'
most=1 planted 40 lost 'after a failed call'
grep -q '^  reduced from [0-9]* calls to [1-5]:' "$work/log"
verdict $? "it is reduced to a few calls"

# The printed command repeats the reduced sequence.
again=$(sed -n 's/^  again: fuzz_steppers //p' "$work/log" | head -n 1)
# shellcheck disable=SC2086 # a list of options
FUZZ_PLANT=lost "$work/planted" $again --most 0 >"$work/again" 2>&1
cat "$work/again" >>"$work/log"
grep -q 'differs: after a failed call' "$work/again"
verdict $? "the command of the report repeats it: $again"

exit $((failures > 0))
