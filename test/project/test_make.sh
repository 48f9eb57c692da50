#!/bin/sh
# test_make.sh - how `make` starts without arguments: on all cores that it may use, with a count in front of each object.
# Nothing is compiled.  Prints TAP.

work=$(mktemp -d) || exit 2
trap 'rm -rf "$work"' EXIT
. test/support/tap.sh
unset MAKEFLAGS MFLAGS MAKELEVEL # of the make that runs this test

# shellcheck disable=SC2016 # for make
printf '%s\n' 'include Makefile' '.PHONY: flags' "flags: ; @echo 'jobs \$(filter -j%,\$(MAKEFLAGS))'" >"$work/flags.mk"

# flags WANTED ARGUMENT...: logs another -j than the wanted one
flags() {
    wanted=$1
    shift
    found=$(make -s --no-print-directory -f "$work/flags.mk" CUDA=0 "$@" flags 2>&1)
    [ "$found" = "jobs $wanted" ] || echo "make $*: '$found', not 'jobs $wanted'" >>"$work/log"
}

cores=$(sh lib/build/cores.sh)
[ "$cores" -le "$(nproc)" ] && [ "$cores" -ge 1 ] || echo "cores.sh says $cores" >>"$work/log"
flags "-j$cores"
none "make uses the cores that it may use: $cores"
: >"$work/log"
flags -j3 -j3
flags -j1 -j1
none "the caller's -j wins"

# Flags that nothing was built with: every object is missing, and counted.
make -n CUDA=0 CFLAGS="-O0 -DSAP_UNUSED=$$" 2>&1 | sed -n "s/^printf .*'\[\([0-9/]*\)\]' .*/\1/p" >"$work/counts"
awk -F / '$1 != NR || NF != 2 || (of && $2 != of) { print "line " NR ": " $0 } { of = $2 }
    END { if (NR < 100 || NR != of) print NR " lines of " of }' "$work/counts" >"$work/log"
none "the count in front of objects ends at their number"
exit $((failures > 0))
