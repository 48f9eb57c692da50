#!/bin/sh
# phigrape.sh - the stand-alone program of AMUSE's phiGRAPE with this library: a row of docs/data/clients.csv.
#
#   test/clients/phigrape.sh FOLDER     FOLDER: a checkout of AMUSE (amusecode/amuse)
#
# The script makes phiGRAPE without MPI by the code's own Makefile, once with AMUSE's emulation of GRAPE-6 (its g6lib), and
# once with libg6 of this library.  A row tells the energy at the end and the processor time.  test/clients/amuse.sh runs
# phiGRAPE in AMUSE.  Status 77: something that the script needs is missing, and the last line names it.
#
# END        end time, default 1
# PREFIX, TRIES, SAPPORO_BACKEND, OMP_NUM_THREADS    as in test/clients/common.sh

# shellcheck source=test/clients/common.sh
. "$(dirname "$0")/common.sh"
[ $# -eq 1 ] || usage
begin "$1" src/amuse_phigrape/src/Makefile lib/stopcond/stopcond.c lib/g6lib/g6lib.c src/amuse_ph4/src/plummer1k.in
need make gcc gfortran
library g6
copy src/amuse_phigrape/src src/amuse_ph4/src/plummer1k.in lib/stopcond lib/g6lib
phigrape=$work/source/src/amuse_phigrape/src
stopcond=$work/source/lib/stopcond
g6lib=$work/source/lib/g6lib

step gcc -O2 -w -c "$stopcond/stopcond.c" -o "$stopcond/stopcond.o"
step gcc -std=c99 -O2 -w -c "$g6lib/g6lib.c" -o "$g6lib/g6lib.o"

# build NAME LIBRARIES: makes phiGRAPE as $work/NAME
build() {
    step make -C "$phigrape" phiGRAPE FC=gfortran CC=gcc FFLAGS="-O2 -w -fallow-argument-mismatch -DNOMPI" CFLAGS="-O3 -w -DNOMPI" \
        STOPCOND_CFLAGS="-I$stopcond" STOPCOND_LIBS="$stopcond/stopcond.o" G6LIBS="$2" SAPPORO_LIBDIRS= CUDA_LIBDIRS=
    step mv "$phigrape/phiGRAPE" "$work/$1"
}
build phigrape_own "$g6lib/g6lib.o"
build phigrape_ours "$run_path -lg6"

by() {
    mkdir -p "$work/run" && cd "$work/run" || return
    printf '%s\n' 0.01 "${END:-1}" "${END:-1}" "${END:-1}" "${END:-1}" "${END:-1}" "${END:-1}" 0.125 0.01 0.02 "0 0" 0 \
        "'plummer1k.in'" >phiGRAPE.inp
    cp "$work/source/src/amuse_ph4/src/plummer1k.in" .
    rm -f ./*.dat
    "$work/$1" >>"$log" || return
    awk '{ energy = $3 } END { if (NR > 1) printf "%.8f\n", energy }' energy.dat
}
own() { by phigrape_own; }
ours() { by phigrape_ours; }
measure own ours
row "phiGRAPE, stand-alone: 1,024 stars, eps 0.01, eta 0.02, to time ${END:-1}; energy at the end" "-lg6" "$(least own)" "$(least ours)"
