#!/bin/sh
# test_hermite4.sh - the example hermite4: energy, restarts to the byte, input, faults.  Prints TAP.
#
# Nothing is judged by its time: where a run is stopped "at a random moment", any moment must do, also one
# after its end.  Exit status 0: passed; 77: skipped, the example is not built; anything else: failed.

cd "$(dirname "$0")/../.." || exit 1
hermite4=examples/hermite4
if [ ! -x $hermite4 ]; then
    echo "skipped: $hermite4 is not built"
    exit 77
fi
. test/support/tap.sh
forget_settings
work=$(mktemp -d "${TMPDIR:-/tmp}/test_hermite4.XXXXXX") || exit 1
trap 'rm -rf "$work"' EXIT
shown="out err"

# h4 ARGUMENTS...: runs it, output in $work/out, messages in $work/err
h4() { "$hermite4" "$@" >"$work/out" 2>"$work/err"; }

# says STATUS FILE TEXT ARGUMENTS...: the exit status, and a text in out or err
says() {
    wanted=$1
    file=$2
    text=$3
    shift 3
    h4 "$@"
    got=$?
    [ $got -eq "$wanted" ] || echo "# exit status $got, not $wanted: hermite4 $*"
    grep -q -- "$text" "$work/$file" || echo "# '$text' is not in $file: hermite4 $*"
    [ $got -eq "$wanted" ] && grep -q -- "$text" "$work/$file"
}

# Numbers of the last run: its energy error, its block steps.
energy_error() { sed -n 's/^# done: relative energy error \([^,]*\),.*/\1/p' "$work/out"; }
block_steps() { sed -n 's/^# done: .*, \([0-9]*\) block steps,.*/\1/p' "$work/out"; }

# holds EXPRESSION NAME=VALUE...: arithmetic with real numbers; an empty value never holds
holds() {
    expression=$1
    shift
    for pair in "$@"; do [ -n "${pair#*=}" ] || return 1; done
    # shellcheck disable=SC2046 # two words for each variable
    awk $(for pair in "$@"; do printf ' -v %s' "$pair"; done) \
        "function abs(x) { return x < 0 ? -x : x } BEGIN { exit !($expression) }"
}

# same A B: all files of the runs A and B are the same to the byte
same() {
    [ -f "$work/$1.restart" ] || return 1
    for file in "$work/$1".*; do
        cmp "$file" "$work/$2${file#"$work/$1"}" || return 1
    done
    [ "$(echo "$work/$1".* | wc -w)" -eq "$(echo "$work/$2".* | wc -w)" ]
}

random_delay() { od -An -N2 -tu2 /dev/urandom | awk '{ printf "%.2f", 0.05 + $1 / 65536 }'; }

# ---- energy: 1,024 stars, one time unit, eta = 0.01, eps = 1/256 as they are by default

for precision in ds dp; do
    SAPPORO_PRECISION=$precision "$hermite4" --model plummer -o "$work/$precision" >"$work/out" 2>"$work/err"
    status=$?
    eval "error_$precision=\$(energy_error)"
    error=$(energy_error)
    [ $status -eq 0 ] && [ ! -s "$work/err" ] && holds "abs(e) < 1e-7" "e=$error"
    verdict $? "energy error in $precision is below 1e-7: $error"
done
# shellcheck disable=SC2154 # set by eval
holds "abs(a - b) < 1e-8" "a=$error_ds" "b=$error_dp"
verdict $? "energy errors of ds and dp are within 1e-8"

# ---- collapse of the steps at a tiny eta: never in dp, noticed where it happens

tiny="--model plummer -n 256 --end 1/32 --eta 0.001"
for precision in dp ds sp; do
    # shellcheck disable=SC2086 # options
    SAPPORO_PRECISION=$precision "$hermite4" $tiny -o "$work/tiny_$precision" >"$work/out" 2>"$work/err"
    eval "blocks_$precision=\$(block_steps)"
    grep -q 'steps have collapsed' "$work/err"
    eval "noticed_$precision=\$((1 - \$?))"
    [ "$(grep -c . "$work/err")" -le 1 ] # once is enough
    verdict $? "eta = 0.001 in $precision: $(block_steps) block steps"
done
# shellcheck disable=SC2154
holds "!noticed && blocks > 0" "noticed=$noticed_dp" "blocks=$blocks_dp"
verdict $? "dp does not collapse at eta = 0.001"
# shellcheck disable=SC2154
holds "ds > 2048 && ds > 4 * dp ? noticed : ds < 2 * dp ? !noticed : 1" "noticed=$noticed_ds" "ds=$blocks_ds" "dp=$blocks_dp"
verdict $? "collapse in ds is noticed if it happens"
# shellcheck disable=SC2154
holds "noticed && sp > 4 * dp" "noticed=$noticed_sp" "sp=$blocks_sp" "dp=$blocks_dp"
verdict $? "collapse in sp is noticed"

# ---- restarts: a run in pieces is the run in one piece, to the byte

cluster="--model king --w0 7 -n 400 --imf salpeter --seed 5 --eps 1/512 --end 1/2 --interval 1/16"
# shellcheck disable=SC2086 # options
h4 $cluster -o "$work/whole"
verdict $? "a King model with Salpeter masses: energy error $(energy_error)"
# shellcheck disable=SC2086
OMP_NUM_THREADS=1 GRAPE_NPIPES=7 "$hermite4" $cluster -o "$work/narrow" >"$work/out" 2>"$work/err"
same whole narrow
verdict $? "batches of 7 and one thread give the same bytes"

# go_on NAME ARGUMENTS...: continues the run, or begins it if it has not come to its first restart file
go_on() {
    name=$1
    shift
    if [ -f "$work/$name.restart" ]; then
        exec "$hermite4" --restart "$work/$name.restart" "$@" >"$work/out" 2>"$work/err"
    fi
    # shellcheck disable=SC2086
    exec "$hermite4" $cluster -o "$work/$name" "$@" >"$work/out" 2>"$work/err"
}

pieces=0
until grep -q '^# done' "$work/out" && [ $pieces -gt 0 ] || [ $pieces -gt 200 ]; do
    (go_on pieces --stop-after 777) || break
    pieces=$((pieces + 1))
done
same whole pieces
verdict $? "$pieces pieces of 777 block steps give the same bytes"

# begun PID: waits until the run has said its first words (by then it heeds signals), or has ended
begun() {
    while [ ! -s "$work/out" ] && kill -0 "$1" 2>/dev/null; do sleep 0.02; done
}

# stopped NAME SIGNAL TIMES: is stopped some times at random moments, then left alone
stopped() {
    delays=
    for _ in $(seq "$3"); do
        rm -f "$work/out"
        (go_on "$1") &
        pid=$!
        [ "$2" = KILL ] || begun $pid
        delay=$(random_delay)
        delays="$delays $delay"
        sleep "$delay"
        kill "-$2" $pid 2>/dev/null
        wait $pid 2>/dev/null
        status=$?
        # 0: it had ended before; else the signal's
        case $2,$status in *,0 | KILL,137) ;; TERM,143 | HUP,129) grep -q -- '--restart' "$work/err" || return 1 ;; *) return 1 ;; esac
    done
    (go_on "$1")
}

stopped term TERM 4 && same whole term
verdict $? "SIGTERM after$delays s: the same bytes"
stopped hup HUP 1 && same whole hup
verdict $? "SIGHUP after$delays s: the same bytes"
stopped kill KILL 6 && rm -f "$work"/kill.*.part && same whole kill
verdict $? "SIGKILL after$delays s: the same bytes"

says 0 out 'going on at time 0.5' --restart "$work/term.restart" --end 9/16 && [ -f "$work/term.0009.txt" ]
verdict $? "a run that has ended can be continued"
says 2 err 'belongs to the run' --restart "$work/term.restart" --eta 0.02
verdict $? "a restart refuses to change what cannot change"
SAPPORO_PRECISION=dp "$hermite4" --restart "$work/hup.restart" >"$work/out" 2>"$work/err" && grep -q 'to the last bit' "$work/err"
verdict $? "a restart in another precision says what that means"
head -c 5000 "$work/whole.restart" >"$work/cut.restart"
says 2 err 'damaged' --restart "$work/cut.restart"
verdict $? "a damaged restart file is refused"

# ---- snapshots

says 2 err 'begin anew with --overwrite' --model plummer -o "$work/whole"
verdict $? "a run is not overwritten by accident"
says 0 out '400 particles at time 0.5 (form: lines)' "$work/whole.0008.txt" -o "$work/again" --format csv --end 1/2 &&
    says 0 out '400 particles at time 0.5 (form: csv)' "$work/again.0000.csv" -o "$work/third" --end 1/2 &&
    cmp "$work/whole.0008.txt" "$work/third.0000.txt"
verdict $? "snapshots are read back: lines, csv, lines, the same bytes"
"$hermite4" - -o "$work/pipe" --end 1/2 <"$work/whole.0008.txt" >"$work/out" 2>"$work/err" &&
    cmp "$work/pipe.0000.txt" "$work/whole.0008.txt"
verdict $? "standard input is read"
printf '2 0.0\n0.5 1 0 0 0 0.5 0\n0.5 -1 0 0 0 0.5\n' >"$work/bad.txt"
says 2 err 'bad.txt:3: 7 numbers expected' "$work/bad.txt" -o "$work/bad"
verdict $? "a fault in a file is named with its line"

# data FILE FORM EPS ENERGY: a file that other codes ship
data() {
    title="reads $1 of the shared data"
    if [ ! -f "../shared/data/$1" ]; then
        skipped "$title" "../shared/data/$1 is not there"
        return
    fi
    says 0 out "1024 particles at time 0 (form: $2)" "../shared/data/$1" --eps "$3" --end 1/8 -o "$work/$1" &&
        holds "abs(e - wanted) < 1e-5 && abs(error) < 1e-7" "wanted=$4" "error=$(energy_error)" \
            "e=$(awk '!/^#/ { print $2; exit }' "$work/out")"
    verdict $? "$title: energy error $(energy_error)"
}
data pl001k.init init 0 -0.25000
data pl1k pl 0.02 -0.25086

# ---- odd cases and wrong use

for masses in '1 1' '0 1' '0 0'; do
    # shellcheck disable=SC2086
    printf '%s 1 0 0 0 0 0\n%s -1 0 0 0 0 0\n' $masses >"$work/cold.txt"
    says 0 out '^# done' "$work/cold.txt" --eps 1/10 --end 1/4 -o "$work/cold" --overwrite && ! grep -qi nan "$work/out"
    verdict $? "two particles at rest, masses $masses"
done
echo '1 0 0 0 1 0 0' >"$work/one.txt"
says 0 out '^# done: relative energy error 0' "$work/one.txt" --end 1/4 -o "$work/one" &&
    awk '!/^#/ { exit !($3 == 0.25 && $6 == 1) }' "$work/one.0001.txt"
verdict $? "a single particle moves in a straight line"
says 2 err 'particles from where' -o "$work/x"
verdict $? "no particles: wrong use"
says 2 err "no option '--etta'" --etta 3 --demo
verdict $? "an unknown option: wrong use"
says 2 err '--eps wants a number' --demo --eps tiny
verdict $? "a value that is none: wrong use"
says 2 err 'no/such/file: ' no/such/file -o "$work/x"
verdict $? "a missing file is named"
says 1 err 'cannot write' --model plummer -n 10 -o "$work/no/such/folder/x"
verdict $? "an output that cannot be written is found before the run"
says 0 out 'Exit status' --help
verdict $? "--help"
before=$(ls)
says 0 out 'Try next' --demo -n 64 --end 1/4 && [ "$before" = "$(ls)" ]
verdict $? "--demo says what to try next and leaves no files"
h4 --model plummer -n 16 -q -o "$work/quiet" && [ ! -s "$work/out" ] && [ ! -s "$work/err" ]
verdict $? "--quiet"

# ---- Fortran

if [ -x examples/hermite4_f90 ]; then
    examples/hermite4_f90 >"$work/out" 2>"$work/err"
    error=$(sed -n 's/.*relative error *\([^,]*\),.*/\1/p' "$work/out")
    holds "abs(e) < 1e-7" "e=$error"
    verdict $? "the Fortran version: energy error $error"
else
    skipped "the Fortran version" "examples/hermite4_f90 is not built"
fi

exit $((failures > 0))
