#!/bin/sh
# test_make.sh - how `make` starts without arguments: on all cores that it may use, with a count in front of each object, and
# what THREADS=openmp changes.  Nothing is compiled.  Prints TAP.

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

# THREADS=openmp: one file for another, and the flag where it is compiled and where the library is linked.
make -n CUDA=0 OPENMP=1 THREADS=openmp 2>&1 | grep -v '^printf' >"$work/commands"
grep -q -- '-fopenmp .* lib/base/team_openmp.c$' "$work/commands" || echo "team_openmp.c is not compiled" >"$work/log"
grep -q ' lib/base/team.c$' "$work/commands" && echo "team.c is compiled" >>"$work/log"
grep -q -- '-fopenmp .*-o build/[0-9]*/lib/libsapporo\.so' "$work/commands" || echo "it is not linked" >>"$work/log"
make -n CUDA=0 THREADS=many 2>&1 | grep -q "own or openmp, not 'many'" || echo "no word of THREADS=many" >>"$work/log"
make -n CUDA=0 THREADS=openmp OPENMP=0 2>&1 | grep -q 'has no OpenMP' || echo "no word of a lack" >>"$work/log"
make -n CUDA=0 2>&1 | grep -q team_openmp && echo "it is compiled without being asked for" >>"$work/log"
none "threads of OpenMP"
exit $((failures > 0))
