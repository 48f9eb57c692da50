#!/bin/sh
# sapporohostclass.h, the C++ class of Sapporo2: a client of the class on every backend, shared and static.  Prints TAP.

case ${SANITIZE:-} in ?*) echo "libraries of a sanitizer build are not for clients"; exit 77 ;; esac
[ -f lib/libsapporo.so ] || { echo "lib/libsapporo.so is missing"; exit 77; }
cxx=${CXX:-$(command -v g++ || command -v clang++)}
[ -n "$cxx" ] || { echo "there is no C++ compiler"; exit 77; }

work=$(mktemp -d) || exit 2
trap 'rm -rf "$work"' EXIT
. test/support/tap.sh
engines=${SAPPORO_TEST_ENGINES:-}
forget_settings

# built NAME ARGUMENT...: compiles the client
built() {
    name=$1
    shift
    $cxx -std=c++11 -Wall -Wextra -Wpedantic -Werror -Iinclude -Iinclude/compat test/api/hostclass/client.cc "$@" \
        -o "$work/$name" >"$work/log" 2>&1
    verdict $? "the client compiles and links, $name"
}

# runs PROGRAM BACKEND
runs() {
    [ "${engines:-$2}" = "$2" ] || { skipped "$1, $2" "SAPPORO_TEST_ENGINES is $engines"; return; }
    LD_LIBRARY_PATH=lib timeout 200 "$work/$1" "$2" >"$work/out" 2>"$work/said"
    status=$?
    if [ $status -eq 1 ] && [ "$2" != cpu ]; then
        skipped "$1, $2" "there is no device"
        return
    fi
    { grep '^not ok' "$work/out"; [ $status -eq 0 ] || { echo "status $status"; tail -n 9 "$work/said"; }; } >"$work/log"
    none "$1, $2: $(grep -c '^ok' "$work/out") cases"
}

built shared -Llib -lsapporo
built static lib/libsapporo.a -lm -lpthread -ldl -lrt
for backend in cpu cuda opencl; do runs shared $backend; done
runs static cpu

# what the class refuses has a message on stderr
cat >"$work/refused.cc" <<'END_OF_CODE'
#include "sapporohostclass.h"
int main()
{
    sapporo g;
    double zero[3] = {0, 0, 0};
    int n = g.open("", NULL, 0, FOURTH, 3) == -1;
    n += g.open("", NULL, 0, 4) == -1;
    n += g.set_j_particle(0, 0, 0, 0, 1, zero, zero, zero, zero, zero, NULL, NULL, 0) == -1;
    n += g.set_time(1) == -1;
    return n != 4;
}
END_OF_CODE
$cxx -std=c++11 -Wall -Wextra -Wpedantic -Werror -Iinclude -Iinclude/compat "$work/refused.cc" -o "$work/refused" \
    -Llib -lsapporo >"$work/log" 2>&1 && LD_LIBRARY_PATH=lib SAPPORO_BACKEND=cpu "$work/refused" >"$work/log" 2>&1 &&
    grep -q 'precision is 3; it may be' "$work/log" && grep -q 'order is 4; it may be' "$work/log" &&
    [ "$(grep -c 'the object is not open' "$work/log")" = 2 ]
verdict $? "each refusal of the class has a message"

# both headers in either order, and twice
printf '#include "sapporo.h"\n#include "sapporohostclass.h"\n#include "sapporo_g6.h"\n' >"$work/one.cc"
printf '#include "sapporohostclass.h"\n#include "sapporohostclass.h"\n#include "sapporo.h"\n' >"$work/two.cc"
for source in one two; do
    $cxx -std=c++11 -Wall -Wextra -Wpedantic -Werror -Iinclude -Iinclude/compat -c "$work/$source.cc" -o "$work/$source.o" \
        >"$work/log" 2>&1
    verdict $? "beside sapporo.h, $source"
done

exit $((failures > 0))
