#!/bin/sh
# Runs libFuzzer on parsers, several at a time; prints a line per target, ends with `N passed, N failed, N skipped`.
#
#   run.sh TARGET...       for `make fuzz-parsers`, which says what the variables mean

cd "$(dirname "$0")/../../.." || exit 2
seconds=${FUZZ_SECONDS:-60}
jobs=${FUZZ_JOBS:-2}
out=build/fuzz
mkdir -p $out/logs $out/failed || exit 2

if ! echo 'int LLVMFuzzerTestOneInput(const char *a, long n);
int LLVMFuzzerTestOneInput(const char *a, long n) { return a == 0 && n != 0; }' |
    ${FUZZ_CC:-clang} -fsanitize=fuzzer,address,undefined -x c - -o $out/probe >$out/logs/probe 2>&1; then
    for target in "$@"; do echo "  skip  $target (${FUZZ_CC:-clang} has no libFuzzer; Debian: libclang-rt-dev)"; done
    echo "0 passed, 0 failed, $# skipped"
    exit 0
fi
${MAKE:-make} --no-print-directory fuzz-parsers-build >$out/logs/build 2>&1 || {
    tail -n 25 $out/logs/build
    echo "0 passed, $# failed, 0 skipped"
    exit 1
}

# longest TARGET: bytes of an input
longest() {
    case $1 in
    snapshot) echo 2048 ;;
    number) echo 64 ;;
    *) echo 600 ;;
    esac
}

# fuzz TARGET: an input may take 10 seconds and 1 GiB
fuzz() {
    corpus=$out/corpus/$1
    mkdir -p "$corpus"
    limit=-max_total_time=$seconds
    [ -z "${RUNS:-}" ] || limit=-runs=$RUNS
    words=test/fuzz/parsers/$1.dict
    [ ! -f "$words" ] || limit="$limit -dict=$words"
    # shellcheck disable=SC2086 # two arguments
    ASAN_OPTIONS=detect_leaks=1 "$out/$1" $limit -timeout=10 -rss_limit_mb=1024 -max_len="$(longest "$1")" \
        -print_final_stats=1 -artifact_prefix="$out/failed/$1-" "$corpus" "test/fuzz/corpus/$1" \
        >"$out/logs/$1" 2>&1 </dev/null
    echo $? >"$out/logs/$1.status"
}

# worker TARGET...: fuzzes those that no other worker has taken
worker() {
    for target in "$@"; do
        ! mkdir "$out/taken/$target" 2>/dev/null || fuzz "$target"
    done
}

rm -rf $out/taken
mkdir -p $out/taken || exit 2
pids=
trap 'kill $pids 2>/dev/null; exit 130' HUP INT TERM
while [ "$jobs" -gt 0 ]; do
    worker "$@" &
    pids="$pids $!"
    jobs=$((jobs - 1))
done
# shellcheck disable=SC2086 # a list of numbers
wait $pids

# number TARGET NAME: of libFuzzer's final statistics
number() { sed -n "s/^stat::$2: *//p" "$out/logs/$1" | tail -n 1; }

passed=0
failed=0
total=0
for target in "$@"; do
    status=$(cat "$out/logs/$target.status")
    inputs=$(number "$target" number_of_executed_units)
    inputs=${inputs:-0}
    total=$((total + inputs))
    took=$(sed -n 's/^Done [0-9]* runs in \([0-9]*\) second.*/\1/p' "$out/logs/$target")
    if [ "$status" -eq 0 ]; then
        passed=$((passed + 1))
        echo "  ok    $target: $inputs inputs in ${took:-?} s"
    else
        failed=$((failed + 1))
        echo "  FAIL  $target: after $inputs inputs"
        grep -E '^broken:|ERROR:|runtime error|SUMMARY|Test unit written' "$out/logs/$target" | head -n 8 | sed 's/^/        /'
    fi
done
echo "$total inputs"
echo "$passed passed, $failed failed, 0 skipped"
[ "$failed" -eq 0 ]
