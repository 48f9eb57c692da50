#!/bin/sh
# libnbody6_gpu and libnbody7_gpu with both kinds of neighbour radii: chosen by lists, by the library, by the variable; what
# they say.

case ${SANITIZE:-} in ?*) echo "libraries of a sanitizer build are not for clients"; exit 77 ;; esac
[ -f lib/libnbody7_gpu.so ] || { echo "lib/libnbody7_gpu.so is missing"; exit 77; }

cc=${CC:-cc}
work=$(mktemp -d) || exit 2
trap 'rm -rf "$work"' EXIT
. test/support/tap.sh

# build NAME LIBRARY...: compiles test/api/nbody6/radii.c as $work/NAME
build() {
    name=$1
    shift
    # shellcheck disable=SC2086 # CC may be a command with arguments
    $cc -std=c11 -O2 -Wall -Wextra -Werror -Iinclude test/api/nbody6/radii.c "$@" -o "$work/$name" >"$work/log" 2>&1
    verdict $? "$name is compiled"
}
build six -Llib -lnbody6_gpu -lsapporo -lm
build seven -Llib -lnbody7_gpu -lsapporo -lm
build seven_static lib/libnbody7_gpu.a lib/libsapporo.a -lm -lpthread -ldl -lrt

# run TITLE PROGRAM ARGUMENT...: the program ends well
run() {
    title=$1
    program=$2
    shift 2
    LD_LIBRARY_PATH=lib timeout 120 "$work/$program" "$@" >"$work/log" 2>&1
    verdict $? "$title"
}
# says TITLE NUMBER TEXT: the last run printed so many lines with a text
says() {
    [ "$(grep -c "$3" "$work/log")" = "$2" ]
    verdict $? "$1"
}

export SAPPORO_BACKEND=cpu
for precision in "" sp dp; do
    SAPPORO_PRECISION=$precision run "libnbody6_gpu recognises both kinds${precision:+ in $precision}" six auto
    says "without a message" 0 gpunb_regf
    SAPPORO_PRECISION=$precision run "libnbody7_gpu takes radii weighted by mass${precision:+ in $precision}" seven mass
done
run "libnbody7_gpu, linked statically" seven_static mass
run "libnbody6_gpu recognises both kinds by a force on one target" six first
for isa in $(usable_paths); do SAPPORO_CPU_ISA=$isa run "both kinds by $isa" six auto; done
SAPPORO_VERBOSE=2 run "both kinds, as the log tells them" six auto
grep -q 'neighbour radii are h2: 256 lists hold' "$work/log" && grep -q 'neighbour radii are m_j h2: 256 lists' "$work/log"
verdict $? "SAPPORO_VERBOSE=2 tells the kind"

# The variable, for either library.
for program in six seven; do
    for kind in plain mass auto; do
        SAPPORO_NBODY6_RADII=$kind run "SAPPORO_NBODY6_RADII=$kind, $program" "$program" $kind
    done
done
SAPPORO_NBODY6_RADII=weighted LD_LIBRARY_PATH=lib "$work/six" auto >"$work/log" 2>&1
grep -q "SAPPORO_NBODY6_RADII is 'weighted'; it may be auto, plain or mass" "$work/log"
verdict $? "a kind with no meaning is refused"

# Radii of the other kind: one warning, which names the variable.
SAPPORO_NBODY6_RADII=plain run "plain radii are taken from a code with the other kind" six wrong plain
says "it is told once that lists overflow" 1 'by h2 256 of 256 neighbour lists overflow, by m_j h2 0; .*SAPPORO_NBODY6_RADII=mass'
run "weighted radii are taken from a code with the other kind" seven wrong mass
says "it is told once that lists are empty" 1 'by m_j h2 256 of 256 .* hold no other star, .*SAPPORO_NBODY6_RADII=plain'
SAPPORO_NBODY6_RADII=plain run "radii by which lists overflow, but hardly hold a star by the other kind" six few
says "it is told once that lists overflow, too" 1 'neighbour lists overflow, by m_j h2 0; .*SAPPORO_NBODY6_RADII=mass'
run "the same, where the lists decided" six few
says "without a message" 0 gpunb_regf
run "radii that suit both kinds" six doubt
says "it is told once that lists do not show the kind" 1 'do not show whether .*SAPPORO_NBODY6_RADII=plain'
run "lists that overflow by both kinds" six full
says "without a message" 0 gpunb_regf

if examples/sapporo info 2>/dev/null | grep -q '^  opencl 0 '; then
    export SAPPORO_BACKEND=opencl SAPPORO_DEVICES=0
    run "both kinds on OpenCL" six auto
else
    echo "ok - both kinds on OpenCL # SKIP no OpenCL device"
fi
exit $((failures > 0))
