#!/bin/sh
# record.sh - records the data of the figures: docs/figures/data/*, each file with its command, machine, date and commit.
#
#   test/perf/record.sh                    all of it, on what this machine has: a few minutes
#   test/perf/record.sh errors energy      some of it, in this order
#
#   errors    distribution of errors of forces: errors.csv
#   energy    energy errors of the sample integrators over time and over eta: energy.csv
#   rates     interactions per second against N: rates-core.jsonl of one core of the CPU, rates-NAME.jsonl of a GPU
#   steps     time of a block step against Ni, at several Nj: steps-NAME.jsonl
#   scaling   threads; on a machine with several GPUs 1, 2, 4, ... of them: scaling-NAME.jsonl
#   trees     tree errors and costs: docs/figures/tree.jsonl, tree_h200.jsonl
#   kinds     octrees beside kd-trees: docs/figures/tree_kinds_*.jsonl
#   gothic    the figures of Miki & Umemura 2017: docs/figures/tree_gothic_*.jsonl
#
# NAME is "cpu", or "h200" and the like after the GPU.  errors and energy are accuracies, which do not depend on what
# else the machine does; the others are times: record them on a machine that is otherwise idle.  `make figures` draws.
#
# BACKENDS   engines that are timed, default "cpu", and "cuda" where nvidia-smi finds a GPU
# THREADS    of scaling, default 1, 2, 4, ... up to the cores
# CLOCK      processor: processor times of one thread on the CPU, for machines on which other programs run; the files
#            say so (test/perf/processor_clock.c)

cd "$(dirname "$0")/../.." || exit 2
tool=examples/sapporo
data=docs/figures/data
[ -x $tool ] || { echo "record.sh: $tool is not built: make" >&2; exit 2; }
mkdir -p $data build
work=$(mktemp -d "${TMPDIR:-/tmp}/record.XXXXXX") || exit 2
trap 'rm -rf "$work"' EXIT

gpu=$(nvidia-smi --query-gpu=name --format=csv,noheader 2>/dev/null | head -n 1)
gpus=$(nvidia-smi --query-gpu=name --format=csv,noheader 2>/dev/null | grep -c .)
backends=${BACKENDS:-cpu${gpu:+ cuda}}
cores=$(env -u OMP_NUM_THREADS -u OMP_THREAD_LIMIT nproc 2>/dev/null || getconf _NPROCESSORS_ONLN)
processor=$(sed -n 's/^model name[^:]*: //p' /proc/cpuinfo 2>/dev/null | head -n 1)
library="lib cpu_sse kernels_cuda kernels_ocl include examples/apps" # what decides results
# shellcheck disable=SC2086 # a list of folders
{
    commit=$(git log -1 --format=%h -- $library 2>/dev/null)
    git diff --quiet HEAD -- $library 2>/dev/null || commit="$commit, changed"
}
commit=${commit:-unknown}

# named BACKEND: what files of it are called, such as cpu or h200
named() {
    if [ "$1" = cpu ]; then echo cpu; else echo "$gpu" | sed 's/^NVIDIA //; s/ .*//' | tr '[:upper:]' '[:lower:]'; fi
}

host="$processor, $cores cores"
if [ "${CLOCK:-}" = processor ]; then
    ${CC:-cc} -O2 -shared -fPIC test/perf/processor_clock.c -o "$work/processor_clock.so" || exit 2
    export LD_PRELOAD="$work/processor_clock.so" OMP_NUM_THREADS=1
    backends=cpu
    host="$processor, one of $cores cores; times are processor times, since other programs ran"
fi

machine() { if [ "$1" = cpu ]; then echo "$host"; else echo "$gpu ($gpus), host $host"; fi; }

# head_of FILE BACKEND WHAT COMMAND: begins a data file
head_of() {
    {
        echo "# what: $3"
        echo "# machine: $(machine "$2")"
        echo "# date: $(date -u +%Y-%m-%d)"
        echo "# commit: $commit"
        echo "# command: $4"
    } >"$1"
}

bench() { "$tool" bench --json "$@"; }

record_errors() {
    file=$data/errors.csv
    ${CC:-cc} -O2 -Iinclude test/perf/force_errors.c -Llib -lsapporo "-Wl,-rpath,$PWD/lib" -lm -o "$work/force_errors" &&
        examples/hermite4 --model plummer -n 4096 --end 1/1024 --interval 1/1024 -q -o "$work/model" &&
        head_of "$work/errors" cpu "errors of forces, Plummer's model, 4,096 stars, eps = 1/256" \
            "test/perf/record.sh errors" &&
        SAPPORO_BACKEND=cpu "$work/force_errors" "$work/model.0000.txt" 0.00390625 >>"$work/errors" &&
        mv "$work/errors" $file
}

# run PROGRAM PRECISION OPTION VALUE: rows of a run of 1,024 stars over one time unit
run() {
    SAPPORO_BACKEND=cpu SAPPORO_PRECISION=$2 "examples/$1" --model plummer -n 1024 --eps 1/256 --end 1 --interval 1/8 \
        "$3" "$4" -o "$work/$1-$2" --overwrite >"$work/run" 2>"$work/errors" || { cat "$work/errors" >&2; return 1; }
    awk -v head="$1,$2,${3#--},$4" '!/^#/ && NF > 5 { print head "," $1 "," $3 "," $6 }' "$work/run"
}

record_energy() {
    head_of "$work/energy" cpu "relative energy errors, Plummer's model, 1,024 stars, eps = 1/256" \
        "test/perf/record.sh energy"
    echo "program,precision,option,value,time,error,blocks" >>"$work/energy"
    {
        for eta in 0.16 0.08 0.04 0.02 0.01 0.005; do
            run hermite4 ds --eta $eta && run hermite4 dp --eta $eta || return
        done
        run hermite4 dp --eta 0.0025 || return
        # In ds shorter steps would collapse (docs/hermite68.md).
        for program in hermite6 hermite8; do
            for eta in 1.6 0.8 0.6 0.4 0.2; do run $program ds --eta $eta && run $program dp --eta $eta || return; done
            run $program dp --eta 0.1 || return
        done
        for step in 1/64 1/128 1/256 1/512 1/1024; do run leapfrog_tree sp --dt-max $step || return; done
    } >>"$work/energy" && mv "$work/energy" $data/energy.csv
}

# bare_loops: rows of loops around nothing but the pair terms, on one core with AVX-512; none on others
bare_loops() {
    grep -qw avx512f /proc/cpuinfo 2>/dev/null || return 0
    ${CC:-cc} -O3 -march=native -fno-math-errno -fno-tree-slp-vectorize test/perf/bare.c -o "$work/bare" && "$work/bare"
}

# On a CPU one core, with bare loops as roofs; the files are then named after it.
record_rates() {
    for backend in $backends; do
        numbers=1024,2048,4096,8192,16384,32768,65536
        [ "$backend" = cpu ] || numbers=$numbers,131072,262144
        options="--n $numbers --precision sp,ds,dp"
        file=$data/rates-$(named "$backend").jsonl
        [ "$backend" != cpu ] || { file=$data/rates-core.jsonl && options="$options --threads 1"; }
        head_of "$work/rates" "$backend" "interactions per second, all pairs, GRAPE-6 interface" \
            "sapporo bench --backend $backend $options"
        [ "$backend" != cpu ] || bare_loops >>"$work/rates" || return
        # shellcheck disable=SC2086 # a list of words
        bench --backend "$backend" $options >>"$work/rates" && mv "$work/rates" "$file" || return
    done
}

record_steps() {
    for backend in $backends; do
        file=$data/steps-$(named "$backend").jsonl
        head_of "$work/steps" "$backend" "time of a block step: force, and storing the particles of the block" \
            "sapporo bench --backend $backend --case step --ni 1,...,4096 --nj 1024,8192,65536"
        bench --backend "$backend" --case step --ni 1,4,16,64,256,1024,4096 --nj 1024,8192,65536 >>"$work/steps" &&
            mv "$work/steps" "$file" || return
    done
}

record_scaling() {
    threads=${THREADS:-}
    count=1
    while [ -z "${THREADS:-}" ] && [ $count -le "$cores" ]; do
        threads=$threads${threads:+,}$count
        count=$((2 * count))
    done
    head_of "$work/scaling" cpu "time of a force by threads, all pairs" \
        "sapporo bench --backend cpu --n 1024,4096,16384 --threads $threads"
    bench --backend cpu --n 1024,4096,16384 --threads "$threads" >>"$work/scaling" &&
        mv "$work/scaling" $data/scaling-cpu.jsonl || return
    case " $backends " in *" cuda "*) ;; *) return ;; esac
    [ "$gpus" -gt 1 ] || { echo "record.sh: no scaling over GPUs: there is one"; return 0; }
    head_of "$work/scaling" cuda "time of a force by GPUs, all pairs" "sapporo bench --backend cuda --devices 0,..."
    count=1
    while [ $count -le "$gpus" ]; do
        bench --backend cuda --n 65536,262144,1048576 --devices "$(seq -s , 0 $((count - 1)))" >>"$work/scaling" || return
        count=$((2 * count))
    done
    mv "$work/scaling" "$data/scaling-$(named cuda).jsonl"
}

record_trees() {
    for backend in $backends; do
        file=docs/figures/tree.jsonl
        [ "$backend" = cpu ] || file=docs/figures/tree_$(named "$backend").jsonl
        head_of "$work/trees" "$backend" "trees: errors, interactions, times of phases" "docs/figures/tree.sh $backend"
        docs/figures/tree.sh "$backend" >>"$work/trees" && mv "$work/trees" "$file" || return
    done
}

# Times of one core of the CPU; on a machine with a GPU the tables of the GPU, too.
record_kinds() {
    for what in ${KINDS:-distribution budget interactions energy tables}; do
        head_of "$work/kinds" cpu "octrees and kd-trees: $what" "${N:+N=$N }${SIZES:+SIZES=$SIZES }docs/figures/kinds.sh $what"
        docs/figures/kinds.sh "$what" >>"$work/kinds" &&
            mv "$work/kinds" "docs/figures/tree_kinds_$what.jsonl" || return
    done
    case " $backends " in *" cuda "*) ;; *) return ;; esac
    head_of "$work/kinds" cuda "octrees and kd-trees: tables" "BACKEND=cuda docs/figures/kinds.sh tables"
    BACKEND=cuda docs/figures/kinds.sh tables >>"$work/kinds" &&
        mv "$work/kinds" "docs/figures/tree_kinds_tables_$(named cuda).jsonl"
}

record_gothic() {
    for backend in $backends; do
        for what in ${GOTHIC:-fig3 fig4 fig6 fig7 fig8 fig9}; do
            head_of "$work/gothic" "$backend" "figures of Miki & Umemura 2017: $what" \
                "${N:+N=$N }${STEPS:+STEPS=$STEPS }BACKEND=$backend docs/figures/gothic.sh rows $what"
            file=docs/figures/tree_gothic_$what.jsonl
            [ "$backend" = cpu ] || file=docs/figures/tree_gothic_${what}_$(named "$backend").jsonl
            BACKEND=$backend docs/figures/gothic.sh rows "$what" >>"$work/gothic" && mv "$work/gothic" "$file" || return
        done
    done
}

failed=
[ $# -gt 0 ] || set -- errors energy rates steps scaling trees kinds gothic
for what in "$@"; do
    case $what in
    errors | energy | rates | steps | scaling | trees | kinds | gothic) ;;
    *) echo "record.sh: there is nothing named $what" >&2; exit 2 ;;
    esac
    echo "record.sh: $what"
    "record_$what" || failed="$failed $what"
done
[ -z "$failed" ] || { echo "record.sh: failed:$failed" >&2; exit 1; }
