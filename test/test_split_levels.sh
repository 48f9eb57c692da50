#!/bin/sh
# The check of test_split.c on the scalar and SSE2 kernels in ds, compiled at every level of optimisation that may be
# asked for, by every compiler that is here, with the flags that the Makefile never leaves out.  Prints TAP.

make=${MAKE:-make}
failures=0
work=$(mktemp -d) || exit 2
trap 'rm -rf "$work"' EXIT

# flags_of VARIABLE...: what the Makefile sets for the compiler $cc
flags_of() {
    env -u MAKELEVEL -u MFLAGS -u MAKEFLAGS "$make" --no-print-directory -s CC="$cc" SANITIZE='' \
        --eval "told: ; @echo $*" told
}

# check NAME LEVEL: compiles and runs; the result goes to NAME.status
check() {
    # shellcheck disable=SC2086 # lists of flags
    {
        "$cc" -std=c11 $2 $arithmetic $paths -Iinclude -Ilib -Icpu_sse -DSPLIT_ALONE -o "$work/$1" test/test_split.c \
            cpu_sse/force_ds_scalar.c $sse2 -lm && "$work/$1"
    } >"$work/$1.log" 2>&1
    echo $? >"$work/$1.status"
}

for cc in gcc clang; do
    command -v "$cc" >/dev/null 2>&1 || { echo "ok - $cc # SKIP $cc is missing"; continue; }
    # shellcheck disable=SC2016 # for make
    arithmetic=$(flags_of '$(ARITHMETIC)')
    # shellcheck disable=SC2016 # for make
    paths=$(flags_of '$(PATHS_DEFINED)')
    case $paths in *SSE2*) sse2=cpu_sse/force_ds_sse2.c ;; *) sse2= ;; esac
    case $arithmetic in
    *-ffp-contract=off*) ;;
    *) echo "not ok - $cc: the Makefile tells no flags"; failures=1; continue ;;
    esac
    check 1 -O3 &
    check 2 -O2
    wait
    check 3 -Os &
    check 4 -O1
    wait
    for n in 1 2 3 4; do
        level=$(echo "O3 O2 Os O1" | cut -d ' ' -f $n)
        if [ "$(cat "$work/$n.status")" = 0 ]; then
            echo "ok - $cc -$level"
        else
            echo "not ok - $cc -$level"
            tail -n 12 "$work/$n.log" | sed 's/^/#   /'
            failures=1
        fi
    done
done
exit $failures
