#!/bin/sh
# OpenCL against CUDA on the same GPU, measured in turns: a line for each case with both times and OpenCL's speed as a
# share of CUDA's, then what opening takes.  The wanted shares stand beside; no timing decides anything.
#
#   compare.sh        from the top folder, after make; test/gpu.sh compare does it with NVIDIA's OpenCL alone
#
#   DEVICES           devices, such as 0,1: also all pairs on all of them against the first
#   TURNS             times that each case is measured, default 2; the best median counts
#   MAX_N             the largest number of particles, default 262144
#   BACKENDS          "of this" against "of that", default "opencl cuda"
#
# Exit status 1: a case gave no result.

tool=examples/sapporo
most=${MAX_N:-262144}
# shellcheck disable=SC2086 # two words
set -- ${BACKENDS:-opencl cuda}
ours=$1
theirs=$2
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT

# both OPTION LIST ARGUMENTS...: measures cases on both, in turns; an empty list has none
both() {
    [ -n "$2" ] || return 0
    turn=0
    while [ $turn -lt "${TURNS:-2}" ]; do
        for backend in $theirs $ours; do
            "$tool" bench --backend "$backend" --json "$@" >>"$work/$backend" 2>>"$work/errors" || echo "$backend: $*" >>"$work/failed"
        done
        turn=$((turn + 1))
    done
}

# up_to LIST: the numbers of a list that are not larger than MAX_N, with commas
up_to() { echo "$1" | tr ' ' '\n' | awk -v most="$most" '$1 <= most' | tr '\n' ',' | sed 's/,$//'; }

many=$(up_to '8192 131072')
many=${many##*,}
both --n "$(up_to '1024 4096 16384 65536 131072 262144')" --precision ds,dp
both --n "$(up_to '16384 262144')" --neighbours nearest,lists --list-length 60
both --ni 1,2,4,8,16,32,64,128,256,1024 --nj "${many:-$most}" --precision ds,dp
both --api g5 --n "$(up_to '16384 262144')" --precision sp
both --case batch --precision sp
both --api native --hermite 6,8 --n "$(up_to '16384 262144')" --precision ds,dp
both --api native --hermite 6 --ni 64,1024 --nj "${many:-$most}" --precision dp
both --case step,load --ni 1,16,256 --nj "${many:-$most}"
case ${DEVICES:-} in
*,*)
    both --n "$(up_to '65536 262144')" --devices "${DEVICES%%,*}"
    both --n "$(up_to '65536 262144')" --devices "$DEVICES"
    ;;
esac

awk -v ours="$ours" -v theirs="$theirs" '
function text(name) { return match($0, "\"" name "\": \"[^\"]*\"") ? substr($0, RSTART + length(name) + 5, RLENGTH - length(name) - 6) : "" }
function number(name) { return match($0, "\"" name "\": [-+.0-9e]+") ? substr($0, RSTART + length(name) + 4, RLENGTH - length(name) - 4) + 0 : 0 }
# microseconds of a call
function median() { return number("median") * (text("unit") == "ns" ? number("nj") / 1000 : 1) }
# what was agreed on: per cent of the speed
function wanted(key, time, ni) {
    if (key ~ /^force/ && time > 2000) return "95 %"
    if (key ~ /^force/ && ni >= 1024) return "70 %"
    return key ~ /^force/ && ni <= 256 ? "50 %" : ""
}
{
    of = text("backend")
    api = number("hermite") > 4 ? "order" number("hermite") : text("api")
    key = sprintf("%-6s %-6s %s %7d %8d  %-8s %s", text("case"), api, text("precision"), number("ni"), number("nj"), text("neighbours"), text("devices") text("sources"))
    if (!(key in seen)) { seen[key] = 1; order[++n] = key; count[key] = number("ni") }
    if (text("failure") != "") print "no result: " of " " key ": " text("failure")
    else if (!((of, key) in time) || median() < time[of, key]) time[of, key] = median()
}
END {
    printf "%-51s %12s %12s %8s  %s\n", "case, interface, precision, ni, nj, neighbours, devices", theirs " us", ours " us", "share", "wanted"
    for (k = 1; k <= n; k++) {
        key = order[k]; a = time[theirs, key]; b = time[ours, key]
        if (a > 0 && b > 0) printf "%-51s %12.1f %12.1f %6.1f %%  %s\n", key, a, b, 100 * a / b, wanted(key, a, count[key])
    }
}' "$work/$theirs" "$work/$ours"

# ---- opening ----------------------------------------------------------------------------------------

# opening BACKEND NAME=VALUE...: seconds of a process that opens a context and closes it, the middle of three
opening() {
    backend=$1
    shift
    for turn in 1 2 3; do
        began=$(date +%s.%N)
        env "$@" "$tool" bench --backend "$backend" --case open --min-time 0 >/dev/null 2>>"$work/errors"
        echo "$(date +%s.%N) $began" | awk '{ printf "%.3f\n", $1 - $2 }'
    done | sort -n | sed -n 2p
}

# The vendor keeps compiled kernels, too.
cold() {
    rm -rf "$work/cold"
    opening "$1" SAPPORO_CACHE=off CUDA_CACHE_DISABLE=1 CUDA_CACHE_PATH="$work/cold" POCL_CACHE_DIR="$work/cold"
}

kept="SAPPORO_CACHE=$work/warm"
opening "$ours" "$kept" >/dev/null
echo "opening and closing in a process of its own: $theirs $(opening "$theirs" "$kept") s;" \
    "$ours $(opening "$ours" "$kept") s, without caches $(cold "$ours") s (wanted: 0.3 s more than $theirs at most)"

[ ! -f "$work/failed" ] || { cat "$work/errors" "$work/failed"; exit 1; }
