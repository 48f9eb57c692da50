#!/bin/sh
# kinds.sh - measures what the figures and tables of docs/tree-errors.md show, octrees beside kd-trees, one command each.
#
#   test/perf/record.sh kinds                    all of it, with headers; then `make figures` draws
#   docs/figures/kinds.sh distribution           rows of one figure: distribution, interactions, budget, energy, tables
#
# Interactions and errors are counts, which do not depend on what else the machine does; times of the tables do.
#
# N         particles of Hernquist's model, default 65536 (the paper: 250000); other models of figure 2 have half,
#           that of figure 4 an eighth
# MODELS    the other models
# BACKEND   engine of the tables, default cpu
# SIZES     particles of Hernquist's model in the tables, default those of the paper

tool=${TOOL:-examples/sapporo}
n=${N:-65536}
once=
models=${MODELS:-plummer nfw clumps disc}

# tree OPTION...: rows of unsoftened models
tree() { "$tool" bench --api tree --backend "${BACKEND:-cpu}" --json --eps 0 --min-time 0 ${once:+--once} "$@"; }

# The walk of the paper: each particle alone, leaves of one particle, masses alone.
alone() { tree --model hernquist --n "$n" --walk 2 --leaf 1 --active 0.02 "$@"; }

# has MODEL: whether the tool makes it
has() {
    "$tool" bench --api tree --model "$1" --n 16 --min-time 0 >/dev/null 2>&1 && return
    echo "kinds.sh: there is no model $1" >&2
    return 1
}

# Figure 1 of the paper: errors of all particles, at its five tolerances.
distribution() {
    alone --tree octree,kdtree --mac acceleration --multipoles 1 --accuracy 0.0001,0.00025,0.0005,0.001,0.0025
}

# by_error MODEL N: each kind and criterion, at four accuracies
by_error() {
    for kind in octree kdtree; do
        tree --model "$1" --n "$2" --tree $kind --multipoles 1,2 --mac opening --accuracy 0.55,0.7,0.9,1.1 &&
            tree --model "$1" --n "$2" --tree $kind --multipoles 1,2 --mac multipole --accuracy 0.01,0.1,0.5,2 &&
            tree --model "$1" --n "$2" --tree $kind --multipoles 1,2 --mac acceleration \
                --accuracy 0.001,0.003,0.01,0.03 || return
    done
}

# Figure 2: interactions against the error of 99 % of the particles.
interactions() {
    by_error hernquist "$n" || return
    for model in $models; do
        ! has "$model" || by_error "$model" $((n / 2)) || return
    done
}

# count_of ROW: interactions per particle
count_of() {
    echo "$1" | sed 's/.*"particle_particle": \([^,]*\), "particle_cell": \([^,]*\),.*/\1 \2/' | awk '{ print $1 + $2 }'
}

# with_count COUNT ACCURACY COMMAND...: the row with so many interactions per particle, to 1 %.  From ACCURACY on the
# search goes by factors of 3 until the count is between two tries, and then interpolates in logarithms.
with_count() {
    count=$1 now=$2 tried=''
    shift 2
    for try in 1 2 3 4 5 6 7 8 9 10 11 12; do
        row=$("$@" --accuracy "$now") || return
        here=$(count_of "$row")
        tried="$tried $now $here"
        now=$(echo "$count $tried" | awk '{
            for (k = 2; k < NF; k += 2) {
                if ($(k + 1) < 1.01 * $1 && $(k + 1) > 0.99 * $1) { print "found"; exit }
                if ($(k + 1) > $1 && (!low || $k > low)) { low = $k; more = $(k + 1) }
                if ($(k + 1) < $1 && (!high || $k < high)) { high = $k; fewer = $(k + 1) }
            }
            if (!low) print high / 3
            else if (!high) print low * 3
            else printf "%.6g\n", low * exp(log(high / low) * log(more / $1) / log(more / fewer)) }')
        [ "$now" != found ] || break
    done
    [ "$now" = found ] || { echo "kinds.sh: $here interactions after $try tries, not $count" >&2; return 1; }
    echo "$row"
}

# Figure 3: errors at 1,000 interactions per particle, and of walks by groups at 3,000.
budget() {
    for kind in octree kdtree; do
        with_count 1000 0.001 alone --tree $kind --mac acceleration --multipoles 1 &&
            with_count 3000 0.01 tree --model hernquist --n "$n" --tree $kind --mac acceleration --multipoles 1 &&
            with_count 1000 0.6 alone --tree $kind --mac opening --multipoles 2 &&
            with_count 3000 0.7 tree --model hernquist --n "$n" --tree $kind --mac opening --multipoles 2 || return
    done
}

# Figure 4: energy of a Hernquist sphere; rows of time and relative energy error.  A run whose energy error is so large
# that the program warns of its result counts, too.
energy() {
    work=$(mktemp -d) || return
    for run in octree,0.034,1,1 kdtree,0.025,1,1 kdtree,0.025,1,auto kdtree,0.025,2,auto; do
        kind=${run%%,*} rebuild=${run##*,} numbers=${run#*,}
        accuracy=${numbers%%,*} numbers=${numbers#*,}
        SAPPORO_BACKEND=${BACKEND:-cpu} "${LEAPFROG:-examples/leapfrog_tree}" --model hernquist -n $((n / 8)) \
            --eps 0.03 --dt-max 1/64 -t 10 -d 1/4 --mac acceleration --accuracy "$accuracy" --multipoles "${numbers%%,*}" \
            --tree "$kind" --rebuild "$rebuild" -o "$work/run" --overwrite >"$work/log" 2>"$work/errors" ||
            grep -q 'relative energy error' "$work/errors" || { cat "$work/errors" >&2; rm -rf "$work"; return 1; }
        awk -v kind="$kind" -v rebuild="$rebuild" -v order="${numbers%%,*}" -v n=$((n / 8)) '!/^#/ && NF > 5 {
            printf "{\"case\": \"energy\", \"tree\": \"%s\", \"rebuild\": \"%s\", \"multipoles\": %d, ", kind, rebuild, order
            printf "\"n\": %d, \"time\": %s, \"error\": %s}\n", n, $1, $3 }' "$work/log"
    done
    rm -rf "$work"
}

# Tables I and II: times to build and to walk, for errors of 0.4 % of 99 % of the particles; on CPUs one core.
tables() {
    [ "${BACKEND:-cpu}" != cpu ] || export OMP_NUM_THREADS="${OMP_NUM_THREADS:-1}"
    for run in octree,0.034 kdtree,0.025; do
        kind=${run%%,*}
        tree --model hernquist --n "${SIZES:-250000,500000,1000000,2000000}" --tree "$kind" --mac acceleration \
            --multipoles 1 --accuracy "${run##*,}" || return
        for model in $models; do
            ! has "$model" || tree --model "$model" --n 250000 --tree "$kind" --mac acceleration --multipoles 1 \
                --accuracy "${run##*,}" || return
        done
    done
}

case $1 in
distribution | interactions | budget) once=yes && "$1" ;;
energy | tables) "$1" ;;
*) echo "kinds.sh: there is nothing named ${1:-}" >&2; exit 2 ;;
esac
