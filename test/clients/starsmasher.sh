#!/bin/sh
# starsmasher.sh - a star relaxed by StarSmasher with this library: rows of docs/data/clients.csv.
#
#   test/clients/starsmasher.sh FOLDER     FOLDER: a checkout of StarSmasher (jalombar/starsmasher)
#
# The script makes the version with the code's own gravity for CPUs, which needs two ranks, and links the version for GPUs
# with libsphgrav_sapporo.  All relax a polytrope from the same start.  A row tells the potential and the total energy at
# the end, and the processor time of all ranks.
# Status 77: something that the script needs is missing, and the last line names it.
#
# KERNELS    values of nkernel, default "0 1 2"
# PARTICLES  default 4000
# END        of the runs, default 0.5
# RANKS      of the code's own gravity for CPUs, default 2
# NVCC       the compiler of CUDA: the code's own library for GPUs is compiled, too, and runs on one rank.  A member of CUDA
#            that version 13 has no longer gets another name
# CUDA_ARCH  of NVCC, default sm_90
# MPIF90, MPIEXEC    default mpif90 and mpiexec
# PREFIX, TRIES, SAPPORO_BACKEND, OMP_NUM_THREADS, CLOCK, ON, PROGRAMS    as in test/clients/common.sh

# shellcheck source=test/clients/common.sh
. "$(dirname "$0")/common.sh"
[ $# -eq 1 ] || usage
begin "$1" parallel_bleeding_edge/src/cpu_grav.f parallel_bleeding_edge/src/gpu_grav.f
mpiexec=${MPIEXEC:-mpiexec}
need "$mpiexec"
library sapporo sphgrav_sapporo
open_mpi

# build: makes $work/own with the code's own gravity for CPUs, $work/ours, and with NVCC $work/cuda
build() {
    mpif90=${MPIF90:-mpif90}
    need make "$mpif90"
    copy parallel_bleeding_edge/src
    source=$work/source/parallel_bleeding_edge/src
    mkdir -p "$source/../bin"
    # The folder of the code has objects of other machines.
    rm -f "$source"/*.o
    fortran="$mpif90 -w -ffixed-line-length-132 -fallow-argument-mismatch"
    step make -C "$source" cpu FC="$fortran" LD="$mpif90"
    step mv "$(find "$source/../bin" -name '*cpu*' -type f)" "$work/own"
    step make -C "$source" gpu_grav.o FC="$fortran"
    rm "$source/cpu_grav.o"
    step "$mpif90" -o "$work/ours" "$source"/*.o -L"$lib" -lsphgrav_sapporo -lsapporo -Wl,-rpath,"$lib" -lm -lstdc++
    [ "$own" = own ] && return
    need "$NVCC"
    step "$NVCC" -arch="${CUDA_ARCH:-sm_90}" -O3 -w -DcomputeMode=warpSize -c "$source/SPHgrav_lib2/grav_force_direct.cu" \
        -o "$work/gravity.o"
    step "$mpif90" -o "$work/cuda" "$source"/*.o "$work/gravity.o" "$(cudart)" -ldl -lpthread -lrt -lstdc++
}
own="own${NVCC:+ cuda}"
# shellcheck disable=SC2086 # words
built $own ours || { build; keep $own ours; }

# run PROGRAM RANKS END: runs in $work/run, from $work/start if it is there; prints the energies
run() {
    rm -rf "$work/run"
    mkdir "$work/run"
    printf " &INITT\n INAME='1es'\n &END\n" >"$work/run/sph.init"
    printf ' &input\n tf=%s, dtout=%s, n=%s, nrelax=1, treloff=0, ngravprocs=-%s, nkernel=%s, ppn=1\n &end\n' \
        "$3" "$3" "${PARTICLES:-4000}" "$2" "$kernel" >"$work/run/sph.input"
    [ ! -f "$work/start" ] || cp "$work/start" "$work/run/restartrad.sph"
    (cd "$work/run" && "$mpiexec" -n "$2" "$work/$1" >>"$log" 2>&1) || return
    awk 'NF >= 5 { line = $2 ", " $5 } END { if (line != "") print line }' "$work/run/energy0.sph"
}
end=${END:-0.5}
ranks=${RANKS:-2}
own() { run own "$ranks" "$end"; }
cuda() { run cuda 1 "$end"; }
one() { run ours 1 "$end"; }
two() { run ours 2 "$end"; }
tree_one() { SAPPORO_METHOD=tree run ours 1 "$end"; }
tree_two() { SAPPORO_METHOD=tree run ours 2 "$end"; }

for kernel in ${KERNELS:-0 1 2}; do
    rm -f "$work/start"
    run ours 1 0.1 >"$work/first" || fail "the first 0.1 time units"
    step cp "$work/run/out0000.sph" "$work/start"
    n=$(sed -n 's/^ *parent: n= *\([0-9]*\).*/\1/p' "$work/run/log0.sph" | head -n 1)
    # shellcheck disable=SC2086 # words
    measure $own one two tree_one tree_two
    told="$(echo "$ranks" | sed 's/^2$/two/') ranks: $(least own)"
    [ -z "${NVCC:-}" ] || told="$told; its own library for GPUs, one rank: $(least cuda)"
    row "StarSmasher: polytrope of $n particles, nkernel $kernel, to time $end; potential and total energy" "-lsphgrav_sapporo -lsapporo" \
        "$told" \
        "one rank: $(least one); two: $(least two); tree, one: $(least tree_one); tree, two: $(least tree_two)"
done
