#!/bin/sh
# test_fuzz.sh - the fuzzer finds planted defects, reduces them, prints programs that show them, and finds hangs with
# their stack; and it finds nothing where nothing is planted.  Prints TAP.  BUILD is the folder of the build.

case ${SANITIZE:-} in ?*) echo "what is preloaded does not go with sanitizers"; exit 77 ;; esac
build=${BUILD:-$(cat build/current)}
fuzz=$build/test/fuzz/fuzz
if ! [ -x "$fuzz" ] || ! [ -x "$fuzz"_trees ]; then echo "$fuzz has not been built: make fuzz-build fuzz-trees-build"; exit 77; fi
[ "$(uname -s)" = Linux ] || { echo "the fuzzer needs Linux"; exit 77; }
work=$(mktemp -d) || exit 2
trap 'rm -rf "$work"' EXIT
. test/support/tap.sh
cc=${CC:-cc}
export OMP_NUM_THREADS=1 OMP_WAIT_POLICY=passive SAPPORO_BACKEND=cpu

# run SECONDS ARGUMENT...: the fuzzer on the CPU
run() {
    seconds=$1
    shift
    "$fuzz" --backend cpu --isa sse2 --precision ds --timeout 60 --programs "$work" --seconds "$seconds" "$@" \
        >"$work/log" 2>&1
}

# compiled: the only program in the folder becomes $work/program
compiled() {
    # shellcheck disable=SC2086 # flags are words
    $cc -std=gnu11 -Wall -Wextra -Iinclude -Itest/fuzz "$work"/g6_*.c -o "$work/program" -L"$build/lib" \
        -Wl,-rpath,"$PWD/$build/lib" -lsapporo -lm -ldl -lpthread >>"$work/log" 2>&1
}

# shellcheck disable=SC2046
$cc -shared -fPIC -Iinclude -o "$work/planted.so" test/fuzz/planted/planted.c -ldl >"$work/log" 2>&1
verdict $? "the planted defects compile"

run 300 --sequences 400 --batch 100
verdict $? "nothing is found where nothing is planted"

LD_PRELOAD="$work/planted.so" FUZZ_PLANT=wrong run 300 --interface g6 --sequences 100 --reduction 10
[ $? -eq 1 ] && grep -q 'differs: out.pot\[2\]' "$work/log"
verdict $? "a wrong potential is found"
grep -q '^  reduced from [0-9]* operations to [1-5]:' "$work/log"
verdict $? "it is reduced to a few operations"
compiled
verdict $? "the program that shows it compiles"
LD_PRELOAD="$work/planted.so" FUZZ_PLANT=wrong "$work/program" >>"$work/log" 2>&1
[ $? -eq 1 ] && "$work/program" >>"$work/log" 2>&1
verdict $? "that program fails with the defect, and passes without"

rm -f "$work"/g6_*.c
LD_PRELOAD="$work/planted.so" FUZZ_PLANT=hang run 300 --interface g6 --sequences 6 --batch 6 --timeout 1 --reduction 4
[ $? -eq 1 ] && grep -q ': hangs$' "$work/log"
verdict $? "a hang is found by the watchdog"
grep -q 'planted.so' "$work/log"
verdict $? "the watchdog tells the stack of the hang"
compiled
verdict $? "the program that hangs compiles"

# ---- near pairs in trees: forces in dp, of which none is wrong

# prove ARGUMENT...: the proof on the CPU
prove() { "$fuzz"_trees --backend cpu --isa sse2 --precision dp --most 0 "$@" >"$work/log" 2>&1; }

# shellcheck disable=SC2046
$cc -shared -fPIC -Iinclude -o "$work/trees.so" test/fuzz/planted/trees.c -ldl >"$work/log" 2>&1
verdict $? "the planted defects of trees compile"
prove --systems 300
verdict $? "no tree is wrong where nothing is planted"
# planted SYSTEMS DEFECT WORDS: the proof finds a planted defect, and says so
planted() {
    LD_PRELOAD="$work/trees.so" FUZZ_PLANT="$2" prove --systems "$1" --timeout 2
    [ $? -eq 1 ] && grep -q "$3" "$work/log"
    verdict $? "a planted defect of trees is found: $2"
}
planted 240 wrong 'dp: acceleration of row'
planted 40 unwritten 'not written'
planted 40 ends 'the process ends'
planted 40 hangs 'the process hangs'

exit $((failures > 0))
