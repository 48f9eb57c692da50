#!/bin/sh
# The Fortran modules have the constants, types and functions of the headers, with the same values, members and
# arguments (fortran_modules.py).  Defects that are planted in copies of the modules are found.  Prints TAP.

command -v python3 >/dev/null 2>&1 || { echo "python3 is missing"; exit 77; }
cc=${CC:-cc}
work=$(mktemp -d) || exit 2
trap 'rm -rf "$work"' EXIT
. test/support/tap.sh

# The header of MPI, which has that of the library in it, as declarations alone.
mkdir "$work/system"
: >"$work/system/stddef.h"
# shellcheck disable=SC2086 # CC may be a command with arguments
printf '#include "sapporo_mpi.h"\n' |
    $cc -E -P -nostdinc -DSAPPORO_API= -I"$work/system" -Itest/api/mpi -Iinclude -x c - >"$work/declarations" 2>"$work/log"
verdict $? "the headers pass the preprocessor"

compare() { python3 test/api/fortran_modules.py "$work/declarations" "$@" >"$work/found" 2>&1; }

compare include/sapporo.f90 include/sapporo_mpi.f90
read -r constants _ types _ functions _ <<END
$(tail -n 1 "$work/found" | tr -d ,)
END
sed '$d' "$work/found" >"$work/log"
if [ "$constants" -lt 90 ] || [ "$types" -lt 25 ] || [ "$functions" -lt 100 ]; then cat "$work/found" >>"$work/log"; fi
none "modules sapporo and sapporo_mpi have the constants, types and functions of the headers"

# planted MODULE COMMAND EXPECTED WHAT: after a command of sed, the comparison tells of the difference
planted() {
    cp include/sapporo.f90 include/sapporo_mpi.f90 "$work"
    sed -i.before "$2" "$work/$1"
    compare "$work/sapporo.f90" "$work/sapporo_mpi.f90"
    if cmp -s "$work/$1" "$work/$1.before"; then echo "nothing was planted: $2"; fi >"$work/log"
    grep -q "$3" "$work/found" || cat "$work/found" >>"$work/log"
    none "a defect is found: $4"
}

planted sapporo.f90 's/SAPPORO_DS = 2/SAPPORO_DS = 3/' '^constant SAPPORO_DS is 3' "a value"
planted sapporo.f90 's/SAPPORO_PHASE_LINK = 2/SAPPORO_PHASE_LINK = 1/' '^constant SAPPORO_PHASE_LINK' "an index that counts from 0"
planted sapporo.f90 's/, SAPPORO_ROOT_FAST = 2//' '^constant SAPPORO_ROOT_FAST is in no module' "a constant is missing"
planted sapporo_mpi.f90 's/SAPPORO_MPI_WAY_AUTO = 0,/&  SAPPORO_MPI_WAY_OLD = 9,/' '_OLD is in no header' "a constant too many"
planted sapporo.f90 's/type(sapporo_column) :: x, v, a, jerk, index/type(sapporo_column) :: x, a, v, jerk, index/' \
    '^type sapporo_request has' "two members in another order"
planted sapporo.f90 's/real(c_double) :: floor2 = 0/integer(c_int) :: floor2 = 0/' '^sapporo_small_force%floor2' "a member of another type"
planted sapporo.f90 's/usual(128)/usual(120)/' '^sapporo_variable%usual' "a member of another length"
planted sapporo.f90 's/derivative(3, SAPPORO_DERIVATIVES)/derivative(SAPPORO_DERIVATIVES, 3)/' '^sapporo_particle%derivative' \
    "a member of another shape"
planted sapporo_mpi.f90 's/integer(c_int) :: rows = 0, refreshes = 0/integer(c_int) :: rows = 0, refreshes/' \
    'refreshes has no value' "a member without a value"
planted sapporo.f90 's/sapporo_force_neighbours(job, i, room, n/sapporo_force_neighbours(job, room, i, n/' \
    '^sapporo_force_neighbours: argument room is i' "two arguments in another order"
planted sapporo.f90 's/integer(c_intptr_t), value :: pitch/integer(c_int), value :: pitch/' \
    '^sapporo_force_neighbour_lists: argument pitch' "an argument of another type"
planted sapporo_mpi.f90 's/real(c_double), value :: factor/real(c_double), intent(in) :: factor/' \
    'argument factor' "an argument by reference"
planted sapporo_mpi.f90 's/real(c_double), intent(inout), optional :: acc(3, \*)/real(c_double), intent(inout), optional :: acc(*)/' \
    'argument acc' "an argument of another shape"
planted sapporo.f90 's/type(sapporo_particle), intent(out)/type(sapporo_particle), intent(in)/' \
    '^sapporo_get_particle: argument particle' "an output as an input"
planted sapporo.f90 's/integer(c_size_t) function sapporo_memory/integer(c_int) function sapporo_memory/' \
    '^sapporo_memory_needed: the result' "another result"
planted sapporo.f90 's/integer(c_int) function sapporo_tree_build(tree)/integer(c_int) function sapporo_tree_builds(tree)/' \
    '^function sapporo_tree_build is in no module' "a function is missing"
planted sapporo_mpi.f90 "s/, name='sapporo_mpi_open_fortran'//" '^sapporo_mpi_open calls sapporo_mpi_open, not' \
    "a communicator of C"

exit $((failures > 0))
