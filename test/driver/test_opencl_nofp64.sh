#!/bin/sh
# OpenCL without double precision (SAPPORO_OPENCL_FP64=0): the word `double` reaches no compiler, and the tests of
# engines run once more on these kernels, in the form for CPUs and in that for GPUs.  Prints TAP.

build=${BUILD:-build}
work=$(mktemp -d) || exit 2
trap 'rm -rf "$work"' EXIT
. test/support/tap.sh

# ---- what the compiler is given: the texts that the library carries, with the options that its driver names

[ -f "$build/opencl/store.cl" ] || { echo "the library has no kernels of OpenCL"; exit 77; }
options='-DSAP_NO_FP64=1 -cl-single-precision-constant'
grep -q -e "$options" lib/driver/opencl/opencl_program.c
verdict $? "the driver's options are those tested here"

texts() { find "$build/opencl" -name '*.cl' ! -name '*_dp.cl' | sort; }

for vectors in 0 1; do
    for text in $(texts); do
        # shellcheck disable=SC2086 # CC may be a command with arguments
        ${CC:-cc} -E -P -x c -DSAP_NO_FP64=1 -DSAP_VECTORS=$vectors "$text" || echo "double: not preprocessed"
    done >"$work/all" 2>"$work/log"
    [ "$(wc -l <"$work/all")" -gt 1000 ] && ! grep 'double' "$work/all" >>"$work/log"
    verdict $? "no kernel says double, vectors $vectors"
done

# A compiler that has no extension at all takes the kernels, and none of its types is a double: in what its passes are
# given, which take most of its time and bring none.
knows_opencl() { echo 'kernel void f(void) {}' | clang -x cl -S -emit-llvm -o /dev/null - 2>/dev/null; }
if command -v clang >/dev/null 2>&1 && knows_opencl; then
    for vectors in 0 1; do
        for text in $(texts | grep -v _sp); do
            # shellcheck disable=SC2086 # several options
            clang -x cl -cl-std=CL1.2 -Xclang -cl-ext=-all -Xclang -finclude-default-header \
                -Xclang -fdeclare-opencl-builtins -target spir64-unknown-unknown $options -DSAP_VECTORS=$vectors \
                -Xclang -disable-llvm-passes -w -S -emit-llvm -o - "$text" || echo "double: not compiled"
        done >"$work/all" 2>"$work/log"
        [ "$(grep -c '^define.*spir_kernel' "$work/all")" -gt 30 ] && ! grep 'double' "$work/all" >>"$work/log"
        verdict $? "a compiler without double precision takes all kernels, vectors $vectors"
    done
else
    echo "ok - a compiler without double precision takes all kernels # SKIP no clang with OpenCL C"
fi

# ---- forces

export SAPPORO_OPENCL_FP64=0 SAPPORO_TEST_ENGINES=opencl

# runs TITLE NAME VARIABLE=VALUE...: a test program; `not ok` of a test that was skipped is none
runs() {
    title=$1
    program=$build/test/test_$2
    shift 2
    if [ ! -x "$program" ]; then
        echo "ok - $title # SKIP it is not built"
        return
    fi
    env "$@" "$program" >"$work/log" 2>&1
    status=$?
    grep '^not ok' "$work/log" | grep -qv '# SKIP' && status=1
    if [ $status = 0 ] && ! grep '^ok' "$work/log" | grep -qv '# SKIP'; then
        echo "ok - $title # SKIP no OpenCL device"
    else
        verdict $status "$title"
    fi
}

# Programs take long to compile: of order 4 ds, of order 2 sp, and but one in the form for GPUs.
runs "test_accuracy, ds" accuracy SAPPORO_OPENCL_VECTORS=1 'CMOCKA_TEST_FILTER=*, opencl ds'
runs "test_accuracy, order 2 in sp" accuracy SAPPORO_OPENCL_VECTORS=1 'CMOCKA_TEST_FILTER=*, opencl sp, order 2'
runs "test_bits over batches" bits SAPPORO_OPENCL_VECTORS=1 'CMOCKA_TEST_FILTER=threads_and_batches*'
runs "test_bits on two halves of a CPU" bits SAPPORO_OPENCL_VECTORS=1 SAPPORO_OPENCL_SPLIT=2 CMOCKA_TEST_FILTER=devices
runs "Hermite schemes with softening lengths" stepper_soft_hermite SAPPORO_OPENCL_VECTORS=1 CMOCKA_TEST_FILTER=units
runs "sums without neighbours" outside SAPPORO_OPENCL_VECTORS=1 CMOCKA_TEST_FILTER=at_the_boundary
runs "test_accum, halves of a force" accum SAPPORO_OPENCL_VECTORS=1 CMOCKA_TEST_FILTER=halves_of_a_force
runs "batches with moments and counts" batch_more SAPPORO_OPENCL_VECTORS=1 'CMOCKA_TEST_FILTER=*s'
runs "kernels for GPUs: cases of test_accuracy" accuracy SAPPORO_OPENCL_VECTORS=0 \
    'CMOCKA_TEST_FILTER=cases, opencl ds'

# ---- what users see

export SAPPORO_DEVICES=0
if examples/sapporo info 2>/dev/null | grep -q '^  opencl 0 '; then
    examples/sapporo info >"$work/log" 2>&1
    grep -q '^  opencl 0 .*, no fp64,' "$work/log"
    verdict $? "sapporo info tells"
    examples/sapporo bench --backend opencl --precision ds --n 256 --min-time 0 >"$work/log" 2>&1 &&
        grep -q ' ds twofloat' "$work/log"
    verdict $? "the kind tells"
    examples/sapporo bench --backend opencl --api native --hermite 6 --precision ds --n 256 --min-time 0 >"$work/log" 2>&1
    verdict $? "order 6 passes its test of itself"
    ! examples/sapporo bench --backend opencl --precision dp --n 256 --min-time 0 >"$work/log" 2>&1 &&
        grep -q 'device 0: .* has no double precision, which dp needs' "$work/log"
    verdict $? "dp is refused with words"
    ! examples/sapporo bench --api tree --backend opencl --n 256 --min-time 0 >"$work/log" 2>&1 &&
        grep -q 'no tree on opencl: its device has no double precision' "$work/log"
    verdict $? "trees are refused with words"
fi
exit $((failures > 0))
