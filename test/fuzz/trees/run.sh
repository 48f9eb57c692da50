#!/bin/sh
# Proves forces of trees on several backends one after the other, and adds their counts.
#
#   run.sh PROGRAM    with BACKENDS, SEED, JOBS, and SECONDS_ALL or SYSTEMS in the environment, as trees.mk sets them
#
# Programs of what was found are left in build/found.

program=$1
export OMP_WAIT_POLICY="${OMP_WAIT_POLICY:-passive}" SAPPORO_CACHE="${SAPPORO_CACHE-off}"
export POCL_CACHE_DIR="${POCL_CACHE_DIR:-$PWD/build/pocl-cache}"
backends=${BACKENDS:-cpu opencl}
log=$(mktemp) || exit 2
trap 'rm -f "$log"' EXIT
passed=0
failed=0
skipped=0

# shellcheck disable=SC2086 # a list of words
set -- $backends
seconds=$((${SECONDS_ALL:-60} / $#))
for backend in "$@"; do
    limit=60
    [ "$backend" = opencl ] && limit=240 # the first force of each kind compiles its kernels
    if [ -n "${SYSTEMS:-}" ]; then long="--systems $SYSTEMS"; else long="--seconds $seconds"; fi
    echo "fuzz-trees: $backend, $long, from seed ${SEED:-1}"
    # shellcheck disable=SC2086 # an option and its value
    "$program" --backend "$backend" $long --timeout "$limit" --seed "${SEED:-1}" --jobs "${JOBS:-1}" \
        --programs build/found ${PRECISION:+--precision "$PRECISION"} >"$log" 2>&1
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
        echo "fuzz-trees: $backend ended with status $status before it could count"
    fi
done
echo "$passed passed, $failed failed, $skipped skipped"
[ "$failed" -eq 0 ]
