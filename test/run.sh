#!/bin/sh
# Runs tests, prints a line for each, ends with `N passed, N failed, N skipped`.
#
#   run.sh BUILD NAME...    BUILD/test/test_NAME (CMocka), test/test_NAME.sh, test/NAME.sh
#
# CMocka programs are counted by their inner tests, scripts as one test, or by
# their TAP lines (`ok - what`, `not ok - what`, `ok - what # SKIP why`) if they
# print any.  A script that exits with 77 was skipped; its last line says why.
# A CMocka test that calls skip() says why with a line `skip: why` before it.
#
#   TIMEOUT     seconds a program may take, default 600
#   NO_CMOCKA   why CMocka programs could not be built
#   NOT_BUILT   Fortran programs that could not be built
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

limit=
command -v timeout >/dev/null 2>&1 && limit="timeout -k 10 ${TIMEOUT:-600}"
# The thread sanitizer of gcc 12 needs the memory layout of older kernels.
case ${SANITIZE:-} in
*thread*) setarch "$(uname -m)" -R true 2>/dev/null && limit="$limit setarch $(uname -m) -R" ;;
esac
case ${SANITIZE:-} in
?*)
    export OCL_ICD_VENDORS=/nonexistent # drivers of OpenCL leak, and race
    export ASAN_OPTIONS="${ASAN_OPTIONS:-detect_leaks=1:allocator_may_return_null=1}"
    export UBSAN_OPTIONS="${UBSAN_OPTIONS:-print_stacktrace=1}"
    export TSAN_OPTIONS="${TSAN_OPTIONS:-halt_on_error=1}"
    echo "leak:MAIN__" >"$logs/suppressions" # gfortran does not free the arrays of a main program
    export LSAN_OPTIONS="${LSAN_OPTIONS:-suppressions=$PWD/$logs/suppressions:print_suppressions=0}"
    ;;
esac

# OpenCL's compilers take seconds: what they made is kept beside the builds.
export SAPPORO_CACHE="${SAPPORO_CACHE:-$PWD/build/opencl-cache}"
export POCL_CACHE_DIR="${POCL_CACHE_DIR:-$PWD/build/pocl-cache}"

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

# run NAME COMMAND...
run() {
    name=$1
    shift
    log=$logs/$name.log
    start=$(now)
    # shellcheck disable=SC2086 # a command and its arguments
    CMOCKA_MESSAGE_OUTPUT=TAP $limit "$@" >"$log" 2>&1 </dev/null
    status=$?
    count "$name" $status "$log" "$(echo "$(now) $start" | awk '{ print $1 - $2 }')"
}

# told NAME STATUS TEXT: a result without a run
told() {
    echo "$3" >"$logs/$1.log"
    count "$1" "$2" "$logs/$1.log" 0
}

for test in "$@"; do
    found=
    if [ -f "test/test_$test.c" ]; then
        found=1
        if [ -n "${NO_CMOCKA:-}" ]; then
            told "test_$test" 77 "$NO_CMOCKA"
        elif [ ! -x "$build/test/test_$test" ]; then
            told "test_$test" 1 "does not compile or link"
        else
            run "test_$test" "$build/test/test_$test"
        fi
    fi
    for script in "test/test_$test.sh" "test/$test.sh"; do
        [ -f "$script" ] || continue
        found=1
        if [ -x "$script" ]; then run "$(basename "$script")" "./$script"; else run "$(basename "$script")" sh "$script"; fi
    done
    [ -n "$found" ] || told "$test" 1 "there is no such test"
done
for program in ${NOT_BUILT:-}; do told "$(basename "$program")" 77 "${FC:-gfortran} is missing"; done

awk '
{ passed += $1; failed += $2; skipped += $3; if ($2) names = names " " $4 }
END {
    if (names) print "failed:" names
    if (NR == 0) { print "no test was chosen"; failed = 1 }
    printf "%d passed, %d failed, %d skipped\n", passed, failed, skipped
    exit failed > 0
}' "$results"
