#!/bin/sh
# libg5c, as clients of Phantom-GRAPE's calls for cells link it: shared, static, on each backend that is there.  Prints
# TAP.

case ${SANITIZE:-} in ?*) echo "libraries of a sanitizer build are not for clients"; exit 77 ;; esac
[ -f lib/libg5c.so ] || { echo "lib/libg5c.so is missing"; exit 77; }
. test/support/tap.sh
work=$(mktemp -d) || exit 2
trap 'rm -rf "$work"' EXIT
forget_settings
export SAPPORO_VERBOSE=0 LD_LIBRARY_PATH=lib

# client TITLE COMMAND...: runs a client that prints TAP
client() {
    title=$1
    shift
    timeout 60 "$@" >"$work/log" 2>&1
    verdict $? "$title"
}

c="${CC:-cc} -std=c11 -pthread -Wall -Wextra -Werror -Iinclude test/api/g5c/client.c"
# shellcheck disable=SC2086 # lists of words
$c -Llib -lg5c -lpg5 -lm -o "$work/shared" >"$work/log" 2>&1 &&
    $c lib/libg5c.a lib/libpg5.a -lm -lpthread -ldl -lrt -o "$work/static" >"$work/log" 2>&1
verdict $? "the client compiles"
client "libg5c.a" env SAPPORO_BACKEND=cpu "$work/static"
for isa in scalar sse2 avx2 avx512; do
    if SAPPORO_CPU_ISA=$isa SAPPORO_BACKEND=cpu examples/sapporo info 2>&1 | grep -q "cpu $isa"; then
        client "libg5c.so, $isa" env SAPPORO_BACKEND=cpu SAPPORO_CPU_ISA=$isa "$work/shared"
    fi
done
client "libg5c.so, memory that is not zero" env MALLOC_PERTURB_=85 SAPPORO_BACKEND=cpu "$work/shared"
for precision in sp dp; do
    client "libg5c.so, $precision" env SAPPORO_BACKEND=cpu SAPPORO_PRECISION=$precision "$work/shared"
done
for backend in opencl cuda; do
    if SAPPORO_BACKEND=$backend examples/sapporo info >/dev/null 2>&1; then
        client "libg5c.so, $backend" env SAPPORO_BACKEND=$backend "$work/shared"
    else
        skipped "libg5c.so, $backend" "there is no device"
    fi
done
exit $((failures > 0))
