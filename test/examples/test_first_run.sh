#!/bin/sh
# test_first_run.sh - what a new user meets first: defaults that conserve the energy, advice that can be copied, errors
# that are errors, numbers as people write them.  For the examples; the tool has test_tool.sh.  Prints TAP.

cd "$(dirname "$0")/../.." || exit 1
for program in hermite4 hermite6 hermite8 leapfrog_tree leapfrog_direct galaxy leapfrog_g5; do
    [ -x examples/$program ] || { echo "skipped: examples/$program is not built"; exit 77; }
done
. test/support/tap.sh
forget_settings
SAPPORO_BACKEND=cpu
OMP_NUM_THREADS=1 # forces on hundreds of particles
export SAPPORO_BACKEND OMP_NUM_THREADS
root=$PWD
work=$(mktemp -d "${TMPDIR:-/tmp}/test_first_run.XXXXXX") || exit 1
trap 'rm -rf "$work"' EXIT
shown="out err"
version=$(sed -n 's/^#define SAPPORO_VERSION "\(.*\)"/\1/p' include/sapporo.h)

# go PROGRAM ARGUMENT...: a run
go() {
    program=$1
    shift
    "$root/examples/$program" "$@" >"$work/out" 2>"$work/err"
}

# gives STATUS FILE TEXT PROGRAM ARGUMENT...: a run, its exit status, and a text in out or err
gives() {
    wanted=$1
    file=$2
    text=$3
    shift 3
    go "$@"
    got=$?
    [ $got -eq "$wanted" ] || echo "# exit status $got, not $wanted: $*"
    grep -q -- "$text" "$work/$file" || echo "# '$text' is not in $file: $*"
    [ $got -eq "$wanted" ] && grep -q -- "$text" "$work/$file"
}

# The energy error that the last run printed.
energy_error() { sed -n 's/^# done: relative energy error \([^,]*\),.*/\1/p; s/.*relative error *\([-+.0-9eE]*\),.*/\1/p' "$work/out"; }

# below BOUND: whether it is a number of at most that size
below() { energy_error | awk -v bound="$1" '{ e = $1 < 0 ? -$1 : $1 } END { exit !(NR == 1 && e < bound) }'; }

# ---- defaults conserve the energy to a thousandth, or the program refuses

for model in plummer king hernquist uniform nfw clumps; do
    for stars in 64 '512 --imf salpeter'; do
        # shellcheck disable=SC2086 # words of a command
        go leapfrog_tree --model $model -n $stars -t 1/2 -o "$work/e" --overwrite && below 1e-3 && [ ! -s "$work/err" ] ||
            echo "# leapfrog_tree --model $model -n $stars: $(energy_error) $(cat "$work/err")"
    done
done >"$work/bad"
go leapfrog_tree --model plummer -n 2 -o "$work/e" --overwrite && below 1e-3 || echo "# 2 stars: $(energy_error)" >>"$work/bad"
go leapfrog_tree --model king -n 16 --imf salpeter -o "$work/e" --overwrite && below 1e-3 || echo "# 16 stars: $(energy_error)" >>"$work/bad"
cp "$work/bad" "$work/out"
[ ! -s "$work/bad" ]
verdict $? "leapfrog_tree: every model, number of stars and form of masses keeps its energy to 1e-3"
for mac in opening multipole acceleration; do
    go leapfrog_tree --demo --mac $mac && below 1e-3
    verdict $? "leapfrog_tree --demo --mac $mac: energy error $(energy_error)"
done
go leapfrog_tree --demo -n 256 --eps 1/128 && below 1e-3
verdict $? "leapfrog_tree --demo --eps 1/128: energy error $(energy_error)"
gives 2 err 'eps 0.*give --eps' leapfrog_tree --demo --eps 0
verdict $? "leapfrog_tree: without softening it refuses, with advice"
gives 2 err 'larger --eps' leapfrog_tree --demo --eps 1e-7
verdict $? "leapfrog_tree: a softening that needs too many steps is refused, with advice"

for program in hermite4 hermite6 hermite8; do
    for stars in 2 16 64; do
        for model in plummer clumps; do
            go "$program" --model $model -n $stars -t 1/2 -o "$work/e" --overwrite && below 1e-4 ||
                echo "# $program --model $model -n $stars: $(energy_error) $(cat "$work/err")"
        done
    done
done >"$work/bad"
cp "$work/bad" "$work/out"
[ ! -s "$work/bad" ]
verdict $? "hermite4, hermite6, hermite8: models of few stars keep their energy"
for steps in block shared; do
    for model in plummer king hernquist uniform nfw clumps; do
        for stars in 2 16 64 '512 --imf salpeter'; do
            # shellcheck disable=SC2086 # words of a command
            go galaxy --model $model -n $stars --steps $steps -t 1/2 -o "$work/e" --overwrite && below 1e-3 && [ ! -s "$work/err" ] ||
                echo "# galaxy --model $model -n $stars --steps $steps: $(energy_error) $(cat "$work/err")"
        done
    done
    for model in disc andromeda; do
        go galaxy --model $model -n 512 --steps $steps -t 1/2 --interval 1/2 -o "$work/e" --overwrite && below 1e-3 ||
            echo "# galaxy --model $model -n 512 --steps $steps: $(energy_error) $(cat "$work/err")"
    done
done >"$work/bad"
cp "$work/bad" "$work/out"
[ ! -s "$work/bad" ]
verdict $? "galaxy: every model, number of stars and kind of steps keeps its energy to 1e-3"
for model in cold-disc two-clusters mass-ratios; do
    for stars in 2 64 512; do
        for program in leapfrog_tree 'galaxy --steps block'; do
            # shellcheck disable=SC2086 # words of a command
            go $program --model $model -n $stars -t 1/4 -o "$work/e" --overwrite && below 1e-3 && [ ! -s "$work/err" ] ||
                echo "# $program --model $model -n $stars: $(energy_error) $(cat "$work/err")"
        done
    done
done >"$work/bad"
cp "$work/bad" "$work/out"
[ ! -s "$work/bad" ]
verdict $? "leapfrog_tree, galaxy: models for measurements of trees keep their energy to 1e-3"
gives 2 err 'masses of its own' leapfrog_tree --model mass-ratios --imf salpeter -o "$work/e" --overwrite
verdict $? "leapfrog_tree: a form of masses that a model does not have is refused"
gives 0 out 'eta 0.00' galaxy --model clumps -n 64 -t 1/8 -o "$work/e" --overwrite
verdict $? "galaxy: it says that it takes shorter steps"
gives 0 out '^# 300 particles, softening 0.5, time 0 to 1, outputs every 0.5' galaxy --demo -n 300 --eps 1/2 -t 1 -d 1/2
verdict $? "galaxy --demo takes what options say"
for stars in 2 3 8 10 16 63 64 100 1024; do
    go leapfrog_g5 $stars && below 1e-3 || echo "# leapfrog_g5 $stars: $(energy_error)"
done >"$work/bad"
cp "$work/bad" "$work/out"
[ ! -s "$work/bad" ]
verdict $? "leapfrog_g5: any number of stars keeps its energy"

# ---- a large error is a warning and an exit status

gives 3 err 'do not use this result' leapfrog_tree --model plummer -n 256 --eps 1/256 --dt-max 1/8 -o "$work/l" && ! below 1e-2
verdict $? "leapfrog_tree: a step that is too long"
gives 3 err 'do not use this result' leapfrog_tree --restart "$work/l.restart" && ! below 1e-2
verdict $? "leapfrog_tree: and again from its restart file"
gives 3 err 'smaller --eta' hermite4 --model plummer -n 64 --shared --dt-max 1/4 -o "$work/h" && ! below 1e-2
verdict $? "hermite4: the same"
gives 3 err 'smaller --eta' galaxy --model plummer -n 64 --eta 1 -o "$work/l" --overwrite && ! below 1e-2
verdict $? "galaxy: the same"
gives 3 err 'smaller --dt-max' galaxy --model plummer -n 256 --eps 1/256 --dt-max 1/8 --steps shared -o "$work/l" --overwrite &&
    gives 3 err 'smaller --dt-max' galaxy --restart "$work/l.restart"
verdict $? "galaxy: the same with one step for all"
gives 1 err 'smaller STEP' leapfrog_g5 2 0.05 6.28
verdict $? "leapfrog_g5: the same"
gives 1 err 'more STEPS' hermite_g6 30
verdict $? "hermite_g6: the same"
if [ -x examples/hermite4_f90 ]; then
    gives 1 err 'smaller STEP' leapfrog_g5_f90 0.05
    verdict $? "leapfrog_g5.f90: the same"
    gives 3 err 'smaller ETA' hermite4_f90 - 10 0 1
    verdict $? "hermite4.f90: the same"
fi

# ---- advice of a demo can be copied

mkdir "$work/advice"
for program in hermite4 hermite6 hermite8 leapfrog_tree leapfrog_direct galaxy; do
    gives 0 out 'Try next' "$program" --demo -n 64 -t 1/8
    verdict $? "$program --demo gives advice"
    # Fewer stars than the advice: each of its options is read all the same.
    sed -n '/Try next/,$s/^#   \(.*\)/\1/p' "$work/out" | sed 's/   *(.*//; s/-n [0-9]*/-n 128/; s/--demo/--demo -n 128 -t 1\/8/' |
        sed '/andromeda/s/$/ -t 1/; s/--end 200/--end 2/; s/-t 20/-t 1/' >"$work/lines" # of galaxies less time, too
    bad=$(grep -c . "$work/lines" | awk '{ print $1 < 3 }')
    while read -r line; do
        (cd "$work/advice" && sh -c "$line" >"$work/out" 2>"$work/err" </dev/null) || { bad=1 && echo "# $line: $(cat "$work/err")"; }
    done <"$work/lines"
    [ "$bad" -eq 0 ]
    verdict $? "$program: each line of it works"
    rm -f "$work"/advice/*
done
mkdir "$work/two words"
cp examples/hermite4 "$work/two words/" # a command and a prefix with a blank
LD_LIBRARY_PATH=$root/lib "$work/two words/hermite4" --model plummer -n 64 --stop-after 3 -o "$work/two words/run" >"$work/out" 2>"$work/err"
line=$(sed -n 's/.*To go on: //p' "$work/err")
LD_LIBRARY_PATH=$root/lib sh -c "${line:-false}" >"$work/out" 2>"$work/err" && below 1e-4
verdict $? "what a stopped run says can be copied, also where names have blanks"

# ---- restarts of runs that have ended

for program in hermite4 hermite6 hermite8 leapfrog_tree leapfrog_direct galaxy; do
    go "$program" --model plummer -n 64 -t 1/2 -o "$work/r" --overwrite
    error=$(energy_error)
    gives 0 out 'this run has ended at time 0.5' "$program" --restart "$work/r.restart" && [ -n "$error" ] && [ "$(energy_error)" = "$error" ]
    verdict $? "$program --restart of a run that has ended: its real error, $error"
    gives 2 err 'end 0.25 lies before the present time' "$program" --restart "$work/r.restart" --end 1/4
    verdict $? "$program: an end before the present time is refused"
    gives 0 out '# done' "$program" --restart "$work/r.restart" --end 1 && below 1e-3
    verdict $? "$program: a later end goes on"
    gives 2 err 'lies before the start' "$program" --model plummer -n 64 -t -1 -o "$work/r" --overwrite
    verdict $? "$program: an end before the start is refused"
done

# ---- output that cannot be written

# full TITLE PROGRAM ARGUMENT...: standard output to a full disk ends with status 1 and a message
full() {
    title=$1
    shift
    program=$1
    shift
    : >"$work/out"
    "$root/examples/$program" "$@" >/dev/full 2>"$work/err"
    [ $? -eq 1 ] && grep -qi 'standard output' "$work/err"
    verdict $? "$title: a full disk is an error"
}
if [ -w /dev/full ]; then
    for program in first_force hermite_g6 integrate leapfrog_g5 tree_force; do full $program $program; done
    for program in hermite4 hermite6 hermite8 leapfrog_tree leapfrog_direct galaxy; do
        full "$program" "$program" --demo -n 16 -t 1/8
        full "$program --help" "$program" --help
        full "$program --version" "$program" --version
    done
    if [ -x examples/hermite4_f90 ]; then
        for program in first_force_f90 leapfrog_g5_f90; do full $program $program; done
        full hermite4_f90 hermite4_f90 - 0.01 1/256 0.125
        full nbody6_regular_f90 nbody6_regular_f90 200 20
        full "hermite4_f90 --version" hermite4_f90 --version
    fi
    if python3 -c '' 2>/dev/null && [ -z "${SANITIZE:-}" ]; then
        ! PYTHONDONTWRITEBYTECODE=1 python3 examples/force_ctypes.py >/dev/full 2>"$work/err" &&
            grep -q 'No space left' "$work/err"
        verdict $? "force_ctypes.py: a full disk is an error"
    fi
else
    skipped "a full disk is an error" "no /dev/full"
fi
for program in hermite4 leapfrog_tree; do # files of 64 KiB are possible, and the restart file is longer
    (ulimit -f 64 && go $program --model plummer -n 1k -t 1/4 -o "$work/limit" --overwrite)
    [ $? -eq 1 ] && grep -q 'cannot write' "$work/err"
    verdict $? "$program: a file that cannot be written to its end"
done
: >"$work/file"
mkdir "$work/folder.restart"
for program in hermite4 hermite6 hermite8 leapfrog_tree leapfrog_direct galaxy; do
    for prefix in "$work/nowhere/x" "$work/file/x" "$work/folder"; do
        gives 1 err 'cannot write' "$program" --model plummer -n 64 -o "$prefix" --overwrite && [ ! -s "$work/out" ]
        verdict $? "$program -o $(basename "$(dirname "$prefix")")/$(basename "$prefix") is refused before the first force"
    done
done
go hermite4 --model plummer -n 64 --stop-after 3 -o "$work/s" && gives 1 err 'cannot write' hermite4 --restart "$work/s.restart" -o "$work/nowhere/x"
verdict $? "--restart with an -o that cannot be written"

# ---- numbers, versions

{
    for number in 64 6.4e1 .064k; do
        gives 0 out '^# 64 particles' leapfrog_tree --model plummer -n $number -t 1/8 -o "$work/n" --overwrite || echo "# -n $number"
    done
    for number in 3G 1e10 99999999999999999999; do
        gives 2 err "particles $number is too large: at most 2147483647" hermite4 --demo -n $number
    done
    for number in 0 -1 1.5 1kk k inf 0x10 1e-3 ''; do
        gives 2 err 'particles wants a whole number' hermite4 --demo -n "$number"
    done
    for number in 1k 1e3 .1M 1/2k; do gives 0 out '# stopped\|# done\|time 0 to' hermite4 --model plummer -n 16 -t $number --stop-after 1 -o "$work/n" --overwrite; done
    for number in 1e400 1e300G; do gives 2 err "end $number is too large" hermite4 --demo -t $number; done
    for number in 1kk k inf nan 0x10 '' 1e 1/0 / 1/; do gives 2 err 'eps wants a number' hermite4 --demo --eps "$number"; done
    gives 0 out '# done' leapfrog_tree --model plummer -n 16 -t 1/8 --rebuild 1e1 -o "$work/n" --overwrite
    gives 2 err 'rebuild 3G is too large' leapfrog_tree --model plummer -n 16 --rebuild 3G -o "$work/n"
    gives 2 err 'a whole number of steps' galaxy --model plummer -n 16 --rebuild 1.5 -o "$work/n"
    for seed in -5 1e3 9223372036854775807; do
        gives 0 out '# done' hermite4 --model plummer -n 16 -t 1/8 --seed $seed -o "$work/n" --overwrite
    done
} >"$work/bad"
cp "$work/bad" "$work/out"
[ ! -s "$work/bad" ]
verdict $? "counts as people write them"
gives 0 out 'after one period of 1000 steps' hermite_g6 1e3 && gives 2 err usage hermite_g6 1x && gives 2 err usage tree_force 5kk &&
    gives 0 out '1000 particles' tree_force 1e3 && gives 2 err usage integrate 5kk && gives 0 out 'time 4:' integrate 1e3
verdict $? "counts of examples of one page"
for wrong in 64x 1 '64 1e400' '64 x' '64 0.01 1 nan' '64 0.01 inf'; do
    # shellcheck disable=SC2086 # words of a command
    gives 2 err '^usage' leapfrog_g5 $wrong
done >"$work/bad"
cp "$work/bad" "$work/out"
[ ! -s "$work/bad" ]
verdict $? "leapfrog_g5: wrong use"
for program in hermite4 hermite6 hermite8 leapfrog_tree leapfrog_direct galaxy hermite4_f90 nbody6_regular_f90; do
    [ -x examples/$program ] || { skipped "$program --version" "not built" && continue; }
    gives 0 out "^$program, libsapporo $version *\$" "$program" --version
    verdict $? "$program --version"
done

for program in report frames; do
    title="$program --version"
    python3 -c '' 2>/dev/null || { skipped "$title" "python3 is missing" && continue; }
    [ "$(python3 examples/$program --version 2>"$work/err")" = "$program, libsapporo $version" ]
    verdict $? "$title"
done

# ---- Fortran: failures have an exit status

if [ -x examples/hermite4_f90 ]; then
    printf '0\n2\n1 0.5 0 0 0 0 0 0\n2 0.5 x 0 0 0 0 0\n' >"$work/broken"
    gives 2 err 'cannot be opened' hermite4_f90 "$work/nowhere" && gives 2 err 'a particle is missing' hermite4_f90 "$work/broken" &&
        gives 2 err 'number of particles' hermite4_f90 "$work/file" && gives 2 err 'ETA is no number' hermite4_f90 - many &&
        gives 2 err 'END >= 0' hermite4_f90 - 0.01 0 -1 && gives 0 out '256 particles' hermite4_f90 - 0.01 1/64 0.125
    verdict $? "hermite4.f90: wrong input"
    SAPPORO_BACKEND=none
    gives 1 err 'does not open' hermite4_f90 && gives 1 err sapporo_open first_force_f90 && gives 1 err failed leapfrog_g5_f90
    verdict $? "Fortran: a library that does not open"
    SAPPORO_BACKEND=cpu
    gives 2 err '^usage' leapfrog_g5_f90 x && gives 2 err '^usage' leapfrog_g5_f90 1e400 && gives 2 err '^usage' leapfrog_g5_f90 0.01 -1
    verdict $? "leapfrog_g5.f90: wrong use"
    for number in 200 2e2 .2k; do gives 0 out 'lists that are wrong: 0' nbody6_regular_f90 $number 20 || echo "# N $number"; done >"$work/bad"
    gives 2 err 'N is too large' nbody6_regular_f90 3G >>"$work/bad"
    for number in x 1.5 0 -3; do gives 2 err 'N is no' nbody6_regular_f90 $number >>"$work/bad"; done
    cp "$work/bad" "$work/out"
    [ ! -s "$work/bad" ]
    verdict $? "nbody6_regular.f90: counts"
else
    skipped "Fortran" "the examples in Fortran are not built"
fi

exit $((failures > 0))
