#!/bin/sh
# Clients of NBODY6's and the sixth-order libraries whose memory runs out, whose integers are at their ends, and whose
# numbers are odd while floating-point exceptions end the process.  The front ends are compiled so that signed overflow
# ends it too.

case ${SANITIZE:-} in ?*) echo "libraries of a sanitizer build are not for clients"; exit 77 ;; esac
[ -f lib/libsapporo.a ] || { echo "lib/libsapporo.a is missing"; exit 77; }

cc=${CC:-cc}
work=$(mktemp -d) || exit 2
trap 'rm -rf "$work"' EXIT
failures=0

# client TITLE ARGUMENT...: compiles a client with the front end's sources, and runs it
client() {
    title=$1
    shift
    rm -f "$work/program"
    # shellcheck disable=SC2086 # CC may be a command with arguments
    if $cc -std=c11 -O1 -g -ftrapv -Wall -Wextra -Werror -Iinclude -Ilib -Itest/support "$@" lib/libsapporo.a ${OPENMP_FLAGS:-} \
        -lm -lpthread -ldl -lrt -o "$work/program" >"$work/log" 2>&1 &&
        SAPPORO_BACKEND=cpu SAPPORO_VERBOSE=0 HARD_CLIENT_FILE=$work/force timeout 120 "$work/program" >"$work/log" 2>&1; then
        echo "ok - $title"
    else
        echo "not ok - $title"
        head -n 12 "$work/log" | sed 's/^/#   /'
        failures=$((failures + 1))
    fi
}

shared="lib/api/nbody6/device.c lib/api/nbody6/irregular.c lib/api/nbody6/potential.c lib/api/nbody6/radii.c
        lib/api/nbody6/regular.c lib/api/nbody6/waiting.c"
# shellcheck disable=SC2086 # lists of words
{
    client "NBODY6++GPU" test/api/nbody6/hard.c lib/api/nbody6/api_nbody6pp.c $shared
    client "Aarseth's NBODY6" -DSAPPORO_NBODY6_AARSETH=1 test/api/nbody6/hard.c lib/api/nbody6/api_nbody6.c \
        lib/api/nbody6/regf_nbody6.c lib/api/nbody6/usual_nbody6.c $shared
    client "NBODY7" -DSAPPORO_NBODY6_AARSETH=1 test/api/nbody6/hard.c lib/api/nbody6/api_nbody6.c \
        lib/api/nbody6/regf_nbody6.c lib/api/nbody6/usual_nbody7.c $shared
    client "Sapporo2's sixth order" test/api/sixth/hard.c lib/api/sixth/api_sixth.c lib/api/sixth/sixth.c
    client "Yebisu" -DSAPPORO_YEBISU=1 test/api/sixth/hard.c lib/api/sixth/api_yebisu.c lib/api/sixth/sixth.c
}

exit $((failures > 0))
