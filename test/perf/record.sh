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
#   tree-errors  errors of trees on all particles, by model, number of particles and criterion: tree-errors-NAME.csv;
#             what momentum they lose: tree-drift.csv.  Then `python3 docs/figures/tree_errors.py --write` renews the tables
#   kinds     octrees beside kd-trees: docs/figures/tree_kinds_*.jsonl
#   gothic    the figures of Miki & Umemura 2017: docs/figures/tree_gothic_*.jsonl
#
# NAME is "cpu", or "h200" and the like after the GPU.  errors, energy and tree-errors are accuracies, which do not
# depend on what else the machine does; the others are times: record them on a machine that is otherwise idle.
# `make figures` draws.  Single measurements are rows of docs/data/MACHINE.csv, one per case; when one is new,
# docs/figures/measurements.py --write renews the pages.  test/perf/python_peers.py prints such rows.
#
# BACKENDS   engines that are timed, default "cpu", and "cuda" where nvidia-smi finds a GPU
# THREADS    of scaling, default 1, 2, 4, ... up to the cores
# COMMIT     of the library, for copies of the files without their history
# NUMBERS    of tree-errors: of particles, "2000 20000", and "2000 20000 200000 1000000" where nvidia-smi finds a GPU
# SEEDS      of tree-errors: models of each kind and number of particles, default 20; ten times as many of fewer than
#            10,000 particles
# KEEP       yes: of tree-errors: other numbers of particles stay, if the same commit measured them on the same machine.
#            So a machine that is lent for minutes records them one after the other
# JOBS       of tree-errors: kinds of models that are measured at the same time, default 1; 8 on a GPU
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
commit=${COMMIT:-${commit:-unknown}}

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
        # In ds shorter steps would collapse (docs/hermite.md).
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

# Models and criteria of the tables of docs/tree-errors.md.  Masses are over a factor of 200 (cold-disc, mass-ratios: see
# docs/programs.md), forces have no softening.
tree_models="uniform plummer hernquist nfw clumps cold-disc two-clusters mass-ratios"
tree_criteria=opening:0.7:1,opening:0.7:2,opening:0.3:2,multipole:0.1:1,multipole:0.1:2,multipole:0.001:2
tree_criteria=$tree_criteria,acceleration:0.01:1,acceleration:0.01:2,acceleration:0.001:2,acceleration:0.0001:2

# errors_of MODEL ENGINE: a line per seed, number of particles, kind of tree and criterion
errors_of() {
    for n in $numbers; do
        echo "record.sh: $1, N = $n" >&2
        last=${SEEDS:-20} first=1
        [ "$n" -ge 10000 ] || last=$((10 * last))
        while [ $first -le "$last" ]; do
            to=$((first + 19 < last ? first + 19 : last))
            bench --api tree --backend "$2" --precision sp --model "$1" --n "$n" --seed "$(seq -s , $first $to)" --imf salpeter \
                --eps 0 --tree octree,kdtree --criteria "$tree_criteria" --compared 0 --once || return
            first=$((to + 1))
        done
    done
}

# largest_errors: of such lines, a row of CSV for each case with the largest of all seeds
largest_errors() {
    awk '
    function member(name) {
        if (!match($0, "\"" name "\": [^,}]*")) return "null"
        value = substr($0, RSTART, RLENGTH)
        sub(/^[^:]*: /, "", value)
        gsub(/"/, "", value)
        return value
    }
    BEGIN {
        n = split("error50 error99 error999 error100 error_rms net_force", what, " ")
        print "model,n,tree,mac,accuracy,multipoles,seeds,error50,error99,error999,error100,error_rms,net_force"
    }
    {
        key = member("model") "," member("n") "," member("tree") "," member("mac") "," member("accuracy") "," member("multipoles")
        if (!seeds[key]++) order[++keys] = key
        for (k = 1; k <= n; k++) {
            value = member(what[k])
            if (value == "null") bad = 1
            if (value + 0 > most[key, k]) most[key, k] = value + 0
        }
    }
    END {
        for (j = 1; j <= keys; j++) {
            row = order[j] "," seeds[order[j]]
            for (k = 1; k <= n; k++) row = row "," sprintf("%.3g", most[order[j], k])
            print row
        }
        exit bad
    }'
}

# is_of_now FILE ENGINE: whether this commit recorded it on this machine
is_of_now() { [ -f "$1" ] && grep -qxF "# commit: $commit" "$1" && grep -qxF "# machine: $(machine "$2")" "$1"; }

# other_rows FILE: rows of CSV of the numbers of particles that are not measured now
other_rows() {
    awk -F , -v numbers=" $numbers " '!/^#/ && $1 != "model" && !index(numbers, " " $2 " ")' "$1"
}

record_tree_errors() {
    engine=${backends##* }
    numbers=${NUMBERS:-2000 20000} jobs=${JOBS:-1}
    [ "$engine" = cpu ] || { numbers=${NUMBERS:-2000 20000 200000 1000000} && jobs=${JOBS:-8}; }
    file=$data/tree-errors-$(named "$engine").csv
    if [ "${KEEP:-}" = yes ] && ! is_of_now "$file" "$engine"; then
        echo "record.sh: $file is of another commit or machine, so KEEP=yes cannot keep its rows" >&2
        return 1
    fi
    started=0
    for model in $tree_models; do
        { errors_of "$model" "$engine" >"$work/lines-$model" || : >"$work/no-lines"; } &
        started=$((started + 1))
        [ $((started % jobs)) -ne 0 ] || wait
    done
    wait
    [ ! -e "$work/no-lines" ] || return
    command="${SEEDS:+SEEDS=$SEEDS }test/perf/record.sh tree-errors"
    [ "${KEEP:-}" = yes ] || command="${NUMBERS:+NUMBERS=\"$NUMBERS\" }$command" # else of several runs
    head_of "$work/tree-errors" "$engine" "largest errors of tree accelerations of all seeds, and of the net force" "$command"
    for model in $tree_models; do cat "$work/lines-$model"; done | largest_errors >>"$work/tree-errors" || return
    if [ "${KEEP:-}" = yes ]; then
        other_rows "$file" >>"$work/tree-errors"
        ! is_of_now $data/tree-drift.csv "$engine" || { mv "$work/tree-errors" "$file" && return; }
    fi
    mv "$work/tree-errors" "$file" && record_tree_drift "$engine"
}

# drift MODEL PROGRAM OPTION...: how far the centre of mass moved in ten units of time, and how fast it moves then
drift() {
    model=$1 program=$2
    shift 2
    SAPPORO_BACKEND=$engine "examples/$program" --model "$model" -n 4000 --imf salpeter --eps 1/32 --dt-max 1/64 -t 10 \
        -d 10 "$@" -q -o "$work/drift" --overwrite || return
    awk '!/^#/ { m += $2; for (k = 0; k < 6; k++) s[k] += $2 * $(3 + k) }
        END { printf "%.3g,%.3g\n", sqrt(s[0]^2 + s[1]^2 + s[2]^2) / m, sqrt(s[3]^2 + s[4]^2 + s[5]^2) / m }' "$work/drift.0001.txt"
}

# rows_of_drift MODEL: one without a tree, then each kind and criterion
rows_of_drift() {
    row=$(drift "$1" leapfrog_direct) && echo "$1,direct,,,,$row" || return
    for kind in octree kdtree; do
        for each in opening:0.7:2 multipole:0.1:2 acceleration:0.01:1 acceleration:0.01:2 acceleration:0.001:2; do
            mac=${each%%:*} order=${each##*:}
            accuracy=${each#*:} && accuracy=${accuracy%:*}
            row=$(drift "$1" leapfrog_tree --tree $kind --mac "$mac" --accuracy "$accuracy" --multipoles "$order") || return
            echo "$1,$kind,$mac,$accuracy,$order,$row"
        done
    done
}

record_tree_drift() {
    head_of "$work/tree-drift" "$1" "centre of mass after ten units of time, 4,000 stars, eps = 1/32, steps of 1/64" \
        "test/perf/record.sh tree-errors"
    echo "model,tree,mac,accuracy,multipoles,distance,speed" >>"$work/tree-drift"
    for model in plummer hernquist; do rows_of_drift "$model" || return; done >>"$work/tree-drift" &&
        mv "$work/tree-drift" $data/tree-drift.csv
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
[ $# -gt 0 ] || set -- errors energy rates steps scaling trees tree-errors kinds gothic
for what in "$@"; do
    case $what in
    errors | energy | rates | steps | scaling | trees | tree-errors | kinds | gothic) ;;
    *) echo "record.sh: there is nothing named $what" >&2; exit 2 ;;
    esac
    echo "record.sh: $what"
    "record_$(echo "$what" | tr - _)" || failed="$failed $what"
done
[ -z "$failed" ] || { echo "record.sh: failed:$failed" >&2; exit 1; }
