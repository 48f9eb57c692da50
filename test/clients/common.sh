# shellcheck shell=sh
# common.sh - what the scripts of this folder share: reasons to skip, the library, the least of several runs, the row.
#
# A script sources this file first and calls `begin` next.  Variables for all scripts:
#
# PREFIX     where the library is installed; default: the clone, which must have been built
# TRIES      runs of each program; the least time is told; default 3
# SAPPORO_BACKEND, OMP_NUM_THREADS    default cpu and 1
#
# Scripts that say so also have these variables, for machines with a GPU:
#
# CLOCK      processor (default): rows have the processor time of all threads and ranks; elapsed: rows have elapsed times
# ON         the machine that rows name, such as "an H200, 16 cores"; default: the model of the processor
# PROGRAMS   folder in which the script keeps the programs that it builds.  Programs that are there already are not built
#            again, so a machine without the compilers can run them; LD_LIBRARY_PATH then names the folders of libraries

script=$(basename "$0")
clone=$(cd "$(dirname "$0")/../.." && pwd) || exit 2

usage() { sed -n '2,/^$/s/^# \{0,1\}//p' "$0" >&2; exit 2; }
skip() { echo "$script: skipped: $1"; exit 77; }
fail() { echo "$script: $1 failed; the last lines of its log:" >&2; tail -n 20 "$log" >&2; exit 1; }

# fetch FOLDER OWNER NAME COMMIT: if FETCH is not empty, clones GitHub's OWNER/NAME to FOLDER/NAME, unless that is there
fetch() {
    [ -n "${FETCH:-}" ] && [ ! -e "$1/$3" ] || return 0
    need git
    mkdir -p "$1" || exit 2
    if ! git clone -q --no-checkout "https://github.com/$2/$3" "$1/$3" || ! git -C "$1/$3" checkout -q "$4"; then
        skip "$1/$3 is missing"
    fi
}

# begin FOLDER FILE...: skips unless the client's FOLDER has all FILEs; sets folder, commit, work, log
begin() {
    folder=$1
    shift
    for file; do [ -e "$folder/$file" ] || skip "$folder/$file is missing"; done
    folder=$(cd "$folder" && pwd) || exit 2
    commit=$(commit_of "$folder")
    work=$(mktemp -d "${TMPDIR:-/tmp}/client.XXXXXX") || exit 2
    log=$work/log
    trap 'rm -rf "$work"' EXIT
    trap 'exit 1' HUP INT TERM
    export OMP_WAIT_POLICY=passive OMP_NUM_THREADS="${OMP_NUM_THREADS:-1}" SAPPORO_BACKEND="${SAPPORO_BACKEND:-cpu}"
    unset MAKEFLAGS MFLAGS MAKELEVEL MAKEOVERRIDES
}

# commit_of FOLDER: the commit of a checkout; else the name of the folder, since archives are named after the commit
commit_of() {
    if [ "$(git -C "$1" rev-parse --show-toplevel 2>/dev/null)" = "$(cd "$1" && pwd -P)" ]; then
        git -C "$1" rev-parse --short=7 HEAD
    else
        basename "$1"
    fi
}

# need PROGRAM...
need() { for program; do command -v "$program" >/dev/null 2>&1 || skip "$program is missing"; done; }

# library NAME...: skips unless the library has libNAME.so; sets lib, include, compat, and run_path, the linker's options
# shellcheck disable=SC2034 # scripts use the variables
library() {
    if [ -n "${PREFIX:-}" ]; then
        lib=$PREFIX/lib include=$PREFIX/include compat=$PREFIX/include/sapporo/compat
    else
        lib=$clone/lib include=$clone/include compat=$clone/include/compat
    fi
    for name; do [ -e "$lib/lib$name.so" ] || skip "$lib/lib$name.so is missing"; done
    run_path="-L$lib -Wl,-rpath,$lib"
}

# built NAME...: takes the programs NAME that an earlier call has kept in PROGRAMS to $work; false if one is missing
built() {
    [ -n "${PROGRAMS:-}" ] || return
    for name; do [ -x "$PROGRAMS/${script%.sh}/$name" ] || return; done
    for name; do cp "$PROGRAMS/${script%.sh}/$name" "$work/$name" || fail "copying $name"; done
}

# keep NAME...: keeps the programs NAME of $work in PROGRAMS
keep() {
    [ -n "${PROGRAMS:-}" ] || return 0
    mkdir -p "$PROGRAMS/${script%.sh}" || exit 2
    for name; do cp "$work/$name" "$PROGRAMS/${script%.sh}/" || fail "keeping $name"; done
}

# copy NAME...: copies files and folders of the client to the same names in $work/source, which stay writable
copy() {
    for name; do
        mkdir -p "$work/source/$(dirname "$name")"
        cp -Rp "$folder/$name" "$work/source/$name" 2>>"$log" || [ -e "$work/source/$name" ] || fail "copying $name"
        chmod -R u+w "$work/source/$name"
    done
}

# step COMMAND...: runs it with all output in the log
step() { "$@" >>"$log" 2>&1 || fail "$*"; }

# cudart: CUDA's library for hosts, to be linked statically with -ldl -lpthread -lrt
cudart() { echo "$(dirname "$(dirname "$(command -v "$NVCC")")")/lib64/libcudart_static.a"; }

# open_mpi: variables of Open MPI for small machines and for root
open_mpi() {
    export OMPI_MCA_rmaps_base_oversubscribe=1 OMPI_MCA_mpi_yield_when_idle=1
    [ "$(id -u)" != 0 ] || export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
}

# clock: seconds, for CLOCK=elapsed
clock() { if [ "${CLOCK:-processor}" = elapsed ]; then date +%s.%N; else echo 0; fi; }

# measure NAME...: runs the functions NAME in turns, TRIES times.  A function prints its result as one line.  A second line
# may have the elapsed seconds that the program itself measures.
measure() {
    for run; do : >"$work/$run.runs"; done
    try=0
    while [ $try -lt "${TRIES:-3}" ]; do
        for run; do
            begun=$(clock)
            ("$run" >"$work/result" 2>>"$log" && times) >"$work/times" || fail "$run"
            elapsed=$(echo "$begun $(clock)" | awk '{ print $2 - $1 }')
            [ -s "$work/result" ] || fail "$run"
            awk -v result="$(head -n 1 "$work/result")" -v told="$(sed -n 2p "$work/result")" -v elapsed="$elapsed" 'END {
                split($1, user, "m")
                split($2, kernel, "m")
                seconds = 60 * (user[1] + kernel[1]) + user[2] + kernel[2]
                if (elapsed > 0) seconds = told != "" ? told : elapsed
                printf((elapsed > 0 && seconds < 1 ? "%.3f %s\n" : "%.2f %s\n"), seconds, result)
            }' "$work/times" >>"$work/$run.runs"
        done
        try=$((try + 1))
    done
}

# least NAME: the result and the time of the fastest run that `measure` made
least() { sort -g "$work/$1.runs" | awk 'NR == 1 { time = $1; sub(/^[^ ]* /, ""); print $0 ", " time " s" }'; }

# machine: the machine that rows name
machine() { echo "${ON:-$(sed -n 's/^model name[^:]*: *//p' /proc/cpuinfo 2>/dev/null | head -n 1)}"; }

# row CODE LINK OWN OURS: one row of docs/data/clients.csv.  CODE is "client: run; what is compared".
row() {
    run=${1#*: } compared=
    case $run in *"; "*) compared=${run##*; } run=${run%; *} ;; esac
    for cell in "${1%%: *}" "$run" "$compared" "$commit" "$2" "$3" "$4" "$(machine)" "${CLOCK:-processor}" "$(date -u +%F)"; do
        printf '%s"%s"' "${comma:-}" "$(printf '%s' "$cell" | sed 's/"/""/g')"
        comma=,
    done
    comma=
    echo
}

# plummer N: a Plummer model of N stars in N-body units (energy -1/4), always the same: mass, position, velocity per line
plummer() {
    awk -v n="$1" '
        function draw() { # multiplier and modulus: Park & Miller 1988, Communications of the ACM 31, 1192
            state = (16807 * state) % 2147483647
            return state / 2147483647
        }
        function direction(size,    z, phi) {
            z = 2 * draw() - 1
            phi = 6.283185307179586 * draw()
            return sprintf("%.9f %.9f %.9f", size * sqrt(1 - z * z) * cos(phi), size * sqrt(1 - z * z) * sin(phi), size * z)
        }
        BEGIN { # Aarseth, Henon & Wielen 1974, Astronomy and Astrophysics 37, 183
            state = 1
            scale = 0.589048622548086 # 3 pi / 16
            for (k = 0; k < n; k++) {
                do r = 1 / sqrt(exp(-2 / 3 * log(0.999 * draw() + 1e-9)) - 1); while (r > 10)
                do { q = draw(); y = draw() / 10 } while (y > q * q * (1 - q * q)^3.5)
                v = q * sqrt(2) * (1 + r * r)^-0.25
                printf "%.12f %s %s\n", 1 / n, direction(scale * r), direction(v / sqrt(scale))
            }
        }'
}
