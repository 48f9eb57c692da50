#!/bin/sh
# starsmasher.sh - a star relaxed by the user's StarSmasher with this library: rows of the table in docs/clients.md.
#
#   test/clients/starsmasher.sh OWN OURS
#
# OWN and OURS are programs of the code that the user has linked: one with its own gravity for CPUs, one with
# `-lsphgrav_sapporo -lsapporo`.  Both relax a polytrope from the same start.  A row tells the potential and the total
# energy at the end, and the processor time of all ranks.
# Status 77: something that the script needs is missing, and the last line names it.
#
# KERNELS    values of nkernel, default "0 1 2"
# PARTICLES  default 4000
# TRIES      runs of each; the least time is told; default 3
# SAPPORO_BACKEND    default cpu

skip() { echo "starsmasher.sh: skipped: $1"; exit 77; }
fail() { echo "starsmasher.sh: $1 failed; the last lines of its log:" >&2; tail -n 20 "$work/log" >&2; exit 1; }
[ $# -eq 2 ] || { sed -n '2,/^$/s/^# \{0,1\}//p' "$0" >&2; exit 2; }
[ -x "$1" ] || skip "program $1 is missing"
[ -x "$2" ] || skip "program $2 is missing"
command -v mpiexec >/dev/null 2>&1 || skip "mpiexec is missing"
own=$(realpath "$1") ours=$(realpath "$2")
work=$(mktemp -d) || exit 2
trap 'rm -rf "$work"' EXIT

# The variables below are Open MPI's, for small machines and for root.
export OMPI_MCA_rmaps_base_oversubscribe=1 OMPI_MCA_mpi_yield_when_idle=1
[ "$(id -u)" != 0 ] || export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
export OMP_WAIT_POLICY=passive SAPPORO_BACKEND="${SAPPORO_BACKEND:-cpu}"

# run PROGRAM RANKS KERNEL END: runs in $work/run, from $work/start if it is there; prints t, energies, processor time
run() {
    rm -rf "$work/run"
    mkdir "$work/run"
    printf " &INITT\n INAME='1es'\n &END\n" >"$work/run/sph.init"
    printf ' &input\n tf=%s, dtout=%s, n=%s, nrelax=1, treloff=0, ngravprocs=-%s, nkernel=%s, ppn=1\n &end\n' \
        "$4" "$4" "${PARTICLES:-4000}" "$2" "$3" >"$work/run/sph.input"
    [ ! -f "$work/start" ] || cp "$work/start" "$work/run/restartrad.sph"
    spent=$(cd "$work/run" && { mpiexec -n "$2" "$1" >"$work/log" 2>&1; times; } |
        awk 'END { split($1, user, "m"); split($2, kernel, "m")
                   print 60 * (user[1] + kernel[1]) + user[2] + kernel[2] }')
    awk -v spent="$spent" 'NF >= 5 { line = "potential " $2 ", total " $5 } END { print line, spent }' "$work/run/energy0.sph" |
        grep '^potential' || fail "$1 with $2 ranks"
}

# least PROGRAM RANKS KERNEL END: energies, and the least time
least() {
    try=0
    while [ $try -lt "${TRIES:-3}" ]; do
        run "$@"
        try=$((try + 1))
    done | sort -k 5,5n | awk 'NR == 1 { printf "%s %s %s %s, %.1f s\n", $1, $2, $3, $4, $5 }'
}

for kernel in ${KERNELS:-0 1 2}; do
    rm -f "$work/start"
    run "$ours" 1 "$kernel" 0.1 >"$work/first"
    cp "$work/run/out0000.sph" "$work/start" || exit 1
    n=$(sed -n 's/^ *parent: n= *\([0-9]*\).*/\1/p' "$work/run/log0.sph" | head -n 1)
    echo "| StarSmasher, linked with \`-lsphgrav_sapporo -lsapporo\`; $(date -u +%F)" \
        "| polytrope of $n particles, nkernel $kernel, to time 0.5; energies; processor time" \
        "| two ranks: $(least "$own" 2 "$kernel" 0.5)" \
        "| one rank: $(least "$ours" 1 "$kernel" 0.5); two: $(least "$ours" 2 "$kernel" 0.5);" \
        "tree, one: $(SAPPORO_METHOD=tree least "$ours" 1 "$kernel" 0.5)," \
        "two: $(SAPPORO_METHOD=tree least "$ours" 2 "$kernel" 0.5) |"
done
