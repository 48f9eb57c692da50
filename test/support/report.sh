# shellcheck shell=sh
# report.sh - what gpu.sh and hip.sh share: steps that are told and counted, the report, tests that run on any GPU.
#
# A script sources this file from the top folder.  It sets $card, the word of file names, $top, the top folder, $all, the
# steps that it has as functions step_NAME, $steps, those asked for, and $out, where reports go.  It ends with take_steps.
# shellcheck disable=SC2154,SC2034 # these variables; ON_ANY

mkdir -p "$out" build || exit 2
report=$out/report.txt
results=build/$card-results
: >"$results"
: >"$report"

say() { echo "$*" | tee -a "$report"; }
give_up() {
    say "$card.sh: $1" >&2
    exit 2
}

for step in $steps; do
    case " $all " in *" $step "*) ;; *) give_up "unknown step '$step'" ;; esac
done

# The compiler and the linker look there too; nothing of the build depends on it.
use_cmocka() {
    folder=$(cd "$1" && pwd) || return
    for package in "$folder"/*.deb; do
        [ -f "$package" ] && dpkg -x "$package" "$top/build/cmocka" && folder=$top/build/cmocka
    done
    header=$(find "$folder" -name cmocka.h | head -n 1)
    library=$(find "$folder" -name libcmocka.so | head -n 1)
    if [ -z "$header" ] || [ -z "$library" ]; then give_up "there is no CMocka in $1"; fi
    export CPATH="${header%/*}${CPATH:+:$CPATH}"
    export LIBRARY_PATH="${library%/*}${LIBRARY_PATH:+:$LIBRARY_PATH}"
    export LD_LIBRARY_PATH="${library%/*}${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}"
}
[ -z "${CMOCKA_DIR:-}" ] || use_cmocka "$CMOCKA_DIR"

# ---- running ---------------------------------------------------------------------------------

# seconds_since START
seconds_since() { echo "$(date +%s) $1" | awk '{ print $1 - $2 }'; }

# note VERDICT NAME SECONDS TEXT
note() {
    printf '  %-4s  %-34s %5s s  %s\n' "$1" "$2" "$3" "$4" >>"$results"
    printf '%s: %s (%s s) %s\n' "$1" "$2" "$3" "$4" | tee -a "$report"
}

cut= # seconds after which a command may be cut off, if compute-sanitizer has found nothing by then
FOUND='^=========.*\(Invalid \|Misaligned \|Race reported\|Uninitialized \|Barrier error\|Program hit \)'

# run NAME COMMAND...: output goes to the report and to NAME.txt; the last line is told with the verdict
run() {
    name=$1
    shift
    log=$(echo "$name" | tr -c 'A-Za-z0-9._\n' '-')
    log=build/$card-$log.txt
    say ""
    say "---- $name: $*"
    start=$(date +%s)
    { timeout -k 10 "${cut:-${LIMIT:-1500}}" "$@" </dev/null 2>&1; echo $? >"$log.status"; } | tee "$log"
    status=$(cat "$log.status")
    cat "$log" >>"$report"
    verdict=PASS
    [ "$status" -eq 0 ] || verdict=FAIL
    case $cut:$status in ?*:124 | ?*:137) verdict=CUT ;; esac
    [ -z "$cut" ] || ! grep -q "$FOUND" "$log" || verdict=FAIL # also of a child, whatever the status says
    note $verdict "$name" "$(seconds_since "$start")" "$(tail -n 1 "$log" | cut -c 1-100)"
    return "$status"
}

skip() { note SKIP "$1" 0 "$2"; }

# On GPUs, and nowhere else: without a device these fail.
ON_ANY="primitives tree tree_edges tree_gpu tree_faults tree_no_retry tree_alloc tree_extremes leapfrog_tree accuracy
    bits environment accum predictor jstore jstore_contexts jstore_alloc native_jobs native_threads g6 g6_results g5
    g5_input g5_threads batch batch_jobs batch_more batch_single outside extremes not_finite sparse neighbour_devices gpu_lists closed
    outputs lost_stores races stepper stepper_direct stepper_hermite stepper_soft_hermite stepper_lengths stepper_device stepper_faults stepper_massless stepper_pairs stepper_change leapfrog_direct
    spline tree_lengths few told tree_bounds tree_halo batch_addresses stepper_errors stepper_own neighbour_force orders
    tree_nearest nearest_caller tree_tidal tree_periodic tidal_caller tree_criteria tree_districts tree_life tree_pace tree_devices tree_bodies tree_chosen caller stepper_landing"

# chosen LIST: those of a list that TESTS names, or all of it
chosen() {
    for test in ${TESTS:-$1}; do
        case " $(echo "$1" | tr '\n' ' ') " in *" $test "*) printf ' %s' "$test" ;; esac
    done
}

step_build() {
    run "build" make "$@" all || return
    if echo 'int main(void) { return 0; }' | gcc -x c - -o build/cmocka.out -lcmocka 2>/dev/null; then
        run "build tests" make "$@" tests
    else
        skip "build tests" "CMocka is missing: CMOCKA_DIR"
    fi
    run "info" examples/sapporo info
}

# keep_logs NAME: what tests said, the last of it.
keep_logs() {
    for log in build/logs-"$1"/*.log; do
        echo "==== $log"
        tail -n 60 "$log"
    done >"$out/logs-$1.txt" 2>/dev/null
}

# check_on ENGINE NAME TESTS MAKE_ARGUMENT...: those of the tests that TESTS names, if it names any, on an engine alone
check_on() {
    engine=$1
    what=$2
    tests=$(chosen "$3")
    shift 3
    [ -n "$tests" ] || return 0
    run "$what" env LOGS="build/logs-$engine" SAPPORO_TEST_ENGINES="$engine" SAPPORO_BACKEND="$engine" \
        ${vendors:+"$vendors"} make "$@" check-run TESTS="${tests# }"
    keep_logs "$engine"
}

# conformance NAME BACKEND NAME=VALUE...
conformance() {
    what=$1
    backend=$2
    shift 2
    if [ -f shared/conformance/run.sh ] || [ -f ../shared/conformance/run.sh ]; then
        run "$what" env CONFORMANCE_BACKENDS="$backend" CONFORMANCE_REQUIRE=1 "$@" \
            test/conformance.sh ${FILTER:+"$FILTER"}
    else
        skip "$what" "there is no conformance suite in shared/ or ../shared/"
    fi
}

# fuzz NAME NAME=VALUE...
fuzz() {
    what=$1
    shift
    run "$what" env "$@" test/fuzz/run.sh "$(cat build/current)/test/fuzz/fuzz"
}

# faults NAME BACKEND MAKE_ARGUMENT...: vendors and cache of OpenCL count for it alone
faults() {
    what=$1
    backend=$2
    shift 2
    run "$what" env LOGS="build/logs-faults-$backend" TIMEOUT="${LIMIT:-1500}" SAPPORO_BACKEND="$backend" \
        ${vendors:+"$vendors"} ${kept:+"$kept"} make "$@" check-run TESTS=driver_faults
    keep_logs "faults-$backend"
}

# take_steps MAKE_ARGUMENT...: all of it, and the summary; exit status 1 if something failed
take_steps() {
    began=$(date +%s)
    for step in $steps; do
        if [ "$step" != build ] && [ "$step" != bare ] && [ ! -x examples/sapporo ]; then
            note FAIL "$step" 0 "nothing has been built"
            continue
        fi
        "step_$step" "$@"
    done

    say ""
    say "---- summary, $(seconds_since "$began") s"
    tee -a "$report" <"$results"
    if grep -q '^  FAIL' "$results"; then
        say "FAILED: $(grep -c '^  FAIL' "$results") of $(wc -l <"$results")"
        exit 1
    fi
    say "PASSED: $(grep -c '^  PASS' "$results"), skipped: $(grep -c '^  SKIP' "$results")," \
        "cut off: $(grep -c '^  CUT' "$results")"
}
