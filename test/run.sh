#!/bin/sh
# Runs tests, several at a time, prints a line for each in their order, ends with `N passed, N failed, N skipped`.
#
#   run.sh BUILD NAME...    BUILD/test/test_NAME (CMocka, of test/FOLDER/test_NAME.c), test/FOLDER/test_NAME.sh, test/NAME.sh
#
# CMocka programs are counted by their inner tests, scripts as one test, or by
# their TAP lines (`ok - what`, `not ok - what`, `ok - what # SKIP why`) if they
# print any.  A script that exits with 77 was skipped; its last line says why.
# A CMocka test that calls skip() says why with a line `skip: why` before it.
#
#   JOBS        how many run at a time, default 2, on one core 1: most tests have threads of their own
#   TIMEOUT     seconds a program may take, default 600
#   NO_CMOCKA   why CMocka programs could not be built
#   NOT_BUILT   Fortran programs that could not be built
#   EMULATOR    a command in front of CMocka programs, for another processor (test/aarch64.sh)
#   LOGS        where outputs are kept, default BUILD/test/logs

if [ $# -lt 1 ] || [ ! -d "$1" ]; then
    echo "usage: $0 BUILD NAME..." >&2
    exit 2
fi
build=$1
shift
logs=${LOGS:-$build/test/logs}
mkdir -p "$logs" || exit 2
results=$logs/results
: >"$results"
export BUILD="$build"

cores=$(nproc 2>/dev/null || getconf _NPROCESSORS_ONLN 2>/dev/null || echo 1)
[ "$cores" -lt 2 ] || cores=2
jobs=${JOBS:-$cores}
case $jobs in *[!0-9]* | 0*) echo "JOBS=$jobs: how many tests shall run at a time?" >&2; exit 2 ;; esac
unset JOBS # for this runner, not for those that tests run

# Started first, in this order: those that take longest, of any stage of .ci/run, but tests that compile most kernels of
# OpenCL, which PoCL then keeps for the others.  Tests of ranks and of faults would each compile the same kernels, in
# several processes at once.  test_site waits for a browser beside them.  The report keeps the order of the names.
long="test_accuracy test_tree_gpu test_site.sh test_tree_lengths test_stepper test_mpi.sh test_alloc_faults.sh
      test_opencl_nofp64.sh test_opencl_groups.sh test_driver_faults.sh test_bits test_hip_emulated.sh test_faults
      test_batch_faults test_galaxy_run.sh test_stepper_faults test_tree test_tree_near test_opencl_loader.sh
      test_native_jobs test_opencl test_tree_pace test_tree_criteria test_tree_periodic
      test_extremes test_galaxy test_stepper_massless test_tree_no_retry test_team_limits test_python.sh test_fuzz.sh
      test_g6 test_outside test_neighbour_faults test_spline test_tree_faults test_tree_alloc test_first_run.sh
      test_report.sh test_environment test_batch test_tool.sh"
# Started last, when nothing else runs: their `make install` works in the tree that other tests run from.
alone="test_install.sh test_packages.sh"

limit=
command -v timeout >/dev/null 2>&1 && limit="timeout -k 10 ${TIMEOUT:-600}"
# The thread sanitizer of gcc 12 needs the memory layout of older kernels.
case ${SANITIZE:-} in
*thread*) setarch "$(uname -m)" -R true 2>/dev/null && limit="$limit setarch $(uname -m) -R" ;;
esac
case ${SANITIZE:-} in
?*)
    export OCL_ICD_VENDORS=/nonexistent # drivers of OpenCL leak, and race
    # libasan of gcc 12 guesses the size of a loaded library's thread-local storage (the OpenCL loader has some) from the
    # word before it, and its search for leaks may end on a wrong guess.
    export ASAN_OPTIONS="${ASAN_OPTIONS:-detect_leaks=1:allocator_may_return_null=1:intercept_tls_get_addr=0}"
    export UBSAN_OPTIONS="${UBSAN_OPTIONS:-print_stacktrace=1}"
    export TSAN_OPTIONS="${TSAN_OPTIONS:-halt_on_error=1}"
    # gfortran does not free the arrays of a main program, nor AMD's library what it took to look for devices
    printf 'leak:MAIN__\nleak:libamdhip64\n' >"$logs/suppressions"
    export LSAN_OPTIONS="${LSAN_OPTIONS:-suppressions=$PWD/$logs/suppressions:print_suppressions=0}"
    ;;
esac

# OpenCL's compilers take seconds.  PoCL itself keeps what it made, beside the builds; to give it to our cache it would
# compile each kernel once more, for groups of any size.
export SAPPORO_CACHE="${SAPPORO_CACHE-off}"
export POCL_CACHE_DIR="${POCL_CACHE_DIR:-$PWD/build/pocl-cache}"

# Threads that wait leave the core to the test beside them, instead of watching for work.
export OMP_WAIT_POLICY="${OMP_WAIT_POLICY:-passive}"

now() { date +%s.%N | sed 's/N$/0/'; }

# count NAME STATUS LOG SECONDS: reads TAP, prints the line and what is worth telling, adds to the results
count() {
    awk -v name="$1" -v status="$2" -v seconds="$4" -v results="$results" -v limit="${TIMEOUT:-600}" '
    function skip(what, why) { skipped++; notes = notes "        skipped: " what (why != "" ? " (" why ")" : "") "\n" }
    /^1\.\.[0-9]+$/ { planned += substr($0, 4) }
    /^skip: / { reason = substr($0, 7) }
    /^(not )?ok/ && /# *SKIP/ {
        seen++
        what = $0; sub(/^(not )?ok *[0-9]* *-? */, "", what)
        why = what; sub(/^.*# *SKIP */, "", why); sub(/ *# *SKIP.*/, "", what)
        if (what == "") { what = why; why = reason }
        skip(what, why)
        before = 0
        reason = ""
        next
    }
    /^ok/ { seen++; passed++ }
    /^not ok/ {
        seen++
        failed++
        for (n = before > 6 ? before - 6 : 0; n < before; n++) notes = notes "        " said[n] "\n"
    }
    /^not ok/ || telling && /^#/ { telling = 1; notes = notes "        " $0 "\n" }
    !/^not ok/ && !/^#/ { telling = 0; said[before++] = $0 }
    /^(not )?ok/ { before = 0; reason = "" }
    { last = $0; tail[NR % 25] = $0 }
    END {
        if (seen == 0 && status == 77) skip(name, last)
        else if (seen == 0 && status == 0) passed++
        else if ((status != 0 && failed == 0) || seen < planned) {
            failed++
            for (n = NR - 24; n <= NR; n++) if (n > 0) notes = notes "        " tail[n % 25] "\n"
            why = status == 124 || status == 137 ? "no end after " limit " s" : status > 128 ? \
                "killed by signal " status - 128 : "ended with status " status
            notes = notes "        " why (seen < planned ? ", " planned - seen " tests did not run" : "") "\n"
        }
        word = failed ? "FAIL" : passed ? "ok" : "skip"
        counts = passed + 0 " passed" (failed ? ", " failed " failed" : "") (skipped ? ", " skipped " skipped" : "")
        printf "  %-4s  %-28s %7.1f s  %s\n%s", word, name, seconds, counts, notes
        print passed + 0, failed + 0, skipped + 0, name >> results
    }' "$3"
}

# ---- what is to run: N.name, N.command, or N.done where there is nothing to run ------------------

work=$(mktemp -d) || exit 2
trap 'rm -rf "$work"' EXIT
planned=0
pool=
: >"$work/names"

# plan NAME COMMAND
plan() {
    planned=$((planned + 1))
    echo "$1" >"$work/$planned.name"
    echo "$planned $1" >>"$work/names"
    echo "$2" >"$work/$planned.command"
}

# told NAME STATUS TEXT: a result without a run
told() {
    echo "$3" >"$logs/$1.log"
    plan "$1" :
    echo "$2 0" >"$work/$planned.done"
}

# source_of FILE: where it is in test/ or in one of its folders, or nothing
source_of() {
    for file in test/"$1" test/*/"$1" test/*/*/"$1"; do
        if [ -f "$file" ]; then echo "$file" && return; fi
    done
}

for test in "$@"; do
    found=
    if [ -n "$(source_of "test_$test.c")" ]; then
        found=1
        if [ -n "${NO_CMOCKA:-}" ]; then
            told "test_$test" 77 "$NO_CMOCKA"
        elif [ ! -x "$build/test/test_$test" ]; then
            told "test_$test" 1 "does not compile or link"
        else
            plan "test_$test" "${EMULATOR:-} $build/test/test_$test"
        fi
    fi
    for script in "$(source_of "test_$test.sh")" "test/$test.sh"; do
        [ -f "$script" ] || continue
        found=1
        if [ -x "$script" ]; then plan "$(basename "$script")" "./$script"; else plan "$(basename "$script")" "sh $script"; fi
    done
    [ -n "$found" ] || told "$test" 1 "there is no such test"
done
for program in ${NOT_BUILT:-}; do told "$(basename "$program")" 77 "${FC:-gfortran} is missing"; done

# ---- running them -----------------------------------------------------------------------------------

# numbers KIND: of the tests that are long (in the order of that list), alone or usual
numbers() {
    long=$long alone=$alone awk -v kind="$1" '
    BEGIN {
        first = split(ENVIRON["long"], name)
        for (k = 1; k <= first; k++) rank[name[k]] = k
        split(ENVIRON["alone"], name)
        for (k in name) last[name[k]]
    }
    $2 in rank { if (kind == "long") number[rank[$2]] = number[rank[$2]] " " $1; next }
    kind == ($2 in last ? "alone" : "usual") { print $1 }
    END { for (k = 1; k <= first; k++) if (k in number) print number[k] }' "$work/names"
}

# run N: what has the name and the command; then says that it has ended
run() {
    log=$logs/$(cat "$work/$1.name").log
    start=$(now)
    # shellcheck disable=SC2046,SC2086 # commands and their arguments
    CMOCKA_MESSAGE_OUTPUT=TAP $limit $(cat "$work/$1.command") >"$log" 2>&1 </dev/null &
    program=$!
    wait $program
    status=$?
    program=
    echo "$status $(echo "$(now) $start" | awk '{ print $1 - $2 }')" >"$work/$1.part"
    mv -f "$work/$1.part" "$work/$1.done"
    echo "$1"
}

# worker N...: runs those that no other worker has taken.  `timeout` hands a signal on to all that its program started.
worker() {
    program=
    trap '[ -z "$program" ] || { kill -TERM $program; wait $program; } 2>/dev/null; exit 1' TERM
    for n in "$@"; do
        [ -e "$work/$n.done" ] || ! mkdir "$work/$n" 2>/dev/null || run "$n"
    done
}

# workers JOBS N...
workers() {
    count=$1
    shift
    pids=
    while [ "$count" -gt 0 ]; do
        worker "$@" &
        pids="$pids $!"
        count=$((count - 1))
    done
    # shellcheck disable=SC2086 # a list of numbers
    wait $pids
}

run_all() {
    pids=
    # shellcheck disable=SC2086 # a list of numbers
    trap '[ -z "$pids" ] || { kill -TERM $pids; wait $pids; } 2>/dev/null; exit 1' TERM
    # shellcheck disable=SC2046 # lists of numbers
    workers "$jobs" $(numbers long) $(numbers usual)
    # shellcheck disable=SC2046 # a list of numbers
    workers 1 $(numbers alone)
}

# report: prints what is known of each test, in their order, as soon as all before it are known
report() {
    next=1
    while :; do
        while [ $next -le $planned ] && [ -e "$work/$next.done" ]; do
            name=$(cat "$work/$next.name")
            read -r status seconds <"$work/$next.done"
            count "$name" "$status" "$logs/$name.log" "$seconds"
            next=$((next + 1))
        done
        [ $next -le $planned ] || break
        read -r n && continue
        echo "nobody ran it" >"$logs/$(cat "$work/$next.name").log" # a worker was killed
        echo "1 0" >"$work/$next.done"
    done
    cat >/dev/null # what was reported before it was read
}

stop() {
    trap '' HUP INT TERM
    [ -z "$pool" ] || { kill -TERM "$reporter" "$pool"; wait "$pool"; } 2>/dev/null
    echo "interrupted" >&2
    exit 130
}
trap stop HUP INT TERM

mkfifo "$work/ended" || exit 2
run_all >"$work/ended" &
pool=$!
report <"$work/ended" &
reporter=$!
wait $reporter

awk '
{ passed += $1; failed += $2; skipped += $3; if ($2) names = names " " $4 }
END {
    if (names) print "failed:" names
    if (NR == 0) { print "no test was chosen"; failed = 1 }
    printf "%d passed, %d failed, %d skipped\n", passed, failed, skipped
    exit failed > 0
}' "$results"
