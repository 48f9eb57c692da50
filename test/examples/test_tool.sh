#!/bin/sh
# test_tool.sh - the command-line tool: its options, its verdicts, its output.  No timing is judged.
#
# Exit status 0: passed; 77: skipped, the tool is not built; anything else: failed.
# SAPPORO_TOOL names another tool than examples/sapporo.

here=$(cd "$(dirname "$0")/../.." && pwd) || exit 1
tool=${SAPPORO_TOOL:-$here/examples/sapporo}
if [ ! -x "$tool" ]; then
    echo "test_tool: skipped, $tool is not built"
    exit 77
fi
# Threads that wait must not spin: tests run many of them on few cores.
export OMP_WAIT_POLICY=passive
for name in $(env | sed -n 's/^\(SAPPORO_[A-Z0-9_]*\)=.*/\1/p'); do unset "$name"; done

work=$(mktemp -d "${TMPDIR:-/tmp}/test_tool.XXXXXX") || exit 1
trap 'rm -rf "$work"' EXIT
export XDG_CONFIG_HOME="$work/config" # the user's tuning file is not ours
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
for command in info check bench tune; do
    expect 0 "$command" --help
    contains out "usage: sapporo $command"
    expect 0 "$command" --version
    contains out '^sapporo [0-9]'
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

# ---- completion by shells: the options of the help, their words, lists of words
expect 2 --completion
expect 2 --completion fish
contains err "takes bash or zsh, not 'fish'"
expect 0 --completion zsh
cp "$work/out" "$work/zsh"
expect 0 --completion bash
cp "$work/out" "$work/bash"
for command in info check bench tune; do
    "$tool" $command --help | grep -oE '^  --[a-z0-9-]+' | tr -d ' ' | sort >"$work/options"
    sed -n "/^    $command)/,/;;/p" "$work/zsh" | grep -oE "'(\(- \*\))?--[a-z0-9-]+" | sed 's/.*--/--/' | sort >"$work/zsh_options"
    cmp -s "$work/options" "$work/zsh_options" || fail "completion of zsh and the help have other options of $command"
done
if command -v bash >/dev/null 2>&1; then
    # offers EXPECTED WORD...: what bash offers for the last word of a command line, as it divides it
    offers() {
        wanted=$1
        shift
        # shellcheck disable=SC2016 # for the other shell
        got=$(bash -c '. "$0" && COMP_WORDS=("$@") COMP_CWORD=$(($# - 1)) && _sapporo && echo "${COMPREPLY[@]}"' "$work/bash" "$@")
        [ "$got" = "$wanted" ] || fail "bash offers '$got' for '$*', not '$wanted'"
    }
    offers '--help --version info check bench tune' sapporo ''
    offers 'check' sapporo ch
    for command in info check bench tune; do
        offers "$("$tool" $command --help | grep -oE '^  --[a-z0-9-]+' | tr -d ' ' | paste -sd ' ' -)" sapporo $command --
    done
    offers 'sp ds dp' sapporo check --precision ''
    offers 'cuda cpu' sapporo check --backend = c
    offers 'opencl' sapporo tune --backend o
    offers 'sp,ds sp,dp' sapporo bench --precision = sp,d
    offers '' sapporo bench --n 1
    offers '' sapporo tune --output x
    offers '--json' sapporo info --j
fi
if command -v zsh >/dev/null 2>&1; then zsh -n "$work/zsh" || fail 'zsh cannot read its completion'; fi

# Whole numbers as people write them; too large ones are told apart.
expect 0 check --backend cpu --precision ds --n 1k
contains out 'models of 1000 stars'
expect 0 check --backend cpu --precision ds --n 2.56e2
contains out 'models of 256 stars'
for number in 3G 1e10 99999999999999999999 1e400; do
    expect 2 check --n "$number"
    contains err "too large a value '$number' for --n"
done
expect 2 bench --n 64,3G
contains err "too large a value '64,3G' for --n"
expect 0 bench --backend cpu --api tree --n 64 --min-time 1e-3 --eps .1k
expect 2 bench --backend cpu --n 64 --eps 1e400
contains err "too large a value '1e400' for --eps, at most 1.7e308"
for number in 1kk k 0x400 1.5 inf nan -1k ''; do expect 2 bench --n "$number"; done

# ---- info
expect 0 info
contains out '^devices'
contains out 'memory for 65536 and 1000000 particles'
export SAPPORO_PRECISION=dp SAPPORO_PRECISON=sp # one of them misspelt
expect 0 info
unset SAPPORO_PRECISION SAPPORO_PRECISON
contains out 'SAPPORO_PRECISON .*no effect'
contains out 'did you mean SAPPORO_PRECISION?'
contains out 'SAPPORO_PRECISION  *dp  *sp, ds or dp (default: ds'
contains out 'SAPPORO_BACKEND  *default  *auto, cuda, hip, opencl or cpu'
contains out 'precision  SAPPORO_PRECISION=dp'
(unset OMP_NUM_THREADS && "$tool" info) >"$work/out" 2>"$work/err"
contains out 'threads    all cores that the process is granted (OMP_NUM_THREADS is not set)'
expect 0 info --json
json_lines 1 version arithmetic devices absent cpu_isas environment variables choices why
isas=$(sed 's/.*"cpu_isas": \[\([^]]*\)\].*/\1/; s/[" ]//g' "$work/out")
[ -n "$isas" ] || fail "no instruction path of the CPU engine runs here"

# a variable whose value is not valid is no reason why a machine lacks devices or instruction paths
SAPPORO_PRECISION=double SAPPORO_ROOT=square "$tool" info >"$work/out" 2>"$work/err"
contains out 'SAPPORO_PRECISION  *double'
contains out 'not possible; .*SAPPORO_PRECISION is .double.'
contains out 'engine that run here: scalar'
! grep -q 'none;.*SAPPORO_' "$work/out" || fail "a backend is said to lack devices because of a variable"
SAPPORO_PRECISION=double "$tool" info --json >"$work/out" 2>"$work/err"
contains out '"cpu_isas": .*scalar'
! grep -q '"absent": .*SAPPORO_.*"cpu_isas"' "$work/out" || fail "the same as JSON"

expect 0 info --markdown
contains out '^| .SAPPORO_PRECISION. | .sp., .ds. or .dp. |'
contains out '^| .OMP_PLACES. |'

# ---- check: every path and precision
for isa in $(echo "$isas" | tr ',' ' '); do
    expect 0 check --backend cpu --isa "$isa" --n 512
    contains out '^PASSED: all'
done
expect 0 check --backend cpu --precision ds --n=256 --json
json_lines 20 passed
expect 0 check --backend cpu --precision ds,dp --hermite 6,8 --n 256
contains out '^PASSED: all'
[ ! -s "$work/err" ] || fail 'check in orders 6 and 8 prints errors before it passes'
for backend in cuda opencl; do
    "$tool" info --json | grep -q "\"absent\": {[^}]*\"$backend\"" || continue
    expect 1 check --backend "$backend" --n 256
    contains out '^ABSENT'
    [ "$(grep -c 'absent:' "$work/out")" = 1 ] || fail 'an absent backend is told more than once'
    expect 1 check --backend "$backend" --n 256 --json
    contains out '"absent": 1'
    expect 1 bench --backend "$backend" --n 64 --devices 0
    contains err 'there is no device 0'
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
bench 0 --backend cpu --api tree --n 500 --model plummer,clumps --mac opening,multipole,acceleration --multipoles 1,2 \
    --accuracy 0,0.05 --active 0.1,0.5 --refresh --json
json_lines 48 case model mac accuracy compared error50 error99 error999 error100 error_rms particle_cell sort link moments walk seconds
bench 0 --backend cpu --api tree --n 500 --model uniform,cold-disc,two-clusters,mass-ratios --imf salpeter --seed 1,2 --once \
    --criteria opening:0.7:1,acceleration:0.01:2 --tree octree,kdtree --eps 0 --json
json_lines 32 case model n seed masses tree mac accuracy multipoles compared error50 error99 error999 error100 error_rms net_force
# each_holds EXPRESSION: of every line of JSON, by Python, with the line's members as names
each_holds() {
    python3 -c '' 2>/dev/null || return 0
    python3 - "$work/out" "$1" <<'PYTHON' || fail "a line for which this is wrong: $1"
import json, sys
for line in open(sys.argv[1]):
    assert eval(sys.argv[2], {}, json.loads(line)), line
PYTHON
}
each_holds 'compared == n and 0 < error50 < error99 < error999 < error100 and error50 < error_rms < error100'
each_holds '1e-11 < net_force < 1e-2 and seed in (1, 2)'
# a tree that accepts no cell is a direct sum, which agrees with that to which trees are compared
bench 0 --backend cpu --api tree --n 700 --model plummer,cold-disc --criteria opening:1e-9:2,acceleration:1e-12:1 --precision dp \
    --once --json
each_holds 'error100 < 1e-12 and error_rms < 1e-13 and net_force < 1e-13'
for softening in spline spline-mean; do
    bench 0 --backend cpu --api tree --n 300 --softening $softening --eps 0.3 --criteria opening:1e-9:2 --precision dp --once --json
    each_holds 'error100 < 1e-12'
done
# a sample is spread over all particles, and says how large it is; more than 16,384 particles have a sample by default
bench 0 --backend cpu --api tree --n 500 --compared 10 --once --json
each_holds 'compared == 10 and net_force > 0'
bench 0 --backend cpu --api tree --n 16385 --once --json
each_holds 'compared == 1000'
bench 0 --backend cpu --api tree --n 500 --active 0.5 --once --json
each_holds 'compared == 250 and net_force is None'
# 99 % of the errors are those asked for, of accelerations at most; the accuracy is told
bench 0 --backend cpu --api tree --n 4096 --model uniform,plummer --error 1e-3 --once --json
each_holds '0.5e-3 < error99 < 1.5e-3 and error_asked == 1e-3 and 1e-3 < accuracy_found < 0.1'
bench 1 --backend cpu --api tree --n 500 --error 1e-3 --accuracy 0.1 --once
contains out 'a tree has either an accuracy, 0.1, or an error, 0.001'
bench 0 --backend cpu --api tree --n 500 --once
contains out ' median  *99%  *99.9%  *largest  *r.m.s.  *of '
for criteria in opening opening:0.7 nonsense:0.7:2 opening:x:2 opening:-1:2 opening:0.7:3 opening:0.7:2:1; do
    expect 2 bench --api tree --criteria $criteria
    contains err "bad value '$criteria' for --criteria"
done
expect 2 bench --api tree --imf heavy
bench 0 --backend cpu --api tree --n 300 --leaf 4,9 --group 16 --walk 1,2
contains out '^plummer  *300 auto'
bench 0 --backend cpu --api tree --n 300 --model hernquist --tree octree,kdtree --mac acceleration --accuracy 0.003,0.012 --ball 3,5 --once --json
json_lines 8 case tree ball error99
bench 0 --backend cpu --api tree --n 600 --mac acceleration --once --group-extent 0.5
bench 1 --backend cpu --api tree --n 300 --multipoles 3
contains out 'no result: order'
expect 2 bench --api tree,g6
expect 2 bench --n 64 --tree kdtree
contains err 'sapporo bench: --tree has no effect here; it is of --api tree, stepper'
expect 2 bench --api tree --n 64 --dt 0.1
expect 2 bench --n 64 --only x
expect 2 bench --case open --lists 4
bench 0 --backend cpu --api stepper --n 300 --model plummer,andromeda --steps shared,block --method tree,direct --count 3
bench 0 --backend cpu --api stepper --n 300 --tree octree,kdtree --rebuild 2 --count 3
bench 0 --backend cpu --api stepper --n 300 --mac acceleration --steps shared --dt 0.00390625 --eps 0.02 --massless 0.5 --count 3
expect 2 bench --api stepper,g6
bench 0 --backend cpu --api nbody6 --nj 500,2000 --ni 1,70 --list-length 20 --precision ds --json
json_lines 4 case engine nj ni list_length regular irregular acc_error
bench 0 --backend cpu --api nbody6 --nj 300
contains out '^nj *300'
expect 2 bench --api nbody6,g6
if "$tool" info --json | grep -q '"absent": {[^}]*"cuda"'; then gpu=1; else gpu=0; fi
bench $gpu --backend cuda --suite --max-n 1024
contains out 'all pairs, ds'
expect 2 bench --devices 0,-1

for devices in 99 0,99; do
    expect 1 bench --backend cpu --n 64 --devices $devices
    contains err 'there is no device 99 of cpu'
done
expect 1 bench --backend cpu --suite --max-n 1024 --devices 99

# ---- output that cannot be written is a failure of every command
if [ -w /dev/full ]; then
    full() {
        "$tool" "$@" >/dev/full 2>"$work/err"
        [ $? = 1 ] || fail "sapporo $* >/dev/full: exit status is not 1"
        contains err 'cannot write to standard output'
    }
    for what in --version --help 'info' 'info --json' 'info --markdown' 'bench --help' 'tune --backend cpu' \
        'check --backend cpu --n 256 --precision ds' 'check --backend cpu --n 256 --precision ds --json' \
        'bench --backend cpu --n 64 --min-time 0' 'bench --backend cpu --n 64 --min-time 0 --json' \
        'bench --backend cpu --n 64 --min-time 0 --threads 1 --json' \
        'bench --backend cpu --api tree --n 300 --min-time 0 --json' \
        'bench --backend cpu --api stepper --n 300 --count 2 --json' \
        'bench --backend cpu --api nbody6 --nj 300 --min-time 0 --json' 'bench --backend cpu --suite --max-n 1024 --only g6_open'; do
        # shellcheck disable=SC2086 # words of a command line
        full $what
    done
fi

# ---- tune
expect 0 tune --backend cpu
contains out '^Nothing to tune: the CPU engine'
expect 1 tune --backend cpu --device 99
contains err 'there is no device 99 of cpu'
if [ "$gpu" = 1 ]; then
    POCL_CACHE_DIR=$work/pocl SAPPORO_CACHE=$work/cache expect 0 tune
    contains out '^Nothing to tune: .* no GPU'
    contains out '^  cuda '
    if [ -n "$(find "$work/pocl" "$work/cache" -name '*.so' -o -name '*.bc' 2>/dev/null)" ]; then
        fail 'something was compiled, though there is nothing to tune'
    fi
    [ ! -s "$work/err" ] || fail 'tune prints errors, though there is nothing to tune'
    expect 1 tune --device 99
    contains err 'there is no device 99'
    expect 1 tune --backend cuda
    contains err 'there is no device 0 of cuda'
fi
expect 2 tune --precision quad
if "$tool" info | grep -q '^  opencl 0 '; then
    mkfifo "$work/pipe"
    expect 1 tune --backend opencl --output "$work/pipe"
    contains err 'this is no regular file'
    expect 1 tune --backend opencl --output "$work/pipe/below/tune" # found before anything is measured
    contains err 'file: .*/pipe'
    expect 1 tune --backend opencl --output "$work/tune_of_maps" --maps "$work/pipe"
    contains err 'maps: .*/pipe'
fi
[ ! -e "$XDG_CONFIG_HOME" ] || fail 'a tuning file was written, though nothing was tuned'
if [ "$gpu" = 0 ]; then
    expect 0 tune --quick --precision ds
    expect 0 info
    contains out "tuning of .*; from $work/config/sapporo/tune"
fi

# The rest over a libcuda.so.1 that we make, whose kernels do nothing: times mean nothing then.
fake=$work/fake
mkdir "$fake"
# shellcheck disable=SC2086 # CC may be a command with arguments
if [ "$gpu" = 1 ] && (cd "$here" && ${CC:-cc} -std=c11 -O1 -shared -fPIC -Ilib -Iinclude \
    -o "$fake/libcuda.so.1" test/support/fake_libcuda.c) 2>/dev/null; then
    export LD_LIBRARY_PATH="$fake" FAKE_CUDA_IDLE=1 FAKE_CUDA_DEVICES=1
    if "$tool" info | grep -q 'Fake 0'; then
        file=$work/config/sapporo/tune
        expect 0 tune --quick --precision ds --maps "$work/maps"
        contains out '^\[cuda Fake 0 sm_86\] ds'
        contains out "^written to $file"
        grep -q '^ds.cpu_below_nj [0-9]' "$file" || fail 'the tuning file has no cpu_below_nj'
        expect 0 info
        contains out "tuning of .*; from $file"
        for map in shapes active cpu_or_device; do
            [ "$(wc -l <"$work/maps/$map.csv")" -gt 10 ] || fail "map $map has hardly any lines"
        done
        printf '%s\n' 'sapporo tune 1' '# of mine' '[cuda Other sm_70]' 'ds.few_cost 9' '[cuda Fake 0 sm_86]' \
            'dp.new_key 4' 'dp.fill_cost 17' '# end' '[opencl X]' 'any thing' >"$work/tune"
        export SAPPORO_TUNE="$work/tune"
        expect 0 tune --quick --precision dp
        for line in '# of mine' 'ds.few_cost 9' 'dp.new_key 4' '# end' '[opencl X]' 'any thing'; do
            grep -qxF "$line" "$work/tune" || fail "tuning lost the line '$line'"
        done
        [ "$(grep -c '^dp.fill_cost' "$work/tune")" = 1 ] || fail 'a number is there twice, or not at all'
        contains out '^  fill_cost  *17 ' # what was in the file is where the search begins
        expect 0 tune --quick --precision sp,dp --orders 6 # which has no sp
        contains out '^\[cuda Fake 0 sm_86\] dp6'
        grep -q '^dp6.few_cost [0-9]' "$work/tune" || fail 'the tuning file has no number of order 6'
        grep -qxF 'dp.new_key 4' "$work/tune" || fail 'tuning order 6 lost a line of order 4'
        [ "$(echo "$work"/tune*)" = "$work/tune" ] || fail 'tuning left files behind'
        cp "$file" "$work/kept"
        export SAPPORO_TUNE=frozen
        expect 0 tune --quick --precision sp
        unset SAPPORO_TUNE
        contains out '^nothing was written'
        cmp -s "$file" "$work/kept" || fail 'a frozen file was written'
        echo 'not ours' >"$work/letter"
        expect 1 tune --output "$work/letter"
        contains err 'no tuning file'
        expect 1 tune --device 1
    fi
    unset LD_LIBRARY_PATH FAKE_CUDA_IDLE FAKE_CUDA_DEVICES
fi

if [ "$failures" -gt 0 ]; then
    echo "test_tool: $failures failures" >&2
    exit 1
fi
echo "test_tool: passed on $isas"
