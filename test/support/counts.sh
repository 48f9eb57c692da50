# shellcheck shell=sh
# counts.sh - what scripts share that are stages of .ci/run: counts, of which the last line reads `N passed, N failed,
# N skipped`.

passed=0
failed=0
skipped=0

# left_out WHY: ends the script, of which everything is skipped
left_out() {
    echo "skipped: $1"
    echo "0 passed, 0 failed, 1 skipped"
    exit 0
}

# add FILE: the counts of its last line that has them; without one, a failure
add() {
    counts=$(grep -E '^[0-9]+ passed, [0-9]+ failed, [0-9]+ skipped$' "$1" | tail -n 1 | tr -dc '0-9 ')
    # shellcheck disable=SC2086 # three numbers
    set -- ${counts:-0 1 0}
    passed=$((passed + $1)) failed=$((failed + $2)) skipped=$((skipped + $3))
}

# verdict STATUS WHAT
verdict() {
    if [ "$1" -eq 0 ]; then passed=$((passed + 1)); else failed=$((failed + 1)) && echo "FAIL  $2"; fi
}

# told: the last line; fails if something did
told() {
    echo "$passed passed, $failed failed, $skipped skipped"
    [ $failed -eq 0 ]
}
