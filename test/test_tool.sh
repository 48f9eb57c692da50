#!/bin/sh
# test_tool.sh - the command-line tool: its options, its verdicts, its output.  No timing is judged.
#
# Exit status 0: passed; 77: skipped, the tool is not built; anything else: failed.
# SAPPORO_TOOL names another tool than examples/sapporo beside this folder.

here=$(cd "$(dirname "$0")" && pwd) || exit 1
tool=${SAPPORO_TOOL:-$here/../examples/sapporo}
if [ ! -x "$tool" ]; then
    echo "test_tool: skipped, $tool is not built"
    exit 77
fi
# Threads that wait must not spin: tests run many of them on few cores.
export OMP_WAIT_POLICY=passive
for name in $(env | sed -n 's/^\(SAPPORO_[A-Z0-9_]*\)=.*/\1/p'); do unset "$name"; done

work=$(mktemp -d "${TMPDIR:-/tmp}/test_tool.XXXXXX") || exit 1
trap 'rm -rf "$work"' EXIT
failures=0

fail() {
    echo "test_tool: FAILED: $1" >&2
    failures=$((failures + 1))
}

# expect STATUS ARGUMENTS...: runs the tool into $work/out and $work/err.
expect() {
    wanted=$1
    shift
    "$tool" "$@" >"$work/out" 2>"$work/err"
    got=$?
    if [ "$got" -ne "$wanted" ]; then
        fail "sapporo $*: exit status $got, not $wanted"
        sed 's/^/    /' "$work/err" "$work/out" | tail -n 15 >&2
    fi
}

# Text that must be in the output (out or err).
contains() {
    grep -q -- "$2" "$work/$1" || fail "no '$2' in $1 of the last command"
}

# Every line of the output is a JSON object that has the members named; at least $1 lines.
json_lines() {
    lines=$1
    shift
    if python3 -c '' 2>/dev/null; then
        python3 - "$work/out" "$lines" "$@" <<'PYTHON' || fail "output is not the JSON that it should be"
import json, sys
rows = [json.loads(line) for line in open(sys.argv[1])]
assert len(rows) >= int(sys.argv[2]), "%d lines" % len(rows)
for row in rows:
    missing = [name for name in sys.argv[3:] if name not in row]
    assert not missing, (missing, row)
PYTHON
    else
        [ "$(grep -c '^{.*}$' "$work/out")" -ge "$lines" ] || fail "fewer than $lines JSON lines"
        for name in "$@"; do contains out "\"$name\": "; done
    fi
}

# ---- the command line
expect 0 --help
contains out 'usage: sapporo COMMAND'
expect 0 --version
expect 2
expect 2 nonsense
contains err "unknown command 'nonsense'"
expect 2 --nonsense
for command in info check bench; do
    expect 0 "$command" --help
    contains out "usage: sapporo $command"
    expect 2 "$command" --nonsense
    contains err "unknown option '--nonsense'"
    expect 2 "$command" word
done
expect 2 bench --ni
contains err 'a value is missing after'
expect 2 bench --ni many
contains err "bad value 'many' for --ni"
expect 2 bench --n=16,,32
expect 2 bench --precision ds,quad
expect 2 bench --json=yes
expect 2 check --n 10
expect 2 check --isa mmx

# ---- info
expect 0 info
contains out '^devices'
contains out 'memory for 65536 and 1000000 particles'
export SAPPORO_PRECISION=dp SAPPORO_PRECISON=sp # one of them misspelt
expect 0 info
unset SAPPORO_PRECISION SAPPORO_PRECISON
contains out 'SAPPORO_PRECISON .*no effect'
contains out 'precision  SAPPORO_PRECISION=dp'
expect 0 info --json
json_lines 1 version arithmetic devices absent cpu_isas environment choices why
isas=$(sed 's/.*"cpu_isas": \[\([^]]*\)\].*/\1/; s/[" ]//g' "$work/out")
[ -n "$isas" ] || fail "no instruction path of the CPU engine runs here"

# ---- check: every path and precision
for isa in $(echo "$isas" | tr ',' ' '); do
    expect 0 check --backend cpu --isa "$isa" --n 512
    contains out '^PASSED: all'
done
expect 0 check --backend cpu --precision ds --n=256 --json
json_lines 20 passed
for backend in cuda opencl; do
    "$tool" info --json | grep -q "\"absent\": {[^}]*\"$backend\"" || continue
    expect 1 check --backend "$backend" --n 256 --precision ds
    contains out '^FAILED'
    expect 1 bench --backend "$backend" --n 64
    contains out 'no result'
done

# ---- bench: tiny cases of everything
bench() {
    status=$1
    shift
    expect "$status" bench --repeat 9 --min-time 0 "$@"
}
bench 0 --backend cpu --n 64,300 --neighbours none,nearest,lists,both --precision sp,ds,dp --api g6,native \
    --list-length 5 --json
json_lines 48 case api engine precision ni nj neighbours samples median min max interactions_per_second acc_error
bench 0 --backend cpu --ni 1,16 --nj 1000 --isa "$isas" --threads 0,1,2 --derivatives nosnap --no-advance
contains out 'inter./s'
bench 0 --backend cpu --case setj,open,memory --nj 2000 --api g6,native --threads 1 --json
json_lines 8 case median unit
bench 0 --backend cpu --ni 300 --nj 50 --derivatives none
bench 0 --backend cpu --case step,load --ni 1,40 --nj 500 --neighbours nearest --api g6,native --devices 0 --json
json_lines 8 case median unit devices
bench 0 --suite --max-n 1024
contains out 'all pairs, ds'
bench 0 --suite --max-n 1024 --only g6_open
contains out 'g6_open'
! grep -q 'all pairs' "$work/out" || fail 'a case that was not chosen'
if "$tool" info --json | grep -q '"absent": {[^}]*"cuda"'; then gpu=1; else gpu=0; fi
bench $gpu --backend cuda --suite --max-n 1024
contains out 'all pairs, ds'
expect 2 bench --devices 0,-1

if [ "$failures" -gt 0 ]; then
    echo "test_tool: $failures failures" >&2
    exit 1
fi
echo "test_tool: passed on $isas"
