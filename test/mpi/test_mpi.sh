#!/bin/sh
# libsapporo_mpi under Open MPI and MPICH, with 1 to 7 ranks of one thread each.  Prints TAP.
#
# The sources of lib/mpi are compiled with the compiler of each MPI, so the test does not depend on the MPI for which the
# library in lib/ was built; for that one, the objects of make serve.  Under the first MPI every program runs with several
# numbers of ranks.  Under the second one each program runs with a single number of ranks, since the MPI changes how
# messages travel and how ranks start, but no result of the library; device memory that the MPI itself carries is tested
# in full.  What the first MPI alone shows: trees and steppers when memory runs out, transports by the host and by NCCL,
# and all cases of steppers.  SAPPORO_TEST_SPARING=0 runs these under the second MPI, too, and all programs over two ranks.
# Both MPIs run at the same time; with SAPPORO_TEST_MPI=first or second, one of them.  With a sanitizer, two ranks run under
# the first MPI.

[ -f lib/libsapporo.so ] || { echo "lib/libsapporo.so is missing"; exit 77; }
case ${SANITIZE:-} in *thread*) echo "MPI has threads of its own, which the sanitizer does not know"; exit 77 ;; esac

build=${BUILD:-$(cat build/current)}
work=$(mktemp -d) || exit 2
trap 'rm -rf "$work"' EXIT
. test/support/tap.sh

# Ranks of Open MPI refuse root, and more ranks than cores, unless they are told; the kernel may refuse that a process
# reads the memory of another.
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMPI_MCA_rmaps_base_oversubscribe=1
export OMPI_MCA_btl_vader_single_copy_mechanism=none OMPI_MCA_mpi_yield_when_idle=1
# No rank is bound to a core (mpirun --bind-to none): by default two ranks are, and threads of one rank share it.
export OMPI_MCA_hwloc_base_binding_policy=none PRTE_MCA_hwloc_default_binding_policy=none
export OMP_NUM_THREADS=1 SAPPORO_VERBOSE=0 LD_LIBRARY_PATH="$PWD/lib"
export OMPI_CC="${CC:-cc}" MPICH_CC="${CC:-cc}"
export TMPDIR="$work" # sockets of Open MPI have short names
unset SAPPORO_BACKEND SAPPORO_PRECISION SAPPORO_CPU_ISA SAPPORO_ROOT

# Of MPI itself the address sanitizer would report leaks.
checked=
case ${SANITIZE:-} in
?*)
    checked="-fsanitize=$SANITIZE -fno-sanitize-recover=all -fno-omit-frame-pointer"
    export ASAN_OPTIONS=detect_leaks=0 SAPPORO_TEST_CHECKED=1
    ;;
esac

# The sanitizer must be the first library: there the programs have this one themselves.
if [ -z "$checked" ]; then
    ${CC:-cc} -std=c11 -O1 -shared -fPIC -o "$work/nap.so" test/mpi/nap.c && export LD_PRELOAD="$work/nap.so"
fi

# compile SUFFIX PROGRAM ARGUMENT...: with mpicc SUFFIX (.openmpi, .mpich or nothing), into $work/PROGRAM SUFFIX
compile() {
    suffix=$1 program=$2
    shift 2
    # shellcheck disable=SC2086 # a list of flags
    "mpicc$suffix" -std=c11 -O1 -g1 -ffp-contract=off -Wall -Wextra $checked -Iinclude -Ilib -Itest/mpi $near \
        -o "$work/$program$suffix" "test/mpi/$program.c" ${checked:+test/mpi/nap.c} "$work/ranks$suffix.o" \
        "$@" -Llib -lsapporo -lm >"$work/log" 2>&1
}

# Parts of libsapporo that libsapporo_mpi has, too.
shared='lib/engine/accum.c lib/engine/cube.c lib/base/clock.c lib/base/environment.c
    lib/base/static_program.c lib/base/saving.c'

# Systems with near pairs, and the judge of their forces.
proof='test/support/multiscale.c test/support/multiscale_draw.c test/support/multiscale_force.c
    test/support/multiscale_proof.c examples/apps/common/rng.c'
near='-Itest/support -Iexamples/apps/common'

# is_made SUFFIX: whether make has compiled lib/mpi for this MPI
is_made() {
    # shellcheck disable=SC1003 # the characters that mpi.mk leaves out
    [ -f "$build/mpi.id" ] && command="$("mpicc$1" -show 2>/dev/null | tr -d '#$\\' | head -n 1)" &&
        [ "$command" = "$(sed 's/ ([^()]*)$//' "$build/mpi.id")" ]
}

# object SUFFIX SOURCE: sets $object to that of a source, which is compiled unless it is one of make's
object() {
    object=$build/${2%.c}.o
    case $2 in lib/*) [ -z "$made" ] || [ ! -f "$object" ] || return 0 ;; esac
    object=$work/$(basename "$2" .c)$1.o
    # shellcheck disable=SC2086 # a list of flags
    "mpicc$1" -std=c11 -O1 -g1 -ffp-contract=off -Wall -Wextra $checked -Iinclude -Ilib -Itest/mpi $near \
        -c -o "$object" "$2" >"$work/log" 2>&1
}

# compile_all SUFFIX: all programs, with the sources of the library
compile_all() {
    made='' mpi_parts='' parts='' proof_parts=''
    ! is_made "$1" || made=1
    for source in test/mpi/ranks.c test/mpi/problem.c test/mpi/tree_problem.c; do object "$1" "$source" || return; done
    for source in $proof; do object "$1" "$source" && proof_parts="$proof_parts $object" || return; done
    for source in lib/mpi/*.c; do object "$1" "$source" && mpi_parts="$mpi_parts $object" || return; done
    for source in $shared; do object "$1" "$source" && parts="$parts $object" || return; done
    parts="$mpi_parts$parts"
    # shellcheck disable=SC2086 # a list of files
    compile "$1" forces "$work/problem$1.o" $parts && compile "$1" ways "$work/problem$1.o" $parts && compile "$1" errors $parts && compile "$1" grape $parts &&
        compile "$1" memory -Wl,--wrap=malloc,--wrap=calloc $parts && compile "$1" trees "$work/tree_problem$1.o" $parts &&
        compile "$1" tree_active "$work/tree_problem$1.o" $parts &&
        compile "$1" tree_near "$work/tree_problem$1.o" $proof_parts $parts && compile "$1" tree_errors $parts &&
        compile "$1" division "$work/tree_problem$1.o" $parts && compile "$1" exchanges "$work/tree_problem$1.o" $parts && compile "$1" packing $parts &&
        compile "$1" tree_memory -Wl,--wrap=malloc,--wrap=calloc $parts &&
        compile "$1" steppers "$work/tree_problem$1.o" $parts && compile "$1" stepper_errors $parts && compile "$1" killed $parts &&
        compile "$1" encounters "$work/tree_problem$1.o" $parts &&
        compile "$1" bounds -Wl,--wrap=malloc,--wrap=calloc,--wrap=free $parts &&
        compile "$1" again "$work/tree_problem$1.o" $parts && compile "$1" calls $parts && compile "$1" far $parts && compile "$1" ended $parts &&
        compile "$1" traffic "$work/tree_problem$1.o" $parts
}

# walk SUFFIX: allocations of both libraries fail.  Two ranks make one session per allocation, three of them only if all
# is tested.
walk() {
    # shellcheck disable=SC2086 # a list of files
    "mpicc$1" -std=c11 -O1 -g1 -ffp-contract=off -Wall -Wextra -Iinclude -Ilib -Itest/mpi -Wl,--wrap=malloc,--wrap=calloc \
        -Wl,--wrap=realloc,--wrap=aligned_alloc,--wrap=sap_way_measure -o "$work/walk$1" test/mpi/walk.c "$work/ranks$1.o" $mpi_parts \
        lib/libsapporo.a -lm -ldl -lpthread >"$work/log" 2>&1
    verdict $? "walk.c links with mpicc$1"
    if [ "${SAPPORO_TEST_SPARING:-1}" = 0 ]; then ranks "$1" walk 2 3; else words=few ranks "$1" walk 2; fi
}

# bound SUFFIX: one warning of one rank, with the option, if ranks may use one of several cores
bound() {
    if [ "$(getconf _NPROCESSORS_ONLN)" -lt 2 ]; then
        skipped "ranks of MPI$1 that are bound to one core" "the machine has one core"
        return
    fi
    for how in bound open; do
        SAPPORO_VERBOSE=1 timeout -k 5 60 "mpirun$1" -n 2 "$work/ended$1" $how >"$work/out" 2>"$work/said" </dev/null
        look $?
        expected=0
        [ $how = open ] || expected=1
        [ "$(grep -c 'bound rank 0 to one of .* mpirun --bind-to none' "$work/said")" -eq $expected ] || cat "$work/said" >>"$work/log"
        none "ranks of MPI$1, $how: $expected warnings of one core"
    done
}

# transports SUFFIX: how particles travel, on device memory that OpenCL keeps on a CPU, with a double of NCCL.  The
# programs of forces run over each transport; transports.c looks at choices and faults.
transports() {
    flags="-std=c11 -O1 -g1 -ffp-contract=off -Wall -Wextra -Iinclude -Ilib -Itest/mpi"
    mkdir -p "$work/nccl$1" "$work/old$1" "$work/none$1"
    # shellcheck disable=SC2086 # a list of flags
    {
        "mpicc$1" $flags -shared -fPIC -o "$work/nccl$1/libnccl.so.2" test/mpi/fake_nccl.c &&
            "mpicc$1" $flags -DncclSend=ncclSendNothing -shared -fPIC -o "$work/old$1/libnccl.so.2" test/mpi/fake_nccl.c
    } >"$work/log" 2>&1
    echo 'no library' >"$work/none$1/libnccl.so.2"
    for program in transports tree_transports stepper_device forces ways traffic columns; do
        # shellcheck disable=SC2086 # lists of flags and files
        "mpicc$1" $flags -rdynamic -o "$work/hosted_$program$1" "test/mpi/$program.c" test/mpi/hosted.c "$work/problem$1.o" \
            "$work/tree_problem$1.o" "$work/ranks$1.o" $mpi_parts lib/libsapporo.a -lm -ldl -lpthread >>"$work/log" 2>&1 || echo "$program does not link" >>"$work/log"
    done
    none "programs on device memory link with mpicc$1"
    "$work/hosted_transports$1" devices >"$work/out" 2>&1 || { skipped "transports of MPI$1" "$(head -n 1 "$work/out")"; return; }
    (
        export SAPPORO_TEST_ENGINES=opencl SAPPORO_TEST_CHECKED=1 POCL_MAX_PTHREAD_COUNT=1 LD_LIBRARY_PATH="$work/nccl$1"
        SAPPORO_VERBOSE=2 ranks "$1" hosted_transports 1 2 3
        ranks "$1" hosted_columns 1 3
        ranks "$1" hosted_tree_transports +1 +2 3
        ! is_first "$1" || ranks "$1" hosted_stepper_device +1 +2 3
        carried='host mpi nccl'
        is_first "$1" || carried=mpi
        for transport in $carried; do
            export SAPPORO_MPI_TRANSPORT="$transport" HOSTED_AWARE=1
            [ "$transport" = host ] || title=" by $transport" ranks "$1" hosted_forces +2 3
            title=" by $transport" ranks "$1" hosted_ways 3
            title=" by $transport" ranks "$1" hosted_traffic 2
        done
        unset SAPPORO_MPI_TRANSPORT HOSTED_AWARE
        export SAPPORO_VERBOSE=2 LD_LIBRARY_PATH="$work/none$1"
        title=' without NCCL' words='no NCCL: ' ranks "$1" hosted_transports 2
        export LD_LIBRARY_PATH="$work/old$1"
        title=' with a part of NCCL' words='its libnccl.so.2 has no ncclSend' ranks "$1" hosted_transports 2
        FAKE_NCCL='old 0' LD_LIBRARY_PATH="$work/nccl$1" title=' with an old NCCL' words='version 21212' ranks "$1" hosted_transports 1
        exit "$failures"
    )
    failures=$?
}

# is_first SUFFIX: whether this is the MPI under which all is tested
is_first() { [ "$1" = "$first" ] || [ "${SAPPORO_TEST_SPARING:-1}" = 0 ]; }

# ranks SUFFIX PROGRAM N...: runs a program with each number of ranks, with +N only if no case is left out: with sanitizers
# and on devices the program runs over two ranks.  All its lines must be ok, and be there.  $words: its argument; $title:
# what is added to the title
ranks() {
    suffix=$1 program=$2
    shift 2
    for n in "$@"; do
        case $n in +*) [ "${SAPPORO_TEST_SPARING:-1}" = 0 ] || continue ;; esac
        n=${n#+}
        timeout -k 5 400 "mpirun$suffix" -n "$n" "$work/$program$suffix" ${words:+"$words"} >"$work/out" 2>"$work/said" </dev/null
        look $?
        none "$program over $n ranks of MPI${suffix:-}${title:-}, $(grep -c '^ok' "$work/out") cases"
    done
}

# look STATUS: logs what is wrong with the lines and the status of a program
look() {
    { grep '^not ok' "$work/out"; [ "$1" -eq 0 ] || { echo "status $1"; tail -n 12 "$work/said"; }; } >"$work/log"
    grep -q '^ok' "$work/out" || echo "no line is ok" >>"$work/log"
}

# between_namespaces SUFFIX: bits of forces over TCP, on a link with limited bandwidth and a delay
between_namespaces() {
    name="ways over 2 ranks of MPI$1 in network namespaces, 100 Mbit/s, 1 ms"
    if [ "$1" != .openmpi ] || [ ! -c /dev/net/tun ] || ! ip netns add "try$$" 2>/dev/null; then
        skipped "$name" "it needs Open MPI, root, network namespaces and /dev/net/tun"
        return
    fi
    ip netns del "try$$"
    timeout -k 5 100 test/mpi/namespaces.sh 2 100 1 "$work/ways$1" >"$work/out" 2>"$work/said" </dev/null
    look $?
    none "$name, $(grep -c '^ok' "$work/out") cases"
}

# kill_one SUFFIX WHAT RANK MILLISECONDS: logs what is wrong with a job of which one rank kills itself
kill_one() {
    timeout -k 5 60 "mpirun$1" -n 3 "$work/killed$1" "$2" "$3" "$4" >"$work/out" 2>/dev/null </dev/null
    status=$?
    {
        if [ $status -eq 0 ] || [ $status -eq 124 ]; then echo "$2, rank $3: status $status"; fi
        grep 'goes on' "$work/out"
        [ "$(grep -c '^pid' "$work/out")" -eq 3 ] || echo "$2, rank $3: not all ranks began"
        sed -n 's/^pid //p' "$work/out" | while read -r pid; do gone "$pid" || echo "$2: process $pid lives on"; done
    } >>"$work/log"
}

# killed SUFFIX: the launcher ends a job of which a rank is killed in mid-call; the file that it was saving is complete
killed() {
    for what in force tree stepper save; do
        : >"$work/log"
        for which in 0 2; do
            kill_one "$1" $what $which 500
            [ $what != save ] || for ms in 730 610; do kill_one "$1" $what $which $ms; done
        done
        none "a rank of MPI$1 that is killed in mid-call ends the job: $what"
    done
    title=' reading what a killed job saved' words=restore ranks "$1" killed 2
}

# gone PID: waits until a process is no more, at most ten seconds
gone() {
    for _ in $(seq 100); do
        kill -0 "$1" 2>/dev/null || return 0
        sleep 0.1
    done
    return 1
}

# fortran SUFFIX: the module and its client, with the sources of the library; sizes of types are those of C
fortran() {
    if ! "mpifort$1" --version >/dev/null 2>&1; then
        skipped "module sapporo_mpi with MPI$1" "mpifort$1 or its compiler is missing"
        return
    fi
    mkdir -p "$work/modules$1"
    # shellcheck disable=SC2086 # a list of files
    "mpifort$1" -std=f2018 -Wall -Wextra -Wno-compare-reals -J "$work/modules$1" include/sapporo.f90 include/sapporo_mpi.f90 \
        test/mpi/client.f90 $parts -Llib -lsapporo -lm -o "$work/client$1" >"$work/log" 2>&1
    verdict $? "module sapporo_mpi and its client compile with mpifort$1"
    [ -x "$work/client$1" ] || return
    ranks "$1" client 1 3
    grep '^sizes' "$work/out" >"$work/log"
    cat >"$work/sizes.c" <<'END'
#include "sapporo_mpi.h"
#include <stdio.h>
int main(void)
{
    printf("sizes %zu %zu %zu %zu %zu %zu\n", sizeof(sapporo_mpi_options), sizeof(sapporo_mpi_costs),
           sizeof(sapporo_mpi_tree_options), sizeof(sapporo_mpi_tree_statistics), sizeof(sapporo_mpi_stepper_options),
           sizeof(sapporo_mpi_traffic));
    return 0;
}
END
    "mpicc$1" -Iinclude "$work/sizes.c" -o "$work/sizes" && "$work/sizes" >>"$work/log"
    [ "$(sort -u "$work/log" | wc -l)" -eq 1 ] && [ "$(wc -l <"$work/log")" -eq 2 ]
    verdict $? "types of module sapporo_mpi are as long as those of sapporo_mpi.h"
}

# near SNAPSHOT SNAPSHOT: logs rows of 1,500 particles that differ by more than 1e-3
near() {
    paste "$1" "$2" | awk '!/^#/ && NF > 8 { h = NF / 2; n++
        for (k = 1; k <= h; k++) { d = $k - $(k + h); if (d > 1e-3 || d < -1e-3) print "row " NR ", column " k ": " d } }
        END { if (n < 1500) print n " rows" }' | head -n 5 >>"$work/log"
}

# kill_galaxy RANK: kills a rank of galaxy_mpi after its third snapshot; prints what is wrong with the files
kill_galaxy() {
    mkdir "$work/killed_galaxy$1"
    (
        cd "$work/killed_galaxy$1" || exit
        # shellcheck disable=SC2016,SC2086 # of the shell of each rank; a list of words
        timeout -k 5 100 mpirun -n 3 sh -c 'echo $$ >"pid.${OMPI_COMM_WORLD_RANK:-$PMI_RANK}"; exec "$@"' rank \
            "$top/examples/galaxy_mpi" $run >out 2>&1 </dev/null &
        for _ in $(seq 2000); do
            [ ! -f stars.0002.txt ] || break
            sleep 0.02
        done
        kill -9 "$(cat "pid.$1")"
        wait $! && echo "the job of a killed rank $1 ends well"
        [ ! -f stars.0032.txt ] || echo "rank $1 was killed after the end"
        for file in stars.*.txt; do cmp "$file" "$work/unkilled/$file"; done
        timeout -k 5 100 mpirun -n 3 "$top/examples/galaxy_mpi" --restart stars.restart >out 2>&1 || cat out
        cmp stars.0032.txt "$work/unkilled/stars.0032.txt"
    )
}

# test_library SUFFIX: the tests under one MPI, in a folder of their own
test_library() {
    work=$work/$1
    export TMPDIR="$work"
    mkdir -p "$work"
    compile_all "$1"
    compiled=$?
    verdict $compiled "the library and its tests compile with mpicc$1"
    [ $compiled -eq 0 ] || return
    if [ -n "$checked" ]; then
        for program in forces ways errors grape trees tree_active tree_near tree_errors exchanges packing steppers stepper_errors encounters again calls far traffic; do ranks "$1" $program 2; done
        return
    fi
    ranks "$1" memory 2
    ranks "$1" grape 3
    killed "$1"
    transports "$1"
    for program in again calls ended far; do ranks "$1" $program 3; done
    bound "$1"
    fortran "$1"
    if [ "$1" != "$first" ]; then
        ranks "$1" forces 2 7
        for program in ways errors packing trees tree_active tree_errors exchanges stepper_errors encounters; do ranks "$1" $program 3; done
        # Of a checked build, steppers has fewer cases on the CPU.
        if is_first "$1"; then ranks "$1" steppers 3; else SAPPORO_TEST_CHECKED=1 ranks "$1" steppers 3; fi
    fi
    is_first "$1" || return
    ranks "$1" tree_memory 2
    walk "$1"
    ranks "$1" bounds 2 3
    [ "$1" = "$first" ] || return
    for program in forces tree_active; do ranks "$1" $program 1 +2 +3 7; done
    ranks "$1" steppers 1 +2 3 +7
    ranks "$1" trees 1 +2 3 +4 7
    ranks "$1" exchanges 1 +2 7
    ranks "$1" encounters 1 +2 5
    ranks "$1" tree_near 1 2 3
    ranks "$1" ways 1 2 3
    ranks "$1" packing 1 3
    ranks "$1" traffic 1 3
    between_namespaces "$1"
    for program in errors tree_errors stepper_errors; do ranks "$1" $program 1 3; done
    for program in far ended; do ranks "$1" $program 1 2; done
    ranks "$1" again 1 5
    ranks "$1" trees +12
    ranks "$1" division 32
}

found='' first='' running='' wanted=${SAPPORO_TEST_MPI:-both}
for suffix in .openmpi .mpich ''; do
    if ! command -v "mpicc$suffix" >/dev/null 2>&1 || ! command -v "mpirun$suffix" >/dev/null 2>&1; then
        [ -z "$suffix" ] || skipped "MPI$suffix" "mpicc$suffix or mpirun$suffix is missing"
        continue
    fi
    [ -n "$suffix" ] || [ -z "$found" ] || continue # mpicc is one of those above
    if [ -z "$found" ]; then
        first=$suffix found=1
        [ "$wanted" != second ] || continue
    elif [ "$wanted" = first ]; then
        skipped "MPI$suffix" "SAPPORO_TEST_MPI is first"
        continue
    elif [ -n "$checked" ]; then
        skipped "MPI$suffix" "sanitizers look at the library under one MPI"
        continue
    fi
    (test_library "$suffix"; exit $((failures > 0))) >"$work/lines$suffix" 2>&1 &
    running="$running $!"
done
for pid in $running; do wait "$pid" || failures=$((failures + 1)); done
[ -z "$running" ] || cat "$work"/lines*
if [ -z "$found" ] && ! command -v mpicc >/dev/null 2>&1; then
    skipped "forces over ranks" "mpicc and mpirun are missing: openmpi-bin and libopenmpi-dev, or mpich and libmpich-dev"
    exit 0
fi

if [ "$wanted" = second ]; then
    [ -n "$running" ] || skipped "a second MPI" "there is none"
    exit $((failures > 0))
fi

# The library that make built, as a user links it.
if [ -f lib/libsapporo_mpi.so ] && [ -z "$checked" ] && command -v readelf >/dev/null 2>&1; then
    mpicc -std=c11 -O1 -Iinclude -Itest/mpi -o "$work/forces" test/mpi/forces.c test/mpi/problem.c test/mpi/ranks.c -Llib -lsapporo_mpi \
        -lsapporo -lm >"$work/log" 2>&1
    verdict $? "a client links libsapporo_mpi.so"
    ranks "" forces 2
    for program in trees tree_active tree_device exchanges steppers encounters; do
        mpicc -std=c11 -O1 -Iinclude -Itest/mpi -o "$work/$program" "test/mpi/$program.c" test/mpi/tree_problem.c test/mpi/ranks.c \
            -Llib -lsapporo_mpi -lsapporo -lm >"$work/log" 2>&1
        verdict $? "a client of trees, $program, links libsapporo_mpi.so"
    done
    # Accelerators: the host flow of lib/gpu, and where ranks share a device.
    for engine in opencl cuda; do
        for program in forces trees tree_active tree_device exchanges steppers encounters; do
            SAPPORO_TEST_ENGINES=$engine SAPPORO_TEST_CHECKED=1 timeout -k 5 300 mpirun -n 2 "$work/$program" >"$work/out" 2>"$work/said"
            { grep '^not ok' "$work/out"; grep -q '^ok' "$work/out" || cat "$work/said"; } >"$work/log"
            if grep -q 'no such device' "$work/out"; then
                skipped "$program over 2 ranks on $engine" "there is no device"
            else
                none "$program over 2 ranks on $engine, $(grep -c '^ok' "$work/out") cases"
            fi
        done
    done
    nm -D --defined-only lib/libsapporo_mpi.so | awk '{ sub(/@.*/, "", $NF); print $NF }' | sort >"$work/exported"
    sed -n 's/^SAPPORO_API [a-z_ ]*[ *]\([a-z0-9_]*\)(.*/\1/p' include/sapporo_mpi.h | sort -u >"$work/declared"
    diff "$work/declared" "$work/exported" >"$work/log"
    none "libsapporo_mpi.so exports what sapporo_mpi.h declares"
    # The program of docs/mpi.md, and what it prints.
    awk '/^```c$/ { take = 1; next } /^```/ { take = 0 } take' docs/mpi.md >"$work/page.c"
    awk '/^With `mpirun -n 2` it prints/ { wait = 1 } wait && /^```$/ { exit } take; wait && /^```text/ { take = 1 }' docs/mpi.md \
        >"$work/page.text"
    mpicc -std=c11 -Wall -Wextra -Werror -Iinclude -o "$work/page" "$work/page.c" -Llib -lsapporo_mpi -lsapporo >"$work/log" 2>&1 &&
        timeout -k 5 100 mpirun -n 2 "$work/page" >"$work/out" 2>"$work/log"
    diff "$work/page.text" "$work/out" >>"$work/log"
    none "the program of docs/mpi.md prints what the page shows"
    SAPPORO_BACKEND=cpu SAPPORO_VERBOSE=2 timeout -k 5 100 mpirun -n 3 "$work/page" >"$work/out" 2>&1 </dev/null
    grep 'MPI: transport' "$work/out" >"$work/map"
    { [ "$(wc -l <"$work/map")" -eq 1 ] && grep -q 'transport host over 3 ranks: [^:]*: 0 cpu, 1 cpu, 2 cpu$' "$work/map"; } || cat "$work/out" >"$work/log"
    none "the map from ranks to devices is logged once"
    run="--model plummer -n 2600 -t 1/64 --dt-max 1/128 --interval 1/64 --eta 0.05 -o run"
    mkdir "$work/alone" "$work/over"
    top=$PWD
    # shellcheck disable=SC2086 # a list of words
    { (cd "$work/alone" && "$top/examples/hermite4" $run) && (cd "$work/over" && timeout -k 5 100 mpirun -n 3 "$top/examples/hermite4_mpi" $run); } \
        >"$work/said" 2>&1 || cat "$work/said" >"$work/log"
    [ -f "$work/alone/run.restart" ] || echo "hermite4 wrote no restart file" >>"$work/log"
    diff -rq "$work/alone" "$work/over" >>"$work/log" 2>&1
    none "hermite4_mpi over 3 ranks writes the bytes of hermite4"
    sed 's/^# time .*/# time 1e10/' "$work/alone/run.0000.txt" >"$work/late"
    mkdir "$work/late_alone" "$work/late_over"
    run="$work/late -d 1/128 --eta 0.05 --stop-after 9 -o run"
    # shellcheck disable=SC2086 # a list of words
    { (cd "$work/late_alone" && "$top/examples/hermite4" $run) && (cd "$work/late_over" && timeout -k 5 100 mpirun -n 2 "$top/examples/hermite4_mpi" $run); } \
        >"$work/said" 2>&1 || cat "$work/said" >"$work/log"
    [ -f "$work/late_alone/run.restart" ] || echo "hermite4 wrote no restart file" >>"$work/log"
    diff -rq "$work/late_alone" "$work/late_over" >>"$work/log" 2>&1
    none "hermite4_mpi from a late time writes the bytes of hermite4"
    # A disc in a halo whose particles have another softening.
    run="--model disc -n 1500 --eps 1/16 --eps-halo 1/4 --interval 1/8 -t 1/4 -o stars"
    for ranks in 0 1 2; do
        mkdir "$work/galaxy$ranks"
        program="timeout -k 5 100 mpirun -n $ranks $top/examples/galaxy_mpi"
        [ $ranks -gt 0 ] || program=$top/examples/galaxy
        # shellcheck disable=SC2086 # lists of words
        (cd "$work/galaxy$ranks" && $program $run) >"$work/galaxy$ranks.out" 2>&1 || cat "$work/galaxy$ranks.out" >"$work/log"
    done
    for k in 0 1 2; do cmp "$work/galaxy0/stars.000$k.txt" "$work/galaxy1/stars.000$k.txt" >>"$work/log" 2>&1; done
    none "galaxy_mpi with one rank writes the snapshots of galaxy"
    for ranks in 0 2; do
        awk '/relative energy error/ { sub(/,.*/, "", $6); e = $6 + 0; found = 1 } END { exit !(found && e < 1e-3 && e > -1e-3) }' \
            "$work/galaxy$ranks.out" || cat "$work/galaxy$ranks.out" >>"$work/log"
    done
    # The last positions, in the order of the particles: those of the tree of one rank within its errors.
    near "$work/galaxy0/stars.0002.txt" "$work/galaxy2/stars.0002.txt"
    none "galaxy_mpi over 2 ranks keeps the energy, and near positions"
    # A run that stops and goes on: over as many ranks with the same bytes, over others near them.
    mkdir "$work/stopped"
    {
        # shellcheck disable=SC2086 # a list of words
        (cd "$work/stopped" && timeout -k 5 100 mpirun -n 2 "$top/examples/galaxy_mpi" $run --stop-after 5 &&
            cp -r . "$work/more" && timeout -k 5 100 mpirun -n 2 "$top/examples/galaxy_mpi" --restart stars.restart &&
            cd "$work/more" && timeout -k 5 100 mpirun -n 3 "$top/examples/galaxy_mpi" --restart stars.restart)
    } >"$work/out" 2>&1 || cat "$work/out" >"$work/log"
    cmp "$work/galaxy2/stars.0002.txt" "$work/stopped/stars.0002.txt" >>"$work/log" 2>&1
    near "$work/galaxy2/stars.0002.txt" "$work/more/stars.0002.txt"
    none "galaxy_mpi over 2 ranks goes on with the same bytes, over 3 ranks near them"
    # A run of which a rank is killed leaves complete snapshots, and goes on with the bytes of a run without that.
    run="--model plummer -n 1500 --eps 1/32 --interval 1/64 -t 1/2 -o stars"
    mkdir "$work/unkilled"
    # shellcheck disable=SC2086 # a list of words
    (cd "$work/unkilled" && timeout -k 5 100 mpirun -n 3 "$top/examples/galaxy_mpi" $run) >"$work/out" 2>&1 || cat "$work/out" >"$work/log"
    for which in 0 2; do kill_galaxy $which >>"$work/log" 2>&1; done
    none "galaxy_mpi of which a rank is killed leaves complete snapshots, and goes on with the same bytes"
    sed -n 's/.*SAPPORO_API [a-z_ *]*[ *]\(sapporo_[a-z_]*\)(.*/\1/p' include/sapporo_mpi.h | grep -v '_fortran$' | sort >"$work/header"
    sed -n ':more; /&$/ { N; s/&\n *//; b more }; s/^ *\(.*function\|subroutine\) \(sapporo_[a-z_]*\)(.*bind(c.*/\2/p' \
        include/sapporo_mpi.f90 | sort >"$work/module"
    diff "$work/header" "$work/module" >"$work/log"
    none "module sapporo_mpi has the functions of sapporo_mpi.h"
    readelf -dW lib/libsapporo.so | grep -i 'NEEDED.*mpi' >"$work/log"
    none "libsapporo.so needs no MPI"
else
    skipped "libsapporo_mpi.so" "it was not built here"
fi
exit $((failures > 0))
