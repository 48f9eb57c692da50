#!/bin/sh
# fdps_sph.sh - a planet by FDPS_SPH with the functors of sapporo_fdps.hpp: rows of docs/data/clients.csv.
#
#   test/clients/fdps_sph.sh FOLDER     FOLDER: has checkouts FDPS_SPH (NatsukiHosono/FDPS_SPH) and FDPS (FDPS/FDPS)
#
# The script compiles FDPS_SPH with its own loop in double, and once more with gravity by a functor: an #include, an object
# with the gravitational constant in SI, and two calls change.  The planet has a core and a mantle (mode 2) and settles.  A
# row tells the error of the potentials at the end, as the root of the mean square over particles, against sums in double,
# and the processor time of the program, most of which is that of the gas.
# Status 77: something that the script needs is missing, and the last line names it.
#
# FETCH      if not empty, clones what FOLDER lacks: FDPS_SPH 2c0e2b7 and FDPS 84dbde2
# CXX        compiler, default g++
# FLAGS      options of the compiler for both programs, default "-march=native"
# SIZES      numbers of particles, each with the end of the run in seconds, default "5000:100"
# PREFIX, TRIES, SAPPORO_BACKEND    as in test/clients/common.sh; one thread

# shellcheck source=test/clients/common.sh
. "$(dirname "$0")/common.sh"
[ $# -eq 1 ] || usage
fetch "$1" NatsukiHosono FDPS_SPH 2c0e2b7
fetch "$1" FDPS FDPS 84dbde2
begin "$1" FDPS_SPH/src/main.cpp FDPS_SPH/examples/input.txt FDPS/src/particle_simulator.hpp
commit=$(commit_of "$folder/FDPS_SPH")
cxx=${CXX:-g++}
need "$cxx"
library sapporo
copy FDPS_SPH
export OMP_NUM_THREADS=1

# compile NAME OPTION...: compiles FDPS_SPH as $work/NAME
source=$work/source/FDPS_SPH
compile() {
    name=$1
    shift
    # shellcheck disable=SC2086 # words
    step "$cxx" -std=c++17 -O3 -ffast-math -funroll-loops -w ${FLAGS--march=native} \
        -DPARTICLE_SIMULATOR_ALL_64BIT_PRECISION -DFAST_COMM_FOR_2ND_EXCHANGE -I"$folder/FDPS/src" -I"$include" \
        "$source/src/main.cpp" -o "$work/$name" "$@"
}
compile own
awk '
    { calls += gsub(/PTCL::CalcGravityForce<[^>]*>\(\)/, "gravity.kernel()"); print }
    /^#include <particle_simulator.hpp>/ { print "#include <sapporo_fdps.hpp>" }
    /^ *PS::Initialize\(/ {
        print "    sapporo_fdps::settings how = sapporo_fdps::settings();"
        print "    how.gravitational_constant = 6.67e-11;"
        print "    sapporo_fdps::gravity gravity(how);"
    }
    END { exit calls != 4 }' "$folder/FDPS_SPH/src/main.cpp" >"$source/src/main.cpp" || fail "changing two calls"
# shellcheck disable=SC2086 # words
compile ours $run_path -lsapporo

# run PROGRAM NAME: the number of steps; $work/NAME.last is the last snapshot
run() {
    rm -rf "$source/results"
    (cd "$source" && "$work/$1" -i "$work/input" 2>>"$log") | awk '/^step = / { steps = $3 } END { if (steps) print steps " steps" }'
    for last in "$source"/results/results.*; do :; done
    mv "$last" "$work/$2.last"
}
own() { run own own; }
ours() { run ours ours; }
fast() { SAPPORO_ROOT=fast run ours fast; }

# errors NAME: of the potentials of 300 particles.  The softening of a target is its smoothing length, 1.2 (m / density)^(1/3)
errors() {
    awk 'NR > 2 { n++; m[n] = $3; x[n] = $4; y[n] = $5; z[n] = $6; density[n] = $10; pot[n] = $13 }
        END {
            for (k = 0; k < 300; k++) {
                i = 1 + int(k * n / 300)
                eps2 = 1.44 * (m[i] / density[i])^(2 / 3)
                right = 0
                for (j = 1; j <= n; j++)
                    right -= 6.67e-11 * m[j] / sqrt((x[j] - x[i])^2 + (y[j] - y[i])^2 + (z[j] - z[i])^2 + eps2)
                sum += (pot[i] / right - 1)^2
            }
            printf "%.2e", sqrt(sum / 300)
        }' "$work/$1.last"
}

for size in ${SIZES:-5000:100}; do
    n=${size%%:*}
    end=${size##*:}
    sed -e "s/^mode *=.*/mode = 2/" -e "s/^total_number_of_particles *=.*/total_number_of_particles = $n/" \
        -e "s/^end_time *=.*/end_time = $end/" -e "s/^output_interval *=.*/output_interval = $end/" \
        -e "s/^impVel *=.*/impVel = 0/" -e "s/^coreFracRadi *=.*/coreFracRadi = 0.3/" \
        -e "s/^coreFracMass *=.*/coreFracMass = 0.2/" -e "s|^output_directory *=.*|output_directory = results/|" \
        "$folder/FDPS_SPH/examples/input.txt" >"$work/input"
    measure own ours fast
    row "FDPS_SPH: planet of $n particles, to $end s${FLAGS+, FLAGS=$FLAGS}; error of potentials" "-lsapporo" "$(errors own), $(least own)" \
        "\`sp\` $(errors ours), $(least ours); \`SAPPORO_ROOT=fast\` $(errors fast), $(least fast)"
done
