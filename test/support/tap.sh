# shellcheck shell=sh
# tap.sh - what test scripts share: lines of TAP, and a count of failures.
#
# A script sources this file from the top folder and ends with `exit $((failures > 0))`.  It sets $work, its own folder;
# the files of $work that $shown names hold what the last command printed.

failures=0
shown=log

# forget_settings: unsets all variables that the library reads, so that a test sees its defaults; SAPPORO_CACHE stays, so
# that no test writes to the user's folder
forget_settings() {
    for tap_name in $(env | sed -n 's/^\(SAPPORO_[A-Z0-9_]*\|GRAPE_NPIPES\)=.*/\1/p'); do
        [ "$tap_name" = SAPPORO_CACHE ] || unset "$tap_name"
    done
}

# verdict STATUS TITLE: one TAP line; if STATUS is not 0, also the beginnings and the ends of the shown files
verdict() {
    if [ "$1" -eq 0 ]; then
        echo "ok - $2"
        return
    fi
    echo "not ok - $2"
    failures=$((failures + 1))
    for tap_file in $shown; do
        # shellcheck disable=SC2154 # the script that sources this file sets `work`
        awk '{ line[NR] = $0 }
            END {
                for (n = 1; n <= NR; n++)
                    if (NR <= 25 || n <= 12 || n > NR - 13) print "#   " line[n]
                    else if (n == 13) print "#   ..."
            }' "$work/$tap_file" 2>/dev/null
    done
}

# none TITLE: passes if the log is empty
none() { [ ! -s "$work/log" ]; verdict $? "$1"; }

# usable_paths: prints the instruction paths of this processor, as SAPPORO_CPU_ISA names them
usable_paths() {
    for tap_isa in scalar sse2 avx2 avx512 neon; do
        ! SAPPORO_CPU_ISA=$tap_isa SAPPORO_BACKEND=cpu examples/sapporo info 2>&1 | grep -q "cpu $tap_isa" || echo "$tap_isa"
    done
}

# skipped TITLE REASON
skipped() { echo "ok - $1 # SKIP $2"; }

# python_checks TITLE SCRIPT ARGUMENT...: a test that passes if a program in Python does
python_checks() {
    tap_title=$1
    shift
    if command -v python3 >/dev/null 2>&1; then
        python3 "$@" >"$work/log" 2>&1
        verdict $? "$tap_title"
    else
        skipped "$tap_title" "python3 is missing"
    fi
}
