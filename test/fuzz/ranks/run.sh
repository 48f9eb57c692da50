#!/bin/sh
# Runs sequences of collective calls on 2, 3 and up to 5 ranks in turns, and adds their counts.
#
#   run.sh PROGRAM SECONDS SEED [OPTION...]    with MPIRUN, the launcher, in the environment
#
# SEQUENCES=N: as many on each of RANKS (2 3) instead of SECONDS.  Further options go to the program.
#
# The last line reads `N passed, N failed, N skipped`.

program=$1 seconds=$2 seed=$3
shift 3
options=$* # without blanks
if ! [ -x "$program" ] || ! command -v "${MPIRUN:-mpirun}" >/dev/null 2>&1; then
    echo "fuzz: ranks: skipped, since no MPI was found: openmpi-bin and libopenmpi-dev, or mpich and libmpich-dev"
    echo "0 passed, 0 failed, 1 skipped"
    exit 0
fi

# Ranks of Open MPI refuse root, and more ranks than cores, unless they are told; no rank is bound to a core.
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMPI_MCA_rmaps_base_oversubscribe=1
export OMPI_MCA_btl_vader_single_copy_mechanism=none OMPI_MCA_mpi_yield_when_idle=1
export OMPI_MCA_hwloc_base_binding_policy=none PRTE_MCA_hwloc_default_binding_policy=none
export OMP_NUM_THREADS=1 SAPPORO_VERBOSE=0
unset SAPPORO_BACKEND SAPPORO_PRECISION SAPPORO_CPU_ISA

work=$(mktemp -d) || exit 2
trap 'rm -rf "$work"' EXIT
export TMPDIR="$work" # files of steppers, and sockets of Open MPI, which have short names
passed=0 failed=0

# run RANKS OPTION VALUE: one run of the program, which counts as it goes
run() {
    # shellcheck disable=SC2086 # a list of words
    timeout -k 5 $((seconds + 600)) "${MPIRUN:-mpirun}" -n "$1" "$program" "$2" "$3" --seed "$seed" $options \
        >"$work/out" 2>"$work/said" </dev/null
    status=$?
    grep -v '^counted' "$work/out"
    # shellcheck disable=SC2046 # numbers
    set -- $(grep '^counted' "$work/out" | tail -n 1 | tr -dc '0-9 ')
    passed=$((passed + ${1:-0}))
    failed=$((failed + ${2:-0}))
    seed=${3:-$seed}
    if [ $status -eq 0 ] || { [ $status -eq 1 ] && [ "${2:-0}" -gt 0 ]; }; then return; fi
    # A rank has crashed, or a call did not return: the stacks of the ranks.
    failed=$((failed + 1))
    echo "fuzz: ranks: status $status at seed $seed"
    tail -n 60 "$work/said"
    seed=$((seed + 1))
}

if [ -n "${SEQUENCES:-}" ]; then
    for ranks in ${RANKS:-2 3}; do run "$ranks" --sequences "$SEQUENCES"; done
else
    end=$(($(date +%s) + seconds))
    slice=$((seconds / 6 + 1))
    while :; do
        for ranks in 2 3 2 3 5 3 2 4; do
            left=$((end - $(date +%s)))
            [ $left -gt 0 ] || break 2
            run $ranks --seconds $((left < slice ? left : slice))
        done
    done
fi
echo "$passed passed, $failed failed, 0 skipped"
[ $failed -eq 0 ]
