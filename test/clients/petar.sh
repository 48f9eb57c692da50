#!/bin/sh
# petar.sh - Plummer models by PeTar with the functors of sapporo_fdps.hpp: rows of docs/data/clients.csv.
#
#   test/clients/petar.sh FOLDER     FOLDER: has checkouts PeTar (lwang-astro/PeTar), FDPS (FDPS/FDPS) and SDAR
#                                    (lwang-astro/SDAR)
#
# The script compiles PeTar with its own kernels, and once more with the soft force by a functor: an #include and a
# function of its settings come into src/petar.hpp, and one call changes.  PeTar takes the widest vectors of the
# processor.  A row tells the error of the potentials, as the root of the mean square over stars, against sums in double,
# the seconds of Calc_force in FDPS's profile, and the processor time of the program, which writes no snapshots.
# Status 77: something that the script needs is missing, and the last line names it.
#
# FETCH      if not empty, clones what FOLDER lacks: PeTar e969ec7, FDPS v7.0, for which it asks, and SDAR edf1568
# CXX        compiler, default g++
# SIZES      numbers of stars, each with the end of the run, default "2000:0.25 30000:0.03125"
# PREFIX, TRIES, SAPPORO_BACKEND    as in test/clients/common.sh; one thread

# shellcheck source=test/clients/common.sh
. "$(dirname "$0")/common.sh"
[ $# -eq 1 ] || usage

fetch "$1" lwang-astro PeTar e969ec7
fetch "$1" FDPS FDPS v7.0
fetch "$1" lwang-astro SDAR edf1568
begin "$1" PeTar/src/petar.hpp FDPS/src/particle_simulator.hpp SDAR/src/Common
commit=$(commit_of "$folder/PeTar")
cxx=${CXX:-g++}
need "$cxx" make
library sapporo
copy PeTar
export OMP_NUM_THREADS=1
# shellcheck disable=SC3045 # PeTar keeps lists on the stack; shells without -s leave its size
ulimit -s unlimited 2>/dev/null || :

# Without MPI and OpenMP the profile of FDPS has processor times.
configure() {
    cd "$work/source/PeTar" && ./configure --with-mpi=no --disable-openmp --with-fdps-prefix="$folder/FDPS" \
        --with-sdar-prefix="$folder/SDAR" CXX="$cxx"
}
(step configure) || exit 1
program=$(sed -n 's/^.*Program name: *//p' "$log")
[ -n "$program" ] || fail configure

# compile NAME WORD...: makes PeTar's program as $work/NAME; words for make
compile() {
    name=$1
    shift
    step mkdir -p "$work/source/PeTar/build"
    step make -C "$work/source/PeTar" "build/$program" "$@"
    step mv "$work/source/PeTar/build/$program" "$work/$name"
}
compile own
soft=$work/source/PeTar/src/petar.hpp
step cp "$soft" "$work/petar.hpp"
awk '
    /^#else.*end use_simd/ { skipped = 0 }
    /calcForceAllAndWriteBack\(CalcForceEpEpWithLinearCutoffSimd\(\)/ {
        skipped = 1
        print "        static sapporo_fdps::gravity_with_counts gravity(soft_settings());"
        print "        tree_soft.calcForceAllAndWriteBack(gravity.kernel(), gravity.kernel(), system_soft, dinfo);"
    }
    !skipped
    /^#include *"soft_force.hpp"/ {
        print "#include <sapporo_fdps.hpp>"
        print "static sapporo_fdps::settings soft_settings() {"
        print "    sapporo_fdps::settings s = sapporo_fdps::settings();"
        print "    s.eps2 = EPISoft::eps * EPISoft::eps;"
        print "    s.floor2 = EPISoft::r_out * EPISoft::r_out;"
        print "    s.gravitational_constant = ForceSoft::grav_const;"
        print "    return s;"
        print "}"
    }' "$work/petar.hpp" >"$soft"
compile ours CXX="$cxx -I$include" CXXLIBS="$run_path -lsapporo"

# model N: the model as a file of PeTar: masses, positions, velocities, and what PeTar itself sets
model() {
    echo "0 $1 0"
    plummer "$1" | awk '{ print $0, 0, 0, NR, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0 }'
}

# errors FILE: of the potentials of 300 stars of a snapshot
errors() {
    awk 'NR > 1 { n++; m[n] = $1; x[n] = $2; y[n] = $3; z[n] = $4; pot[n] = $18 }
        END {
            for (k = 0; k < 300; k++) {
                i = 1 + int(k * n / 300)
                right = 0
                for (j = 1; j <= n; j++)
                    if (j != i) right -= m[j] / sqrt((x[j] - x[i])^2 + (y[j] - y[i])^2 + (z[j] - z[i])^2)
                sum += (pot[i] / right - 1)^2
            }
            printf "%.2e", sqrt(sum / 300)
        }' "$1"
}

# error NAME: that of the first snapshot
error() { (cd "$work" && "./$1" -t 0.0078125 -o 0.0078125 stars >>"$log" 2>&1 && errors data.0) || fail "$1"; }

# run NAME: the seconds of Calc_force
run() {
    (cd "$work" && "./$1" -w 0 -t "$end" -o "$end" stars 2>>"$log") | awk '
        /^Tree step number/ { steps = $4 }
        /tree soft force time profile/ {
            getline
            for (k = 1; k <= NF && $k != "Calc_force"; k++);
            getline
            seconds = $k * steps
        }
        END { if (seconds > 0) printf "Calc_force %.2f s\n", seconds }'
}
own() { run own; }
ours() { run ours; }
fast() { SAPPORO_ROOT=fast run ours; }

for size in ${SIZES:-2000:0.25 30000:0.03125}; do
    n=${size%%:*}
    end=${size##*:}
    model "$n" >"$work/stars"
    measure own ours fast
    error_own=$(error own) && error_ours=$(error ours) && error_fast=$(SAPPORO_ROOT=fast error ours) || exit 1
    row "PeTar: $n stars, to time $end; error of potentials" "-lsapporo" "$error_own, $(least own)" \
        "\`sp\` $error_ours, $(least ours); \`SAPPORO_ROOT=fast\` $error_fast, $(least fast)"
done
