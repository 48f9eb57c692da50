#!/bin/sh
# kira.sh - kira of Starlab with this library: rows of docs/data/clients.csv.
#
#   test/clients/kira.sh FOLDER     FOLDER: a checkout of Starlab (teuben/Starlab)
#
# The script builds Starlab with GRAPE support and libg6, named in its local/grape.sh.  The same program integrates a
# Plummer model with its own sum (option -0) and with this library.  A row tells the error of the energy and the processor
# time.  The build takes some minutes.
# Status 77: something that the script needs is missing, and the last line names it.
#
# STARS      default 1024
# ENDS       end times, default "1 2"
# PREFIX, TRIES, SAPPORO_BACKEND, OMP_NUM_THREADS    as in test/clients/common.sh

# shellcheck source=test/clients/common.sh
. "$(dirname "$0")/common.sh"
[ $# -eq 1 ] || usage
begin "$1" configure.ac src/node/dyn/hdyn/evolve/kira.C
need make gcc g++ gfortran autoreconf libtoolize flex bison
library g6
copy .
starlab=$work/source
dyn=$starlab/src/node/dyn
printf "GRAPE_LDFLAGS_='-L%s -Wl,-rpath,%s'\nGRAPE_LIBS_='-lg6'\n" "$lib" "$lib" >"$starlab/local/grape.sh"
(cd "$starlab" && autoreconf -fi && ./configure --with-grape CXXFLAGS="-O2 -std=gnu++98 -fpermissive -w" CFLAGS="-O2 -w") >>"$log" 2>&1 ||
    fail "configure"

# Some folders need libraries of folders that are made later, so make runs twice.
make -C "$starlab" -k >>"$log" 2>&1
make -C "$starlab" -k >>"$log" 2>&1
kira=$dyn/hdyn/evolve/kira
[ -x "$kira" ] || fail "make"
"$dyn/init/makeplummer" -n "${STARS:-1024}" -s 42 2>>"$log" | "$dyn/util/scale" -s >"$work/stars" 2>>"$log"

by() {
    "$kira" "$@" -t "$end" -d "$end" <"$work/stars" 2>&1 >"$work/out" | awk '/^Energies:/ { last = $4; if (!first) first = last }
        END { if (first) printf "%+.1e\n", last - first }'
}
own() { by -0; }
ours() { by; }
for end in ${ENDS:-1 2}; do
    measure own ours
    row "kira: Plummer model of ${STARS:-1024} stars, no softening, to time $end; error of the energy" "-lg6" "$(least own)" "$(least ours)"
done
