#!/bin/sh
# Calls of a driver that fail, one after the other and in every way, in sessions of all interfaces (test/faults/):
# OpenCL's driver here.  On a GPU: SAPPORO_TEST_SPARING=0 SAPPORO_BACKEND=cuda make check TESTS=driver_faults.
#
#   WAYS      how calls fail, default "memory launch lost error"
#   SESSIONS  only these, such as "tree sixth"
#
# The clients are linked with the static library, whose drivers faulty_driver.h wraps.  SAPPORO_TEST_SPARING=0 leaves out
# no call; otherwise some of each session fail, each in two of the four ways: over a stub, test_faults and its like let
# every second call of the same flow fail.  Steppers make the calls of trees, so each of both takes two ways.

case ${SANITIZE:-} in ?*) echo "clients are compiled without sanitizers"; exit 77 ;; esac
build=${BUILD:-$(cat build/current)}
[ -f "$build/test/libsupport.a" ] || { echo "$build/test/libsupport.a is missing: it comes with make tests"; exit 77; }
cc=${CC:-cc}
engine=${SAPPORO_BACKEND:-opencl}
examples/sapporo info 2>/dev/null | grep -qE "^  $engine +0 " || { echo "no $engine device"; exit 77; }
work=$(mktemp -d) || exit 2
trap 'rm -rf "$work"' EXIT
printf 'extern int _Fork(void);\nint main(void) { return _Fork() < 0; }\n' >"$work/probe.c"
# shellcheck disable=SC2086 # CC may be a command with arguments
$cc "$work/probe.c" -o "$work/probe" 2>/dev/null || { echo "glibc 2.34 is needed"; exit 77; }
failures=0
ways=${WAYS:-memory launch lost error}
# A walk that leaves out no call takes minutes, so its parts run on all cores; they share the device.
if [ "${SAPPORO_TEST_SPARING:-1}" = 0 ]; then parts=6 workers=$(nproc); else parts=1 workers=1; fi

# client EVERY NAME SOURCE ARGUMENT...: compiles a client, and notes its walks: NAME, WAY, and of its calls the first one
# and the step to the next one.
client() {
    every=$1 name=$2 source=$3
    shift 3
    case " ${SESSIONS:-$name} " in *" $name "*) ;; *) return ;; esac
    # shellcheck disable=SC2086 # lists of words
    if ! $cc -std=c11 -O1 -Wall -Wextra -Werror -Iinclude -Ilib -Itest/support "test/faults/$source.c" \
        test/faults/client.c test/faults/driver_faults.c "$@" "$build/test/libsupport.a" "$build/lib/libsapporo.a" \
        ${OPENMP_FLAGS:-} -ldl -lpthread -lcmocka -lm -o "$work/$name" 2>"$work/log"; then
        echo "not ok - $name does not compile"
        sed 's/^/#   /' "$work/log"
        failures=$((failures + 1))
        return
    fi
    for way in $ways; do
        first=1 step=1
        if [ $parts -eq 1 ]; then
            case ${WAYS:-}$name-$way in tree-launch | tree-error | stepper-memory | stepper-lost) continue ;; esac
            step=$((2 * every))
            case $way in launch | error) first=$((1 + every)) ;; esac
        fi
        for part in $(seq $parts); do
            echo "$name $way $((first + (part - 1) * step)) $((step * parts))" >>"$work/walks"
        done
    done
}

client 17 g6 g6
client 60 native native
client 150 tree tree
client 150 stepper stepper
client 30 g5 g5
client 30 nbody6pp nbody6 "$build/lib/libnbody6pp_gpu.a"
client 40 sixth sixth "$build/lib/libsapporo6th.a"

export work SAPPORO_BACKEND="$engine" SAPPORO_DEVICES=0 SAPPORO_VERBOSE=0
# shellcheck disable=SC2016 # for the shells that it starts
xargs -P "$workers" -L 1 sh -c 'exec 2>&1; "$work/$0" stay=1 "start=$2" "every=$3" "$1" >"$work/$0-$1-$2.tap" ||
    echo "$0 $1 $2" >>"$work/failed"' <"$work/walks"
while read -r name way first step; do cat "$work/$name-$way-$first.tap"; done <"$work/walks"
[ ! -s "$work/failed" ] || failures=$((failures + 1))
exit $((failures > 0))
