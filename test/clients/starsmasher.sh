#!/bin/sh
# starsmasher.sh - a star relaxed by StarSmasher with this library: rows of the table in docs/clients.md.
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
# PREFIX, TRIES, SAPPORO_BACKEND, OMP_NUM_THREADS    as in test/clients/common.sh

# shellcheck source=test/clients/common.sh
. "$(dirname "$0")/common.sh"
[ $# -eq 1 ] || usage
begin "$1" parallel_bleeding_edge/src/cpu_grav.f parallel_bleeding_edge/src/gpu_grav.f
need make mpif90 mpiexec
library sapporo sphgrav_sapporo
copy parallel_bleeding_edge/src
source=$work/source/parallel_bleeding_edge/src
mkdir -p "$source/../bin"
open_mpi

# The folder of the code has objects of other machines.
rm -f "$source"/*.o
fortran="mpif90 -w -ffixed-line-length-132 -fallow-argument-mismatch"
step make -C "$source" cpu FC="$fortran" LD=mpif90
step mv "$(find "$source/../bin" -name '*cpu*' -type f)" "$work/own"
step make -C "$source" gpu_grav.o FC="$fortran"
rm "$source/cpu_grav.o"
step mpif90 -o "$work/ours" "$source"/*.o -L"$lib" -lsphgrav_sapporo -lsapporo -Wl,-rpath,"$lib" -lm -lstdc++

# run PROGRAM RANKS END: runs in $work/run, from $work/start if it is there; prints the energies
run() {
    rm -rf "$work/run"
    mkdir "$work/run"
    printf " &INITT\n INAME='1es'\n &END\n" >"$work/run/sph.init"
    printf ' &input\n tf=%s, dtout=%s, n=%s, nrelax=1, treloff=0, ngravprocs=-%s, nkernel=%s, ppn=1\n &end\n' \
        "$3" "$3" "${PARTICLES:-4000}" "$2" "$kernel" >"$work/run/sph.input"
    [ ! -f "$work/start" ] || cp "$work/start" "$work/run/restartrad.sph"
    (cd "$work/run" && mpiexec -n "$2" "$work/$1" >>"$log" 2>&1) || return
    awk 'NF >= 5 { line = $2 ", " $5 } END { if (line != "") print line }' "$work/run/energy0.sph"
}
own() { run own 2 0.5; }
one() { run ours 1 0.5; }
two() { run ours 2 0.5; }
tree_one() { SAPPORO_METHOD=tree run ours 1 0.5; }
tree_two() { SAPPORO_METHOD=tree run ours 2 0.5; }

for kernel in ${KERNELS:-0 1 2}; do
    rm -f "$work/start"
    run ours 1 0.1 >"$work/first" || fail "the first 0.1 time units"
    step cp "$work/run/out0000.sph" "$work/start"
    n=$(sed -n 's/^ *parent: n= *\([0-9]*\).*/\1/p' "$work/run/log0.sph" | head -n 1)
    measure own one two tree_one tree_two
    row "StarSmasher: polytrope of $n particles, nkernel $kernel, to time 0.5; potential and total energy" "-lsphgrav_sapporo -lsapporo" \
        "two ranks: $(least own)" \
        "one rank: $(least one); two: $(least two); tree, one: $(least tree_one); tree, two: $(least tree_two)"
done
