#!/bin/sh
# Installs what `make check` needs and this machine lacks, on Debian and its kin.
#
#   setup.sh            libcmocka, gfortran, libhdf5, OpenCL for CPUs (PoCL); with CI=true also compilers, linters, MPI, a browser,
#                       and Python modules from PyPI, in the virtual environment build/venv
#
# Elsewhere, or without the right to install, it says what is missing and goes
# on: the tests in question are then reported as skipped.  SETUP=0 installs nothing.

missing=
reasons=

# want PACKAGE REASON COMMAND...: notes a package whose test command fails
want() {
    package=$1
    reason=$2
    shift 2
    "$@" >/dev/null 2>&1 && return
    missing="$missing $package"
    reasons="$reasons
  $package: $reason"
}

has_header() { echo "#include <$1>" | ${CC:-cc} -E -include stdarg.h -include stddef.h -include setjmp.h -include stdint.h -; }
finds_opencl() { ldconfig -p | grep -q 'libOpenCL\.so\.1'; }
has_vendor() { ls /etc/OpenCL/vendors/*.icd; }
links_openmp() { echo '#include <omp.h>
int main(void) { return omp_get_max_threads() < 1; }' | clang -fopenmp -x c - -o /dev/null; }
links_fuzzer() { echo 'int LLVMFuzzerTestOneInput(const char *a, long n);
int LLVMFuzzerTestOneInput(const char *a, long n) { return a == 0 && n != 0; }' |
    clang -fsanitize=fuzzer,address,undefined -x c - -o /dev/null; }

# python_modules: build/venv with the modules of test_python, once for each version of the list
python_modules() {
    list=test/api/python/requirements.txt
    if [ "${CI:-}" != true ] || [ "${SETUP:-1}" = 0 ] || cmp -s $list build/venv/requirements.txt; then return; fi
    echo "installing Python modules in build/venv"
    if python3 -m venv --clear build/venv && build/venv/bin/python -m pip install --quiet --disable-pip-version-check -r $list; then
        cp $list build/venv/requirements.txt
    else
        rm -rf build/venv
        echo "missing, so that test_python may be skipped: the Python modules of $list"
    fi
}
finds_hdf5() { ls /usr/include/hdf5.h || ls /usr/include/hdf5/serial/hdf5.h || has_header hdf5.h; }
finds_browser() { command -v chromium-headless-shell || command -v chromium || command -v google-chrome; }

if [ "${CI:-}" = true ]; then
    want gcc "a compiler" command -v gcc
    want libc6-dev "headers of the C library" test -f /usr/include/stdio.h
    want make "the build" command -v make
    want binutils "nm and readelf for test_symbols" command -v readelf
    want clang "the second compiler" command -v clang
    want clang-19 "kernels for AMD GPUs" command -v clang++-19
    want clang-tools-19 "kernels for AMD GPUs" command -v clang-offload-bundler-19
    want lld-19 "kernels for AMD GPUs" command -v ld.lld-19
    want libomp-dev "OpenMP of clang" links_openmp
    want libclang-rt-dev "libFuzzer and sanitizers of clang for fuzz-parsers" links_fuzzer
    want clang-format-14 "lint" command -v clang-format-14
    want clang-tidy-14 "lint" command -v clang-tidy-14
    want cppcheck "lint" command -v cppcheck
    want shellcheck "lint" command -v shellcheck
    want pkg-config "test_install" command -v pkg-config
    want cmake "test_install" command -v cmake
    want mandoc "test_install" command -v mandoc
    want gcc-aarch64-linux-gnu "test/aarch64.sh" command -v aarch64-linux-gnu-gcc
    want libc6-dev-arm64-cross "test/aarch64.sh" test -e /usr/aarch64-linux-gnu/include/stdio.h
    want qemu-user "test/aarch64.sh" command -v qemu-aarch64
    want libopenmpi-dev "libsapporo_mpi and test_mpi" command -v mpicc.openmpi
    want openmpi-bin "test_mpi" command -v mpirun.openmpi
    want iproute2 "test_mpi between network namespaces" command -v ip
    want libmpich-dev "test_mpi" command -v mpicc.mpich
    want mpich "test_mpi" command -v mpirun.mpich
    want python3 "test_ctypes" command -v python3
    want python3-venv "test_python and the site of the pages" python3 -c 'import ensurepip, venv'
    want debootstrap "the first hour of a user, replayed in a new Debian system" command -v debootstrap
    want chromium-headless-shell "the look at the pages" finds_browser
fi
want ocl-icd-libopencl1 "the OpenCL engine" finds_opencl
want pocl-opencl-icd "an OpenCL device" has_vendor
want libcmocka-dev "the tests in C" has_header cmocka.h
want libhdf5-dev "snapshots in HDF5" finds_hdf5
want gfortran "the Fortran example" command -v "${FC:-gfortran}"
if [ -z "$missing" ]; then
    python_modules
    exit 0
fi

as_root=
if [ "$(id -u)" != 0 ]; then
    if command -v sudo >/dev/null 2>&1 && sudo -n true 2>/dev/null; then as_root="sudo -n"; else as_root=no; fi
fi

if [ "${SETUP:-1}" != 0 ] && [ "$as_root" != no ] && command -v apt-get >/dev/null 2>&1; then
    echo "installing$missing"
    log=$(mktemp) || exit 1
    # shellcheck disable=SC2086 # lists of words
    install() { DEBIAN_FRONTEND=noninteractive $as_root apt-get install -y --no-install-recommends $missing >"$log" 2>&1 </dev/null; }
    # The lists of packages may be missing or old.
    if install || { $as_root apt-get update >/dev/null 2>&1 && install; }; then
        rm -f "$log" build/probe-*.mk # the compiler may do more now
        python_modules
        exit 0
    fi
    tail -n 5 "$log"
    rm -f "$log"
fi

echo "missing, so that some tests will be skipped:$reasons"
echo "on Debian or Ubuntu: apt-get install$missing"
[ "${CI:-}" != true ]
