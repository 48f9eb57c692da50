#!/bin/sh
# phantom_grape.sh - the programs direct, also built with SYMMETRIC, newton_quad and banana of Phantom-GRAPE: rows of
# docs/data/clients.csv.
#
#   test/clients/phantom_grape.sh FOLDER     FOLDER: a checkout of Phantom-GRAPE (ccsoni/Phantom-GRAPE)
#
# The script compiles both programs with the code's own Makefiles, and links the same objects with the code's own libpg5
# or libpg6, and with libpg5 or libg6 of this library.  direct integrates 990 steps by GRAPE-5 calls, banana by GRAPE-6
# calls.  A row tells the error of the energy and the processor time.
# Status 77: something that the script needs is missing, and the last line names it.
#
# STARS      of direct, in thousands: 1, 2, 4, 8 or 16; default 1
# END        time at which banana ends, default 1
# ISA        instruction set of Phantom-GRAPE: avx, avx2 (default) or avx512
# PREFIX, TRIES, SAPPORO_BACKEND, OMP_NUM_THREADS    as in test/clients/common.sh

# shellcheck source=test/clients/common.sh
. "$(dirname "$0")/common.sh"
[ $# -eq 1 ] || usage
begin "$1" PG5/newton/direct/direct.c PG6/banana/banana01.c
need gcc g++ make
library pg5 g6 pg5_symmetric g5c
copy PG5/newton PG5/newton_quad PG6
isa=instruction_set=${ISA:-avx2}
direct=$work/source/PG5/newton/direct
banana=$work/source/PG6/banana

# The Makefiles link with the libraries that they name, so the second programs are linked here.
step make -C "$direct" "$isa" CC="gcc -w"
step gcc -o "$direct/ours" "$direct/direct.o" "$direct/cpu.o" -L"$lib" -Wl,-rpath,"$lib" -lpg5 -lm
symmetric=$work/symmetric/direct
step cp -R "$work/source/PG5/newton" "$work/symmetric"
quad=$work/source/PG5/newton_quad # its README says what it needs of its neighbour
step cp -R "$work/source/PG5/newton/libpg5" "$work/source/PG5/newton/setting.mk" "$work/source/PG5/newton/libpg5/gp5util.h" "$quad"
step sed -i 's/^enable_openmp=no/enable_openmp=yes/' "$quad/setting.mk"
step make -C "$quad/libpg5" clean
step make -C "$quad" CC="gcc -w" CXX="g++ -w"
step g++ -fopenmp -o "$quad/ours" "$quad/source.o" -L"$lib" -Wl,-rpath,"$lib" -lg5c -lpg5 -lm
step make -C "$symmetric" distclean
step make -C "$symmetric" "$isa" enable_symmetric=yes CC="gcc -w"
step gcc -o "$symmetric/ours" "$symmetric/direct.o" "$symmetric/cpu.o" -L"$lib" -Wl,-rpath,"$lib" -lpg5_symmetric -lm
step make -C "$banana" "$isa" CC="gcc -w"
step gcc -fopenmp -o "$banana/ours" "$banana"/*.o -L"$lib" -Wl,-rpath,"$lib" -lg6 -lm
printf '0 %s 100.0\n0.0\n0.2 0.01 8.0\ninit/pl001k.init\nend\n' "${END:-1}" >"$banana/input.list"

symmetric_by() { direct=$symmetric direct_by "$1"; }
symmetric_own() { symmetric_by direct; }
symmetric_ours() { symmetric_by ours; }
quad_by() {
    printf '16384\n0.01\n0.2\n0.2\n0.02\n0.6\n256\n32\n' | "$quad/$1" "$direct/init/pl16k" |
        awk '/^#[0-9.]+ [0-9.]+ [0-9.e+-]+$/ { de = $3 } END { if (de != "") print de }'
}
quad_own() { quad_by source; }
quad_ours() { quad_by ours; }
quad_fast() { SAPPORO_ROOT=fast quad_by ours; }
direct_by() { (cd "$direct" && "./$1" "init/pl${STARS:-1}k" end) | awk '/^e:/ { de = $4 } END { if (de != "") print de }'; }
banana_by() { (cd "$banana" && "./$1") | awk '/^tot:/ { de = $8 } END { if (de != "") print de }'; }
direct_own() { direct_by direct; }
direct_ours() { direct_by ours; }
direct_ds() { SAPPORO_PRECISION=ds direct_by ours; }
banana_own() { banana_by banana01; }
banana_ours() { banana_by ours; }

measure direct_own direct_ours direct_ds
row "Phantom-GRAPE, direct: pl${STARS:-1}k, eps 0.02, 990 steps of 0.01; error of the energy" "-lpg5" \
    "$(least direct_own)" "\`sp\` $(least direct_ours); \`ds\` $(least direct_ds)"
measure symmetric_own symmetric_ours
row "Phantom-GRAPE, direct with SYMMETRIC: pl${STARS:-1}k, eps 0.01 to 0.02, 990 steps of 0.01; error of the energy" "-lpg5_symmetric" \
    "$(least symmetric_own)" "$(least symmetric_ours)"
measure quad_own quad_ours quad_fast
row "Phantom-GRAPE, newton_quad: pl16k, eps 0.02, theta 0.6, 20 steps of 0.01; relative error of the energy" "-lg5c -lpg5" \
    "$(least quad_own)" "$(least quad_ours); \`SAPPORO_ROOT=fast\` $(least quad_fast)"
measure banana_own banana_ours
row "Phantom-GRAPE, banana: pl001k, no softening, eta 0.2, to time ${END:-1}; relative error of the energy" "-lg6" \
    "$(least banana_own)" "$(least banana_ours)"
