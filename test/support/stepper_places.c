/* stepper_places.c - see stepper_places.h. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "stepper_places.h"

#include <stdlib.h>
#include <string.h>

#include "backends.h"

const struct place stepper_places[STEPPER_PLACES] = {
    {"cpu octree", SAPPORO_BACKEND_CPU, SAPPORO_STEP_TREE, SAPPORO_TREE_OCTREE},
    {"cpu kd-tree", SAPPORO_BACKEND_CPU, SAPPORO_STEP_TREE, SAPPORO_TREE_KDTREE},
    {"cpu direct", SAPPORO_BACKEND_CPU, SAPPORO_STEP_DIRECT, SAPPORO_TREE_OCTREE},
    {"opencl octree", SAPPORO_BACKEND_OPENCL, SAPPORO_STEP_TREE, SAPPORO_TREE_OCTREE},
    {"opencl kd-tree", SAPPORO_BACKEND_OPENCL, SAPPORO_STEP_TREE, SAPPORO_TREE_KDTREE},
    {"opencl direct", SAPPORO_BACKEND_OPENCL, SAPPORO_STEP_DIRECT, SAPPORO_TREE_OCTREE},
    {"cuda octree", SAPPORO_BACKEND_CUDA, SAPPORO_STEP_TREE, SAPPORO_TREE_OCTREE},
    {"cuda kd-tree", SAPPORO_BACKEND_CUDA, SAPPORO_STEP_TREE, SAPPORO_TREE_KDTREE},
    {"cuda direct", SAPPORO_BACKEND_CUDA, SAPPORO_STEP_DIRECT, SAPPORO_TREE_OCTREE},
    {"hip octree", SAPPORO_BACKEND_HIP, SAPPORO_STEP_TREE, SAPPORO_TREE_OCTREE},
    {"hip kd-tree", SAPPORO_BACKEND_HIP, SAPPORO_STEP_TREE, SAPPORO_TREE_KDTREE},
    {"hip direct", SAPPORO_BACKEND_HIP, SAPPORO_STEP_DIRECT, SAPPORO_TREE_OCTREE}};

const sapporo_field stepper_fields[STEPPER_FIELDS] = {{SAPPORO_FIELD_POINT, 1, 0, 0, {0, 0, 0}},
                                                      {SAPPORO_FIELD_PLUMMER, 1, 0.5, 0, {0.1, 0, 0}},
                                                      {SAPPORO_FIELD_HERNQUIST, 2, 0.7, 0, {0, 0.1, 0}},
                                                      {SAPPORO_FIELD_NFW, 3, 1.5, 0, {0, 0, 0.1}},
                                                      {SAPPORO_FIELD_MIYAMOTO_NAGAI, 1, 0.8, 0.2, {0, 0, 0}},
                                                      {SAPPORO_FIELD_LOGARITHMIC, 0.9, 0.3, 0.8, {0, 0, 0}}};

int stepper_place_usable(const struct place *p)
{
    return sapporo_device_count(p->backend) > 0 && backend_is_tested(p->backend);
}

void stepper_everywhere(void (*test)(const struct place *p), int octrees)
{
    int ran = 0;
    for (int k = 0; k < STEPPER_PLACES; k++) {
        const struct place *const p = &stepper_places[k];
        if (!stepper_place_usable(p)) {
            print_message("skip: no %s\n", p->name);
            continue;
        }
        if (octrees && (p->method == SAPPORO_STEP_DIRECT || p->kind != SAPPORO_TREE_OCTREE)) continue;
        test(p);
        ran++;
    }
    if (!ran) skip();
}

void stepper_hermite_everywhere(void (*test)(const struct place *p, int order, sapporo_step_scheme scheme))
{
    int ran = 0;
    for (int k = 0; k < STEPPER_PLACES; k++) {
        const struct place *const p = &stepper_places[k];
        if (p->method != SAPPORO_STEP_DIRECT || !stepper_place_usable(p)) continue;
        for (int o = 0; o < 3; o++) test(p, 4 + 2 * o, (sapporo_step_scheme)(SAPPORO_STEPS_HERMITE4 + o));
        ran++;
    }
    if (!ran) skip();
}

sapporo_stepper_options stepper_hermite_options(const sapporo_tree_options *tree, sapporo_step_scheme scheme)
{
    return (sapporo_stepper_options){
        .size = sizeof(sapporo_stepper_options), .tree = tree, .scheme = scheme, .dt = 1.0 / 16};
}

sapporo_tree_options stepper_tree_at(const struct place *p, double eps)
{
    return (sapporo_tree_options){.size = sizeof(sapporo_tree_options),
                                  .kind = p->kind,
                                  .mac = SAPPORO_MAC_ACCELERATION,
                                  .eps2 = eps * eps,
                                  .backend = p->backend};
}

sapporo_stepper *stepper_make(const sapporo_stepper_options *o, int n)
{
    sapporo_stepper *s = NULL;
    if (sapporo_stepper_create(o, n, &s)) fail_msg("%s", sapporo_stepper_last_error(NULL));
    return s;
}

void stepper_put(sapporo_stepper *s, int n, double (*x)[3], double (*v)[3], double *mass, double time)
{
    const sapporo_stepper_particles p = {
        .size = sizeof p, .n = n, .x = {x, 0}, .v = {v, 0}, .mass = {mass, 0}, .time = time};
    if (sapporo_stepper_set(s, &p)) fail_msg("%s", sapporo_stepper_last_error(s));
}

void stepper_get(sapporo_stepper *s, sapporo_step_when when, int n, struct stepper_state *to)
{
    memset(to, 0, sizeof *to);
    const sapporo_stepper_output o = {.size = sizeof o,
                                      .n = n,
                                      .when = when,
                                      .x = to->x,
                                      .v = to->v,
                                      .acc = to->acc,
                                      .pot = to->pot,
                                      .mass = to->mass,
                                      .own_time = to->own_time,
                                      .level = to->level,
                                      .label = to->label};
    if (sapporo_stepper_get(s, &o)) fail_msg("%s", sapporo_stepper_last_error(s));
}

sapporo_stepper_statistics stepper_figures(sapporo_stepper *s)
{
    sapporo_stepper_statistics f = {.size = sizeof f};
    assert_int_equal(sapporo_stepper_get_statistics(s, &f), SAPPORO_OK);
    for (int phase = 0; phase < SAPPORO_STEP_PHASES; phase++)
        assert_true(f.seconds[phase] >= 0 && isfinite(f.seconds[phase]));
    return f;
}

void stepper_advance(sapporo_stepper *s, double time, long long steps)
{
    if (sapporo_stepper_advance(s, time, steps)) fail_msg("%s", sapporo_stepper_last_error(s));
}

sapporo_stepper_totals stepper_totals(sapporo_stepper *s)
{
    sapporo_stepper_totals t = {.size = sizeof t};
    if (sapporo_stepper_energy(s, &t)) fail_msg("%s", sapporo_stepper_last_error(s));
    return t;
}
