#!/bin/sh
# gplum.sh - planetesimals by GPLUM with the functors of sapporo_fdps.hpp: rows of docs/data/clients.csv.
#
#   test/clients/gplum.sh FOLDER     FOLDER: has checkouts GPLUM (YotaIshigaki/GPLUM) and FDPS (FDPS/FDPS)
#
# The script compiles GPLUM with its own loops, which the compiler vectorises, and once more with the soft force by a
# functor.  Targets then have a getFloor(), the cut-off radius; a class adds forces and neighbours to GPLUM's; three calls
# change.  Cut-off radii are individual, superparticles have quadrupoles, and the disc is that of GPLUM's sample.  A row
# tells the error of the energy at the end and the processor time of the program.
# Status 77: something that the script needs is missing, and the last line names it.
#
# FETCH      if not empty, clones what FOLDER lacks: GPLUM 2850b14 and FDPS 84dbde2
# CXX        compiler, default g++
# FLAGS      options of the compiler for both programs, default "-march=native"
# SIZES      numbers of planetesimals, each with the end of the run, default "10000:2"
# PREFIX, TRIES, SAPPORO_BACKEND    as in test/clients/common.sh; one thread

# shellcheck source=test/clients/common.sh
. "$(dirname "$0")/common.sh"
[ $# -eq 1 ] || usage
fetch "$1" YotaIshigaki GPLUM 2850b14
fetch "$1" FDPS FDPS 84dbde2
begin "$1" GPLUM/src/main_p3t.cpp GPLUM/sample/parameter.dat FDPS/src/particle_simulator.hpp
commit=$(commit_of "$folder/GPLUM")
cxx=${CXX:-g++}
need "$cxx"
library sapporo
copy GPLUM/src
export OMP_NUM_THREADS=1
# shellcheck disable=SC3045 # GPLUM keeps lists on the stack; shells without -s leave its size
ulimit -s unlimited 2>/dev/null || :

# compile NAME OPTION...: compiles GPLUM as $work/NAME
source=$work/source/GPLUM/src
compile() {
    name=$1
    shift
    # shellcheck disable=SC2086 # words
    step "$cxx" -std=c++17 -O2 -funroll-loops -ffast-math -fopenmp-simd -w ${FLAGS--march=native} -DUSE_INDIVIDUAL_CUTOFF \
        -DUSE_QUAD -DCOLLISION -DOUTPUT_DETAIL -DMONAR -DPARTICLE_SIMULATOR_USE_SAMPLE_SORT \
        -I"$folder/FDPS/src" -I"$include" "$source/main_p3t.cpp" -o "$work/$name" "$@"
}
compile own

# GPLUM's neighbours are nearer than 1.01 search radii; FDPS asks for the radius 1.1 times as long.
cat >"$source/by_sapporo.h" <<'END'
#include <sapporo_fdps.hpp>

struct add_gplum : sapporo_fdps::add_with_counts {
    static const bool neighbours = true;
    static void add(Force_t &force, const double *acc, double pot, int)
    {
        force.acc += PS::F32vec(acc[0], acc[1], acc[2]);
        force.phi += pot;
    }
    static void add_neighbour(Force_t &force, const EPI_t &i, const EPJ_t &j)
    {
        const PS::F64vec d = j.pos - i.pos;
        const PS::F64 search = std::max(i.r_search, j.r_search);
        const bool self = i.id_local == j.id_local && i.myrank == j.myrank;
        if (self || d * d + FP_t::eps2 >= SAFTY_FACTOR2 * search * search) return;
        NeighborInfo &near = force.neighbor;
        near.number++;
        near.rank += std::abs(i.myrank - j.myrank);
        near.id_max = std::max(near.id_max, j.id_local);
        near.id_min = std::min(near.id_min, j.id_local);
    }
};
END
awk '
    { print }
    /^class EPIGrav/ { targets = 1 }
    targets && /^public:/ {
        print "    PS::F64 getFloor() const { return r_out; }"
        targets = 0
    }' "$folder/GPLUM/src/particle.h" >"$source/particle.h"
awk '
    { calls += gsub(/calcForceEPEPWithSearch\(\)|calcForceEPSP\(\)/, "soft.kernel()"); print }
    /^#include "gravity_kernel.hpp"/ { print "#include \"by_sapporo.h\"" }
    /^ *PS::ParticleSystem<FP_t> system_grav;/ { print "    sapporo_fdps::gravity_with<add_gplum> soft(FP_t::eps2);" }
    END { exit calls != 6 }' "$folder/GPLUM/src/main_p3t.cpp" >"$source/main_p3t.cpp" || fail "changing three calls"
# shellcheck disable=SC2086 # words
compile ours $run_path -lsapporo

# run NAME: the error of the energy at the end
run() {
    mkdir -p "$work/run" && (cd "$work/run" && "$work/$1" -p "$work/parameters" 2>>"$log") |
        awk '/ EnergyError:/ { for (k = 1; $k != "EnergyError:"; k++); de = $(k + 1) } END { if (de != "") printf "%.2e\n", de }'
}
own() { run own; }
ours() { run ours; }
fast() { SAPPORO_ROOT=fast run ours; }

for size in ${SIZES:-10000:2}; do
    n=${size%%:*}
    end=${size##*:}
    sed -e "s/^n_init .*/n_init = $n/" -e "s/^t_end .*/t_end = $end/" "$folder/GPLUM/sample/parameter.dat" >"$work/parameters"
    measure own ours fast
    row "GPLUM: $n planetesimals, to time $end${FLAGS+, FLAGS=$FLAGS}; error of the energy" "-lsapporo" "$(least own)" \
        "\`sp\` $(least ours); \`SAPPORO_ROOT=fast\` $(least fast)"
done
