#!/bin/sh
# Builds, tests and measures the library on a machine with NVIDIA GPUs; needs nvcc, gcc and make, no network.
#
#   test/gpu.sh                       all steps
#   test/gpu.sh build check bench     some of them, in this order
#
#   build         the library, its tools and tests, for the GPUs that are here
#   check         tests: first those that run on GPUs, on them alone, then all
#   mpi           forces over the ranks of MPI, if mpicc is there: test/mpi, then on GPUs, one per rank and shared, and
#                 their speed
#   conformance   the conformance suite, if there is one in shared/ or ../shared/
#   opencl        the same tests and the suite over NVIDIA's OpenCL, which no other platform stands beside
#   fuzz          the fuzzer of test/fuzz over CUDA, then over NVIDIA's OpenCL
#   faults        driver calls that fail, in sessions of all interfaces, over both drivers
#   sanitize      compute-sanitizer: each tool over the tool's checks, over random calls, and over test programs
#   bench         sapporo bench --backend cuda --suite; with several GPUs also on 1, 2, 4, ... of them
#   compare       test/gpu/compare.sh: NVIDIA's OpenCL against CUDA, a line a case; what opening takes
#   bare          test/gpu/bare.cu, and bare_high.cu of orders 6 and 8: what the card can do at most; instruments in PERF
#
#   OUT           where reports go, default build/gpu-report; report.txt has the summary and all outputs
#   FULL=1        kernels for all architectures, as users get them
#   CMOCKA_DIR    Debian packages of CMocka (libcmocka-dev, libcmocka0), or a folder where they are unpacked
#   TESTS         of check, opencl and sanitize: only these; of sanitize also NAME:INNER, a pattern of inner tests
#   ONLY_GPUS=1   check and mpi leave out what runs on CPUs as well
#   CMOCKA_TEST_FILTER  of these: inner tests whose names match, such as 'list*'
#   SANITIZE_SEQUENCES  of sanitize: random sequences of calls for each of its tools, default 600
#   TOOLS         of sanitize, default "memcheck racecheck initcheck synccheck"
#   SANITIZE_LIMIT  seconds that each of its programs gets, default 120; a program that is cut off is named, and is no
#                 failure
#   SANITIZE_JOBS its programs that run at a time, default 4
#   WAYS, SESSIONS  of faults: how calls fail, default "memory launch lost error", and only these sessions, such as
#                 "tree sixth"; SAPPORO_TEST_SPARING=0: every call
#   DRIVERS       of faults, default "cuda opencl"
#   FUZZ_SECONDS  of fuzz, for each of both drivers, default 60; FUZZ_SEED: the first seed, default 1
#   FILTER        of conformance and opencl: numbers or words, see the suite's README; default: what has landed
#   ONLY          of bench: cases whose names contain this
#   PERF          folder with limit_gpu.cu and limit_gpu_latency.cu, which are built and run
#   LIMIT         seconds a command may take, default 1500
#
# Exit status 0: nothing failed; 1: something did; 2: this machine cannot do it.

cd "$(dirname "$0")/.." || exit 2
top=$PWD
PATH=$PATH${CUDA_HOME:+:$CUDA_HOME/bin}:/usr/local/cuda/bin
all="build check mpi conformance opencl fuzz faults sanitize bench compare bare"
steps=${*:-$all}
card=gpu
out=${OUT:-$top/build/gpu-report}
. test/support/report.sh

for needed in nvidia-smi nvcc gcc make; do
    command -v $needed >/dev/null 2>&1 || give_up "$needed is missing"
done

# ---- what is here ------------------------------------------------------------------------

cores=$(nproc 2>/dev/null || getconf _NPROCESSORS_ONLN 2>/dev/null || echo 1)
export JOBS="${JOBS:-1}" # tests that share a GPU would wait for each other
gpus=$(nvidia-smi --query-gpu=name --format=csv,noheader | wc -l)
[ "$gpus" -gt 0 ] || give_up "nvidia-smi finds no GPU"
chips=$(nvidia-smi --query-gpu=compute_cap --format=csv,noheader | sort -u | sed 's/\([0-9]*\)\.\([0-9]*\).*/sm_\1\2/')
first_chip=$(echo "$chips" | head -n 1)
devices=$(seq -s , 0 $((gpus - 1)))

set --
[ -n "${FULL:-}" ] || set -- "CUDA_ARCHS=$(echo "$chips" | tr '\n' ' ' | sed 's/ *$//')"
set -- "-j$cores" CC=gcc "$@"

describe() {
    nvidia-smi --query-gpu=index,name,driver_version,memory.total,clocks.max.sm --format=csv,noheader
    nvcc --version | grep release
    gcc --version | head -n 1
    echo "$cores cores; kernels for ${FULL:+all architectures, here }$(echo "$chips" | tr '\n' ' ')"
    git log -1 --format='commit %h: %s' 2>/dev/null
    return 0
}

# ---- steps -------------------------------------------------------------------------------------

ON_GPU="$ON_ANY driver faults"
ON_OPENCL="$ON_ANY opencl"

step_check() {
    check_on cuda "check on GPUs" "$ON_GPU" "$@"
    [ -z "${ONLY_GPUS:-}" ] || return 0
    run "check" env LOGS=build/logs-all make "$@" check-run TESTS="${TESTS:-}"
    keep_logs all
}

# Each rank takes the device of its number on the machine, so with more ranks than devices some share one.
step_mpi() {
    if ! command -v mpicc >/dev/null 2>&1 || ! command -v mpirun >/dev/null 2>&1; then
        skip "mpi" "mpicc or mpirun is missing"
        return
    fi
    if [ ! -f lib/libsapporo_mpi.so ]; then
        note FAIL "mpi" 0 "lib/libsapporo_mpi.so is missing, though mpicc is there"
        return
    fi
    if [ -z "${ONLY_GPUS:-}" ]; then
        run "mpi" env LOGS=build/logs-mpi make "$@" check-run TESTS=mpi
        keep_logs mpi
    fi
    mkdir -p build/gpu-mpi
    for program in forces ways traffic tree_device steppers speed tree_speed stepper_speed; do
        parts="test/mpi/problem.c test/mpi/tree_problem.c test/mpi/ranks.c"
        case $program in *speed) parts= ;; esac
        # shellcheck disable=SC2086 # a list of files
        run "build mpi $program" env OMPI_CC=gcc MPICH_CC=gcc mpicc -std=c11 -O2 -Iinclude -Ilib -Itest/mpi -Itest/support \
            -o build/gpu-mpi/$program test/mpi/$program.c $parts -Llib -lsapporo_mpi -lsapporo -lm || return
    done
    run "build mpi aware" env OMPI_CC=gcc MPICH_CC=gcc mpicc -std=c11 -O2 -rdynamic -Iinclude -Itest/mpi -o build/gpu-mpi/aware \
        test/mpi/ways.c test/mpi/problem.c test/mpi/ranks.c test/mpi/aware.c -Llib -lsapporo_mpi -lsapporo -lm -ldl || return
    (mpi_runs)
}

# In a process of its own, whose variables these are: Open MPI wants to be told that root may run it, and that ranks may
# be more than cores.
mpi_runs() {
    export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMPI_MCA_rmaps_base_oversubscribe=1
    export OMPI_MCA_btl_vader_single_copy_mechanism=none SAPPORO_BACKEND=cuda SAPPORO_TEST_ENGINES=cuda
    # Open MPI 4 and 5 bind each of two ranks to one core, where the library and NCCL have one thread: that is tried once.
    export OMPI_MCA_hwloc_base_binding_policy=none PRTE_MCA_hwloc_default_binding_policy=none
    export LD_LIBRARY_PATH="$top/lib${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}"
    for ranks in $(printf '%s\n' 1 2 "$gpus" $((2 * gpus + 1)) | sort -nu); do
        for program in forces ways; do
            run "mpi $program, $ranks ranks on $gpus GPUs" mpirun -n "$ranks" build/gpu-mpi/$program
        done
    done
    run "mpi ways, 2 ranks of a core each" env -u OMPI_MCA_hwloc_base_binding_policy -u PRTE_MCA_hwloc_default_binding_policy \
        mpirun -n 2 build/gpu-mpi/ways
    # Transports: from device memory by a stand-in for an MPI that takes it; of one rank NCCL is tried when a handle opens.
    run "mpi ways from device memory, 2 ranks" env SAPPORO_MPI_TRANSPORT=mpi mpirun -n 2 build/gpu-mpi/aware
    if echo 'int main(void) { return 0; }' | gcc -x c - -o build/nccl.out -l:libnccl.so.2 2>/dev/null; then
        for program in ways traffic tree_device steppers; do
            run "mpi $program by NCCL, $gpus ranks" env SAPPORO_MPI_TRANSPORT=nccl mpirun -n "$gpus" build/gpu-mpi/$program
        done
    else
        skip "mpi ways by NCCL" "libnccl.so.2 is missing: LIBRARY_PATH and LD_LIBRARY_PATH"
    fi
    for ranks in $(seq "$gpus"); do
        for case in "65536 0" "262144 0" "1048576 0" "1048576 1" "1048576 2" "1048576 0 20 1024" "1048576 0 20 1024 active"; do
            # shellcheck disable=SC2086 # a list of words
            run "mpi speed $case, $ranks ranks" mpirun -n "$ranks" build/gpu-mpi/speed $case
        done
        run "mpi stepper speed, $ranks ranks" mpirun -n "$ranks" build/gpu-mpi/stepper_speed 4194304 32 0
        run "mpi stepper speed of block steps, $ranks ranks" mpirun -n "$ranks" build/gpu-mpi/stepper_speed 8388608 128 1
        # Ranks with particles of all regions, then with those of their own; strong, then weak scaling; from the device.
        for own in 0 1 2; do
            run "mpi tree speed $own, $ranks ranks" mpirun -n "$ranks" build/gpu-mpi/tree_speed 4194304 5 0.0078125 $own 1 1
            run "mpi tree speed $own, $ranks times 4194304" mpirun -n "$ranks" build/gpu-mpi/tree_speed $((ranks * 4194304)) 5 \
                0.0078125 $own 1 1
        done
    done
}

step_conformance() { conformance "conformance" cuda; }

# ---- NVIDIA's OpenCL ---------------------------------------------------------------------------

# Names NVIDIA's driver, alone, to the loader: `vendors` is the variable that does it.  Fails, and says so, without one.
find_opencl() {
    library=$(ldconfig -p 2>/dev/null | sed -n 's/.*libnvidia-opencl\.so[.0-9]* .*=> //p' | head -n 1)
    [ -n "$library" ] ||
        library=$(find /usr/lib /usr/lib64 /usr/local /opt -name 'libnvidia-opencl.so*' 2>/dev/null | head -n 1)
    if [ -z "$library" ]; then
        skip "$1" "there is no libnvidia-opencl.so"
        return 1
    fi
    mkdir -p build/opencl-vendor
    echo "$library" >build/opencl-vendor/nvidia.icd
    vendors="OCL_ICD_VENDORS=$top/build/opencl-vendor"
    kept="SAPPORO_CACHE=$top/build/opencl-cache"
    run "OpenCL opens" env "$vendors" "$kept" examples/sapporo check --backend opencl --n 300
}

step_opencl() {
    find_opencl "OpenCL" || return
    check_on opencl "check on OpenCL" "$ON_OPENCL" "$@"
    [ -n "${TESTS:-}" ] || conformance "conformance on OpenCL" opencl "$vendors" "$kept"
}

# ---- sequences of calls, and calls that fail ----------------------------------------------------

step_fuzz() {
    run "build the fuzzer" make "$@" fuzz-build || return
    set -- "SECONDS_ALL=${FUZZ_SECONDS:-60}" "SEED=${FUZZ_SEED:-1}" "JOBS=$cores" INTERFACES=
    fuzz "fuzz" "$@" BACKENDS=cuda
    find_opencl "fuzz on OpenCL" || return
    fuzz "fuzz on OpenCL" "$@" BACKENDS=opencl "$vendors" "$kept"
}

step_faults() {
    for driver in ${DRIVERS:-cuda opencl}; do
        [ "$driver" != opencl ] || find_opencl "faults on OpenCL" || return
        faults "faults on $driver" "$driver" "$@"
    done
}

step_compare() {
    find_opencl "compare" || return
    [ "$gpus" -gt 1 ] || devices=
    run "compare" env "$vendors" DEVICES="$devices" test/gpu/compare.sh
    cp build/gpu-compare.txt "$out/compare.txt"
}

# ---- compute-sanitizer -------------------------------------------------------------------------

running=0                # programs that compute-sanitizer looks at now
targets=application-only # or all: which processes of a program it looks at

# sanitize TOOL NAME COMMAND...: in the background and in a bounded time; what was found until then counts
sanitize() {
    tool=$1
    what=$2
    shift 2
    running=$((running + 1))
    if [ $running -gt "${SANITIZE_JOBS:-4}" ]; then
        wait
        running=1
    fi
    (
        cut=${SANITIZE_LIMIT:-120}
        # variables are set out here: the tool does not follow a program that another one starts
        run "$tool $what" env SAPPORO_TEST_ENGINES=cuda SAPPORO_BACKEND=cuda SAPPORO_TEST_OBSERVED=1 \
            CMOCKA_TEST_FILTER="${inner:-*}" \
            compute-sanitizer --tool "$tool" --target-processes "$targets" --error-exitcode 9 --print-limit 20 \
            "$@" >/dev/null
    ) &
}

# Small random calls reach every kernel in a time into which the largest test programs do not fit.
sanitize_fuzz() {
    targets=all
    sanitize "$1" "fuzz" "$programs/fuzz/fuzz" --backend cuda --jobs 1 --batch 25 --timeout 600 \
        --seed "${FUZZ_SEED:-1}" --sequences "${SANITIZE_SEQUENCES:-600}" --programs build/found
    targets=application-only
}

# What compute-sanitizer looks at: NAME, a test program, or NAME:INNER, those of its inner tests that match, each with a
# limit of its own.  The inner tests of steppers, splines and few particles are small enough for each of the tools; those
# that are left out (convergence, power, tuned and the like) launch the same kernels more often.
SANITIZED="fuzz caller primitives tree tree_bodies tree_counts tree_districts tree_edges partial tree_devices tree_gpu tree_faults accum predictor jstore_contexts stored_many
    native_jobs g6 g6_results g5 g5_input batch batch_jobs batch_more batch_single:bits batch_single:odd_targets batch_addresses tree_halo outside extremes gpu_lists neighbour_devices bits
    stepper:leapfrog stepper:one_level stepper:division stepper:same_bits stepper:conserved stepper:later stepper:beside
    stepper:refused_particles stepper:out_of_range stepper_errors stepper_lengths stepper_direct:bits stepper_hermite stepper_soft_hermite stepper_pairs stepper_change stepper_device stepper_own
    stepper_landing:divisions stepper_massless:alone stepper_massless:forces stepper_massless:places stepper_massless:division
    stepper_massless:in_turns stepper_massless:far_away spline:errors spline:pairs spline:centres spline:not_finite
    nearest_caller tree_nearest:models tree_nearest:few tree_within:few* tree_within:periodic* tree_limits tidal_caller tree_tidal:pairs* tree_tidal:positions* tree_tidal:few*
    tree_periodic:positions* tree_periodic:in_turn* tree_periodic:special*
    tree_lengths:pairs* tree_lengths:active_particles* tree_lengths:places* tree_lengths:refresh* tree_lengths:short_lengths*
    told few:first_of_all few:lives few:errors few:neighbour_forces neighbour_force orders tree_bounds tree_groups units
    units_more gravitational"
# shellcheck disable=SC2034 # test/lint.sh reads the next two lists
# Tests on devices that launch kernels of the others, only more often or on more particles.
SPARED="accuracy native native_threads g5_threads not_finite sparse tree_chosen tree_criteria tree_extremes tree_life tree_near tree_pace
    tree_alloc tree_no_retry stepper_faults environment jstore jstore_alloc closed outputs lost_stores races leapfrog_tree
    leapfrog_direct driver faults outputs_more lost_device attached closed_threads circumstances digest stepper_files
    stepper_limits stepper_units"
# shellcheck disable=SC2034
# Tests that name engines, and run on CPUs or on doubles of a driver.
ELSEWHERE="batch_faults calls gpu_load neighbour_faults options privileges split stepper_fields stepper_soft_hermite tune opencl"

step_sanitize() {
    if ! command -v compute-sanitizer >/dev/null 2>&1; then
        skip "sanitize" "compute-sanitizer is missing"
        return
    fi
    programs=$(cat build/current)/test
    case " ${TESTS:-$SANITIZED} " in *" fuzz "*) run "build the fuzzer" make "$@" fuzz-build ;; esac
    for tool in ${TOOLS:-memcheck racecheck initcheck synccheck}; do
        for precision in ds dp sp; do
            [ -n "${TESTS:-}" ] ||
                sanitize "$tool" "check $precision" examples/sapporo check --backend cuda --precision "$precision" --n 300
        done
        [ -n "${TESTS:-}" ] ||
            sanitize "$tool" "bench" examples/sapporo bench --backend cuda --case force,step --ni 1,40,700 --nj 3000 \
                --neighbours none,both --min-time 0
        set -f # patterns of inner tests are no files
        for test in ${TESTS:-$SANITIZED}; do
            program=$programs/test_${test%%:*} inner=${CMOCKA_TEST_FILTER:-*}
            [ "${test%%:*}" = "$test" ] || inner=${test#*:}
            if [ "$test" = fuzz ]; then
                sanitize_fuzz "$tool"
            elif [ -x "$program" ]; then
                sanitize "$tool" "test_$test" "$program"
            fi
        done
        set +f
    done
    wait
}

step_bench() {
    if [ "$gpus" -gt 1 ]; then
        run "bench" examples/sapporo bench --backend cuda --suite --devices "$devices" --only "${ONLY:-}"
    else
        run "bench" examples/sapporo bench --backend cuda --suite --only "${ONLY:-}"
    fi
    cp build/gpu-bench.txt "$out/bench.txt"
    [ -z "${ONLY:-}" ] || return
    run "bench of NBODY6" examples/sapporo bench --api nbody6 --backend cuda --list-length 60 --nj 65536,262144 \
        --ni 64,256,1024
    run "bench of primitives" "$(cat build/current)/test/test_primitives" bench
    run "bench of trees" "$(cat build/current)/test/test_tree_gpu" bench
}

# instrument NAME FLAGS ARGUMENTS: builds and runs PERF/NAME.cu
instrument() {
    # shellcheck disable=SC2086 # lists of words
    run "build $1" nvcc "-arch=$first_chip" -O3 $2 -o "build/$1" "$PERF/$1.cu" || return
    # shellcheck disable=SC2086
    run "$1" "build/$1" $3
}

step_bare() {
    for loop in bare bare_high; do
        run "build $loop" nvcc -arch=native -O3 -std=c++17 -o "build/$loop" "test/gpu/$loop.cu" && run "$loop" "build/$loop"
    done
    [ -n "${PERF:-}" ] || return
    instrument limit_gpu "" "all build/gpu-shapes.log"
    instrument limit_gpu_latency "--extended-lambda -std=c++17" ""
}

# ---- all of it -------------------------------------------------------------------------------------

describe 2>&1 | tee -a "$report"
take_steps "$@"
