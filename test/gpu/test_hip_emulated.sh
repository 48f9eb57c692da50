#!/bin/sh
# HIP without a card of AMD: the library's driver over a libamdhip64.so.6 that we make (test/support/fake_libcuda.c with
# fake_hip.h), which runs the library's own kernels by emulation (test/hip/emulator.cpp), in wavefronts of 64 lanes and
# of 32.  Tests of the library then run on the engine `hip`: those that take seconds, HIP_TESTS="bits tree_gpu" any
# others; and calls of the driver fail.  test/hip.sh is looked at as well.  Prints TAP.
#
# Kernels are compiled by -O1: gcc 12 makes wrong code of some at -O2, where it makes vectors of straight lines.

cxx=${CXX:-g++}
flags="-std=c++17 -O1 -fPIC -ffp-contract=off -fvisibility=hidden -DSAP_EMULATED -Itest/hip -Ikernels_hip -Ilib -Wno-unknown-pragmas"

# kernel FOLDER WAVE NAME: compiles kernels_cuda/NAME.cu for the emulator, and registers the kernels that it has
kernel() {
    # The names are those of both wavefronts.
    # shellcheck disable=SC2086 # lists of flags
    [ -s "$1/$3.cpp" ] || {
        printf '#include "%s/kernels_cuda/%s.cu"\n' "$PWD" "$3"
        "$cxx" $flags -E -P -x c++ "kernels_cuda/$3.cu" | tr '\n' ' ' | grep -oE 'extern "C" +void +[A-Za-z0-9_]+ *\(' |
            sed 's/.*void *\([A-Za-z0-9_]*\).*/EMULATED(\1)/' | sort -u
    } >"$1/$3.cpp" || return
    # shellcheck disable=SC2086 # a list of flags
    "$cxx" $flags "-DSAP_WAVE=$2" -c "$1/$3.cpp" -o "$1/$2/$3.o"
}
if [ "${1:-}" = --kernel ]; then # for xargs
    kernel "$2" "$3" "$4"
    exit
fi

[ "$(uname -s)" = Linux ] || { echo "libamdhip64.so is a library of Linux"; exit 77; }
[ -f "$(cat "${BUILD:-build}/hip" 2>/dev/null)/release" ] || { echo "built without kernels for AMD GPUs"; exit 77; }
command -v "$cxx" >/dev/null 2>&1 || { echo "$cxx is missing"; exit 77; }
case ${SANITIZE:-} in ?*) echo "fibers and sanitizers do not go together"; exit 77 ;; esac

work=$(mktemp -d) || exit 2
trap 'rm -rf "$work"' EXIT
. test/support/tap.sh
forget_settings
unset FAKE_CUDA_INIT FAKE_CUDA_DEVICES FAKE_CUDA_IDLE

# library WAVE: builds $work/WAVE/libamdhip64.so.6, as many files at a time as there are cores
library() {
    mkdir -p "$work/$1"
    # shellcheck disable=SC2086 # lists of flags
    ${CC:-cc} -std=c11 -O1 -fPIC -Ilib -Iinclude -DFAKE_WAVE="$1" -include test/support/fake_hip.h \
        -c test/support/fake_libcuda.c -o "$work/$1/fake.o" &&
        "$cxx" $flags "-DSAP_WAVE=$1" -U_FORTIFY_SOURCE -c test/hip/emulator.cpp -o "$work/$1/emulator.o" || return 1
    for source in kernels_cuda/*.cu; do basename "$source" .cu; done |
        xargs -P "$(nproc)" -n 1 "$0" --kernel "$work" "$1" || return 1
    "$cxx" -shared -o "$work/$1/libamdhip64.so.6" "$work/$1"/*.o
}
# passes TITLE COMMAND...: what passes on the engine
passes() {
    title=$1
    shift
    SAPPORO_TEST_ENGINES=hip LD_LIBRARY_PATH=$place timeout 300 "$@" >"$work/log" 2>&1
    verdict $? "$title"
}

# Wavefronts of 32 have the kernels of those of 64, and other exchanges of lanes alone, which all of them make.
[ "${SAPPORO_TEST_SPARING:-1}" != 0 ] || fewer="not_finite spline tree_counts tree_groups"
for wave in 64 32; do
    tests="not_finite spline told tree_counts tree_groups"
    [ $wave -eq 64 ] || tests=${fewer:-not_finite tree_groups}
    library $wave >"$work/log" 2>&1
    verdict $? "the emulator of wavefronts of $wave lanes is built"
    place=$work/$wave
    passes "all checks of an engine, wavefronts of $wave" examples/sapporo check --backend hip --n 512
    for test in ${HIP_TESTS:-$tests}; do
        passes "$test, wavefronts of $wave" "${BUILD:-build}/test/test_$test"
    done
done

# Calls of HIP that fail, in sessions of which emulation takes seconds.
SAPPORO_BACKEND=hip WAYS="memory lost" SESSIONS="g6 nbody6pp" LD_LIBRARY_PATH=$work/64 test/driver/test_driver_faults.sh >"$work/faults" 2>&1
status=$?
cat "$work/faults"
[ $status -eq 0 ] || failures=$((failures + 1))

# What test/hip.sh builds on a machine with two cards of one kind and a third one, by the files of the kernel's driver.
mkdir -p "$work/bin" "$work/nodes/0" "$work/nodes/1" "$work/nodes/2" "$work/nodes/3"
printf 'cpu_cores_count 64\ngfx_target_version 0\n' >"$work/nodes/0/properties"
for node in 1 2; do printf 'simd_count 440\ngfx_target_version 90010\n' >"$work/nodes/$node/properties"; done
printf 'gfx_target_version 110000\n' >"$work/nodes/3/properties"
printf '#!/bin/sh\necho "make $*"\n' >"$work/bin/make" && chmod +x "$work/bin/make"
HIP_ARCHS="" PATH=$work/bin:$PATH TOPOLOGY=$work/nodes OUT=$work/report test/hip.sh build >"$work/log" 2>&1
grep -q '^make .* HIP=1 HIP_ARCHS=gfx90a gfx1100 all$' "$work/log"
verdict $? "test/hip.sh builds for the chips that are here"
TOPOLOGY=$work/none OUT=$work/report HIP_ARCHS='' test/hip.sh >"$work/log" 2>&1
[ $? -eq 2 ] && grep -q 'tells of no GPU' "$work/log"
verdict $? "test/hip.sh says that there is no GPU"
exit $((failures > 0))
