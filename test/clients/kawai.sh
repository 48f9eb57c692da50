#!/bin/sh
# kawai.sh - the tree codes vtc and nbody in NEMO with this library: rows of docs/data/clients.csv.
#
#   test/clients/kawai.sh FOLDER     FOLDER: a checkout of NEMO (teuben/nemo)
#
# The script makes vtc by its Makefile.linux, once without GRAPE, which sums on the host, and once for GRAPE-5 with libpg5.
# It compiles nbody as its Makefile does, also both without GRAPE and for GRAPE-5.  All run a Plummer model that the script
# makes.  A row tells the relative error of the energy and the processor time.
# Status 77: something that the script needs is missing, and the last line names it.
#
# SIZES      numbers of stars, each with its steps of 0.01 and the size of groups, default "1024:100:64 16384:10:256"
# PREFIX, TRIES, SAPPORO_BACKEND, OMP_NUM_THREADS    as in test/clients/common.sh

# shellcheck source=test/clients/common.sh
. "$(dirname "$0")/common.sh"
[ $# -eq 1 ] || usage
begin "$1" usr/kawai/vtc/Makefile.linux usr/kawai/nbody/Makefile
need make gcc g++
library pg5
copy usr/kawai
vtc=$work/source/usr/kawai/vtc
nbody=$work/source/usr/kawai/nbody

# build_vtc NAME VARIABLE...: makes vtc as $work/NAME
build_vtc() {
    name=$1
    shift
    rm -f "$vtc"/*.o "$vtc"/*.a
    step make -C "$vtc" -f Makefile.linux CC="gcc -w" LIBS=-lm ALIBPATH=. "$@" vtc
    step mv "$vtc/vtc" "$work/$name"
}
build_vtc vtc_host GLIBPATH=.
build_vtc vtc_grape LIBOBJS="tree.o direct.o sort.o cputime.o viewtree.o p2m2.o mr1interface.o force_g5.o" \
    GFLAGS="-DGRAPE5=1 -I$compat -I$include" GLIBPATH="$lib" GLIBS="-lpg5 -Wl,-rpath,$lib"

# build_nbody NAME SUFFIX: compiles nbody as $work/NAME.  The Makefile's own last line does not link with GNU make 4.
build_nbody() {
    rm -f "$nbody"/*.o
    step make -C "$nbody" CXX="g++ -std=gnu++98 -fpermissive -w" CC="gcc -w" G5INCLUDE="-I$compat -I$include" \
        pgetopt.o "gravity$2.o" "BHtree$2.o" second.o "p2m2$2.o"
    # shellcheck disable=SC2086 # words
    step g++ -std=gnu++98 -fpermissive -w -O3 -DEVOLVE -DNOGRAPHICS -DTREE -DP2M2 $3 -I"$compat" -I"$include" -o "$work/$1" \
        "$nbody/nbody.C" "$nbody"/*.o -L"$lib" -Wl,-rpath,"$lib" -lpg5 -lm
}
build_nbody nbody_host "" ""
build_nbody nbody_grape _g5 -DGRAPE5

# by PROGRAM [OPTION]: the relative error of the energy that both codes print behind the word "Eerr="
by() {
    # shellcheck disable=SC2086 # no option is no word
    "$work/$1" ${2:-} -i "$work/stars" -e 0.02 -d 0.01 -T "$end" -t 0.5 -n "$group" -l "$steps" 2>&1 |
        awk '$1 == "T=" { for (k = 2; k < NF; k++) if ($k == "Eerr=") error = $(k + 1) } END { if (error != "") printf "%.2e\n", error }'
}
vtc_own() { by vtc_host; }
vtc_ours() { by vtc_grape -G; }
nbody_own() { by nbody_host; }
nbody_ours() { by nbody_grape; }
for size in ${SIZES:-1024:100:64 16384:10:256}; do
    n=${size%%:*}
    group=${size##*:}
    steps=${size#*:}
    steps=${steps%:*}
    end=$(awk -v steps="$steps" 'BEGIN { print 0.01 * steps }')
    plummer "$n" | awk -v n="$n" '{ m[NR] = $1; x[NR] = $2 " " $3 " " $4; v[NR] = $5 " " $6 " " $7 }
        END {
            print n
            print 3
            print 0
            for (k = 1; k <= n; k++) print m[k]
            for (k = 1; k <= n; k++) print x[k]
            for (k = 1; k <= n; k++) print v[k]
        }' >"$work/stars"
    what="Plummer model of $n stars, eps 0.02, theta 0.5, groups of $group, $steps steps of 0.01; relative error of the energy"
    measure vtc_own vtc_ours
    row "vtc of A. Kawai: $what" "-lpg5" "$(least vtc_own)" "$(least vtc_ours)"
    measure nbody_own nbody_ours
    row "nbody in NEMO: $what" "-lpg5" "$(least nbody_own)" "$(least nbody_ours)"
done
