#!/bin/sh
# fdps.sh - a cold sphere by the user's FDPS with this library: a row of the table in docs/clients.md per kernel.
#
#   test/clients/fdps.sh FOLDER     FOLDER: a checkout of FDPS, whose headers are in FOLDER/src
#
# The script compiles test/clients/fdps_nbody.cc, a program of this repository, with FDPS's headers, and runs it with the
# CPU engine: its own loop in double, the functors of sapporo_fdps.hpp, and GRAPE-5 calls; monopoles, then quadrupoles.
# The library must have been built.  Status 77: something that the script needs is missing, and the last line names it.
#
# CXX        compiler, default g++
# SIZES      numbers of particles, each with its number of steps, default "1024:256 8192:64 65536:8"
# THREADS    default "1 2"
# TRIES      runs of each; the least time is told; default 3
# SAPPORO_BACKEND    default cpu

top=$(cd "$(dirname "$0")/../.." && pwd) || exit 2
cxx=${CXX:-g++}
skip() { echo "fdps.sh: skipped: $1"; exit 77; }
[ $# -eq 1 ] || { sed -n '2,/^$/s/^# \{0,1\}//p' "$0" >&2; exit 2; }
[ -f "$1/src/particle_simulator.hpp" ] || skip "$1/src/particle_simulator.hpp is missing"
[ -f "$top/lib/libsapporo.so" ] || skip "lib/libsapporo.so is missing"
command -v "$cxx" >/dev/null 2>&1 || skip "$cxx is missing"
export OMP_WAIT_POLICY=passive SAPPORO_BACKEND="${SAPPORO_BACKEND:-cpu}"
work=$(mktemp -d) || exit 2
trap 'rm -rf "$work"' EXIT

# built NAME FLAG...: compiles the program as $work/NAME
built() {
    name=$1
    shift
    "$cxx" -std=c++17 -O3 -ffast-math -fopenmp -w -DPARTICLE_SIMULATOR_THREAD_PARALLEL -I"$folder/src" -I"$top/include" "$@" \
        "$top/test/clients/fdps_nbody.cc" -o "$work/$name" -L"$top/lib" -lsapporo -Wl,-rpath,"$top/lib" >"$work/log" 2>&1 ||
        { cat "$work/log" >&2; exit 1; }
}

# least PROGRAM N STEPS: the line of the fastest run
least() {
    try=0
    while [ $try -lt "${TRIES:-3}" ]; do
        "$work/$1" "$2" "$3" 2>"$work/said" | grep '^energy' || cat "$work/said" >&2
        try=$((try + 1))
    done | sort -k 5,5n | head -n 1
}

folder=$1
programs="loop kernel multiwalk index grape5 kernel_quadrupole index_quadrupole"
built loop -DFORM=0
built kernel -DFORM=1
built multiwalk -DFORM=2
built index -DFORM=3
built grape5 -DFORM=4
built kernel_quadrupole -DFORM=1 -DQUADRUPOLE
built index_quadrupole -DFORM=3 -DQUADRUPOLE

echo "| particles | threads | forces | error of energy | seconds |"
echo "| --- | --- | --- | --- | --- |"
for size in ${SIZES:-1024:256 8192:64 65536:8}; do
    for threads in ${THREADS:-1 2}; do
        for program in $programs; do
            OMP_NUM_THREADS=$threads least "$program" "${size%:*}" "${size#*:}" |
                while read -r _ _ error _ seconds; do
                    echo "| ${size%:*} | $threads | $program | $error | $seconds |"
                done
        done
    done
done
