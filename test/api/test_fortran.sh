#!/bin/sh
# Fortran clients: the GRAPE names from Fortran 77 and 2008, also with a second underscore; module sapporo.  Prints TAP.
# test_fortran_modules.sh compares the modules with the headers.

case ${SANITIZE:-} in ?*) echo "libraries of a sanitizer build are not for clients"; exit 77 ;; esac
fc=${FC:-gfortran}
cc=${CC:-cc}
command -v "$fc" >/dev/null 2>&1 || { echo "$fc is missing"; exit 77; }
[ -f lib/libsapporo.so ] || { echo "lib/libsapporo.so is missing"; exit 77; }
work=$(mktemp -d) || exit 2
trap 'rm -rf "$work"' EXIT
. test/support/tap.sh
unset SAPPORO_PRECISION SAPPORO_METHOD GRAPE_NPIPES SAPPORO_DEVICES

try() { "$@" >"$work/log" 2>&1; }

# runs TITLE ARGUMENT...: compiles, links, and runs without a word on stderr
runs() {
    title=$1
    shift
    rm -f "$work/program"
    # shellcheck disable=SC2086 # FC may be a command with arguments
    try $fc -J "$work" "$@" -Llib -o "$work/program" && LD_LIBRARY_PATH=lib timeout 60 "$work/program" >"$work/out" 2>"$work/log" &&
        [ ! -s "$work/log" ]
    verdict $? "$title"
}

strict="-Wall -Wextra -Wno-compare-reals -Werror"
# shellcheck disable=SC2086 # lists of flags
for underscore in "" -fsecond-underscore; do
    for name in sapporo g6 pg5; do
        runs "Fortran 77 with lib$name $underscore" -std=legacy -ffixed-form $underscore test/fortran/fixed.f -l$name
    done
    runs "Fortran 2008 $underscore" -std=f2008 $strict -Wno-implicit-interface $underscore test/fortran/free.f90 -lsapporo
    runs "Fortran 2008 with threads $underscore" -std=f2008 -fopenmp $underscore test/fortran/free.f90 -lsapporo
done

# Options that change the kinds of numbers: the same numbers, or the compiler refuses the program.
runs "module sapporo, no option" -Iinclude examples/first_force.f90 -lsapporo
cp "$work/out" "$work/usual"
for option in -fdefault-real-8 "-fdefault-real-8 -fdefault-double-8"; do
    # shellcheck disable=SC2086
    runs "module sapporo, $option" $option -Iinclude examples/first_force.f90 -lsapporo
    cmp "$work/usual" "$work/out" >"$work/log" 2>&1
    verdict $? "the same numbers with $option"
done
# shellcheck disable=SC2086 # FC may be a command with arguments
try $fc -J "$work" -fdefault-integer-8 -Iinclude examples/first_force.f90 -Llib -lsapporo -o "$work/program"
grep -q 'Type mismatch' "$work/log" || { LD_LIBRARY_PATH=lib "$work/program" | cmp - "$work/usual"; } >>"$work/log" 2>&1
verdict $? "the compiler refuses integers of 8 bytes, or the numbers are the same"

SAPPORO_VERBOSE=0 # some of its calls are wrong on purpose
export SAPPORO_VERBOSE
# shellcheck disable=SC2086
runs "module sapporo" -std=f2018 $strict include/sapporo.f90 test/fortran/native.f90 -lsapporo
cat >"$work/sizes.c" <<'END'
#include "sapporo.h"
#include <stdio.h>
int main(void)
{
    printf("sizes %zu %zu %zu %zu %zu %zu %zu %zu %zu %zu %zu %zu %zu %zu %zu %zu %zu %zu %zu %zu\n", sizeof(sapporo_device), sizeof(sapporo_variable),
           sizeof(sapporo_options), sizeof(sapporo_column), sizeof(sapporo_particle), sizeof(sapporo_particles), sizeof(sapporo_request),
           sizeof(sapporo_result), sizeof(sapporo_small_force), sizeof(sapporo_neighbour_request), sizeof(sapporo_tree_options),
           sizeof(sapporo_tree_particles), sizeof(sapporo_tree_request), sizeof(sapporo_tree_statistics),
           sizeof(sapporo_field), sizeof(sapporo_stepper_options), sizeof(sapporo_stepper_particles), sizeof(sapporo_stepper_output),
           sizeof(sapporo_stepper_totals), sizeof(sapporo_stepper_statistics));
    return 0;
}
END
# shellcheck disable=SC2086 # CC may be a command with arguments
try $cc -Iinclude "$work/sizes.c" -o "$work/sizes" && { "$work/sizes"; grep '^sizes' "$work/out"; } >"$work/log" &&
    [ "$(sort -u "$work/log" | wc -l)" -eq 1 ]
verdict $? "types of module sapporo are as long as those of sapporo.h"

exit $((failures > 0))
