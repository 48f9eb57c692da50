#!/bin/sh
# Forces of every kind with a main stack of 256 KiB: the library's own threads have 1 MiB (lib/base/team.c).  Prints TAP.
# BUILD is the folder of the build, as test/run.sh sets it.

program=${BUILD:-$(cat build/current)}/test/test_bits
[ -x "$program" ] || { echo "$program has not been built"; exit 77; }
case ${SANITIZE:-} in ?*) echo "frames of a sanitizer build are larger"; exit 77 ;; esac

work=$(mktemp -d) || exit 2
trap 'rm -rf "$work"' EXIT
failures=0

# verdict STATUS TITLE: one TAP line, with the log if the status is not 0
verdict() {
    if [ "$1" -eq 0 ]; then
        echo "ok - $2"
    else
        echo "not ok - $2"
        tail -n 12 "$work/log" | sed 's/^/#   /'
        failures=$((failures + 1))
    fi
}

# shellcheck disable=SC3045 # the shells that are /bin/sh somewhere have it
small() { (ulimit -s 256 && exec env "$@" "$program" --forces) >"$work/log" 2>&1 && grep -q '^same bits$' "$work/log"; }

small SAPPORO_VERBOSE=0
verdict $? "ulimit -s 256"

exit $((failures > 0))
