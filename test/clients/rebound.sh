#!/bin/sh
# rebound.sh - the GRAPE module of old versions of REBOUND with this library: a row of docs/data/clients.csv.
#
#   test/clients/rebound.sh FOLDER     FOLDER: a checkout of REBOUND (hannorein/rebound) of 2015 or before, which has
#                                      src/gravity_grape.c, for example of commit 4641a95
#
# The script compiles the code with a problem of its own, a disc about a star, once with gravity_direct.c, which sums in
# double, and once with gravity_grape.c and libpg5.  A row tells the relative error of the energy and the processor time.
# Status 77: something that the script needs is missing, and the last line names it.
#
# STARS      particles, default 4000
# STEPS      of 0.003, default 100
# PREFIX, TRIES, SAPPORO_BACKEND, OMP_NUM_THREADS    as in test/clients/common.sh

# shellcheck source=test/clients/common.sh
. "$(dirname "$0")/common.sh"
[ $# -eq 1 ] || usage
begin "$1" src/gravity_grape.c src/gravity_direct.c
need make gcc
library pg5
copy src

cat >"$work/problem.c" <<'PROBLEM'
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include "main.h"
#include "particle.h"
#include "boundaries.h"
#include "output.h"
#include "problem.h"

static double start;

static double energy(void)
{
    double sum = 0;
    for (int i = 0; i < N; i++) {
        const struct particle p = particles[i];
        sum += 0.5 * p.m * (p.vx * p.vx + p.vy * p.vy + p.vz * p.vz);
        for (int j = 0; j < i; j++) {
            const double x = particles[j].x - p.x, y = particles[j].y - p.y, z = particles[j].z - p.z;
            sum -= G * p.m * particles[j].m / sqrt(x * x + y * y + z * z + softening * softening);
        }
    }
    return sum;
}

static void add(double mass, double radius, double angle)
{
    struct particle p = {0};
    const double speed = radius > 0 ? 1 / sqrt(radius) : 0;
    p.m = mass;
    p.x = radius * cos(angle);
    p.y = radius * sin(angle);
    p.z = radius * 0.01 * sin(7 * angle);
    p.vx = -speed * sin(angle);
    p.vy = speed * cos(angle);
    particles_add(p);
}

void problem_init(int argc, char *argv[])
{
    const int n = atoi(getenv("STARS"));
    (void)argc;
    (void)argv;
    G = 1;
    softening = 0.01;
    dt = 0.003;
    tmax = dt * atoi(getenv("STEPS"));
    boxsize = 10;
    init_box();
    add(1, 0, 0);
    for (int k = 1; k < n; k++) add(0.2 / n, 0.2 + 0.8 * k / n, 2.399963229728653 * k); /* the golden angle */
    start = energy();
}

void problem_inloop(void) {}
void problem_output(void) {}
void problem_finish(void) { printf("\nerror %.3e\n", energy() / start - 1); }
PROBLEM

# build NAME MODULE LIBRARIES: makes the code with a module for gravity as $work/NAME
build() {
    for link in "gravity.c $2.c" "boundaries.c boundaries_open.c" "integrator.c integrator_leapfrog.c" "collisions.c collisions_none.c" \
        "problem.c ../../problem.c"; do
        ln -sf "${link#* }" "$work/source/src/${link%% *}"
    done
    step make -C "$work/source/src" CC=gcc OPT="-O3 -std=c99 -D_GNU_SOURCE -w -I$compat -I$include" LIB="$3 -lm"
    step mv "$work/source/src/nbody" "$work/$1"
}
build direct gravity_direct ""
build grape gravity_grape "$run_path -lpg5"

export STARS="${STARS:-4000}" STEPS="${STEPS:-100}"
by() { "$work/$1" | awk '$1 == "error" { print $2 }'; }
own() { by direct; }
ours() { by grape; }
measure own ours
row "REBOUND, gravity_grape.c: disc of $STARS particles, eps 0.01, $STEPS steps of 0.003; relative error of the energy" "-lpg5" \
    "$(least own)" "$(least ours)"
