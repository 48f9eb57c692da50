#!/bin/sh
# fdps.sh - a cold sphere by FDPS with this library: rows of docs/data/clients.csv.
#
#   test/clients/fdps.sh FOLDER     FOLDER: a checkout of FDPS (FDPS/FDPS)
#
# The script compiles FDPS's sample nbody with the Phantom-GRAPE that FDPS contains, for AVX2, and with libpg5, and
# test/clients/fdps_nbody.cc, a program of this repository, with FDPS's headers: with its own loop in double, with the
# functors of sapporo_fdps.hpp, and with quadrupoles.  A row tells the error of the energy and the processor time of all
# threads.  Status 77: something that the script needs is missing, and the last line names it.
#
# CXX        compiler, default g++
# SIZES      numbers of particles, each with the end of the sample's run and the steps of the other program,
#            default "1024:2:256 8192:0.5:64 65536:0.0625:8"
# THREADS    default "1 2"
# ROWS       default "sample functors"
# GROUP      most targets of a list in the other program, default 64
# WALKS      lists of a batch there, default 200
# PREFIX, TRIES, SAPPORO_BACKEND, CLOCK, ON, PROGRAMS    as in test/clients/common.sh.  Elapsed times of the sample are those
#            of the whole program, those of the other program are of its steps.  With another SAPPORO_BACKEND than cpu the
#            sample also runs with that of CPUs

# shellcheck source=test/clients/common.sh
. "$(dirname "$0")/common.sh"
[ $# -eq 1 ] || usage
begin "$1" src/particle_simulator.hpp sample/c++/nbody/nbody.cpp
cxx=${CXX:-g++}
library sapporo pg5
sample=$work/source/sample/c++/nbody
flags="-std=c++17 -O3 -ffast-math -fopenmp -w -DPARTICLE_SIMULATOR_THREAD_PARALLEL"

# make_sample NAME VARIABLE...: makes FDPS's sample by its Makefile, as $work/NAME
make_sample() {
    name=$1
    shift
    step make -C "$sample" use_phantom_grape_x86=yes PG_BUILD=: CC="$cxx" CFLAGS="$flags -DENABLE_PHANTOM_GRAPE_X86" "$@"
    step mv "$sample/nbody.out" "$work/$name"
}

# program NAME FLAG...: compiles fdps_nbody.cc as $work/NAME
program() {
    name=$1
    shift
    # shellcheck disable=SC2086 # words
    step "$cxx" $flags -I"$work/source/src" -I"$include" "$@" "$clone/test/clients/fdps_nbody.cc" -o "$work/$name" \
        -L"$lib" -lsapporo -Wl,-rpath,"$lib"
}

# build: makes all programs
build() {
    need "$cxx" gcc make
    copy src sample/c++/nbody
    step make -C "$work/source/src/phantom_grape_x86/G5/newton/libpg5" libpg5.a enable_avx2=yes \
        CFLAGS="-mavx2 -mfma -O3 -ffast-math -funroll-loops"
    make_sample sample_own
    make_sample sample_ours CLIBS="$run_path -lpg5"
    program loop -DFORM=0
    program kernel -DFORM=1
    program multiwalk -DFORM=2
    program index -DFORM=3
    program kernel_quadrupole -DFORM=1 -DQUADRUPOLE
    program index_quadrupole -DFORM=3 -DQUADRUPOLE
}
programs="sample_own sample_ours loop kernel multiwalk index kernel_quadrupole index_quadrupole"
# shellcheck disable=SC2086 # words
built $programs || { build; keep $programs; }

nbody() {
    "$work/$1" -N "$n" -T "$end" -d 0.015625 -D 100 -o "$work/snapshots" 2>>"$log" |
        awk '/energy error/ { de = $5 } END { if (de != "") printf "%.3e\n", de }'
}
own() { nbody sample_own; }
ours() { nbody sample_ours; }
on_cpu() { SAPPORO_BACKEND=cpu nbody sample_ours; }
avx2() { SAPPORO_CPU_ISA=avx2 nbody sample_ours; }
sphere() { "$work/$1" "$n" "$steps" "${GROUP:-64}" "${WALKS:-200}" | awk '/^energy/ { printf "%.3e\n%s\n", $3, $5 }'; }
loop() { sphere loop; }
kernel() { sphere kernel; }
multiwalk() { sphere multiwalk; }
index() { sphere index; }
kernel_quadrupole() { sphere kernel_quadrupole; }
index_quadrupole() { sphere index_quadrupole; }

quadrupoles() { echo "quadrupoles: \`kernel()\` $(least kernel_quadrupole); with indices $(least index_quadrupole)"; }

if [ "$SAPPORO_BACKEND" = cpu ]; then
    other=avx2 setting=SAPPORO_CPU_ISA=avx2
else
    other=on_cpu setting=SAPPORO_BACKEND=cpu
fi
sample() {
    measure own ours $other
    row "FDPS, sample nbody: $n particles, to time $end, threads: $threads; error of the energy" "-lpg5" "$(least own)" \
        "$(least ours); \`$setting\` $(least $other)"
}
functors() {
    measure loop kernel multiwalk index kernel_quadrupole index_quadrupole
    groups=
    [ -z "${GROUP:-}${WALKS:-}" ] || groups=", at most ${GROUP:-64} targets of a list, ${WALKS:-200} lists of a batch"
    row "FDPS, functors: $n particles, $steps steps, threads: $threads$groups; error of the energy" "-lsapporo" "$(least loop)" \
        "\`kernel()\` $(least kernel); multi-walk $(least multiwalk); with indices $(least index); $(quadrupoles)"
}

for size in ${SIZES:-1024:2:256 8192:0.5:64 65536:0.0625:8}; do
    n=${size%%:*}
    steps=${size##*:}
    end=${size#*:}
    end=${end%:*}
    for threads in ${THREADS:-1 2}; do
        export OMP_NUM_THREADS="$threads"
        for rows in ${ROWS:-sample functors}; do $rows; done
    done
done
