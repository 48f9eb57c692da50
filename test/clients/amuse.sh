#!/bin/sh
# amuse.sh - AMUSE's ph4, phiGRAPE, bhtree and MI6 with this library, in a virtual environment: a row of
# docs/data/clients.csv.
#
#   test/clients/amuse.sh FOLDER [ENVIRONMENT]     FOLDER: a checkout of AMUSE (amusecode/amuse), built by its ./setup
#   test/clients/amuse.sh pypi [ENVIRONMENT]       AMUSE's packages from PyPI, which have no MI6 with this library
#
# ENVIRONMENT, a folder that must not exist, is kept; without it a temporary one is removed.  The script installs this
# library in the environment with `make install`, AMUSE's packages with pip or ./setup, runs AMUSE's test suites, integrates
# a star cluster by each worker, by hermite, which calls no library, and by the code of test/clients/amuse_stepper.py, and
# prints a row with elapsed times.  The workers run without any variable of the library.
# Then it uninstalls this library, installs it again, and uninstalls AMUSE's packages; each must leave the other's files as
# they were.  It takes ten to twenty minutes.
# Status 77: something that the script needs is missing, and the last line names it.
#
# FLAGS      options of `make install`, such as CUDA=0
# ONLY       install: the script ends when the workers are installed, and keeps ENVIRONMENT; default: it does all
# ORDER      ours (default): this library is installed before AMUSE's framework; theirs: after it
# RELEASE    of PyPI's packages, default 2024.6.0
# STARS      of the cluster, default 1024
# TRIES      runs of each worker; the least time is told; default 3

# shellcheck source=test/clients/common.sh
. "$(dirname "$0")/common.sh"
[ $# -eq 1 ] || [ $# -eq 2 ] || usage
order=${ORDER:-ours}
release=${RELEASE:-2024.6.0}
make=${MAKE:-make}
unset VIRTUAL_ENV LD_LIBRARY_PATH PYTHONPATH PKG_CONFIG_PATH
only=${ONLY:-all}
case $only:$# in all:* | install:2) ;; *) echo "$script: ONLY is all, or install with an ENVIRONMENT" >&2; exit 2 ;; esac
case $order in ours | theirs) ;; *) echo "$script: ORDER='$order' is neither ours nor theirs" >&2; exit 2 ;; esac

if [ "$1" = pypi ]; then
    from=pypi
    begin "$clone" Makefile
    commit=$release
    codes="ph4 phigrape bhtree"
else
    from=git
    begin "$1" setup src/amuse_ph4 src/amuse_phigrape src/amuse_mi6 src/amuse_bhtree lib/g6lib
    codes="ph4 phigrape mi6 bhtree"
fi
need "$make" python3 mpicc mpicxx mpif90 mpiexec gfortran pkg-config
python3 -c 'import ensurepip, venv' 2>/dev/null || skip "Python's venv is missing"
if [ $# -gt 1 ]; then
    [ ! -e "$2" ] || { echo "$script: '$2' exists already" >&2; exit 2; }
    mkdir -p "$2" && env=$(cd "$2" && pwd) || exit 2
else
    env=$work/environment
fi
case $env in *[\ \',]*) echo "$script: '$env' has a blank, a quote or a comma, which linkers misread" >&2; exit 2 ;; esac

# ---- install

step python3 -m venv "$env"
# shellcheck disable=SC1091 # written by venv
. "$env/bin/activate"

# AMUSE 2024.6.0 names numpy.bool8, which numpy 2 does not have.
numpy=numpy
[ $from = git ] || numpy='numpy<2'
pip install -q "$numpy" 'setuptools<81' setuptools_scm wheel docutils mpi4py h5py cffi pytest pytest-timeout >>"$log" 2>&1 ||
    skip "PyPI, or a package of Python that AMUSE needs,"

# ours GOAL: make's goal install or uninstall of this library
# shellcheck disable=SC2086 # FLAGS are words
ours() { step "$make" -C "$clone" ${FLAGS:-} "$1" PREFIX="$VIRTUAL_ENV"; }

# setup COMMAND PACKAGE...: AMUSE's ./setup, which sees this library only if PKG_CONFIG_PATH is set
setup() { (cd "$work/source" && PKG_CONFIG_PATH=$VIRTUAL_ENV/lib/pkgconfig ./setup "$@") >>"$log" 2>&1 || fail "./setup $*"; }

framework() {
    if [ $from = git ]; then
        copy .
        setup install amuse-framework
    else
        step pip install "amuse-framework==$release"
    fi
}

if [ "$order" = ours ]; then
    ours install
    framework
else
    framework
    ours install
fi

# bhtree FOLDER PLACE NAME: makes bhtree's worker of mode="gpu", which AMUSE no longer builds, in FOLDER, and puts it into
# PLACE as NAME.
# The code takes its calls of HARP-3 by the macro HARP3, and its list of cells per group of stars by the macro GPU.  Two of
# its variables lack their type, which C++ refuses.  Its calls of GRAPE-6 (GPU alone) count each star's own potential twice.
bhtree() {
    libraries="-L$VIRTUAL_ENV/lib -Wl,-rpath,$VIRTUAL_ENV/lib -lharp3 -lsapporo"
    step rm -rf "$1/build" "$1/bhtree_worker"
    step mkdir "$1/build"
    step cp "$1/src/Makefile" "$1/build/Makefile"
    step sed -i 's/static \(call_count\|h3_open_state\) =/static int \1 =/' "$1/src/BHtree.C"
    (
        headers=$(find "$VIRTUAL_ENV" -name stopcond.h -exec dirname {} \; | head -n 1)
        export CXXFLAGS="-O2 -I$headers"
        step make -C "$1/build" VPATH=../src BHtree.o CPPFLAGS=-DHARP3
        step make -C "$1/build" VPATH=../src gravity.o CPPFLAGS=-DGPU
        step make -C "$1/build" VPATH=../src libbhtree.a
    ) || exit
    (
        export LDLIBS="$libraries"
        step make -C "$1" bhtree_worker LIBS="$libraries"
    ) || exit
    step mv "$1/bhtree_worker" "$1/$3"
    step cp "$1/$3" "$2/"
}

community=$(python -c 'import sysconfig; print(sysconfig.get_path("purelib"))')
if [ $from = git ]; then
    setup install amuse-ph4 amuse-ph4-sapporo amuse-phigrape amuse-mi6 amuse-bhtree amuse-hermite
    # AMUSE does not install this worker, and expects it beside the other one.
    step make -C "$work/source/src/amuse_mi6" mi6_sapporo2_worker LDFLAGS="-L$VIRTUAL_ENV/lib -Wl,-rpath,$VIRTUAL_ENV/lib" \
        SAPPORO2_LIBS="-lsapporo6th"
    step cp "$work/source/src/amuse_mi6/mi6_sapporo2_worker" "$community/amuse_mi6/"
    bhtree "$work/source/src/amuse_bhtree" "$community/amuse_bhtree" bhtree_worker_sapporo
    with_ours="amuse_ph4/ph4_sapporo_worker amuse_mi6/mi6_sapporo2_worker amuse_bhtree/bhtree_worker_sapporo"
else
    # pip's packages have no place for flags of a linker but make's own variables.  Each value is one word.
    MAKEFLAGS="CUDA_LIBS= SAPPORO_LIBS=-Wl,-rpath,$VIRTUAL_ENV/lib,$VIRTUAL_ENV/lib/libsapporo.so" \
        pip install -v --no-cache-dir --no-build-isolation "amuse-ph4==$release" "amuse-phigrape==$release" \
        "amuse-bhtree==$release" "amuse-hermite==$release" "amuse-tests==$release" >>"$log" 2>&1 || fail "pip install amuse-ph4"
    step pip download --no-deps --no-build-isolation --no-binary :all: -d "$work/sources" "amuse-bhtree==$release"
    step tar -C "$work/sources" -xf "$work/sources/amuse_bhtree-$release.tar.gz"
    bhtree "$work/sources/amuse_bhtree-$release/src/amuse/community/bhtree" "$community/amuse/community/bhtree" bhtree_worker_gpu
    with_ours="amuse/community/ph4/ph4_worker_gpu amuse/community/phigrape/phigrape_worker_gpu
        amuse/community/bhtree/bhtree_worker_gpu"
fi

# linked: fails unless all workers that are linked with this library find it
linked() {
    for worker in $with_ours; do
        ldd "$community/$worker" >>"$log" 2>&1 || fail "$worker is not built; ldd"
        ldd "$community/$worker" | grep -q "$VIRTUAL_ENV/lib/libsapporo" || fail "$worker does not find libsapporo; ldd"
    done
}
linked

# The Python package, for test/clients/amuse_stepper.py.
# shellcheck disable=SC2086 # FLAGS are words
step "$make" -C "$clone" ${FLAGS:-} python-package PYTHON_PACKAGE="$community/sapporo" PYTHON=python
step ln -s "$VIRTUAL_ENV/lib/libsapporo.so" "$community/sapporo/libsapporo.so"
if [ "$only" = install ]; then
    echo "$script: installed; begin with: . $env/bin/activate"
    exit
fi

# ---- run

for variable in $(env | sed -n 's/^\(SAPPORO_[A-Z0-9_]*\|GRAPE_NPIPES\|OMP_[A-Z_]*\)=.*/\1/p'); do unset "$variable"; done
open_mpi

# The suites name no mode, so this plugin of pytest chooses the workers that are linked with this library.
mkdir -p "$env/suites"
if [ $from = git ]; then
    cat >"$env/suites/sapporo_workers.py" <<'PLUGIN'
from amuse_bhtree.interface import BHTreeInterface
from amuse_mi6.interface import MI6Interface
from amuse_ph4.interface import ph4Interface

ph4Interface.name_of_the_muse_worker = lambda self, mode: "ph4_sapporo_worker"
MI6Interface.name_of_the_worker = lambda self, mode: "mi6_sapporo2_worker"
BHTreeInterface.name_of_the_worker = lambda self, mode: "bhtree_worker_sapporo"
PLUGIN
else
    cat >"$env/suites/sapporo_workers.py" <<'PLUGIN'
from amuse.community.bhtree.interface import BHTreeInterface
from amuse.community.phigrape.interface import PhiGRAPEInterface
from amuse.community.ph4.interface import ph4Interface

ph4Interface.name_of_the_muse_worker = lambda self, mode: "ph4_worker_gpu"
BHTreeInterface.name_of_the_worker = lambda self, mode: "bhtree_worker_gpu"
with_mpi = PhiGRAPEInterface.name_of_the_worker
PhiGRAPEInterface.name_of_the_worker = lambda self, mode, number_of_workers: (
    with_mpi(self, mode, number_of_workers) if number_of_workers > 1 else "phigrape_worker_gpu"
)
PLUGIN
fi

# AMUSE starts one process per core, and after a test that wants more processes no other one can start.
left_out=
[ "$(getconf _NPROCESSORS_ONLN)" -ge 4 ] || left_out="--deselect amuse_ph4/tests/test_ph4.py::TestPH4::test21_noci"

# tests CODE LOG [OPTION]...: runs AMUSE's suite of a code
tests() {
    code=$1
    result=$2
    shift 2
    if [ $from = git ]; then
        place=$work/source/src/amuse_$code/packages/amuse-$code
        suite=$left_out
    else
        place=$env/suites
        suite=$community/amuse/test/suite/codes_tests/test_$code.py
    fi
    # shellcheck disable=SC2086 # words
    (cd "$place" && PYTHONPATH=$env/suites timeout 900 python -m pytest -q --timeout=120 --tb=short -p sapporo_workers \
        -o cache_dir="$env/suites/$code" $suite -rf "$@") >"$result" 2>&1
}

# count WORD LOG: how many tests the last line of pytest calls so
count() { sed -n "s/^.*[^0-9]\([0-9]*\) $1.*/\1/p; s/^\([0-9]*\) $1.*/\1/p" "$2" | tail -n 1 | grep . || echo 0; }

# suite CODE: how many tests passed, and which failed.  A busy machine lets Open MPI fail to start a worker, so tests that
# failed run once more; tests that pass only then are named.
suite() {
    first=$env/suite-$1.log
    second=$env/suite-$1-again.log
    tests "$1" "$first"
    passed=$(count passed "$first")
    failed=$(count failed "$first")
    : >"$second"
    if [ "$failed" -gt 0 ]; then
        tests "$1" "$second" --last-failed
        passed=$((passed + $(count passed "$second")))
    fi
    again=$(names "$second")
    later=$(names "$first" | grep -vxF "${again:-none}" | tr '\n' ' ')
    again=$(printf %s "$again" | tr '\n' ' ')
    grep -q ' in [0-9.]*s' "$first" || { echo "did not end"; return; }
    echo "$passed of $((passed + $(echo "$again" | wc -w))) passed${again:+; failed: $again}${later:+; at the second try: ${later% }}"
}
names() { sed -n 's/^FAILED .*::\([A-Za-z0-9_]*\).*/\1/p' "$1" | sort -u; }

# cluster CODE MODE: error of the energy, relative, and the seconds of the evolution
cluster() {
    (cd "$env/suites" && PYTHONPATH=$clone/test/clients python - "$1" "$2" "${STARS:-1024}") 2>>"$log" <<'PROGRAM' | sed -n 's/^result //p'
import importlib
import random
import sys
import time

import numpy
from amuse.ic.plummer import new_plummer_model
from amuse.units import nbody_system

name, mode, stars = sys.argv[1], sys.argv[2], int(sys.argv[3])
classes = {"ph4": "ph4", "phigrape": "PhiGRAPE", "mi6": "MI6", "bhtree": "BHTree", "hermite": "Hermite"}
classes["stepper"] = "Sapporo"
module = "amuse_stepper" if name == "stepper" else f"amuse.community.{name}.interface"
code = getattr(importlib.import_module(module), classes[name])
numpy.random.seed(1)
random.seed(1)
particles = new_plummer_model(stars)
gravity = code() if name in ("hermite", "stepper") else code(mode=mode)
gravity.initialize_code()
gravity.parameters.epsilon_squared = 1e-4 | nbody_system.length**2
if name == "mi6":
    gravity.parameters.smbh_mass = 0 | nbody_system.mass
elif name in ("ph4", "phigrape"):
    gravity.parameters.timestep_parameter = 0.02 if name == "phigrape" else 0.14
gravity.particles.add_particles(particles)
gravity.commit_particles()


def energy():
    return (gravity.kinetic_energy + gravity.potential_energy).value_in(nbody_system.energy)


start, clock = energy(), time.monotonic()
# MI6 tells energies with each particle at its own time, so its end time is one that all steps divide.  hermite is slow.
gravity.evolve_model((0.0625 if name in ("mi6", "hermite") else 0.5) | nbody_system.time)
clock = time.monotonic() - clock
print(f"result {energy() / start - 1:+.2e} {clock:.2f}")
gravity.stop()
PROGRAM
}

# clusters CODE:MODE:NAME...: runs the clusters in turns, TRIES times, and keeps the results under NAME
clusters() {
    try=0
    while [ $try -lt "${TRIES:-3}" ]; do
        for run; do
            name=${run##*:}
            mode=${run#*:}
            cluster "${run%%:*}" "${mode%:*}" | awk '{ print $2, $1 }' >>"$work/$name.runs"
            [ -s "$work/$name.runs" ] || fail "the cluster by $run"
        done
        try=$((try + 1))
    done
}

if [ $from = git ]; then
    # phiGRAPE's usual worker has libg6 of whatever was installed last: AMUSE's emulation of GRAPE-6, or this library.
    phigrape_own=
    if [ "$order" = ours ]; then
        clusters phigrape:g6lib:phigrape_own
        phigrape_own="; phiGRAPE $(least phigrape_own)"
        cksum "$VIRTUAL_ENV/lib/libg6.so" "$VIRTUAL_ENV/lib/pkgconfig/g6lib.pc" >"$work/of_amuse"
        ours install
    fi
    linked
    clusters ph4:cpu:ph4_own ph4:gpu:ph4_ours mi6:cpu:mi6_own mi6:gpu:mi6_ours phigrape:g6lib:phigrape_ours
    own="ph4 $(least ph4_own)$phigrape_own; MI6 $(least mi6_own)"
    by_ours="ph4 $(least ph4_ours); phiGRAPE $(least phigrape_ours); MI6 $(least mi6_ours)"
    link="-lsapporo, -lg6, -lsapporo6th, -lharp3"
else
    clusters ph4:cpu:ph4_own ph4:gpu:ph4_ours phigrape:g6lib:phigrape_own phigrape:gpu:phigrape_ours
    own="ph4 $(least ph4_own); phiGRAPE $(least phigrape_own)"
    by_ours="ph4 $(least ph4_ours); phiGRAPE $(least phigrape_ours)"
    link="-lsapporo, -lharp3"
fi
clusters bhtree:cpu:bhtree_own bhtree:gpu:bhtree_ours hermite:cpu:hermite stepper:cpu:stepper
own="$own; bhtree $(least bhtree_own); hermite $(least hermite)"
by_ours="$by_ours; bhtree $(least bhtree_ours); stepper $(least stepper)"
suites=
for code in $codes; do suites="$suites; suite of $code: $(suite "$code")"; done
if [ "$order" = ours ]; then when=before; else when=after; fi
CLOCK=elapsed
row "AMUSE, this library installed $when its framework: ${STARS:-1024} stars, eps 0.01, to time 0.5 (MI6 and hermite: 1/16); relative error of the energy" \
    "$link" "$own" "$by_ours$suites"
case $suites in *"did not end"*) exit 1 ;; esac

# ---- uninstall either, and look at the other

# files FOLDER...: checksums of the files of this library in the environment, but for two names that AMUSE has, too
files() {
    (cd "$VIRTUAL_ENV" && find bin/sapporo include/sapporo* lib/libsapporo* lib/libpg5* lib/libg6.so.* lib/libyebisug6* \
        lib/libnbody6* lib/libsphgrav* lib/pkgconfig/sapporo*.pc -type f -exec cksum {} + 2>/dev/null | sort -k 3)
}
files >"$work/of_ours"
ours uninstall
[ -z "$(files)" ] || { files; echo "$script: make uninstall has left these files" >&2; exit 1; }
if [ -s "$work/of_amuse" ]; then
    cksum "$VIRTUAL_ENV/lib/libg6.so" "$VIRTUAL_ENV/lib/pkgconfig/g6lib.pc" | cmp - "$work/of_amuse" >&2 ||
        { echo "$script: make uninstall has not brought AMUSE's files back" >&2; exit 1; }
fi
STARS=16
cluster ph4 cpu | grep -q . || fail "AMUSE's own worker without this library"
ours install
linked
cluster ph4 gpu | grep -q . || fail "the worker with this library, installed again"
if [ $from = git ]; then
    setup uninstall amuse-framework
else
    step pip uninstall -y amuse-tests amuse-ph4 amuse-phigrape amuse-bhtree amuse-hermite amuse-framework
fi
files | cmp - "$work/of_ours" >&2 || { echo "$script: AMUSE's packages have taken files of this library with them" >&2; exit 1; }
step "$VIRTUAL_ENV/bin/sapporo" info
