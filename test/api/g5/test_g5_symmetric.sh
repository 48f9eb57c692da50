#!/bin/sh
# libpg5_symmetric, as programs of Phantom-GRAPE built with SYMMETRIC link it: in C, shared and static, on each backend
# that is there, and in Fortran.  Prints TAP.

case ${SANITIZE:-} in ?*) echo "libraries of a sanitizer build are not for clients"; exit 77 ;; esac
[ -f lib/libpg5_symmetric.so ] || { echo "lib/libpg5_symmetric.so is missing"; exit 77; }
. test/support/clients.sh

c="${CC:-cc} -std=c11 -Wall -Wextra -Werror -Iinclude test/api/g5/symmetric.c"
# shellcheck disable=SC2086 # lists of words
if $c -Llib -lpg5_symmetric -lm -o "$work/shared" >"$work/log" 2>&1 &&
    $c lib/libpg5_symmetric.a -lm -lpthread -ldl -lrt -o "$work/static" >"$work/log" 2>&1; then
    client "the static library" env SAPPORO_BACKEND=cpu "$work/static"
    on_paths "C" "$work/shared"
    client "C, dp" env SAPPORO_BACKEND=cpu SAPPORO_PRECISION=dp "$work/shared" 4e-15
    on_devices "C" "$work/shared"
else
    verdict 1 "the client in C compiles"
fi

# Programs that link a library without these calls, or load particles without softening, do not link.
printf 'int %s(); int main(void) { return %s(); }\n' g5_set_xei g5_set_xei >"$work/xei.c"
printf 'int %s(); int main(void) { return %s(); }\n' g5_set_jp g5_set_jp >"$work/jp.c"
# shellcheck disable=SC2086
! ${CC:-cc} "$work/xei.c" -Llib -lpg5 -o "$work/wrong" >"$work/log" 2>&1 &&
    ! ${CC:-cc} "$work/jp.c" -Llib -lpg5_symmetric -o "$work/wrong" >"$work/log" 2>&1
verdict $? "the library of the other kind does not link"

if command -v "${FC:-gfortran}" >/dev/null 2>&1; then
    for underscore in "" -fsecond-underscore; do
        # shellcheck disable=SC2086
        "${FC:-gfortran}" $underscore test/api/g5/symmetric.f90 -Llib -lpg5_symmetric -o "$work/fortran" >"$work/log" 2>&1
        verdict $? "the client in Fortran compiles $underscore"
        client "Fortran $underscore" env SAPPORO_BACKEND=cpu "$work/fortran"
    done
else
    skipped Fortran "there is no Fortran compiler"
fi
exit $((failures > 0))
