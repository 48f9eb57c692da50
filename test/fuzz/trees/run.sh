#!/bin/sh
# Proves forces of trees on several backends one after the other, and adds their counts.
#
#   run.sh PROGRAM    with BACKENDS, SEED, JOBS, and SECONDS_ALL or SYSTEMS in the environment, as trees.mk sets them
#
# Programs of what was found are left in build/found.

program=$1
backends=${BACKENDS:-cpu opencl}
# shellcheck source=test/fuzz/counts.sh
. "$(dirname "$0")/../counts.sh"

# trees are on all devices, of which PoCL makes two of a CPU
export SAPPORO_DEVICES="${SAPPORO_DEVICES:-all}" POCL_DEVICES="${POCL_DEVICES:-pthread pthread}"
# shellcheck disable=SC2086 # a list of words
set -- $backends
seconds=$((${SECONDS_ALL:-60} / $#))
for backend in "$@"; do
    limit=60
    [ "$backend" = opencl ] && limit=240 # the first force of each kind compiles its kernels
    if [ -n "${SYSTEMS:-}" ]; then long="--systems $SYSTEMS"; else long="--seconds $seconds"; fi
    echo "fuzz-trees: $backend, $long, from seed ${SEED:-1}"
    # shellcheck disable=SC2086 # an option and its value
    counted "fuzz-trees: $backend" "$program" --backend "$backend" $long --timeout "$limit" --seed "${SEED:-1}" \
        --jobs "${JOBS:-1}" --programs build/found ${PRECISION:+--precision "$PRECISION"}
done
summary
