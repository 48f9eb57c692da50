#!/bin/sh
# nbody6.sh - Aarseth's NBODY6 or NBODY7 with this library: rows of docs/data/clients.csv.
#
#   test/clients/nbody6.sh FOLDER     FOLDER: a checkout of NBODY6 or NBODY7 with GPU2/ (docs/nbody6.md names forks)
#
# The script builds the code unchanged for its SSE library, with the Makefile of GPU2/, and links the same objects with
# libnbody6_gpu.  Both run the code's own input of as many stars.  A row tells DE of each interval, as the code prints
# it, the neighbour radii that libnbody6_gpu recognised (h2 or m_j h2), and the processor time.
# Status 77: something that the script needs is missing, and the last line names it.
#
# SIZES      numbers of stars, each with its end time, default "1024:2 8192:1"; run/1k/input and so on must exist
# OWN        the code's own library: sse (default) or avx
# LIBRARY    nbody6_gpu (default) or nbody7_gpu
# CHAIN      chainmode of the Makefile: chain or archain; default: that of the Makefile
# PREFIX, TRIES, SAPPORO_BACKEND, OMP_NUM_THREADS, CLOCK, ON, PROGRAMS    as in test/clients/common.sh

# shellcheck source=test/clients/common.sh
. "$(dirname "$0")/common.sh"
[ $# -eq 1 ] || usage
begin "$1" GPU2/Makefile GPU2/fpoly0.f GPU2/run/1k/input
LIBRARY=${LIBRARY:-nbody6_gpu}
OWN=${OWN:-sse}
library sapporo "$LIBRARY"
grep -q avx /proc/cpuinfo || skip "AVX, which the code's own irregular force needs,"

# link NAME FLAG...: links the objects of the code without those of its own library, as $work/NAME
link() {
    name=$1
    shift
    objects=$(cd "$work/source/GPU2/Build" && echo ./*.o | tr ' ' '\n' | grep -vE '/(gpunb|gpupot|gpuirr)')
    # shellcheck disable=SC2086 # a list of files
    (cd "$work/source/GPU2/Build" && gfortran $objects "$@" -fopenmp -lstdc++ -o "$work/$name") >>"$log" 2>&1 || fail "linking $name"
}

# build: makes $work/own and $work/ours.  The Makefile's own link line may name libraries that are not here, so its end is
# no failure.  The options of gfortran let compilers of today accept the code.
build() {
    need make gcc g++ gfortran
    copy GPU2 Ncode Block Chain Nchain ARchain ARint
    mkdir -p "$work/bin" "$work/source/GPU2/Build" "$work/source/GPU2/run"
    printf '#!/bin/sh\nexec %s -w -std=legacy -fallow-argument-mismatch "$@"\n' "$(command -v gfortran)" >"$work/bin/gfortran"
    chmod +x "$work/bin/gfortran"
    [ -e "$work/source/Ncode/newton.f" ] || step cp "$work/source/Block/newton.f" "$work/source/Ncode/"
    for file in Ncode Block; do # room for 32,768 stars, as the code's own comments propose
        grep -q '^ *PARAMETER *(NMAX=[0-9]\{5\}' "$work/source/$file/params.h" ||
            step sed -i '/^ *PARAMETER/s/NMAX=[0-9]*,KMAX=[0-9]*,LMAX=[0-9]*/NMAX=34010,KMAX=2010,LMAX=500/' "$work/source/$file/params.h"
    done
    PATH=$work/bin:$PATH make -C "$work/source/GPU2" "$OWN" avx=enable ${CHAIN:+chainmode="$CHAIN"} >>"$log" 2>&1
    link own gpunb.o gpupot.o gpuirr.o
    # shellcheck disable=SC2086 # a list of words
    link ours $run_path "-l$LIBRARY" -lsapporo
}
built own ours || { build; keep own ours; }
# shellcheck disable=SC3045 # where the shell has no option -s, the limit stays
ulimit -s unlimited 2>/dev/null
mkdir "$work/run" && cd "$work/run" || exit 2

# The code's own input with another end time.  NBODY7 reads one more number of the initial mass function than its inputs
# have, and a file with the numbers of binary evolution, which these runs do not use.
prepare() {
    rm -f ./*
    awk -v end="$end" '
        NR == 3 { $4 = $5 = end < 1 ? end : 1; $6 = end + $4 / 2 } # the code ends before a whole interval would pass $6
        NR == 10 && NF == 8 { $0 = $0 " 10.0" }
        { print }' "$folder/GPU2/run/$((stars / 1024))k/input" >input
    printf '%s\n' '0.5 0 1 0 3 0.5' '0 1 0 1 1 3 3' '0 1 1 1' '265 0.125 1 1.5 0.001 1 1 1 -1' >input_bse
}

by() {
    prepare
    SAPPORO_VERBOSE=2 "$work/$1" <input >out 2>told || return
    cat out told >>"$log"
    radii=$(sed -n 's/.*neighbour radii are \(.*\): .*/; \1/p' told | head -n 1)
    awk -v radii="$radii" '$1 == "ADJUST:" && $3 == "=" && $4 > 0 {
            for (k = 4; k < NF; k++) if ($k == "DE" && $(k + 1) == "=") text = text (text == "" ? "" : "; ") $(k + 2)
        }
        END { if (text != "") print text radii }' out
}
own() { by own; }
ours() { by ours; }
for size in ${SIZES:-1024:2 8192:1}; do
    stars=${size%:*}
    end=${size#*:}
    measure own ours
    row "$(basename "$folder"): $stars stars, to time $end; DE of each interval, radii" "-l$LIBRARY -lsapporo" "$OWN $(least own)" "$(least ours)"
done
