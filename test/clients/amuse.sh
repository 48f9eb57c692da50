#!/bin/sh
# amuse.sh - AMUSE's ph4 and phiGRAPE from PyPI with this library, in a virtual environment of their own.
#
#   test/clients/amuse.sh [FOLDER]     FOLDER, which must not exist, is kept; without it a temporary one is removed
#
# The script installs this library in the environment with `make install`, AMUSE's packages with pip, runs AMUSE's test
# suites of both codes, integrates a star cluster by each worker, and prints a row of the table in docs/clients.md.
# Variables are set while pip builds; the workers run without any variable of the library.  It takes ten minutes.
# Status 77: something that the script needs is missing, and the last line names it.
#
# FLAGS      options of `make install`, such as CUDA=0
# ORDER      ours (default): this library is installed before AMUSE's framework; theirs: after it
# RELEASE    of AMUSE, default 2024.6.0
# STARS      of the cluster, default 1024
# TRIES      runs of each worker; the least time is told; default 3

cd "$(dirname "$0")/../.." || exit 2
top=$PWD
order=${ORDER:-ours}
release=${RELEASE:-2024.6.0}
make=${MAKE:-make}
unset MAKEFLAGS MFLAGS MAKELEVEL MAKEOVERRIDES VIRTUAL_ENV LD_LIBRARY_PATH PYTHONPATH

skip() { echo "amuse.sh: skipped: $1"; exit 77; }
fail() { echo "amuse.sh: $1 failed; the last lines of its log:" >&2; tail -n 20 "$log" >&2; exit 1; }

case $order in ours | theirs) ;; *) echo "amuse.sh: ORDER='$order' is neither ours nor theirs" >&2; exit 2 ;; esac
for program in python3 mpicc mpicxx mpif90 mpiexec gfortran; do
    command -v $program >/dev/null 2>&1 || skip "$program is missing"
done
python3 -c 'import ensurepip, venv' 2>/dev/null || skip "Python's venv is missing"

if [ $# -gt 0 ]; then
    [ ! -e "$1" ] || { echo "amuse.sh: '$1' exists already" >&2; exit 2; }
    mkdir -p "$1" && env=$(cd "$1" && pwd) || exit 2
else
    env=$(mktemp -d "${TMPDIR:-/tmp}/amuse.XXXXXX") || exit 2
    trap 'rm -rf "$env"' EXIT
fi
case $env in *[\ \',]*) echo "amuse.sh: '$env' has a blank, a quote or a comma, which linkers misread" >&2; exit 2 ;; esac
log=$env/log

# ---- install

python3 -m venv "$env" >"$log" 2>&1 || fail "python3 -m venv"
# shellcheck disable=SC1091 # written by venv
. "$env/bin/activate"

# AMUSE 2024.6.0 names numpy.bool8, which numpy 2 does not have.
pip install -q 'numpy<2' 'setuptools<81' setuptools_scm wheel docutils mpi4py h5py pytest pytest-timeout >"$log" 2>&1 ||
    skip "PyPI, or a package of Python that AMUSE needs"

# shellcheck disable=SC2086 # FLAGS are words
install_ours() { "$make" -C "$top" ${FLAGS:-} install PREFIX="$VIRTUAL_ENV" >"$log" 2>&1 || fail "make install"; }
install_framework() { pip install "amuse-framework==$release" >"$log" 2>&1 || fail "pip install amuse-framework"; }

if [ "$order" = ours ]; then
    install_ours
    install_framework
else
    install_framework
    install_ours
fi

# pip's packages have no place for flags of a linker but make's own variables.  Each value is one word.
MAKEFLAGS="CUDA_LIBS= SAPPORO_LIBS=-Wl,-rpath,$VIRTUAL_ENV/lib,$VIRTUAL_ENV/lib/libsapporo.so" \
    pip install -v --no-cache-dir --no-build-isolation "amuse-ph4==$release" "amuse-phigrape==$release" \
    "amuse-tests==$release" >"$log" 2>&1 || fail "pip install amuse-ph4 amuse-phigrape"

community=$(python -c 'import sysconfig; print(sysconfig.get_path("purelib"))')/amuse/community
for worker in ph4/ph4_worker_gpu phigrape/phigrape_worker_gpu; do
    ldd "$community/$worker" >>"$log" 2>&1 || fail "$worker is not built; pip install"
    ldd "$community/$worker" | grep -q "$VIRTUAL_ENV/lib/libsapporo" || fail "$worker does not find libsapporo; ldd"
done

# ---- run: the variables below are Open MPI's, for small machines and for root

for variable in $(env | sed -n 's/^\(SAPPORO_[A-Z0-9_]*\|GRAPE_NPIPES\|OMP_[A-Z_]*\)=.*/\1/p'); do unset "$variable"; done
export OMPI_MCA_rmaps_base_oversubscribe=1 OMPI_MCA_mpi_yield_when_idle=1
[ "$(id -u)" != 0 ] || export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1

# The suites name no mode, so this plugin of pytest chooses the workers that are linked with this library.
mkdir -p "$env/suites"
cat >"$env/suites/sapporo_workers.py" <<'PLUGIN'
from amuse.community.phigrape.interface import PhiGRAPEInterface
from amuse.community.ph4.interface import ph4Interface

ph4Interface.name_of_the_muse_worker = lambda self, mode: "ph4_worker_gpu"
with_mpi = PhiGRAPEInterface.name_of_the_worker
PhiGRAPEInterface.name_of_the_worker = lambda self, mode, number_of_workers: (
    with_mpi(self, mode, number_of_workers) if number_of_workers > 1 else "phigrape_worker_gpu"
)
PLUGIN

# tests CODE LOG [OPTION]...: runs AMUSE's suite of a code
tests() {
    code=$1
    result=$2
    shift 2
    (cd "$env/suites" && PYTHONPATH=$env/suites timeout 900 python -m pytest -q --timeout=120 --tb=short -p sapporo_workers \
        -o cache_dir="$env/suites/$code" "$(dirname "$community")/test/suite/codes_tests/test_$code.py" -rf "$@") >"$result" 2>&1
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
    (cd "$env/suites" && python - "$1" "$2" "${STARS:-1024}") 2>>"$log" <<'PROGRAM' | sed -n 's/^result //p'
import random
import sys
import time

import numpy
from amuse.community.ph4.interface import ph4
from amuse.community.phigrape.interface import PhiGRAPE
from amuse.ic.plummer import new_plummer_model
from amuse.units import nbody_system

code, mode, stars = {"ph4": ph4, "phigrape": PhiGRAPE}[sys.argv[1]], sys.argv[2], int(sys.argv[3])
numpy.random.seed(1)
random.seed(1)
particles = new_plummer_model(stars)
gravity = code(mode=mode)
gravity.initialize_code()
gravity.parameters.epsilon_squared = 1e-4 | nbody_system.length**2
gravity.parameters.timestep_parameter = 0.02 if code is PhiGRAPE else 0.14
gravity.particles.add_particles(particles)
gravity.commit_particles()


def energy():
    return (gravity.kinetic_energy + gravity.potential_energy).value_in(nbody_system.energy)


start, clock = energy(), time.monotonic()
gravity.evolve_model(0.5 | nbody_system.time)
clock = time.monotonic() - clock
print(f"result {energy() / start - 1:+.2e} {clock:.2f}")
gravity.stop()
PROGRAM
}

# least FILE: the error of energy, and the least time
least() { sort -g -k 2 "$1" | awk 'NR == 1 { print $1 ", " $2 " s" }'; }

ph4_suite=$(suite ph4)
phigrape_suite=$(suite phigrape)
try=0
while [ $try -lt "${TRIES:-3}" ]; do
    for run in ph4:cpu ph4:gpu phigrape:g6lib phigrape:gpu; do
        cluster "${run%:*}" "${run#*:}" >>"$env/cluster-${run%:*}-${run#*:}"
    done
    try=$((try + 1))
done
for run in ph4-cpu ph4-gpu phigrape-g6lib phigrape-gpu; do [ -s "$env/cluster-$run" ] || fail "the cluster by $run"; done

if [ "$order" = ours ]; then when=before; else when=after; fi
echo "| AMUSE $release from PyPI (amuse-ph4, amuse-phigrape), this library installed $when AMUSE's framework; $(date -u +%F)" \
    "| ${STARS:-1024} stars, eps 0.01, to time 0.5, relative; test suites" \
    "| ph4 $(least "$env/cluster-ph4-cpu"); phiGRAPE $(least "$env/cluster-phigrape-g6lib")" \
    "| ph4 $(least "$env/cluster-ph4-gpu"); phiGRAPE $(least "$env/cluster-phigrape-gpu");" \
    "suites: ph4 $ph4_suite, phiGRAPE $phigrape_suite |"
case "$ph4_suite$phigrape_suite" in *"did not end"*) exit 1 ;; esac
