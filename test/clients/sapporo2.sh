#!/bin/sh
# sapporo2.sh - the programs of Sapporo2 on its C++ class, with this library: rows of docs/data/clients.csv.
#
#   test/clients/sapporo2.sh FOLDER     FOLDER: a checkout of Sapporo2 (treecode/sapporo2)
#
# The script compiles the seven programs that use the class, unchanged, with sapporohostclass.h of this library.  Sapporo2
# itself needs a GPU and its kernels, so there is no time of its own.  Three programs compare with sums of their own; the
# row tells the largest relative errors that they print.  The other four have to end with status 0.
# Status 77: something that the script needs is missing, and the last line names it.
#
# CXX        compiler, default g++
# STARS      particles of the programs that compare, default 2000; the others have 4096
# PREFIX, TRIES, SAPPORO_BACKEND, OMP_NUM_THREADS    as in test/clients/common.sh

# shellcheck source=test/clients/common.sh
. "$(dirname "$0")/common.sh"
[ $# -eq 1 ] || usage
begin "$1" testCodes/src/test_gravity_block.cpp
cxx=${CXX:-g++}
need "$cxx"
library sapporo
copy testCodes/src
stars=${STARS:-2000}
for name in gravity_block gravity_block_6th gravity_block_g5 performance_blockStep performance_rangeN performance_rangeN_6th \
    performance_rangeN_g5; do
    step "$cxx" -O2 -w -fopenmp -I"$compat" -I"$include" "$work/source/testCodes/src/test_$name.cpp" -o "$work/$name" \
        -L"$lib" -Wl,-rpath,"$lib" -lsapporo
done

# errors NAME COLUMNS: the largest of each column that the program prints per particle
errors() {
    "$work/$1" "$stars" | awk -v columns="$2" 'NF == 3 && $1 == $1 + 0 && $2 == $2 + 0 {
            n++
            for (k = 1; k <= 2; k++) if ($k > most[k] || $k != $k + 0) most[k] = $k
        }
        END { if (n > 0) printf columns == 1 ? "%.1e\n" : "%.1e, %.1e\n", most[1], most[2] }'
}
gravity_block() { errors gravity_block 2; }
gravity_block_6th() { errors gravity_block_6th 2; }
gravity_block_g5() { errors gravity_block_g5 1; }
performance() {
    for name in blockStep rangeN rangeN_6th rangeN_g5; do "$work/performance_$name" 4096 >>"$log" || return; done
    echo "all end with status 0"
}

measure gravity_block gravity_block_6th gravity_block_g5 performance
row "Sapporo2, test_gravity_block, _6th and _g5: $stars particles; errors of acceleration and jerk" "-lsapporo" \
    "the reference is its sum in double" "$(least gravity_block); \`_6th\` $(least gravity_block_6th); \`_g5\` $(least gravity_block_g5)"
row "Sapporo2, test_performance_blockStep, _rangeN, _rangeN_6th and _rangeN_g5: 4,096 particles" "-lsapporo" "needs a GPU" \
    "$(least performance)"
