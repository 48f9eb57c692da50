#!/bin/sh
# libg5c, as clients of Phantom-GRAPE's calls for cells link it: shared, static, on each backend that is there.  Prints
# TAP.

case ${SANITIZE:-} in ?*) echo "libraries of a sanitizer build are not for clients"; exit 77 ;; esac
[ -f lib/libg5c.so ] || { echo "lib/libg5c.so is missing"; exit 77; }
. test/support/clients.sh

c="${CC:-cc} -std=c11 -pthread -Wall -Wextra -Werror -Iinclude test/api/g5c/client.c"
# shellcheck disable=SC2086 # lists of words
$c -Llib -lg5c -lpg5 -lm -o "$work/shared" >"$work/log" 2>&1 &&
    $c lib/libg5c.a lib/libpg5.a -lm -lpthread -ldl -lrt -o "$work/static" >"$work/log" 2>&1
verdict $? "the client compiles"
client "libg5c.a" env SAPPORO_BACKEND=cpu "$work/static"
on_paths "libg5c.so" "$work/shared"
client "libg5c.so, memory that is not zero" env MALLOC_PERTURB_=85 SAPPORO_BACKEND=cpu "$work/shared"
for precision in ds dp; do
    client "libg5c.so, $precision" env SAPPORO_BACKEND=cpu SAPPORO_PRECISION=$precision "$work/shared"
done
on_devices "libg5c.so" "$work/shared"
exit $((failures > 0))
