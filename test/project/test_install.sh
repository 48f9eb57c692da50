#!/bin/sh
# make install and uninstall, and clients that find the installed library by
# pkg-config, by CMake and by -lsapporo.  Prints TAP.

case ${SANITIZE:-} in ?*) echo "libraries of a sanitizer build are not for clients"; exit 77 ;; esac

cc=${CC:-cc}
make=${MAKE:-make}
work=$(mktemp -d) || exit 2
trap 'rm -rf "$work"' EXIT
prefix=$work/usr
. test/support/tap.sh

try() { "$@" >"$work/log" 2>&1; }

# build GOAL VARIABLE...: a make of its own, with the variables of the make that runs the tests
variables=$(printf '%s\n' "${MAKEFLAGS:-}" | sed 's/ -j[0-9]*//; s/ --jobserver-[a-z]*=[^ ]*//g')
build() { try env -u MAKELEVEL -u MFLAGS MAKEFLAGS="$variables" "$make" "$@"; }

left() { (cd "$1" && find . ! -type d | sort); }

version=$(sed -n 's/^#define SAPPORO_VERSION "\(.*\)"/\1/p' include/sapporo.h)

# ---- install

mkdir -p "$prefix/lib" "$prefix/include"
echo other >"$prefix/lib/other" # somebody else's file
build install PREFIX="$prefix"
verdict $? "make install PREFIX="

missing=
for f in lib/libsapporo.a lib/libsapporo.so "lib/libsapporo.so.${version%%.*}" "lib/libsapporo.so.$version" lib/libg6.a \
    lib/libg6.so lib/libpg5.so lib/libpg5.a lib/libpg5_symmetric.so lib/libpg5_symmetric.a lib/pkgconfig/pg5_symmetric.pc lib/libsapporo6th.so lib/libyebisug6.a lib/libnbody6pp_gpu.so lib/libnbody6_gpu.a lib/libnbody7_gpu.so lib/libnbody6_2010_gpu.so lib/libnbody6_2010_gpu.a lib/pkgconfig/nbody6_2010_gpu.pc lib/libsphgrav_sapporo.so lib/libsphgrav_sapporo.a lib/libcunbody1.so lib/libcunbody1.a lib/libharp3.so lib/libharp3.a include/sapporo_cunbody1.h include/sapporo_harp3.h lib/libg5c.so lib/libg5c.a include/sapporo_g5c.h lib/pkgconfig/g5c.pc lib/pkgconfig/cunbody1.pc lib/pkgconfig/harp3.pc include/sapporo_sphgrav.h lib/pkgconfig/sphgrav_sapporo.pc include/sapporo_nbody6.h include/sapporo.h include/sapporo_types.h include/sapporo_g6.h include/sapporo_g5.h \
    include/sapporo_hermite6.h include/sapporo.f90 lib/pkgconfig/sapporo6th.pc lib/pkgconfig/yebisug6.pc lib/pkgconfig/nbody6pp_gpu.pc lib/pkgconfig/nbody6_gpu.pc lib/pkgconfig/nbody7_gpu.pc lib/pkgconfig/pg5.pc lib/pkgconfig/sapporo.pc lib/pkgconfig/sapporo_light.pc \
    lib/pkgconfig/g6lib.pc lib/cmake/sapporo/sapporoConfig.cmake lib/cmake/sapporo/sapporoConfigVersion.cmake bin/sapporo \
    share/doc/sapporo/LICENSE share/doc/sapporo/README.md share/doc/sapporo/docs/conventions.md share/doc/sapporo/docs/figures/tree_direct.svg \
    share/doc/sapporo/docs/figures/cluster.png share/doc/sapporo/docs/star-cluster.md \
    share/man/man1/sapporo.1 share/man/man7/sapporo.7 share/bash-completion/completions/sapporo share/zsh/site-functions/_sapporo share/doc/sapporo/examples/first_force.c share/doc/sapporo/examples/first_force.cc share/doc/sapporo/examples/first_force.f90; do
    [ -f "$prefix/$f" ] || missing="$missing $f"
done
for f in include/compat/*.h; do
    [ ! -f "$f" ] || [ -f "$prefix/include/sapporo/compat/${f##*/}" ] || missing="$missing $f"
done
echo "missing:$missing" >"$work/log"
[ -z "$missing" ]
verdict $? "everything is installed"

(cd / && env -u LD_LIBRARY_PATH "$prefix/bin/sapporo" --version) >"$work/log" 2>&1 && grep -qx "sapporo $version" "$work/log" &&
    (cd / && try env -u LD_LIBRARY_PATH "$prefix/bin/sapporo" check --backend cpu --n 256 --precision ds)
verdict $? "the installed tool finds its library"

# Manual pages: all options that --help prints, all variables that the library reads, no error in the markup.
page() { sed 's/\\-/-/g; s/\\f.//g' "$prefix/share/man/man$1/sapporo.$1"; }
{
    for command in info check bench tune; do
        "$prefix/bin/sapporo" $command --help | grep -oE '^  --[a-z0-9-]+' | while read -r option; do
            page 1 | sed -n "/^.SS sapporo $command/,/^.S[SH] /p" | grep -q "^$option" || echo "sapporo.1: $command has no $option"
        done
    done
    "$prefix/bin/sapporo" info --markdown | sed -n 's/^| .\([A-Z0-9_]*\). .*/\1/p' | while read -r name; do
        page 7 | grep -qx "$name" || echo "sapporo.7 has no $name"
    done
    page 7 | grep -qx SAPPORO_BACKEND || echo "sapporo.7 has no variables"
    page 1 | grep -q "libsapporo $version" || echo "sapporo.1 is not of version $version"
} >"$work/log" 2>&1
[ ! -s "$work/log" ]
verdict $? "manual pages have every option and every variable"
if command -v mandoc >/dev/null 2>&1; then # pages bear no date: the same sources give the same bytes
    mandoc -T lint -W warning "$prefix/share/man/man1/sapporo.1" "$prefix/share/man/man7/sapporo.7" 2>&1 |
        grep -v 'missing date' >"$work/log"
    [ ! -s "$work/log" ]
    verdict $? "mandoc finds no fault in manual pages"
elif command -v groff >/dev/null 2>&1; then
    groff -ww -man -Tascii "$prefix/share/man/man1/sapporo.1" "$prefix/share/man/man7/sapporo.7" >/dev/null 2>"$work/log"
    [ ! -s "$work/log" ]
    verdict $? "groff finds no fault in manual pages"
else
    echo "ok - no fault in manual pages # SKIP mandoc and groff are missing"
fi

# docs/install.md: a client of a PREFIX that is no usual place.
cp "$prefix/share/doc/sapporo/examples/first_force.c" "$work/"
# shellcheck disable=SC2086 # CC may be a command with arguments
try $cc "$work/first_force.c" -I"$prefix/include" -L"$prefix/lib" -lsapporo -Wl,-rpath,"$prefix/lib" -o "$work/first_force" &&
    try env -u LD_LIBRARY_PATH SAPPORO_BACKEND=cpu "$work/first_force"
verdict $? "an installed example with -rpath"
if python3 -c 'import sys; sys.exit(sys.version_info < (3, 8))' 2>/dev/null; then
    for script in "$prefix/share/doc/sapporo/examples/force_ctypes.py" examples/force_ctypes.py; do
        PYTHONDONTWRITEBYTECODE=1 SAPPORO_BACKEND=cpu try env -u LD_LIBRARY_PATH -u SAPPORO_LIBRARY python3 "$script"
        case $script in /*) where=installation ;; *) where=clone ;; esac
        verdict $? "force_ctypes.py finds the library of its own $where"
    done
else
    echo "ok - force_ctypes.py finds the library # SKIP python3 is missing or older than 3.8"
fi

grep -rn '@[A-Z_]*@' "$prefix/lib/pkgconfig" "$prefix/lib/cmake" >"$work/log" 2>&1
[ ! -s "$work/log" ]
verdict $? "package files are filled in"

# ---- clients

cat >"$work/client.c" <<'END'
#include <sapporo_g6.h>
#include <string.h>
int main(void)
{
    double x[1][3] = {{0, 0, 0}}, v[1][3] = {{0, 0, 0}}, xj[3] = {2, 0, 0}, zero[3] = {0, 0, 0};
    double acc[1][3], jerk[1][3], pot[1], h2[1] = {0};
    int index[1] = {1};
    if (strcmp(sapporo_version(), SAPPORO_VERSION) != 0) return 2;
    if (g6_open(0) != 0) return 3;
    g6_set_ti(0, 0);
    g6_set_j_particle(0, 0, 2, 0, 0, 4, zero, zero, zero, zero, xj);
    g6calc_firsthalf(0, 1, 1, index, x, v, x, x, h2, 0, h2);
    if (g6calc_lasthalf(0, 1, 1, index, x, v, 0, h2, acc, jerk, pot) != 0) return 4;
    g6_close(0);
    return pot[0] < -1.999999 && pot[0] > -2.000001 && acc[0][0] > 0.999999 && acc[0][0] < 1.000001 ? 0 : 5;
}
END
run_client() { LD_LIBRARY_PATH=$prefix/lib try timeout 20 "$work/client"; }

# client TITLE FLAG...: compiles and runs the client
client() {
    title=$1
    shift
    rm -f "$work/client"
    # shellcheck disable=SC2086 # CC may be a command with arguments
    try $cc -std=c11 "$work/client.c" "$@" -o "$work/client" && run_client
    verdict $? "$title"
}

client "client with -lsapporo" -I"$prefix/include" -L"$prefix/lib" -lsapporo

# pc_client TITLE ARGUMENT...: flags by pkg-config
pc_client() {
    title=$1
    shift
    if ! command -v pkg-config >/dev/null 2>&1; then
        echo "ok - $title # SKIP pkg-config is missing"
        return
    fi
    if ! flags=$(PKG_CONFIG_LIBDIR=$prefix/lib/pkgconfig pkg-config "$@" 2>"$work/log"); then
        verdict 1 "$title"
        return
    fi
    # shellcheck disable=SC2086 # lists of words
    client "$title" $flags
}

# started TITLE ARGUMENT...: the program of the client above starts without LD_LIBRARY_PATH
started() {
    [ -x "$work/client" ] && try env -u LD_LIBRARY_PATH timeout 20 "$work/client"
    verdict $? "$1"
}

pc_client "client by pkg-config sapporo" --cflags --libs sapporo
! command -v pkg-config >/dev/null 2>&1 || started "it starts without LD_LIBRARY_PATH"
pc_client "client by pkg-config sapporo_light" --cflags --libs sapporo_light
pc_client "client by pkg-config g6lib" --cflags --libs g6lib
! command -v pkg-config >/dev/null 2>&1 || started "a client of g6lib starts without LD_LIBRARY_PATH"
pc_client "client by pkg-config pg5" --cflags --libs pg5
pc_client "client by pkg-config sapporo6th" --cflags --libs sapporo6th
if command -v pkg-config >/dev/null 2>&1; then
    PKG_CONFIG_LIBDIR=$prefix/lib/pkgconfig try pkg-config --exact-version="$version" sapporo
    verdict $? "pkg-config knows the version"
    libs=$(PKG_CONFIG_LIBDIR=$prefix/lib/pkgconfig pkg-config --static --libs sapporo | sed "s|-lsapporo|$prefix/lib/libsapporo.a|")
    # shellcheck disable=SC2086 # lists of words
    client "client with the static library and its private libraries" -I"$prefix/include" $libs
else
    echo "ok - pkg-config knows the version # SKIP pkg-config is missing"
    echo "ok - client with the static library and its private libraries # SKIP pkg-config is missing"
fi

# A program without shared libraries computes on the CPU, and says why it has no GPU.
echo 'int main(void) { return 0; }' >"$work/empty.c"
# shellcheck disable=SC2086 # CC may be a command with arguments
if command -v pkg-config >/dev/null 2>&1 && $cc -static "$work/empty.c" -o "$work/empty" 2>/dev/null; then
    for package in sapporo g6lib pg5; do
        # shellcheck disable=SC2046,SC2086 # lists of words
        client "client with -static and pkg-config --static $package" -static \
            $(PKG_CONFIG_LIBDIR=$prefix/lib/pkgconfig pkg-config --static --cflags --libs $package)
    done
    SAPPORO_BACKEND=opencl try "$work/client"
    [ $? -eq 3 ] && grep -q 'linked statically' "$work/log"
    verdict $? "a static client is told why it has no OpenCL"
else
    echo "ok - client with -static # SKIP pkg-config or the static C library is missing"
fi

if command -v cmake >/dev/null 2>&1; then
    mkdir "$work/project"
    cat >"$work/project/CMakeLists.txt" <<'END'
cmake_minimum_required(VERSION 3.10)
project(client C)
find_package(sapporo REQUIRED ${WANTED})
if(NOT sapporo_VERSION VERSION_EQUAL WANTED)
    message(FATAL_ERROR "version ${sapporo_VERSION}, expected ${WANTED}")
endif()
find_package(sapporo 99 QUIET)
if(sapporo_FOUND)
    message(FATAL_ERROR "version 99 was found")
endif()
find_package(sapporo REQUIRED)
foreach(library sapporo sapporo_static g6 pg5 pg5_symmetric sapporo6th yebisug6 nbody6pp_gpu nbody6_gpu nbody7_gpu nbody6_2010_gpu sphgrav_sapporo cunbody1 harp3 g5c)
    add_executable(with_${library} ../client.c)
    target_link_libraries(with_${library} sapporo::${library})
endforeach()
END
    mv "$prefix" "$work/moved" # the package must not know where it was installed
    try cmake -S "$work/project" -B "$work/project/build" -DCMAKE_PREFIX_PATH="$work/moved" -DWANTED="$version" \
        -DCMAKE_C_COMPILER="${cc%% *}" && try cmake --build "$work/project/build"
    status=$?
    for l in sapporo sapporo_static g6 pg5 pg5_symmetric sapporo6th yebisug6 nbody6pp_gpu nbody6_gpu nbody7_gpu nbody6_2010_gpu sphgrav_sapporo cunbody1 harp3 g5c; do
        [ $status -ne 0 ] || try timeout 20 "$work/project/build/with_$l" || status=$?
    done
    verdict $status "clients by CMake, from a moved prefix"
    mv "$work/moved" "$prefix"
else
    echo "ok - clients by CMake, from a moved prefix # SKIP cmake is missing"
fi

# The programs of docs/first-force.md, as in the first hour of a user.
sh test/project/first_hour.sh clients "$prefix" || failures=$((failures + 1))

# Every example is an ordinary client.  Programs share the writer of files with the library, as a source.
writer="-Ilib lib/base/saving.c"
for example in examples/*.c examples/apps/*.c; do
    [ -f "$example" ] || continue
    case $example in *_mpi.c) continue ;; esac
    parts=
    case $example in examples/apps/*) parts="-Iexamples/apps/common $(echo examples/apps/common/*.c) $writer" ;; esac
    title="$example compiles against the installed library"
    # shellcheck disable=SC2086 # lists of files and words
    try $cc -std=c11 -O1 -I"$prefix/include" "$example" $parts -L"$prefix/lib" -lsapporo -lm -o "$work/example"
    verdict $? "$title"
done

title="examples/apps/hermite4_mpi.c compiles against the installed library"
if [ -f "$prefix/include/sapporo_mpi.h" ]; then
    # shellcheck disable=SC2086 # CC may be a command with arguments
    try $cc -std=c11 -O1 -I"$prefix/include" -Iexamples/apps/common -Dmain=hermite4_main \
        -include examples/apps/hermite4_mpi.h -c examples/apps/hermite4.c -o "$work/main.o" &&
        try env OMPI_CC="$cc" MPICH_CC="$cc" mpicc -std=c11 -O1 -I"$prefix/include" -Iexamples/apps/common \
            examples/apps/hermite4_mpi.c "$work/main.o" examples/apps/common/*.c $writer -L"$prefix/lib" -lsapporo_mpi -lsapporo \
            -lm -o "$work/example"
    verdict $? "$title"
    [ -f "$prefix/lib/pkgconfig/sapporo_mpi.pc" ] && [ -f "$prefix/lib/libsapporo_mpi.a" ] && [ -f "$prefix/include/sapporo_mpi.f90" ]
    verdict $? "libsapporo_mpi is installed with its file for pkg-config"
else
    skipped "$title" "libsapporo_mpi was not built"
fi

# ---- uninstall

build uninstall PREFIX="$prefix"
verdict $? "make uninstall"
left "$prefix" | grep -vx ./lib/other >"$work/log"
[ ! -s "$work/log" ] && [ -f "$prefix/lib/other" ] && [ ! -d "$prefix/include/sapporo" ] && [ ! -d "$prefix/lib/cmake/sapporo" ] &&
    [ ! -d "$prefix/share/doc/sapporo" ]
verdict $? "uninstall leaves nothing of ours and all of the others'"

# ---- files of other packages under the same names

# foreign: the other package's library, g6lib.pc and sapporo.h, as AMUSE's g6lib and sapporo_light install them
foreign() {
    rm -f "$prefix/lib/libg6.so"
    echo "another library" >"$prefix/lib/libg6.so"
    echo "Name: another" >"$prefix/lib/pkgconfig/g6lib.pc"
    echo "another header" >"$prefix/include/sapporo.h"
}
whole() {
    grep -qx "another library" "$prefix/lib/libg6.so" && grep -qx "Name: another" "$prefix/lib/pkgconfig/g6lib.pc" &&
        grep -qx "another header" "$prefix/include/sapporo.h"
}

mkdir -p "$prefix/lib/pkgconfig" "$prefix/include"
foreign
build install PREFIX="$prefix" && grep -q "KEPT .*libg6.so.before-libsapporo" "$work/log" &&
    [ "$(readlink "$prefix/lib/libg6.so")" = "libg6.so.$version" ] && grep -q libsapporo "$prefix/lib/pkgconfig/g6lib.pc" &&
    cmp include/sapporo.h "$prefix/include/sapporo.h" &&
    build install PREFIX="$prefix" && build uninstall PREFIX="$prefix" && grep -q "BACK .*libg6.so" "$work/log" && whole
verdict $? "installed after another package: its files come back"
rm -rf "$prefix"
mkdir -p "$prefix"
build install PREFIX="$prefix" && foreign && build uninstall PREFIX="$prefix" && whole &&
    [ "$(left "$prefix" | tr '\n' ' ')" = "./include/sapporo.h ./lib/libg6.so ./lib/pkgconfig/g6lib.pc " ]
verdict $? "installed before another package: its files stay"
rm -rf "$prefix"

# ---- names of folders

for folder in "PREFIX=$work/a b" "PREFIX=~/x" "PREFIX=$work/it's" "PREFIX=$work/a&b" LIBDIR=lib64 "DESTDIR=$work/x y"; do
    build install "$folder"
    [ $? -eq 2 ] && grep -q "${folder%%=*}='.*Nothing was done" "$work/log"
    verdict $? "make install refuses $(echo "$folder" | sed "s|$work|...|")"
done
relative=build/test_install.$$
build install PREFIX="$relative" && try env -u LD_LIBRARY_PATH "$relative/bin/sapporo" --version &&
    grep -q "^prefix=/.*/$relative\$" "$relative/lib/pkgconfig/sapporo.pc" && build uninstall PREFIX="$relative" &&
    [ -z "$(find "$relative" ! -type d)" ]
verdict $? "make install of a relative PREFIX"
rm -rf "$relative"

# ---- staged, with folders of another layout

stage=$work/stage
layout="PREFIX=/opt/s LIBDIR=/opt/s/lib/machine INCLUDEDIR=/opt/s/include/nbody BINDIR=/opt/s/bin/machine DOCDIR=/opt/s/doc MANDIR=/opt/s/man BASHDIR=/opt/s/bash ZSHDIR=/opt/s/zsh DESTDIR=$stage"
# shellcheck disable=SC2086 # a list of words
build install $layout
status=$?
if [ -e "$stage/opt/s/lib/machine/libsapporo.so" ] && [ -e "$stage/opt/s/include/nbody/sapporo.h" ]; then :; else status=1; fi
if [ -x "$stage/opt/s/bin/machine/sapporo" ] && [ -e "$stage/opt/s/doc/LICENSE" ]; then :; else status=1; fi
left "$stage" | grep -v '^./opt/s/lib/machine/\|^./opt/s/include/nbody/\|^./opt/s/bin/machine/\|^./opt/s/doc/\|^./opt/s/man/\|^./opt/s/bash/sapporo$\|^./opt/s/zsh/_sapporo$' >>"$work/log" && status=1
grep -r "$stage" "$stage" >>"$work/log" 2>&1 && status=1
verdict $status "make install DESTDIR= LIBDIR= INCLUDEDIR="

if command -v pkg-config >/dev/null 2>&1; then
    flags=$(PKG_CONFIG_LIBDIR=$stage/opt/s/lib/machine/pkgconfig PKG_CONFIG_SYSROOT_DIR=$stage pkg-config --cflags --libs sapporo)
    # shellcheck disable=SC2086 # lists of words
    try $cc -std=c11 "$work/client.c" $flags -o "$work/client" && LD_LIBRARY_PATH=$stage/opt/s/lib/machine try "$work/client"
    verdict $? "client of the staged library"
else
    echo "ok - client of the staged library # SKIP pkg-config is missing"
fi

# shellcheck disable=SC2086 # a list of words
build uninstall $layout
left "$stage" >"$work/log"
[ ! -s "$work/log" ]
verdict $? "uninstall empties the stage"

exit $((failures > 0))
