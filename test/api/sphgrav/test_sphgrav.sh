#!/bin/sh
# StarSmasher's gravity interface from C and Fortran, on each backend that is there.  Prints TAP.

case ${SANITIZE:-} in ?*) echo "libraries of a sanitizer build are not for clients"; exit 77 ;; esac
. test/support/tap.sh
work=$(mktemp -d) || exit 2
trap 'rm -rf "$work"' EXIT
link="-Llib -lsphgrav_sapporo -lsapporo -lm -Wl,-rpath,$PWD/lib"

# client TITLE COMMAND...: shows the lines of a client that prints TAP
client() {
    title=$1
    shift
    if SAPPORO_VERBOSE=0 "$@" >"$work/log" 2>&1; then
        verdict 0 "$title"
    else
        verdict 1 "$title"
    fi
}

# shellcheck disable=SC2086 # lists of words
if ${CC:-cc} -std=c11 -Wall -Wextra -Werror -Iinclude test/api/sphgrav/client.c $link -o "$work/client" >"$work/log" 2>&1; then
    for isa in $(usable_paths); do client "C, $isa" env SAPPORO_BACKEND=cpu SAPPORO_CPU_ISA="$isa" "$work/client"; done
    for kind in octree kdtree; do
        client "C, $kind" env SAPPORO_BACKEND=cpu SAPPORO_METHOD=tree SAPPORO_TREE_KIND=$kind "$work/client" 2e-3
        client "C, $kind, no cell" env SAPPORO_BACKEND=cpu SAPPORO_METHOD=tree SAPPORO_TREE_KIND=$kind \
            SAPPORO_TREE_ACCURACY=1e-9 "$work/client" 2e-5
    done
    : >"$work/errors"
    for mac in opening multipole acceleration; do
        client "C, tree, $mac" env SAPPORO_BACKEND=cpu SAPPORO_METHOD=tree SAPPORO_TREE_MAC=$mac SAPPORO_TREE_ACCURACY=0.1 \
            "$work/client" 1e-1
        grep '^# error' "$work/log" >>"$work/errors"
    done
    [ "$(sort -u "$work/errors" | wc -l)" = 3 ]
    verdict $? "each criterion has its own errors"
    client "C, tree, dp" env SAPPORO_BACKEND=cpu SAPPORO_METHOD=tree SAPPORO_TREE_ACCURACY=1e-9 SAPPORO_PRECISION=dp \
        "$work/client" 1e-13
    SAPPORO_BACKEND=cpu SAPPORO_METHOD=wood "$work/client" >"$work/log" 2>"$work/told"
    grep -q "SAPPORO_METHOD" "$work/told" && ! grep -q '^ok - forces' "$work/log"
    verdict $? "a method that is not valid is told, and forces are NaN"
    client "C, dp" env SAPPORO_BACKEND=cpu SAPPORO_PRECISION=dp "$work/client" 1e-13
    for backend in opencl cuda; do
        if SAPPORO_BACKEND=$backend examples/sapporo info >/dev/null 2>&1; then
            client "C, $backend" env SAPPORO_BACKEND=$backend "$work/client"
            client "C, $backend, tree" env SAPPORO_BACKEND=$backend SAPPORO_METHOD=tree "$work/client" 2e-3
        else
            skipped "C, $backend" "there is no device"
        fi
    done
else
    verdict 1 "the client in C compiles"
fi

if command -v "${FC:-gfortran}" >/dev/null 2>&1; then
    # shellcheck disable=SC2086 # lists of words
    "${FC:-gfortran}" -J "$work" test/api/sphgrav/client.f90 $link -o "$work/fortran" >"$work/log" 2>&1
    verdict $? "the client in Fortran compiles"
    client "Fortran" env SAPPORO_BACKEND=cpu "$work/fortran"
else
    skipped Fortran "there is no Fortran compiler"
fi
exit $((failures > 0))
