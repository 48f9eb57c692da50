#!/bin/sh
# nbody6pp.sh - NBODY6++GPU with this library: rows of docs/data/clients.csv.
#
#   test/clients/nbody6pp.sh FOLDER     FOLDER: a checkout of NBODY6++GPU (nbodyx/Nbody6ppGPU)
#
# The script builds the code without CUDA and MPI for its SIMD library, as docs/nbody6.md says, and links the same objects
# with libnbody6pp_gpu.  Both run the sample N16k.input with other numbers of stars and end times.  A row tells DE of the
# first interval and DETOT at the end, as the code prints them, and the processor time.
# Status 77: something that the script needs is missing, and the last line names it.
#
# SIZES      numbers of stars, each with its end time, default "1000:5 16000:0.25"; fewer than 16,000 stars are without
#            stellar evolution and with 30 neighbours
# NVCC       the compiler of CUDA: the code's own library is then that for GPUs, with its irregular force of the SIMD library
# CUDA_ARCH  of NVCC, default sm_90
# MARCH      the processor that the code's own library is compiled for, such as x86-64-v4; default: this one
# PREFIX, TRIES, SAPPORO_BACKEND, OMP_NUM_THREADS, CLOCK, ON, PROGRAMS    as in test/clients/common.sh

# shellcheck source=test/clients/common.sh
. "$(dirname "$0")/common.sh"
[ $# -eq 1 ] || usage
begin "$1" configure samples/N16k.input build/Makefile.in
library sapporo nbody6pp_gpu
grep -q avx /proc/cpuinfo || skip "AVX, which the code's own library needs,"

# link NAME OBJECTS FLAG...: links the objects of the code with other ones instead of its SIMD library, as $work/NAME
link() {
    name=$1
    objects=$2
    shift 2
    step make -C "$work/source/build" RESULT="$name" EXTRAOBJ="$objects" LDFLAGS="-o $name $*" "$name"
    step mv "$work/source/build/$name" "$work/$name"
}

# build: makes $work/simd and $work/ours, and with NVCC $work/cuda
build() {
    need make gcc g++ gfortran
    copy configure Makefile.in build doc extra_inc include samples src
    (cd "$work/source" && ./configure --disable-gpu --disable-mpi --enable-simd=avx FCFLAGS="-O3 -w -fallow-argument-mismatch") \
        >>"$log" 2>&1 || fail "configure"
    [ -z "${MARCH:-}" ] || step sed -i "s/-march=native/-march=$MARCH/" "$work/source/build/Makefile"
    program=$(sed -n 's/^RESULT = //p' "$work/source/build/Makefile")
    step make -C "$work/source/build" "$program"
    step cp "$work/source/build/$program" "$work/simd"
    link ours "$lib/libnbody6pp_gpu.so $lib/libsapporo.so" -Wl,-rpath,"$lib"
    [ "$own" = cuda ] || return 0
    need "$NVCC"
    for name in gpunb.velocity gpupot.gpu; do
        step "$NVCC" -arch="${CUDA_ARCH:-sm_90}" -O3 -w -I"$work/source/extra_inc/cuda" -I"$work/source/include" \
            -c "$work/source/src/Main/$name.cu" -o "$work/source/build/$name.o"
    done
    link cuda "gpunb.velocity.o gpupot.gpu.o irr.avx.o $(cudart)" -ldl -lpthread -lrt
}
own=${NVCC:+cuda}
own=${own:-simd}
programs="simd ours${NVCC:+ cuda}"
# shellcheck disable=SC2086 # words
built $programs || { build; keep $programs; }
# shellcheck disable=SC3045 # where the shell has no option -s, the limit stays
ulimit -s unlimited 2>/dev/null
mkdir "$work/run" && cd "$work/run" || exit 2

by() {
    rm -f ./*
    awk -v stars="$stars" -v end="$end" '
        NR == 2 { $1 = stars }
        NR == 2 && stars < 16000 { $5 = 30 }
        NR == 3 { $6 = end; if (end < 1) $4 = $5 = end }
        NR == 5 && stars < 16000 { $2 = $9 = 0 }
        { print }' "$folder/samples/N16k.input" >input
    "$work/$1" <input >out || return
    cat out >>"$log"
    awk '$1 == "ADJUST:" && $3 > 0 {
            for (k = 4; k < NF; k++) {
                if ($k == "DE" && !first) first = $(k + 1)
                if ($k == "DETOT") total = $(k + 1)
            }
        }
        END { if (total != "") print first "; " total }' out
}
own() { by "$own"; }
ours() { by ours; }
threads=
[ "$OMP_NUM_THREADS" = 1 ] || threads=", threads: $OMP_NUM_THREADS"
for size in ${SIZES:-1000:5 16000:0.25}; do
    stars=${size%:*}
    end=${size#*:}
    measure own ours
    row "NBODY6++GPU: $stars stars, to time $end$threads; DE of the first interval and DETOT" "-lnbody6pp_gpu -lsapporo" \
        "$(least own)" "$(least ours)"
done
