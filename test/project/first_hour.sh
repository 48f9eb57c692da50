#!/bin/sh
# first_hour.sh - replays what a new user does: clone, build, install, link programs.  Prints TAP.
#
#   first_hour.sh clients PREFIX      the programs of docs/first-force.md, compiled against the library in PREFIX by the
#                                     lines of docs/install.md: C, C++, Fortran, pkg-config, CMake, Python.  They must
#                                     print the numbers of docs/first-force.md
#   first_hour.sh clone SOURCE FOLDER clones SOURCE to FOLDER; make demo, make install PREFIX=FOLDER/x, then clients
#   first_hour.sh bare FOLDER         `clone` of this repository in a new Debian system in FOLDER: debootstrap makes it
#                                     with gcc, make, git alone, as root; the clients' compilers follow after the demo.
#                                     Ends with 77 and the reason where no such system can be made
#
# `make first-hour` and .ci/run run `bare` in build/bare.  test_install.sh runs `clients` on what it installs.
# FIRST_HOUR_MIRROR names the Debian mirror, FIRST_HOUR_CHECK=1 also runs `make check` in `clone`.  FIRST_HOUR_WHEELS is a
# folder with the modules that `pip install .` needs; `bare` fetches them, and `clients` then tries the package, too.

set -u
top=$(cd "$(dirname "$0")/../.." && pwd) || exit 2
failures=0

# verdict STATUS TITLE: one TAP line, with the end of the log if the status is not 0
verdict() {
    if [ "$1" -eq 0 ]; then
        echo "ok - $2"
    else
        echo "not ok - $2"
        tail -n 12 "$log" | sed 's/^/#   /'
        failures=$((failures + 1))
    fi
}

skipped() { echo "ok - $1 # SKIP $2"; }
has() { command -v "$1" >/dev/null 2>&1; }

# ---- clients

# take SECTION NAME: writes what a program prints, by a section of docs/first-force.md, to NAME.prints
take() {
    awk -v section="## $1" '
    /^## / { inside = $0 == section }
    /^```/ { shown = inside && $0 == "```text prints"; next }
    shown' "$top/docs/first-force.md" >"$work/$2.prints"
    [ "$(grep -vc '^#' "$work/$2.prints")" -eq 4 ]
    verdict $? "docs/first-force.md has the output of a program in $1"
}

# prints NAME COMMAND...: a command that must print what the page says, and nothing on stderr.  The first line names the
# engine, which is another one on each machine.
prints() {
    expected=$work/$1.prints
    shift
    (cd "$work/empty" && SAPPORO_BACKEND=cpu "$@") >"$work/out" 2>"$log" && [ ! -s "$log" ] &&
        head -n 1 "$work/out" | grep -q '^# cpu .*, softening length 0\.100$' && tail -n +2 "$expected" >"$work/expected" &&
        tail -n +2 "$work/out" | diff "$work/expected" - >"$log"
}

# compile COMMAND...: compiles in the folder of the programs
compile() { (cd "$work" && "$@") >"$log" 2>&1; }

# has_line TEXT: whether docs/install.md has a command
has_line() { grep -qF -- "\`$1\`" "$top/docs/install.md" || echo "docs/install.md does not say: $1"; }

# The command lines of docs/install.md, with PREFIX for its example of a prefix.
compiler_clients() {
    # shellcheck disable=SC2016 # the text of the page
    include='-I$HOME/nbody/include' link='-L$HOME/nbody/lib -lsapporo -Wl,-rpath,$HOME/nbody/lib'
    {
        has_line "cc first_force.c $include $link"
        has_line "gfortran $include first_force.f90 $link"
        # shellcheck disable=SC2016 # the text of the page
        has_line 'cc first_force.c $(pkg-config --cflags --libs sapporo)'
        has_line 'find_package(sapporo REQUIRED)'
        has_line 'target_link_libraries(first_force sapporo::sapporo)'
    } >"$log"
    [ ! -s "$log" ]
    verdict $? "docs/install.md has the lines that are tried here"
    include=-I$prefix/include
    link="-L$prefix/lib -lsapporo -Wl,-rpath,$prefix/lib"
    [ "$prefix" != /usr ] || link=-lsapporo
    # shellcheck disable=SC2086 # a list of words
    compile ${CC:-cc} first_force.c $include $link -o of_compiler && prints c "$work/of_compiler"
    verdict $? "C: first_force.c by the compiler alone"
    if has c++; then
        # shellcheck disable=SC2086 # a list of words
        compile c++ first_force.cc $include $link -o of_cc && prints c "$work/of_cc"
        verdict $? "C++: first_force.cc"
    else
        skipped "C++" "c++ is missing"
    fi
    if has "${FC:-gfortran}"; then
        # shellcheck disable=SC2086 # a list of words
        compile "${FC:-gfortran}" $include first_force.f90 $link -o of_f90 && prints f90 "$work/of_f90"
        verdict $? "Fortran: first_force.f90"
    else
        skipped "Fortran" "${FC:-gfortran} is missing"
    fi
}

package_clients() {
    if has pkg-config; then
        # shellcheck disable=SC2016,SC2086 # the command line of docs/install.md
        compile sh -c "${CC:-cc}"' first_force.c $(pkg-config --cflags --libs sapporo) -o of_pc' &&
            LD_LIBRARY_PATH=$libdir prints c "$work/of_pc"
        verdict $? "pkg-config: first_force.c"
    else
        skipped "pkg-config" "pkg-config is missing"
    fi
    if has cmake; then
        printf '%s\n' 'cmake_minimum_required(VERSION 3.10)' 'project(first_force C)' 'find_package(sapporo REQUIRED)' \
            'add_executable(first_force first_force.c)' 'target_link_libraries(first_force sapporo::sapporo)' >"$work/CMakeLists.txt"
        compile cmake -S . -B cmake -DCMAKE_PREFIX_PATH="$prefix" && compile cmake --build cmake &&
            prints c "$work/cmake/first_force"
        verdict $? "CMake: first_force.c"
    else
        skipped "CMake" "cmake is missing"
    fi
}

# Prints the lines of particles with numbers in one form: the C program prints 1, the Python programs 1.00000000.
plain() { awk '!/^#/ { for (k = 1; k <= NF; k++) $k = sprintf("%.8g", $k); print }' "$1"; }

# force_ctypes.py, which needs Python alone, and first_force.c compute the same forces.
python_client() {
    if ! has python3; then
        skipped "Python" "python3 is missing"
        return
    fi
    export SAPPORO_BACKEND=cpu PYTHONDONTWRITEBYTECODE=1
    compile "${CC:-cc}" first_force.c -I"$prefix/include" -L"$libdir" -lsapporo -Wl,-rpath,"$libdir" -o of_c_alone &&
        "$work/of_c_alone" >"$work/of_c" 2>"$log" &&
        SAPPORO_LIBRARY=$libdir/libsapporo.so python3 "$top/examples/force_ctypes.py" >"$work/of_python" 2>"$log" &&
        plain "$work/of_c" >"$work/c_numbers" && plain "$work/of_python" >"$work/python_numbers" &&
        [ -s "$work/c_numbers" ] && diff "$work/c_numbers" "$work/python_numbers" >"$log"
    verdict $? "Python: force_ctypes.py computes what first_force.c computes"
}

# The package: `pip install .` in the clone, as docs/first-force.md has it.  pip takes modules from the folder
# FIRST_HOUR_WHEELS.
python_package() {
    python3 -m venv "$work/venv" >"$log" 2>&1 && PIP_NO_INDEX=1 PIP_FIND_LINKS=$FIRST_HOUR_WHEELS \
        "$work/venv/bin/pip" install "$top" >"$log" 2>&1
    verdict $? "Python: pip install ."
    prints python "$work/venv/bin/python" "$top/examples/first_force.py"
    verdict $? "Python: first_force.py"
    (cd "$work/empty" && "$work/venv/bin/python" "$top/examples/leapfrog.py") >"$log" 2>&1
    verdict $? "Python: leapfrog.py keeps its energy"
}

clients() {
    prefix=$1
    libdir=$(dirname "$(find "$prefix/lib" -name libsapporo.so | head -n 1)")
    [ -e "$libdir/libsapporo.so" ] || { echo "there is no libsapporo.so in $prefix/lib" >&2; exit 2; }
    PKG_CONFIG_PATH=$libdir/pkgconfig${PKG_CONFIG_PATH:+:$PKG_CONFIG_PATH}
    export PKG_CONFIG_PATH
    mkdir "$work/empty" # where no configuration file is
    take C c
    take Fortran f90
    take Python python
    cp "$top/examples/first_force.c" "$top/examples/first_force.cc" "$top/examples/first_force.f90" "$work/"
    compiler_clients
    package_clients
    python_client
    if [ -d "${FIRST_HOUR_WHEELS:-}" ]; then python_package; fi
}

# ---- a clone

# timed TITLE COMMAND...: a step, with its seconds
timed() {
    title=$1
    shift
    start=$(date +%s)
    "$@" >"$log" 2>&1 </dev/null
    status=$?
    verdict $status "$title ($(($(date +%s) - start)) s)"
    return $status
}

clone() {
    timed "git clone" git clone -q "$1" "$2/libsapporo" || exit 1
    cd "$2/libsapporo" || exit 1
    timed "make demo" make demo || exit 1
    grep '^# done' "$log"
    if [ "${FIRST_HOUR_CHECK:-0}" = 1 ]; then
        timed "make check" make check
        tail -n 1 "$log"
    fi
    timed "make install" make install PREFIX="$2/x" || exit 1
    if [ -x "${FIRST_HOUR_COMPILERS:-}" ]; then timed "compilers for the clients" "$FIRST_HOUR_COMPILERS" || exit 1; fi
    sh test/project/first_hour.sh clients "$2/x" || failures=1
}

# ---- a bare Debian

# inside COMMAND...: in the new system, without the variables of this one
inside() { chroot "$root" /usr/bin/env -i HOME=/tmp PATH=/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin LANG=C.UTF-8 \
    DEBIAN_FRONTEND=noninteractive FIRST_HOUR_CHECK="${FIRST_HOUR_CHECK:-0}" "$@"; }

# refuse REASON: ends `bare` where it cannot run
refuse() { echo "$1"; exit 77; }

# may_mount: whether this process may mount, in a mount namespace of its own
# shellcheck disable=SC2016 # for the shell that it starts
may_mount() { unshare -m sh -c 'mount -t proc proc "$1"' sh "$work" 2>/dev/null; }

apt="apt-get -y --no-install-recommends -o Dpkg::Options::=--force-unsafe-io"
compilers="g++ gfortran cmake pkg-config python3 python3-venv"
modules="hatchling>=1.27 cffi>=1.15 numpy>=1.22" # of pyproject.toml

# fetch_modules FOLDER: for the Python of the new system, which asks no registry itself
fetch_modules() {
    # shellcheck disable=SC2086 # a list of words
    python3 -m pip download -q --disable-pip-version-check -d "$1" --only-binary=:all: --python-version 3.11 $modules
}

# bare FOLDER: mounts are made in a namespace of their own, so none of them outlives the script, however it ends
bare() {
    mirror=${FIRST_HOUR_MIRROR:-http://deb.debian.org/debian}
    for tool in debootstrap chroot git unshare wget; do has $tool || refuse "$tool is missing"; done
    [ "$(id -u)" = 0 ] || refuse "only root can make a Debian system"
    may_mount || refuse "root may not mount file systems here"
    wget -q --spider -t 2 -T 20 "$mirror/dists/bookworm/Release" || refuse "$mirror cannot be reached"
    unshare -m sh "$0" mounted "$1" || failures=1
}

mounted() {
    root=$1
    if [ ! -x "$root/usr/bin/env" ]; then
        timed "debootstrap" debootstrap --variant=minbase bookworm "$root" "${FIRST_HOUR_MIRROR:-http://deb.debian.org/debian}" ||
            exit 1
    fi
    cp /etc/resolv.conf "$root/etc/" 2>/dev/null
    rm -rf "$root/tmp/hour" "$root/tmp/fetched"
    mkdir "$root/tmp/hour"
    git bundle create "$root/tmp/libsapporo.bundle" HEAD >/dev/null 2>&1 || exit 1
    cp "$top/test/project/first_hour.sh" "$root/tmp/"
    mount -t proc proc "$root/proc" || exit 1
    mount --bind /sys "$root/sys" || exit 1 # PoCL reads there which cores there are, or aborts
    timed "apt-get install gcc make git ca-certificates" inside sh -c "apt-get update &&
        $apt install gcc libc6-dev make git ca-certificates" || exit 1
    # Packages for the clients are fetched while the library is built.
    inside sh -c "$apt --download-only install $compilers; touch /tmp/fetched" >/dev/null 2>&1 </dev/null &
    printf '#!/bin/sh\nuntil [ -e /tmp/fetched ]; do sleep 1; done\nexec %s install %s\n' "$apt" "$compilers" >"$root/tmp/compilers"
    chmod +x "$root/tmp/compilers"
    rm -rf "$root/tmp/wheels"
    if fetch_modules "$root/tmp/wheels" >"$log" 2>&1; then
        wheels=/tmp/wheels
    else
        wheels=
        skipped "Python: pip install ." "its modules cannot be fetched: $(tail -n 1 "$log")"
    fi
    inside FIRST_HOUR_COMPILERS=/tmp/compilers FIRST_HOUR_WHEELS=$wheels sh /tmp/first_hour.sh clone /tmp/libsapporo.bundle /tmp/hour || failures=1
    wait
}

work=$(mktemp -d) || exit 2
trap 'rm -rf "$work"' EXIT
log=$work/log
: >"$log"
case ${1:-}:$# in
clients:2) clients "$2" ;;
clone:3) clone "$2" "$3" ;;
bare:2) bare "$2" ;;
mounted:2) mounted "$2" ;; # by `bare`
*)
    sed -n 's/^# \{0,1\}//; 2,15p' "$0" >&2
    exit 2
    ;;
esac
exit $((failures > 0))
