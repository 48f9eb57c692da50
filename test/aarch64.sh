#!/bin/sh
# aarch64.sh - builds for AArch64 with a cross compiler, and runs tests of the CPU engine under qemu.
#
#   aarch64.sh          what .ci/run runs: bits, orders, neighbour forces, trees, batches; 2.5 minutes of two cores
#   aarch64.sh all      all tests in C, the tool's check and the programs of README.md
#
# Needs gcc-aarch64-linux-gnu, libc6-dev-arm64-cross and qemu-user of Debian, and the network for CMocka, which stays in
# build/aarch64.  What is missing is named, and all is skipped.  What users run, in lib/ and examples/, stays as it is.
# The last line reads `N passed, N failed, N skipped`.

cd "$(dirname "$0")/.." || exit 2
target=aarch64-linux-gnu
own=build/aarch64
libraries=$own/root/usr/lib/$target
few="batch_more digest neighbour_force options orders"

. test/support/counts.sh

skip() { left_out "AArch64: $1 is missing"; }

# cmocka: of arm64, from lists of packages of its own, so that the system's stay as they are
cmocka() {
    [ -e "$libraries/libcmocka.so" ] && return
    mkdir -p "$own/apt/lists/partial" "$own/apt/archives/partial" || return
    apt="apt-get -qq -o APT::Architecture=arm64 -o APT::Architectures=arm64 -o Dir::State=$PWD/$own/apt \
         -o Dir::State::status=/dev/null -o Dir::Cache=$PWD/$own/apt"
    # shellcheck disable=SC2086 # a command and its arguments
    (cd "$own/apt" && $apt update && $apt download libcmocka-dev libcmocka0) >"$own/apt.log" 2>&1 || return
    for package in "$own"/apt/*.deb; do dpkg -x "$package" "$own/root" || return; done
    rm -rf "$own/apt"
}

command -v $target-gcc >/dev/null || skip $target-gcc
command -v qemu-aarch64 >/dev/null || skip qemu-aarch64
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
