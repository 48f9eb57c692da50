#!/bin/sh
# Builds, tests and measures the library on a machine with AMD GPUs.  We have none: please send us build/hip-report.
#
#   test/hip.sh                       all steps
#   test/hip.sh build check bench     some of them, in this order
#
# It needs ROCm (libamdhip64.so, and a clang from 17 on with ld.lld), gcc and make, no network.
#
#   build         the library, its tools and tests, for the GPUs that are here
#   check         sapporo check in all precisions, then the tests that run on GPUs
#   conformance   the conformance suite, if there is one in shared/ or ../shared/
#   fuzz          the fuzzer of test/fuzz
#   faults        driver calls that fail, in sessions of all interfaces
#   bench         sapporo bench --suite; with several GPUs on all of them, too
#
#   OUT           where reports go, default build/hip-report; report.txt has the summary and all outputs
#   HIP_ARCHS     the chips, such as gfx90a; default: those that the kernel's driver tells of
#   TOPOLOGY      where it does, default /sys/class/kfd/kfd/topology/nodes
#   CMOCKA_DIR    Debian packages of CMocka (libcmocka-dev, libcmocka0), or a folder where they are unpacked; without
#                 CMocka there are no tests but sapporo check
#   TESTS         of check: only these
#   FUZZ_SECONDS, FUZZ_SEED, WAYS, SESSIONS, FILTER, ONLY, LIMIT   as of test/gpu.sh
#
# Exit status 0: nothing failed; 1: something did; 2: this machine cannot do it.

cd "$(dirname "$0")/.." || exit 2
top=$PWD
card=hip
all="build check conformance fuzz faults bench"
steps=${*:-$all}
out=${OUT:-$top/build/hip-report}
. test/support/report.sh

for needed in gcc make; do
    command -v $needed >/dev/null 2>&1 || give_up "$needed is missing"
done

# The chips that amdgpu tells of: 90010 is gfx90a, 110000 gfx1100, and a CPU is 0.
chips() {
    cat "${TOPOLOGY:-/sys/class/kfd/kfd/topology/nodes}"/*/properties 2>/dev/null | awk '
        $1 == "gfx_target_version" && $2 > 0 {
            chip = sprintf("gfx%d%x%x", $2 / 10000, $2 / 100 % 100, $2 % 100)
            if (!seen[chip]++) print chip
        }' | tr '\n' ' ' | sed 's/ $//'
}
HIP_ARCHS=${HIP_ARCHS:-$(chips)}
[ -n "$HIP_ARCHS" ] || give_up "the kernel's driver tells of no GPU; HIP_ARCHS=gfx90a names one"

cores=$(nproc 2>/dev/null || echo 1)
export JOBS="${JOBS:-1}" # tests that share a GPU would wait for each other
set -- "-j$cores" CC=gcc CUDA=0 HIP=1 HIP_ARCHS="$HIP_ARCHS"

describe() {
    grep -m 1 'model name' /proc/cpuinfo
    cat /sys/module/amdgpu/version /opt/rocm/.info/version 2>/dev/null
    gcc --version | head -n 1
    echo "$cores cores; kernels for $HIP_ARCHS"
    git log -1 --format='commit %h: %s' 2>/dev/null
    return 0
}

# lacks_tests NAME: says that a step is skipped if the tests were not built
lacks_tests() {
    [ ! -f "$(cat build/current)/test/libsupport.a" ] || return 1
    skip "$1" "the tests are not built: CMocka is missing, CMOCKA_DIR"
}

step_check() {
    for precision in ds dp sp; do
        run "sapporo check $precision" examples/sapporo check --backend hip --precision $precision
    done
    ! lacks_tests "check on GPUs" || return 0
    check_on hip "check on GPUs" "$ON_ANY" "$@"
}

step_conformance() { conformance "conformance" hip; }

step_fuzz() {
    run "build the fuzzer" make "$@" fuzz-build || return
    fuzz "fuzz" "SECONDS_ALL=${FUZZ_SECONDS:-60}" "SEED=${FUZZ_SEED:-1}" "JOBS=$cores" INTERFACES= BACKENDS=hip
}

step_faults() { lacks_tests "faults" || faults "faults" hip "$@"; }

step_bench() {
    run "bench" examples/sapporo bench --backend hip --suite --devices 0 --only "${ONLY:-}"
    gpus=$(examples/sapporo info | grep -c '^  hip ')
    [ "$gpus" -lt 2 ] || run "bench of $gpus GPUs" examples/sapporo bench --backend hip --suite \
        --devices "$(seq -s , 0 $((gpus - 1)))" --only "${ONLY:-}"
}

describe 2>&1 | tee -a "$report"
take_steps "$@"
