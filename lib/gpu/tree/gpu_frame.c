/* gpu_frame.c - see gpu_frame.h. */
#include "gpu/tree/gpu_frame.h"

#include <math.h>
#include <string.h>

#include "engine/pull.h"
#include "engine/tree_macs.h"
#include "gpu/gpu_launch.h"
#include "gpu/tree/gpu_kernels.h"
#include "physics/scalars.h"

/* ---- bounds ------------------------------------------------------------------------------- */

static int read_bounds(const struct sap_gpu_session *s, const struct sap_gpu_builder *builder,
                       const struct sap_gpu_given *given, int members)
{
    struct sap_gpu_readback *const read = sap_gpu_builder_read(builder);
    struct sap_mem *const from = builder->bounds.mem;
    const size_t parts = sizeof read->bounds;
    TRY(sap_launch_tree_bounds(s, given->f, SAP_TREE_PARTS, given->particle.mem, from, given->n, members));
    TRY(sap_session_copy_out(s, read->bounds, from, 0, parts));
    TRY(sap_session_copy_out(s, read->sample, from, parts, 3 * (size_t)members * sizeof(double)));
    return sap_session_wait(s);
}

/* Joins the bounds of all groups of threads. */
static void join_bounds(const struct sap_gpu_readback *read, struct sap_gpu_bounds *b)
{
    double least = 0, most = 0;
    for (int p = 0; p < SAP_TREE_PARTS; p++) {
        b->weight += read->bounds[6][p];
        least = fmin(least, read->bounds[7][p]);
        most = fmax(most, read->bounds[8][p]);
    }
    b->signs = least < 0 && most > 0;
    for (int k = 0; k < 3; k++) {
        b->low[k] = read->bounds[k][0], b->high[k] = read->bounds[3 + k][0];
        for (int p = 1; p < SAP_TREE_PARTS; p++) {
            b->low[k] = fmin(b->low[k], read->bounds[k][p]);
            b->high[k] = fmax(b->high[k], read->bounds[3 + k][p]);
        }
    }
}

int sap_gpu_frame_look(const struct sap_gpu_session *s, struct sap_gpu_builder *builder,
                       const struct sap_gpu_given *given, int members, struct sap_gpu_bounds *bounds)
{
    const struct sap_gpu_readback *const read = sap_gpu_builder_read(builder);
    TRY(read_bounds(s, builder, given, members));
    bounds->members = members;
    bounds->weight = 0;
    join_bounds(read, bounds);
    for (int k = 0; k < 3; k++) /* per axis */
        memcpy(bounds->sample[k], read->sample + (size_t)k * (size_t)members, (size_t)members * sizeof(double));
    builder->out_of_range = !sap_cube_in_range(bounds->low, bounds->high, bounds->weight);
    return builder->out_of_range ? (int)SAP_DRIVER_ERROR : (int)SAP_DRIVER_OK;
}

/* ---- cube and units ----------------------------------------------------------------------- */

int sap_gpu_frame_finds_pull(const struct sap_gpu_rules *rules)
{
    return sap_mac_row(rules->settings->mac).by_pull && !rules->whole;
}

void sap_gpu_frame_choose(struct sap_gpu_tree *frame, struct sap_cube *cube, const struct sap_gpu_rules *rules,
                          const struct sap_gpu_bounds *bounds)
{
    double sample[3][SAP_CUBE_SAMPLE]; /* sap_cube_of changes its order; the units need particles, axis by axis */
    memcpy(sample, bounds->sample, sizeof sample);
    *cube = rules->whole ? rules->whole->cube : sap_cube_of(bounds->low, bounds->high, sample, bounds->members);
    frame->signs = bounds->signs;
    frame->gaps = cube->gaps;
    frame->cells = cube->cells;
    for (int k = 0; k < 3; k++) frame->low[k] = cube->low[k];
}

/* Whether some particle of a whole is beyond the range of float, in units, or has a length that needs double. */
static int reaches_far(const struct sap_tree_whole *whole, const struct sap_gpu_lengths *lengths,
                       const struct sap_tree_units *units)
{
    if (lengths->next->lengths && whole->shortest * units->unit < SAP_TREE_SHORT) return 1;
    return sap_cube_reach(&whole->cube, units->middle, whole->low, whole->high) * units->unit > SAP_TREE_NEAR;
}

/* Returns the unit of MULTIPOLE's tolerance. */
static double pull_of(const struct sap_gpu_rules *rules, const struct sap_gpu_bounds *b)
{
    if (rules->whole) return rules->whole->pull;
    return sap_gpu_frame_finds_pull(rules)
               ? sap_pull_of((const double(*)[SAP_CUBE_SAMPLE])b->sample, b->members, b->weight)
               : 1;
}

void sap_gpu_frame_units(struct sap_gpu_tree *frame, const struct sap_cube *cube, const struct sap_gpu_rules *rules,
                         const struct sap_gpu_bounds *bounds)
{
    const struct sap_tree_whole *const whole = rules->whole;
    const struct sap_gpu_lengths *const lengths = rules->lengths;
    const double period = rules->settings->period; /* images are as far: units are not smaller */
    const double longest_2 = whole && lengths->next->lengths ? sap_softening_longest_2(rules->settings, whole->longest)
                                                             : lengths->soft.longest_2;
    const struct sap_tree_units units = sap_cube_units(
        cube, whole ? whole->low : bounds->low, whole ? whole->high : bounds->high, fmax(longest_2, period * period));
    for (int k = 0; k < 3; k++) frame->middle[k] = units.middle[k];
    frame->unit = units.unit;
    frame->eps2 = sap_softening_eps2(&lengths->soft, &units);
    frame->flat = units.is_point || (whole && reaches_far(whole, lengths, &units)) ||
                  sap_gpu_lengths_short(lengths, rules->n, units.unit);
    frame->mass_unit = sap_cube_mass_unit(whole ? whole->weight : bounds->weight);
    frame->true_mass = 1 / frame->mass_unit;
    frame->pull = pull_of(rules, bounds);
}
