#!/bin/sh
# libnbody6pp_gpu, libnbody6_gpu and libnbody6_2010_gpu, as their clients link them: shared and static; the devices that GPU_LIST names.

case ${SANITIZE:-} in ?*) echo "libraries of a sanitizer build are not for clients"; exit 77 ;; esac
[ -f lib/libnbody6pp_gpu.so ] || { echo "lib/libnbody6pp_gpu.so is missing"; exit 77; }

cc=${CC:-cc}
work=$(mktemp -d) || exit 2
trap 'rm -rf "$work"' EXIT
. test/support/tap.sh

# client TITLE ARGUMENT...: compiles test/api/nbody6/client.c and runs it
client() {
    title=$1
    shift
    rm -f "$work/program"
    # shellcheck disable=SC2086 # CC may be a command with arguments
    $cc -std=c11 -O1 -pthread -Wall -Wextra -Werror -Iinclude test/api/nbody6/client.c "$@" -o "$work/program" >"$work/log" 2>&1 &&
        LD_LIBRARY_PATH=lib timeout 60 "$work/program" >"$work/log" 2>&1
    verdict $? "$title"
}

old=-DSAPPORO_NBODY6_AARSETH=1
# shellcheck disable=SC2086 # lists of words
client "client of libnbody6_gpu.a" $old lib/libnbody6_gpu.a lib/libsapporo.a -lm -lpthread -ldl -lrt
client "client of libnbody6_gpu.so" $old -Llib -lnbody6_gpu -lsapporo -lm
without_dtr=-DSAPPORO_NBODY6_2010=1
# shellcheck disable=SC2086
client "client of libnbody6_2010_gpu.a" $without_dtr lib/libnbody6_2010_gpu.a lib/libsapporo.a -lm -lpthread -ldl -lrt
client "client of libnbody6_2010_gpu.so" $without_dtr -Llib -lnbody6_2010_gpu -lsapporo -lm
# shellcheck disable=SC2086
client "client of libnbody6pp_gpu.a" lib/libnbody6pp_gpu.a lib/libsapporo.a -lm -lpthread -ldl -lrt
client "client of libnbody6pp_gpu.so" -Llib -lnbody6pp_gpu -lsapporo -lm

for said in 'regular force on cpu [a-z0-9]* ds ' '\[R.3\] .* interactions/s, <NB>' 'gpunb_regf: call gpunb_open first' \
    'gpunb_close: it is not open'; do
    SAPPORO_BACKEND=cpu GPU_LIST="0 2" LD_LIBRARY_PATH=lib timeout 60 "$work/program" >"$work/log" 2>&1
    grep -q "$said" "$work/log"
    verdict $? "tells '$said'"
done
# seconds FILE: the sum of the times that profiles tell
seconds() {
    grep -o '\[R\..*' "$1" | grep -o '[0-9.]* s,' | awk '{ sum += $1; n++ } END { if (n == 0) exit 1; printf "%.0f\n", sum }'
}
start=$(date +%s)
SAPPORO_BACKEND=cpu LD_LIBRARY_PATH=lib timeout 60 "$work/program" >"$work/profile" 2>&1
told=$(seconds "$work/profile") && [ "$told" -ge 0 ] && [ "$told" -le $(($(date +%s) - start + 1)) ]
verdict $? "profiles tell of no more time than the program takes"
# counted PROGRAM: whether profiles tell the numbers that the program counts, in this order, and nothing where there are none
counted() {
    SAPPORO_BACKEND=cpu LD_LIBRARY_PATH=lib timeout 60 "$1" tell >"$work/counts" 2>"$work/told" || return
    sed -n 's/^told: //p' "$work/counts" >"$work/expected"
    sed -n 's/.* \([0-9]* calls on .*\)/\1/p; s/.*\(<NB>: .*\)/\1/p' "$work/told" | tee "$work/log" | cmp - "$work/expected" &&
        [ "$(wc -l <"$work/expected")" -ge 4 ]
}
counted "$work/program"
verdict $? "profiles tell of the calls, particles and neighbours since the last one"
# The first profile has 100 sends, the second none.
sed -n 's/.*send: \([0-9.]*\) s.*/\1/p' "$work/told" >"$work/sends"
awk 'NR == 1 { first = $1 } NR == 2 { second = $1 } END { exit !(NR == 2 && first > 0 && second == 0) }' "$work/sends"
verdict $? "profiles tell of the time since the last one"
grep 'does not exist' "$work/log" >"$work/devices"
[ ! -s "$work/devices" ]
verdict $? "GPU_LIST is about GPUs"
SAPPORO_BACKEND=" CPU" GPU_LIST="0 2" LD_LIBRARY_PATH=lib timeout 60 "$work/program" 2>&1 |
    grep -E 'does not exist|it may be' >"$work/devices"
[ ! -s "$work/devices" ]
verdict $? "words are the same in any case"
SAPPORO_METHOD=trees LD_LIBRARY_PATH=lib timeout 60 "$work/program" >"$work/log" 2>&1
grep -q "SAPPORO_METHOD is 'trees'; it may be direct or tree" "$work/log"
verdict $? "a method with no meaning is refused"
if examples/sapporo info 2>/dev/null | grep -q '^  opencl 0 '; then
    SAPPORO_BACKEND=opencl SAPPORO_DEVICES=0 LD_LIBRARY_PATH=lib timeout 120 "$work/program" >"$work/log" 2>&1 &&
        grep -q 'regular force on opencl' "$work/log"
    verdict $? "client on OpenCL"
    GPU_LIST="0 x" LD_LIBRARY_PATH=lib timeout 120 "$work/program" >"$work/log" 2>&1
    grep -q "GPU_LIST is '0 x'; it may be device numbers" "$work/log"
    verdict $? "a list with no meaning is refused"
else
    echo "ok - a list with no meaning is refused # SKIP no OpenCL device"
    echo "ok - client on OpenCL # SKIP no OpenCL device"
fi
SAPPORO_METHOD=tree SAPPORO_BACKEND=cpu LD_LIBRARY_PATH=lib timeout 60 "$work/program" >"$work/log" 2>&1
[ "$(grep -c 'NBODY6 forces are summed directly' "$work/log")" = 1 ]
verdict $? "SAPPORO_METHOD=tree is told of, once"
SAPPORO_VERBOSE=0 LD_LIBRARY_PATH=lib timeout 60 "$work/program" >"$work/log" 2>&1
[ "$(cat "$work/log")" = "all as it should be" ]
verdict $? "silent where SAPPORO_VERBOSE is 0"

for name in nbody6 nbody7; do
    # shellcheck disable=SC2086 # CC may be a command with arguments
    $cc -std=c11 -O1 -Wall -Wextra -Werror test/api/nbody6/p3t.c -Llib -l${name}_gpu -lsapporo -lm -o "$work/p3t" >"$work/log" 2>&1 &&
        SAPPORO_BACKEND=cpu LD_LIBRARY_PATH=lib timeout 60 "$work/p3t" >"$work/log" 2>&1 &&
        [ "$(grep -c 'as if the tree of nbody6-p3t had called' "$work/log")" = 2 ]
    verdict $? "lib${name}_gpu refuses the calls of nbody6-p3t's tree"
done

for name in sapporo g6; do # the names of two generations never come with the library itself
    nm -D --defined-only lib/lib$name.so | grep -E ' (gpunb|gpupot|gpuirr|irr_simd)' >"$work/log"
    [ ! -s "$work/log" ]
    verdict $? "lib$name.so has none of these names"
done

exit $((failures > 0))
