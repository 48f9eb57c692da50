#!/bin/sh
# The check of test_split.c on the scalar kernels in ds, and on those of SSE2 compiled at every level of optimisation
# that may be asked for, by every compiler that is here, with the flags that the Makefile never leaves out.  At -O3, which
# the Makefile asks for, test_split itself looks at them.  Prints TAP.

make=${MAKE:-make}
failures=0
work=$(mktemp -d) || exit 2
trap 'rm -rf "$work"' EXIT

# flags_of VARIABLE...: what the Makefile sets for the compiler $cc
flags_of() {
    env -u MAKELEVEL -u MFLAGS -u MAKEFLAGS "$make" --no-print-directory -s CC="$cc" SANITIZE='' \
        --eval "told: ; @echo $*" told
}

# compiled FLAG...
compiled() {
    # shellcheck disable=SC2086 # lists of flags
    "$cc" -std=c11 $arithmetic $paths -Iinclude -Ilib -Icpu_sse "$@"
}

# instance PATH: flags of the kernel in ds for that path
instance() { flags_of "\$(call instance_flags,force_ds,$1)"; }

# check LEVEL: compiles and runs; the result goes to LEVEL.status
check() {
    # shellcheck disable=SC2046 # a list of flags
    {
        { [ -z "$sse2" ] || compiled $(instance sse2) "-$1" -c -o "$work/$1.o" "$sse2"; } &&
            compiled "-$1" -DSPLIT_ALONE -o "$work/$1" test/gpu/test_split.c "$work/scalar.o" ${sse2:+"$work/$1.o"} -lm &&
            "$work/$1"
    } >"$work/$1.log" 2>&1
    echo $? >"$work/$1.status"
}

for cc in gcc clang; do
    command -v "$cc" >/dev/null 2>&1 || { echo "ok - $cc # SKIP $cc is missing"; continue; }
    # shellcheck disable=SC2016 # for make
    arithmetic=$(flags_of '$(ARITHMETIC)')
    # shellcheck disable=SC2016 # for make
    paths=$(flags_of '$(PATHS_DEFINED)')
    case $paths in *SSE2*) sse2=cpu_sse/force_instance.c ;; *) sse2= ;; esac
    case $arithmetic in
    *-ffp-contract=off*) ;;
    *) echo "not ok - $cc: the Makefile tells no flags"; failures=1; continue ;;
    esac
    # The Makefile's level for these kernels is the last word, whatever the caller asks for.
    # shellcheck disable=SC2016 # for make
    level=$(flags_of '$(SCALAR_FLAGS)')
    # shellcheck disable=SC2046,SC2086 # lists of flags
    compiled ${level:--O2} -c $(instance scalar) -o "$work/scalar.o" cpu_sse/force_instance.c
    for level in O2 O1; do
        check $level &
    done
    wait
    for level in O2 O1; do
        if [ "$(cat "$work/$level.status")" = 0 ]; then
            echo "ok - $cc -$level"
        else
            echo "not ok - $cc -$level"
            tail -n 12 "$work/$level.log" | sed 's/^/#   /'
            failures=1
        fi
    done
done
exit $failures
