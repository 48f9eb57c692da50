#!/bin/sh
# Runs the fuzzer on several backends one after the other, and adds their counts: calls of all interfaces, steppers of
# which allocations fail, and on the CPU collective calls over ranks.
#
#   run.sh PROGRAM    with BACKENDS, INTERFACES, SEED, JOBS, SECONDS_ALL and MPIRUN in the environment, as fuzz.mk sets them
#
# PROGRAM_steppers and PROGRAM_ranks lie beside PROGRAM; INTERFACES calls them steppers and ranks.  Programs of what was
# found are left in build/found.

program=$1
backends=${BACKENDS:-cpu opencl}
# shellcheck source=test/fuzz/counts.sh
. "$(dirname "$0")/counts.sh"

# wanted NAME: whether INTERFACES, if given, names it
wanted() { case ",${INTERFACES:-$1}," in *",$1,"*) ;; *) return 1 ;; esac }

# shellcheck disable=SC2086 # a list of words
set -- $backends
seconds=$((${SECONDS_ALL:-60} / $#))
others=$(echo "${INTERFACES:-all}" | tr ',' '\n' | grep -cvxE 'steppers|ranks') # interfaces of the first program
for backend in "$@"; do
    limit=30
    [ "$backend" = opencl ] && limit=240 # the first force of each kind compiles its kernels
    # Steppers have a sixth of the time, and so have ranks, unless they are alone.
    steppers=0 ranks=0
    if wanted steppers; then steppers=$((seconds / 6 + 1)); fi
    if wanted ranks && [ "$backend" = cpu ]; then ranks=$((seconds / 6 + 1)); fi
    calls=$((seconds - steppers - ranks))
    if [ "$others" -eq 0 ]; then
        calls=0
        [ $steppers -eq 0 ] || steppers=$((ranks > 0 ? seconds / 2 : seconds))
        [ $ranks -eq 0 ] || ranks=$((seconds - steppers))
    fi
    if [ $calls -gt 0 ]; then
        echo "fuzz: $backend, $calls s, from seed ${SEED:-1}"
        counted "fuzz: $backend" "$program" --backend "$backend" --seconds "$calls" --timeout "$limit" --seed "${SEED:-1}" \
            --jobs "${JOBS:-1}" --programs build/found ${INTERFACES:+--interface "$INTERFACES"}
    fi
    if [ $steppers -gt 0 ]; then
        echo "fuzz: steppers of which allocations fail, $backend, $steppers s, from seed ${SEED:-1}"
        counted "fuzz: steppers" "$program"_steppers --backend "$backend" --seconds $steppers --timeout "$limit" \
            --seed "${SEED:-1}" --jobs "${JOBS:-1}"
    fi
    if [ $ranks -gt 0 ]; then
        echo "fuzz: ranks, $ranks s, from seed ${SEED:-1}"
        counted "fuzz: ranks" "$(dirname "$0")/ranks/run.sh" "$program"_ranks $ranks "${SEED:-1}"
    fi
done
summary
