#!/bin/sh
# Forces of every kind with a main stack of 256 KiB: the library's own threads have 1 MiB (lib/base/team.c).  Prints TAP.
# BUILD is the folder of the build, as test/run.sh sets it.

program=${BUILD:-$(cat build/current)}/test/test_bits
[ -x "$program" ] || { echo "$program has not been built"; exit 77; }
case ${SANITIZE:-} in ?*) echo "frames of a sanitizer build are larger"; exit 77 ;; esac

work=$(mktemp -d) || exit 2
trap 'rm -rf "$work"' EXIT
. test/support/tap.sh

# shellcheck disable=SC3045 # the shells that are /bin/sh somewhere have it
small() { (ulimit -s 256 && exec env "$@" "$program" --forces) >"$work/log" 2>&1 && grep -q '^same bits$' "$work/log"; }

small SAPPORO_VERBOSE=0
verdict $? "ulimit -s 256"

exit $((failures > 0))
