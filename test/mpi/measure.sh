#!/bin/sh
# Measures what docs/figures/scaling_measured.txt has: forces over ranks of Open MPI on one machine, and between network
# namespaces (namespaces.sh).  Needs root, and the libraries that make built.
#
#   test/mpi/measure.sh [ROUNDS] >lines
#   test/mpi/measure.sh trees [ROUNDS] >lines      docs/figures/scaling_trees.txt: trees over ranks of one machine
#   test/mpi/measure.sh sent >lines                docs/figures/scaling_sent.txt: what travels, of four models
#
# docs/figures/scaling_model.py takes the median of all rounds, of trees the shortest time.  So more rounds help on a
# busy machine.

cd "$(dirname "$0")/../.." || exit 2
work=$(mktemp -d "${TMPDIR:-/tmp}/measure.XXXXXX") || exit 2
trap 'rm -rf "$work"' EXIT
for program in speed tree_speed; do
    mpicc.openmpi -O2 -Iinclude test/mpi/$program.c -Llib -lsapporo_mpi -lsapporo -Wl,-rpath,"$PWD/lib" -o "$work/$program" \
        -lm || exit 2
done
# Ranks that wait sleep, as in test_mpi.sh: a busy machine lets a process that has slept run at once.
cc -std=c11 -O1 -shared -fPIC -o "$work/nap.so" test/mpi/nap.c || exit 2
export LD_PRELOAD="$work/nap.so" OMPI_MCA_mpi_yield_when_idle=1
# Without `put`: a rank asks for the parts of a long message behind what it sends itself, so with `put` both directions of
# a link take turns (docs/mpi.md).
export OMPI_MCA_btl_tcp_flags=send,inplace,need-csum,hetero-rdma
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMP_NUM_THREADS=1

# loopback PROGRAM RANKS ARGUMENT...
loopback() {
    program=$1 count=$2
    shift 2
    timeout 100 mpirun.openmpi -n "$count" --oversubscribe --bind-to none "$work/$program" "$@"
}

# wired MBIT MS RANKS: forces by both ways, and the costs
wired() {
    echo "# link $1 Mbit/s, $2 ms"
    set -- timeout 100 test/mpi/namespaces.sh "$3" "$1" "$2" "$work/speed" 16384
    "$@" 0 2 1024
    "$@" 1 3 1024
    "$@" 1 3 4096
    "$@" 2 3 4096
}

if [ "${1:-}" = trees ]; then
    for _ in $(seq "${2:-1}"); do
        for n in 65536 262144; do
            for ranks in 1 2 3 4 8; do loopback tree_speed "$ranks" "$n" 2; done
        done
    done
    exit
fi

# sent N RANKS...
sent() {
    n=$1
    shift
    for seed in 1 101 201 301; do
        for ranks in "$@"; do loopback tree_speed "$ranks" "$n" 1 0.0078125 0 "$seed"; done
    done
}

if [ "${1:-}" = sent ]; then
    for n in 65536 131072 524288; do sent $n 2 3 4 8; done
    for n in 262144 1048576; do sent $n 2 3 4 6 8 16; done
    exit
fi

for round in $(seq "${1:-1}"); do
    echo "# round $round"
    for ranks in 2 4; do
        wired 20 0 "$ranks"
        wired 20 5 "$ranks"
        wired 5 0 "$ranks"
    done
    echo "# link loopback"
    for n in 16384 65536; do
        loopback speed 1 "$n" 2 2
        for ranks in 2 3 4; do
            loopback speed "$ranks" "$n" 0 2
            loopback speed "$ranks" "$n" 1 2
            loopback speed "$ranks" "$n" 2 2
            [ "$n" -gt 16384 ] || loopback speed "$ranks" "$n" 1 6 1024
        done
    done
done
