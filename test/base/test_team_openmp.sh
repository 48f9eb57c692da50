#!/bin/sh
# The library with the threads of OpenMP (make THREADS=openmp), with the run times of gcc and of clang.  Only one object
# of the library differs: it is compiled here and linked in place of the other.  Prints TAP.

[ -f lib/libsapporo.a ] || { echo "lib/libsapporo.a is missing"; exit 77; }
case ${SANITIZE:-} in ?*) echo "sanitizers do not know what OpenMP waits for"; exit 77 ;; esac

work=$(mktemp -d) || exit 2
trap 'rm -rf "$work"' EXIT
. test/support/tap.sh
forget_settings
unset OMP_NUM_THREADS OMP_THREAD_LIMIT

# works COMPILER TITLE NAME VARIABLE=VALUE...: a part of the client
works() {
    compiler=$1 title=$2 name=$3
    shift 3
    timeout -k 5 120 env "$@" "$work/client" "$name" >"$work/log" 2>&1
    verdict $? "$compiler: $title"
}

# run_time COMPILER: the client, with this run time
run_time() {
    flags="-std=c11 -O2 -fopenmp -Wall -Wextra -Iinclude -Ilib -Itest/support"
    # shellcheck disable=SC2086 # a list of flags
    "$1" $flags -c -o "$work/team.o" lib/base/team_openmp.c >"$work/log" 2>&1 &&
        "$1" $flags -o "$work/client" test/base/openmp_client.c "$work/team.o" lib/libsapporo.a -ldl -lpthread -lm \
            >>"$work/log" 2>&1
    verdict $? "$1: the library links with the OpenMP of $1"
    nm "$work/client" 2>/dev/null | grep -q wake_some && echo "team.c is in the program" >"$work/log"
    none "$1: one set of threads"
    SAPPORO_VERBOSE=2 "$work/client" forces >"$work/said" 2>&1
    grep -q 'libsapporo .*, with the threads of OpenMP$' "$work/said" || cp "$work/said" "$work/log"
    none "$1: the log says so"
    works "$1" "forces have the bits of one thread" forces
    works "$1" "in a region of the client one thread computes" inside
    works "$1" "regions of the client and of the library take turns" turns
    works "$1" "the same, with threads that spin" turns OMP_WAIT_POLICY=active
    works "$1" "before and after a fork" fork
    works "$1" "OMP_THREAD_LIMIT=2" limit OMP_THREAD_LIMIT=2
    works "$1" "one thread" turns OMP_NUM_THREADS=1
}

for compiler in gcc clang; do
    echo 'int main(void) { return 0; }' >"$work/try.c"
    if "$compiler" -fopenmp -o "$work/try" "$work/try.c" >/dev/null 2>&1; then
        run_time "$compiler"
    else
        skipped "$compiler's OpenMP" "it is not here"
    fi
done

exit $((failures > 0))
