#!/bin/sh
# ph4.sh - the stand-alone program of AMUSE's ph4 with this library: a row of docs/data/clients.csv.
#
#   test/clients/ph4.sh FOLDER     FOLDER: a checkout of AMUSE (amusecode/amuse)
#
# The script makes parallel_hermite_4 by the code's own Makefile.ph4, once without GPU calls, which has its own sum in
# double, and once with GPU calls and libsapporo.  Both run with one MPI process.  A row tells the error of the energy and
# the processor time.  test/clients/amuse.sh runs ph4 in AMUSE.
# Status 77: something that the script needs is missing, and the last line names it.
#
# END        end time, default 0.5
# INPUT      file of src/amuse_ph4/src, default plummer1k.in
# PREFIX, TRIES, SAPPORO_BACKEND, OMP_NUM_THREADS    as in test/clients/common.sh

# shellcheck source=test/clients/common.sh
. "$(dirname "$0")/common.sh"
[ $# -eq 1 ] || usage
begin "$1" src/amuse_ph4/src/Makefile.ph4 lib/stopcond/stopcond.c
need make mpicc mpicxx mpiexec
library sapporo
copy src/amuse_ph4/src lib/stopcond
ph4=$work/source/src/amuse_ph4/src
stopcond=$work/source/lib/stopcond
open_mpi

step mpicc -O2 -w -DMPILIB -c "$stopcond/stopcond.c" -o "$stopcond/stopcond.o"
step ar rc "$stopcond/libstopcondmpi.a" "$stopcond/stopcond.o"
# Without GPU calls the code links the library, too, and never calls it.
make_ph4() { step make -C "$ph4" -f Makefile.ph4 -o nstab.c AMUSE_DIR="$work/source" OPT="-O3 -w -I$stopcond" LIBS="-L$stopcond -lstopcondmpi $run_path -lsapporo" "$1"; }
make_ph4 parallel_hermite_4_noGPU
make_ph4 parallel_hermite_4

by() {
    mpiexec -n 1 "$ph4/$1" -f "$ph4/${INPUT:-plummer1k.in}" -e 0.01 -t "${END:-0.5}" -d "${END:-0.5}" >"$work/out" 2>>"$log"
    awk '/E-E0 =/ { error = $NF } END { if (error != "") printf "%+.2e\n", error }' "$work/out"
}
own() { by parallel_hermite_4_noGPU; }
ours() { by parallel_hermite_4; }
measure own ours
row "ph4, stand-alone: ${INPUT:-plummer1k.in}, eps 0.01, to time ${END:-0.5}; error of the energy" "-lsapporo" "$(least own)" "$(least ours)"
