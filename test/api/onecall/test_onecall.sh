#!/bin/sh
# The calls of CUNBODY-1 and HARP-3, as their clients link them: shared, static, on each backend that is there.  Prints
# TAP.

case ${SANITIZE:-} in ?*) echo "libraries of a sanitizer build are not for clients"; exit 77 ;; esac
[ -f lib/libcunbody1.so ] || { echo "lib/libcunbody1.so is missing"; exit 77; }
. test/support/clients.sh

for name in cunbody1 harp3; do
    c="${CC:-cc} -std=c11 -Wall -Wextra -Werror -Iinclude test/api/onecall/client.c"
    [ $name = cunbody1 ] || c="$c -DHARP3=1"
    # shellcheck disable=SC2086 # lists of words
    $c -Llib -l$name -lsapporo -lm -o "$work/shared" >"$work/log" 2>&1 &&
        $c lib/lib$name.a lib/libsapporo.a -lm -lpthread -ldl -lrt -o "$work/static" >"$work/log" 2>&1
    verdict $? "the client of lib$name compiles"
    client "lib$name.a" env SAPPORO_BACKEND=cpu "$work/static"
    on_paths "lib$name.so" "$work/shared"
    client "lib$name.so, dp" env SAPPORO_BACKEND=cpu SAPPORO_PRECISION=dp "$work/shared" 4e-15
    on_devices "lib$name.so" "$work/shared"
    SAPPORO_PRECISION=guess SAPPORO_VERBOSE=1 timeout 60 "$work/shared" >"$work/log" 2>&1
    grep -q SAPPORO_PRECISION "$work/log" && ! grep -q '^ok - softened' "$work/log"
    verdict $? "lib$name.so: a setting that is not valid is told, and forces are NaN"
done
exit $((failures > 0))
