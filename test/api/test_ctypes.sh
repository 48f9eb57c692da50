#!/bin/sh
# test_ctypes.sh - the example force_ctypes.py: the native interface from Python.  Prints TAP.

case ${SANITIZE:-} in ?*) echo "libraries of a sanitizer build are not for clients"; exit 77 ;; esac
command -v python3 >/dev/null 2>&1 || { echo "python3 is missing"; exit 77; }
python3 -c 'import ctypes, sys; sys.exit(sys.version_info < (3, 8))' 2>/dev/null || { echo "python3 is older than 3.8"; exit 77; }
[ -f lib/libsapporo.so ] || { echo "lib/libsapporo.so is missing"; exit 77; }
work=$(mktemp -d) || exit 2
trap 'rm -rf "$work"' EXIT
SAPPORO_LIBRARY=$PWD/lib/libsapporo.so
OMP_NUM_THREADS=1
export SAPPORO_LIBRARY OMP_NUM_THREADS
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

for precision in sp ds dp; do
    script "forces in $precision" 0 "$precision.*300 particles" \
        env SAPPORO_BACKEND=cpu SAPPORO_PRECISION=$precision python3 examples/force_ctypes.py 300
done
script "errors are Python's" 1 "RuntimeError: SAPPORO_PRECISION" env SAPPORO_PRECISION=half python3 examples/force_ctypes.py 300

# Structs in Python are as long as in C.
cat >"$work/sizes.c" <<'END'
#include "sapporo.h"
#include <stdio.h>
int main(void)
{
    printf("%zu %zu %zu %zu %zu\n", sizeof(sapporo_column), sizeof(sapporo_options), sizeof(sapporo_particles),
           sizeof(sapporo_request), sizeof(sapporo_result));
    return 0;
}
END
${CC:-cc} -Iinclude "$work/sizes.c" -o "$work/sizes" && sizes=$("$work/sizes")
script "structs are as long as those of sapporo.h" 0 "^${sizes:-none}\$" env PYTHONPATH=examples PYTHONDONTWRITEBYTECODE=1 python3 -c '
from ctypes import sizeof
from force_ctypes import Column, Options, Particles, Request, Result
print(*(sizeof(t) for t in (Column, Options, Particles, Request, Result)))'
exit $((failures > 0))
