#!/bin/sh
# test_ctypes.sh - the native interface from Python, by the class of the example force_ctypes.py.  Prints TAP.

case ${SANITIZE:-} in ?*) echo "libraries of a sanitizer build are not for clients"; exit 77 ;; esac
command -v python3 >/dev/null 2>&1 || { echo "python3 is missing"; exit 77; }
python3 -c 'import ctypes, sys; sys.exit(sys.version_info < (3, 8))' 2>/dev/null || { echo "python3 is older than 3.8"; exit 77; }
[ -f lib/libsapporo.so ] || { echo "lib/libsapporo.so is missing"; exit 77; }
work=$(mktemp -d) || exit 2
trap 'rm -rf "$work"' EXIT
SAPPORO_LIBRARY=$PWD/lib/libsapporo.so
OMP_NUM_THREADS=1
PYTHONPATH=examples
PYTHONDONTWRITEBYTECODE=1
export SAPPORO_LIBRARY OMP_NUM_THREADS PYTHONPATH PYTHONDONTWRITEBYTECODE
failures=0

# script TITLE STATUS TEXT ARGUMENT...: exit status, and a text in what it says
script() {
    title=$1
    wanted=$2
    text=$3
    shift 3
    "$@" >"$work/log" 2>&1
    if [ $? -eq "$wanted" ] && grep -q "$text" "$work/log"; then
        echo "ok - $title"
    else
        echo "not ok - $title"
        tail -n 12 "$work/log" | sed 's/^/#   /'
        failures=$((failures + 1))
    fi
}

# Forces on 300 random particles against sums in Python; 1e-4 is far above the errors of sp and far below any mistake.
cat >"$work/forces.py" <<'END'
import math
import random
import sys
from ctypes import c_double, c_int
from force_ctypes import Context

n, eps, source = 300, 0.01, random.Random(1)
x = (c_double * (3 * n))(*(source.gauss(0, 1) for _ in range(3 * n)))
mass = (c_double * n)(*(1 / n for _ in range(n)))
context = Context()
context.set_particles(x, mass)
acc, pot, nearest = context.force(x, (c_int * n)(*range(n)), eps, n)
kind, worst = context.kind(), 0.0
context.close()
for i in range(0, n, 30):
    others = [(j, [x[3 * j + axis] - x[3 * i + axis] for axis in range(3)]) for j in range(n) if j != i]
    r2 = {j: eps * eps + sum(d * d for d in r) for j, r in others}
    a = [sum(mass[j] * r[axis] / r2[j]**1.5 for j, r in others) for axis in range(3)]
    p = -sum(mass[j] / math.sqrt(r2[j]) for j, _ in others)
    off = math.dist(acc[3 * i:3 * i + 3], a) / math.hypot(*a), abs(pot[i] / p - 1)
    worst = max(worst, *off) if all(map(math.isfinite, off)) else math.inf  # max drops a NaN
    if nearest[i] != min(r2, key=r2.get):
        sys.exit(f"nearest of {i} is {nearest[i]}")
print(f"{kind}: {n} particles, largest relative error {worst:.1e}")
sys.exit(not worst < 1e-4)
END
for precision in sp ds dp; do
    script "forces in $precision" 0 "$precision.*300 particles" \
        env SAPPORO_BACKEND=cpu SAPPORO_PRECISION=$precision python3 "$work/forces.py"
done
script "errors are Python's" 1 "RuntimeError: SAPPORO_PRECISION" env SAPPORO_PRECISION=half python3 examples/force_ctypes.py

# Structs in Python are as long as in C.
cat >"$work/sizes.c" <<'END'
#include "sapporo.h"
#include <stdio.h>
int main(void)
{
    printf("%zu %zu %zu %zu\n", sizeof(sapporo_column), sizeof(sapporo_particles),
           sizeof(sapporo_request), sizeof(sapporo_result));
    return 0;
}
END
${CC:-cc} -Iinclude "$work/sizes.c" -o "$work/sizes" && sizes=$("$work/sizes")
script "structs are as long as those of sapporo.h" 0 "^${sizes:-none}\$" python3 -c '
from ctypes import sizeof
from force_ctypes import Column, Particles, Request, Result
print(*(sizeof(t) for t in (Column, Particles, Request, Result)))'
exit $((failures > 0))
