#!/bin/sh
# test_examples.sh - the small examples: each is copied alone into an empty folder, compiled as its users compile it, and
# run; what it prints is compared with numbers that do not come from the library.  Prints TAP.

root=$(cd "$(dirname "$0")/../.." && pwd) || exit 1
cd "$root" || exit 1
[ -f lib/libsapporo.so ] || { echo "lib/libsapporo.so is missing"; exit 77; }
. test/support/tap.sh
forget_settings
cc=${CC:-cc}
fc=${FC:-gfortran}
cxx=${CXX:-}
for c in c++ g++ clang++; do [ -n "$cxx" ] || ! command -v $c >/dev/null 2>&1 || cxx=$c; done
work=$(mktemp -d) || exit 2
trap 'rm -rf "$work"' EXIT
OMP_NUM_THREADS=1
SAPPORO_BACKEND=cpu
SAPPORO_CACHE=off
LD_LIBRARY_PATH=$root/lib
SAPPORO_LIBRARY=$root/lib/libsapporo.so
PYTHONDONTWRITEBYTECODE=1
export OMP_NUM_THREADS SAPPORO_BACKEND SAPPORO_CACHE LD_LIBRARY_PATH SAPPORO_LIBRARY PYTHONDONTWRITEBYTECODE
shown="out err"
sanitizers=
[ -z "${SANITIZE:-}" ] || sanitizers="-fsanitize=$SANITIZE -fno-sanitize-recover=all"

# alone FILE: makes $work/alone a folder that holds this file and nothing else
alone() {
    rm -rf "$work/alone"
    mkdir "$work/alone" && cp "examples/$1" "$work/alone/"
}

# compiled FILE: makes $work/alone/program of the copy of a C, C++ or Fortran example; 1 if that fails
compiled() {
    alone "$1"
    : >"$work/out"
    # shellcheck disable=SC2086 # commands with arguments, lists of flags
    case $1 in
    *.c) (cd "$work/alone" && $cc -std=c11 -Wall -Wextra -Wpedantic -Werror $sanitizers "$1" -I"$root/include" \
        -L"$root/lib" -lsapporo -lm -o program) ;;
    *.cc) (cd "$work/alone" && $cxx -std=c++11 -Wall -Wextra -Wpedantic -Werror $sanitizers "$1" -I"$root/include" \
        -L"$root/lib" -lsapporo -o program) ;;
    *.f90) (cd "$work/alone" && $fc -std=f2018 -Wall -Wextra -Wno-compare-reals -Werror -I"$root/include" "$1" \
        -L"$root/lib" -lsapporo -o program) ;;
    esac >"$work/err" 2>&1
}

# runs COMMAND...: runs it in $work/alone; 0 if it succeeds and prints nothing to stderr
runs() { (cd "$work/alone" && timeout 120 "$@") >"$work/out" 2>"$work/err" && [ ! -s "$work/err" ]; }

# direct: reads lines `mass position acceleration potential`, compares each with the sum over all others; softening 0.1.
# 1e-5 is above what is printed and the errors of every precision.
direct() {
    awk 'BEGIN { n = 0 }
    /^ *[0-9]/ { m[n] = $1; for (k = 0; k < 7; k++) c[n, k] = $(k + 2); bad += NF != 8; n++ }
    END {
        for (i = 0; i < n; i++) {
            for (k = 0; k < 4; k++) sum[k] = 0
            for (j = 0; j < n; j++) if (j != i) {
                r2 = 0.01
                for (k = 0; k < 3; k++) r2 += (c[j, k] - c[i, k])^2
                for (k = 0; k < 3; k++) sum[k] += m[j] * (c[j, k] - c[i, k]) / r2^1.5
                sum[3] -= m[j] / sqrt(r2)
            }
            for (k = 0; k < 4; k++) { d = sum[k] - c[i, k + 3]; bad += !(d < 1e-5 && d > -1e-5) }
        }
        exit n != 4 || bad > 0
    }' "$work/out"
}

# number TEXT: the number that follows a text in the output
number() { sed -n "s/.*$1 *\([-+]\{0,1\}[0-9][-+0-9.eE]*\).*/\1/p" "$work/out"; }

# within VALUE LOW HIGH: whether it is a number between the two
within() { echo "$1 $2 $3" | awk '{ exit !(NF == 3 && $1 >= $2 && $1 <= $3) }'; }

# fails TITLE COMMAND...: with a backend that does not exist, a program ends with status 1 and a message
fails() {
    title=$1
    shift
    (cd "$work/alone" && SAPPORO_BACKEND=none "$@") >"$work/out" 2>"$work/err"
    [ $? -eq 1 ] && grep -q SAPPORO_BACKEND "$work/err" && ! grep -q '[0-9]' "$work/out"
    verdict $? "$title: an error is told"
}

# ---- what every example keeps to

wc -l examples/*.c examples/*.cc examples/*.f90 examples/*.py | awk '$2 != "total" && $1 > 120 { print $2 ": " $1 " lines, at most 120" }' >"$work/out"
: >"$work/err"
[ ! -s "$work/out" ]
verdict $? "no example has more than 120 lines"

# Public headers, the C library, modules of Fortran's language and of ours, and modules of Python's own library, of
# numpy and of ours.
{
    grep -n '#[[:space:]]*include' examples/*.c |
        grep -vE '<(sapporo|sapporo_tree|sapporo_g6|sapporo_g5|math|stdio|stdlib|string)\.h>$'
    grep -n '#[[:space:]]*include' examples/*.cc | grep -vE '<(sapporo\.h|cstdio|memory)>$'
    grep -niE "^[[:space:]]*(include|use)[ ,]" examples/*.f90 |
        grep -viE "(include 'sapporo\.f90'|use sapporo|use, intrinsic :: iso_[a-z_]*(, only: [a-z_, ]*)?)\$"
    grep -nE '^[[:space:]]*(import|from) ' examples/*.py | grep -vE '(import (ctypes|os|sys|numpy as np|sapporo)|from ctypes import .*)$'
} >"$work/out"
[ ! -s "$work/out" ]
verdict $? "no example includes more than public headers and its language's own"

for file in examples/*.c examples/*.cc examples/*.f90 examples/*.py; do
    name=${file#examples/}
    head -n 5 "$file" | grep -q "$name - " || echo "$file does not begin with what it is"
    head -n 6 "$file" | grep -qE "^( \*|!|) +(cc|c\+\+|gfortran|SAPPORO_LIBRARY|python3).* $name" || echo "$file does not say how it is compiled"
    case $name in
    first_force.py | leapfrog.py) ;; # test/api/python/test_examples.py runs them
    first_force.* | force_ctypes.py | hermite_g6.c | integrate.c | leapfrog_g5.* | tree_force.c) ;;
    contexts.c | messages.c | neighbours.c | orbit.c | overlap.c | particles.c | small_tree.c) ;;
    *) echo "$file: this test does not run it" ;;
    esac
done >"$work/out"
[ ! -s "$work/out" ]
verdict $? "every example begins with its purpose and its compile line, and is run below"

# ---- C

compiled first_force.c
verdict $? "first_force.c compiles alone"
for precision in sp ds dp; do
    SAPPORO_PRECISION=$precision runs ./program && direct && grep -q "^# .*$precision" "$work/out"
    verdict $? "first_force.c in $precision: four forces are those of a direct sum"
done
fails "first_force.c" ./program

# The error of ds stays below 1e-7 in a period; in dp the method's own error falls with the fourth power of the step.
compiled hermite_g6.c
verdict $? "hermite_g6.c compiles alone"
runs ./program
verdict $? "hermite_g6.c runs"
e=$(number "energy error")
within "$e" -1e-6 1e-6 && within "$(number "energy ")" -1.287143 -1.287141
verdict $? "hermite_g6.c: energy error $e"
d=$(number "from start") # the orbit is periodic: that is known from the paper, not from the library
within "$d" 0 1e-5
verdict $? "hermite_g6.c: distance $d from the start after one period"
SAPPORO_PRECISION=dp
export SAPPORO_PRECISION
runs ./program 500 && a=$(number "energy error") && runs ./program 1000 && b=$(number "energy error") &&
    ratio=$(echo "$a $b" | awk 'NF == 2 && $2 != 0 { r = $1 / $2; print (r < 0 ? -r : r) }') && within "$ratio" 12 1000
verdict $? "hermite_g6.c in dp: half the step, an error ${ratio:-?} times smaller"
unset SAPPORO_PRECISION
fails "hermite_g6.c" ./program

# The slope of its error, and its other uses, are looked at in test_leapfrog_g5.sh.
compiled leapfrog_g5.c
verdict $? "leapfrog_g5.c compiles alone"
for stars in 2 256; do
    bound=1e-4
    [ $stars -gt 2 ] || bound=1e-2 # a pericentre at 0.3
    runs ./program $stars && e=$(number "largest relative error") && within "$e" 1e-12 $bound
    verdict $? "leapfrog_g5.c: $stars stars, energy error $e"
done
fails "leapfrog_g5.c" ./program

# place(k, n) in awk: puts particle k of n into x[k, 1] to x[k, 3], by the formula of the heads of files; returns its radius
plummer='function place(k, n,   r, z, f) {
    r = 1 / sqrt(((k + 0.5) / n)^(-2 / 3) - 1)
    z = (k + 0.5) * 0.61803398875; z = 2 * (z - int(z)) - 1
    f = (k + 0.5) * 0.75487766625; f = 2 * atan2(0, -1) * (f - int(f))
    x[k, 1] = r * sqrt(1 - z * z) * cos(f); x[k, 2] = r * sqrt(1 - z * z) * sin(f); x[k, 3] = r * z
    return r
}'

# Particles by the formula of the file's head; the direct sum on particle n/2 by awk.  The error of its acceleration by
# a tree with an opening angle of 0.5 is below a hundredth, that of its potential below a thousandth.
compiled tree_force.c
verdict $? "tree_force.c compiles alone"
runs ./program 2000 && tail -n 1 "$work/out" | awk -v n=2000 "$plummer"' {
        for (k = 0; k < n; k++) place(k, n)
        for (j = 0; j < n; j++) if (j != n / 2) {
            r2 = 1e-4
            for (i = 1; i < 4; i++) r2 += (x[j, i] - x[n / 2, i])^2
            for (i = 1; i < 4; i++) a[i] += (x[j, i] - x[n / 2, i]) / r2^1.5 / n
            p -= 1 / sqrt(r2) / n
        }
        for (i = 1; i < 4; i++) { d2 += ($i - a[i])^2; a2 += a[i]^2 }
        exit !(NF == 4 && sqrt(d2 / a2) < 1e-2 && ($4 / p - 1)^2 < 1e-6)
    }'
verdict $? "tree_force.c: the force on one particle is that of a direct sum"
runs ./program && e=$(number "accelerations") && p=$(number "potential energy") && within "$e" 0 1e-2
verdict $? "tree_force.c: largest error of accelerations $e"
within "$p" -0.2974 -0.2915 # -3 pi / 32 within one hundredth: there are not infinitely many particles
verdict $? "tree_force.c: the potential energy of a Plummer sphere, $p"
fails "tree_force.c" ./program
(cd "$work/alone" && ./program 1) >"$work/out" 2>"$work/err"
[ $? -eq 2 ] && grep -q '^usage' "$work/err"
verdict $? "tree_force.c: wrong use"

# The energy at the start by awk, from the formula of the file's head, with forces of a tree to a thousandth; its change
# in four units of time; and the same lines where another stepper goes on from a file.
compiled integrate.c
verdict $? "integrate.c compiles alone"
runs ./program 500 && awk -v n=500 "$plummer"'
    NR == 1 { told = $4 + 0 }
    /^time/ { lines++; bad += !($7 + 0 < 1e-3 && $7 + 0 > -1e-3) }
    END {
        for (k = 0; k < n; k++) {
            r = place(k, n)
            e += r * r / (1 + r * r)^1.5 / (2 * n)
            for (j = 0; j < k; j++) {
                r2 = 0.0025
                for (i = 1; i < 4; i++) r2 += (x[j, i] - x[k, i])^2
                e -= 1 / sqrt(r2) / (n * n)
            }
        }
        exit !(lines == 5 && bad == 0 && (told / e - 1)^2 < 1e-6)
    }' "$work/out"
verdict $? "integrate.c: the energy is that of the particles, and is kept"
cp "$work/out" "$work/through"
runs ./program 500 stars && cmp -s "$work/out" "$work/through"
verdict $? "integrate.c goes on from a file with the same numbers"
runs ./program 500 no/such/folder/stars
[ $? -eq 1 ] && grep -q 'integrate: .*no/such/folder' "$work/err"
verdict $? "integrate.c: a file that cannot be written is told"
fails "integrate.c" ./program
(cd "$work/alone" && ./program 1) >"$work/out" 2>"$work/err"
[ $? -eq 2 ] && grep -q '^usage' "$work/err"
verdict $? "integrate.c: wrong use"

# What these print is in their first comment.
for name in contexts messages neighbours orbit overlap particles small_tree; do
    compiled $name.c
    verdict $? "$name.c compiles alone"
    sed -n '/^ \* It prints$/,/^ \*\/$/s/^ \*     //p' "examples/$name.c" >"$work/expected"
    runs ./program && [ -s "$work/expected" ] && diff "$work/expected" "$work/out" >"$work/err"
    verdict $? "$name.c prints what its comment says"
    case $name in messages) ;; *) fails "$name.c" ./program ;; esac
done

# ---- C++

if [ -n "$sanitizers" ]; then
    skipped "C++" "libraries of a sanitizer build are not for clients"
elif [ -z "$cxx" ]; then
    skipped "C++" "there is no C++ compiler"
else
    compiled first_force.cc
    verdict $? "first_force.cc compiles alone"
    runs ./program && direct
    verdict $? "first_force.cc: four forces are those of a direct sum"
    fails "first_force.cc" ./program
    if [ -w /dev/full ]; then
        ! (cd "$work/alone" && ./program) >/dev/full 2>"$work/err" && grep -qi 'standard output' "$work/err"
        verdict $? "first_force.cc: a full disk is an error"
    fi
fi

# ---- Fortran

if [ -n "$sanitizers" ]; then
    skipped "Fortran" "libraries of a sanitizer build are not for clients"
elif ! command -v "${fc%% *}" >/dev/null 2>&1; then
    skipped "Fortran" "$fc is missing"
else
    compiled first_force.f90
    verdict $? "first_force.f90 compiles alone"
    runs ./program && direct
    verdict $? "first_force.f90: four forces are those of a direct sum"
    SAPPORO_BACKEND=none
    (cd "$work/alone" && ./program) >"$work/out" 2>"$work/err"
    [ $? -eq 1 ] && grep -q '^first_force: sapporo_open' "$work/err"
    verdict $? "first_force.f90: an error is told"
    SAPPORO_BACKEND=cpu
    compiled leapfrog_g5.f90
    verdict $? "leapfrog_g5.f90 compiles alone"
    runs ./program && e=$(number "largest relative error") && within "$e" 1e-12 1e-2
    verdict $? "leapfrog_g5.f90: energy error $e"
fi

# ---- Python

if [ -n "$sanitizers" ]; then
    skipped "Python" "libraries of a sanitizer build are not for clients"
elif ! python3 -c 'import sys; sys.exit(sys.version_info < (3, 8))' 2>/dev/null; then
    skipped "Python" "python3 is missing or older than 3.8"
else
    alone force_ctypes.py
    runs python3 force_ctypes.py && direct
    verdict $? "force_ctypes.py: four forces are those of a direct sum"
    fails "force_ctypes.py" python3 force_ctypes.py
fi

exit $((failures > 0))
