# shellcheck shell=sh
# counts.sh - what the scripts that run fuzzers share: the environment of their programs, and the sum of their counts.

export OMP_WAIT_POLICY="${OMP_WAIT_POLICY:-passive}" SAPPORO_CACHE="${SAPPORO_CACHE-off}"
export POCL_CACHE_DIR="${POCL_CACHE_DIR:-$PWD/build/pocl-cache}"
log=$(mktemp) || exit 2
trap 'rm -f "$log"' EXIT
passed=0
failed=0
skipped=0

# counted WHAT COMMAND...: shows what it prints, and adds the counts of its last line
counted() {
    what=$1
    shift
    "$@" >"$log" 2>&1
    status=$?
    cat "$log"
    counts=$(grep -E '^[0-9]+ passed, [0-9]+ failed, [0-9]+ skipped$' "$log" | tail -n 1 | tr -dc '0-9 ')
    if [ -n "$counts" ]; then
        # shellcheck disable=SC2086
        set -- $counts
        passed=$((passed + $1))
        failed=$((failed + $2))
        skipped=$((skipped + $3))
    else
        failed=$((failed + 1))
        echo "$what ended with status $status before it could count"
    fi
}

# summary: prints the sum; fails if something did
summary() {
    echo "$passed passed, $failed failed, $skipped skipped"
    [ "$failed" -eq 0 ]
}
