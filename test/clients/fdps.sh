#!/bin/sh
# fdps.sh - a cold sphere by FDPS with this library: rows of docs/data/clients.csv.
#
#   test/clients/fdps.sh FOLDER     FOLDER: a checkout of FDPS (FDPS/FDPS)
#
# The script compiles FDPS's sample nbody with the Phantom-GRAPE that FDPS contains, for AVX2, and with libpg5, and
# test/clients/fdps_nbody.cc, a program of this repository, with FDPS's headers: with its own loop in double, with the
# functors of sapporo_fdps.hpp, and with quadrupoles.  FDPS's samples nbody in Fortran and nbody+sph (a cold collapse), of
# 1,024 particles and without threads, are linked with both libraries, too.  A row tells the error of the energy and the
# processor time of all threads.  Status 77: something that the script needs is missing, and the last line names it.
#
# CXX        compiler, default g++
# SIZES      numbers of particles, each with the end of the sample's run and the steps of the other program,
#            default "1024:2:256 8192:0.5:64 65536:0.0625:8"
# THREADS    default "1 2"
# ROWS       default "sample functors"
# SAMPLES    of 1,024 particles, default "fortran sph"
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
flags="-std=c++17 -O3 -ffast-math -fopenmp -w -DPARTICLE_SIMULATOR_THREAD_PARALLEL"

# make_sample NAME FOLDER VARIABLE...: makes a sample of FDPS by its Makefile, as $work/NAME
make_sample() {
    name=$1
    of=$work/source/sample/$2
    shift 2
    step make -C "$of" use_phantom_grape_x86=yes PG_BUILD=: CXX="$cxx" "$@"
    step mv "$of"/*.out "$work/$name"
}
make_nbody() {
    name=$1
    shift
    make_sample "$name" c++/nbody CC="$cxx" CFLAGS="$flags -DENABLE_PHANTOM_GRAPE_X86" "$@"
}
make_fortran() { # NAME VARIABLE...
    need gfortran python3
    name=$1
    shift
    make_sample "$name" fortran/nbody FC=gfortran FDPS_FTN_IF_GENERATOR="python3 ../../../scripts/gen_ftn_if.py" "$@"
}
make_sph() { # NAME VARIABLE...
    name=$1
    shift
    make_sample "$name" c++/nbody+sph "$@" CXXFLAGS="-std=c++17 -O3 -ffast-math -funroll-loops -w -DENABLE_VARIABLE_SMOOTHING_LENGTH -DUSE_ENTROPY \
        -DUSE_BALSARA_SWITCH -DISOTHERMAL_EOS -DINITIAL_CONDITION=1 -DENABLE_PHANTOM_GRAPE_X86"
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
    copy src scripts sample/c++/nbody sample/c++/nbody+sph sample/fortran/nbody
    step make -C "$work/source/src/phantom_grape_x86/G5/newton/libpg5" libpg5.a enable_avx2=yes \
        CFLAGS="-mavx2 -mfma -O3 -ffast-math -funroll-loops"
    make_nbody sample_own
    make_nbody sample_ours CLIBS="$run_path -lpg5"
    for which in $samples; do
        "make_$which" "${which}_own"
        "make_$which" "${which}_ours" LIBS="$run_path -lpg5" LDFLAGS="-lgfortran $run_path -lpg5"
    done
    program loop -DFORM=0
    program kernel -DFORM=1
    program multiwalk -DFORM=2
    program index -DFORM=3
    program kernel_quadrupole -DFORM=1 -DQUADRUPOLE
    program index_quadrupole -DFORM=3 -DQUADRUPOLE
}
programs="sample_own sample_ours loop kernel multiwalk index kernel_quadrupole index_quadrupole"
samples=${SAMPLES-fortran sph}
for which in $samples; do programs="$programs ${which}_own ${which}_ours"; done
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

# of NAME: runs a program that writes files
of() { (mkdir -p "$work/run/result" && cd "$work/run" && "$work/$1" 2>>"$log"); }
fortran_by() { of "$1" | awk '/energy error/ { de = $NF } END { if (de != "") printf "%.3e\n", de }'; }
fortran_own() { fortran_by fortran_own; }
fortran_ours() { fortran_by fortran_ours; }
fortran_fast() { SAPPORO_ROOT=fast fortran_by fortran_ours; }
sph_by() { of "$1" | awk '/^E_tot/ { gsub(/[()]/, ""); de = $4 } END { if (de != "") printf "%.3e\n", de }'; }
sph_own() { sph_by sph_own; }
sph_ours() { sph_by sph_ours; }
sph_fast() { SAPPORO_ROOT=fast sph_by sph_ours; }

# of_1024 NAME TEXT: the row of such a sample
of_1024() {
    measure "$1_own" "$1_ours" "$1_fast"
    row "FDPS, sample $2; error of the energy" "-lpg5" "$(least "$1_own")" \
        "$(least "$1_ours"); \`SAPPORO_ROOT=fast\` $(least "$1_fast")"
}
for which in $samples; do
    case $which in
    fortran) of_1024 fortran "nbody in Fortran: 1024 particles, to time 10" ;;
    sph) of_1024 sph "nbody+sph: cold collapse of 1024 particles, to time 2" ;;
    esac
done

for size in ${SIZES-1024:2:256 8192:0.5:64 65536:0.0625:8}; do
    n=${size%%:*}
    steps=${size##*:}
    end=${size#*:}
    end=${end%:*}
    for threads in ${THREADS:-1 2}; do
        export OMP_NUM_THREADS="$threads"
        for rows in ${ROWS:-sample functors}; do $rows; done
    done
done
