/* gpu_periodic.c - see gpu_periodic.h. */
#include "gpu/tree/gpu_periodic.h"

#include <string.h>

#include "engine/ewald.h"
#include "engine/periodic.h"
#include "gpu/gpu_launch.h"
#include "gpu/tree/gpu_kernels.h"
#include "physics/tree_periodic.h"

enum {
    MOMENTS = SAP_FAR_TERMS * sizeof(double),
    FIELD = SAP_FAR_FIELD * sizeof(double),
    PARTICLE = 4 * sizeof(double)
};
enum { MOST_PARTS = 1056, PART_LEAST = 64 }; /* of particles that have moments of their own, and particles of a part */
_Static_assert((int)SAP_FAR_PAIRS <= 5 * (int)SAP_FAR_THREADS, "a thread has five pairs of degrees");

/* ---- particles ---------------------------------------------------------------------------- */

int sap_gpu_periodic_inside(const struct sap_gpu_periodic *p, const struct sap_gpu_session *s,
                            const struct sap_gpu_tree_kernels *f, const struct sap_gpu_buffer *particle, int n)
{
    if (!(p->period > 0) || n == 0) return SAP_DRIVER_OK;
    return sap_launch_tree_inside(s, f, n, particle->mem, p->period, n);
}

int sap_gpu_periodic_follow(const struct sap_gpu_periodic *p, const struct sap_gpu_built *tree,
                            const struct sap_gpu_buffer *particle, int n)
{
    if (!(p->period > 0) || n == 0) return SAP_DRIVER_OK;
    return sap_launch_tree_follow(tree->session, tree->f, n, particle->mem, tree->own->sorted.mem,
                                  tree->own->address.mem, p->period, n);
}

void sap_gpu_periodic_changed(struct sap_gpu_periodic *p, double weight, int n)
{
    p->known = p->images.known = 0;
    p->images.period = p->period;
    p->least = sap_periodic_least(p->period, weight, n);
}

int sap_gpu_periodic_raise(const struct sap_gpu_periodic *p, const struct sap_gpu_built *tree,
                           const struct sap_gpu_buffer *a, int n)
{
    if (!(p->least > 0) || n == 0) return SAP_DRIVER_OK;
    return sap_launch_tree_least(tree->session, tree->f, n, a->mem, p->least, n);
}

/* ---- the field ---------------------------------------------------------------------------- */

/* Returns how many parts of n particles have moments of their own: MOST_PARTS keep a device busy. */
static int parts_of(int n) { return n < MOST_PARTS * PART_LEAST ? 1 + n / PART_LEAST : (int)MOST_PARTS; }

/* Launches the moments of the particles of the tree, and copies them to the host. */
static int start_field(struct sap_gpu_periodic *p, const struct sap_gpu_built *tree)
{
    struct sap_gpu_session *const s = tree->session;
    const int n = tree->frame->n, parts = parts_of(n);
    if (p->known) return SAP_DRIVER_OK;
    p->images.known = 0; /* what finds the images waits for the moments, too */
    TRY(sap_session_reserve(s, &p->part, (size_t)parts * MOMENTS));
    TRY(sap_session_reserve(s, &p->far_sums, MOMENTS));
    TRY(sap_gpu_reserve_pinned(s->driver, s->device->dev, &p->moments, FIELD));
    TRY(sap_launch_tree_far_moments(s, tree->f, parts, tree->own->sorted.mem, p->part.mem, 1 / p->period, parts, n));
    TRY(sap_launch_tree_far_join(s, tree->f, SAP_FAR_TERMS, p->part.mem, p->far_sums.mem, parts, SAP_FAR_TERMS));
    return sap_session_copy_out(s, p->moments.host, p->far_sums.mem, 0, MOMENTS);
}

/* Computes the field of moments that have been copied. */
static int end_field(struct sap_gpu_periodic *p, const struct sap_gpu_built *tree)
{
    const struct sap_gpu_session *const s = tree->session;
    double field[SAP_FAR_FIELD];
    if (p->known) return SAP_DRIVER_OK;
    if (sap_ewald_field(p->moments.host, field)) return SAP_DRIVER_MEMORY;
    TRY(sap_session_reserve(s, &p->field, FIELD));
    memcpy(p->moments.host, field, sizeof field); /* pinned: what copies it need not wait */
    TRY(sap_session_copy_in(s, p->field.mem, 0, p->moments.host, FIELD));
    p->known = 1;
    return SAP_DRIVER_OK;
}

/* ---- images ------------------------------------------------------------------------------- */

/* Copies the target particles and the bounds of their groups for image k. */
static int shift(struct sap_gpu_periodic *p, const struct sap_gpu_built *tree, const struct sap_gpu_targets *of, int k)
{
    const double x = SAP_SHIFT_OF(k, 0) * p->period, y = SAP_SHIFT_OF(k, 1) * p->period;
    const double z = SAP_SHIFT_OF(k, 2) * p->period;
    const struct sap_gpu_session *const s = tree->session;
    TRY(sap_session_reserve(s, &p->sorted, (size_t)of->n * PARTICLE));
    TRY(sap_session_reserve(s, &p->bound, (size_t)of->groups * SAP_GROUP_WORDS * sizeof(double)));
    TRY(sap_launch_tree_shift(s, tree->f, of->n, of->sorted.mem, p->sorted.mem, 4, x, y, z, of->n));
    return sap_launch_tree_shift(s, tree->f, of->groups, of->bound.mem, p->bound.mem, SAP_GROUP_WORDS, x, y, z,
                                 of->groups);
}

/* Adds results of a walk to the sums over images. */
static int add(struct sap_gpu_periodic *p, const struct sap_gpu_walking *walk, int slots, int tidal, int is_first)
{
    const struct sap_gpu_built *const tree = &walk->tree;
    const struct sap_gpu_session *const s = tree->session;
    const int width = tidal ? SAP_FAR_TIDAL : 3, n = width * slots;
    TRY(sap_session_reserve(s, &p->acc, (size_t)slots * (size_t)width * sizeof(double)));
    TRY(sap_session_reserve(s, &p->pot, (size_t)slots * sizeof(double)));
    TRY(sap_session_reserve(s, &p->told, SAP_LEFT_COUNT * sizeof(int)));
    TRY(sap_launch_tree_image_tell(s, tree->f, 1, walk->lists->left.mem, p->told.mem, !is_first));
    if (tidal) return sap_launch_tree_image_add(s, tree->f, n, walk->results->tidal.mem, p->acc.mem, !is_first, n);
    TRY(sap_launch_tree_image_add(s, tree->f, n, walk->results->acc.mem, p->acc.mem, !is_first, n));
    return sap_launch_tree_image_add(s, tree->f, slots, walk->results->pot.mem, p->pot.mem, !is_first, slots);
}

/* Walks for image k of the targets, and adds the results. */
static int walk_image(struct sap_gpu_periodic *p, const struct sap_gpu_walking *walk, const struct sap_gpu_subset *to,
                      int k, int tidal)
{
    struct sap_gpu_targets of = *to->of;
    struct sap_gpu_subset image = *to;
    if (k != SAP_NO_SHIFT) {
        TRY(shift(p, &walk->tree, to->of, k));
        of.sorted = p->sorted;
        of.bound = p->bound;
        image.of = &of;
        image.w.own = 0;
    }
    TRY(tidal ? sap_gpu_walk_tidal(walk, &image) : sap_gpu_walk_run(walk, &image));
    return add(p, walk, to->w.slots, tidal, k == 0);
}

/* Walks for each image of the targets. */
static int walk_images(struct sap_gpu_periodic *p, const struct sap_gpu_walking *walk, const struct sap_gpu_subset *to,
                       int tidal)
{
    TRY(sap_session_wait(walk->tree.session)); /* for the moments */
    for (int k = 0; k < SAP_NEAR_IMAGES; k++) TRY(walk_image(p, walk, to, k, tidal));
    return SAP_DRIVER_OK;
}

/* Walks through the tree and its images, which have been joined. */
static int walk_joined(const struct sap_gpu_periodic *p, const struct sap_gpu_walking *walk,
                       const struct sap_gpu_subset *to)
{
    const struct sap_gpu_halo *const halo = &p->images.halo;
    struct sap_gpu_walking joined = *walk;
    struct sap_gpu_subset by_both = *to;
    joined.nodes = &halo->nodes;
    joined.sorted = &halo->sorted;
    joined.length = &halo->lengths.of_particle;
    joined.soft = &halo->lengths.of_node;
    by_both.w.more = walk->tree.nodes->n;
    return sap_gpu_walk_run(&joined, &by_both);
}

/* Adds the far images to the results of one walk. */
static int finish_joined(struct sap_gpu_periodic *p, const struct sap_gpu_walking *walk,
                         const struct sap_gpu_subset *to)
{
    const struct sap_gpu_built *const tree = &walk->tree;
    const struct sap_gpu_results *const r = walk->results;
    TRY(end_field(p, tree));
    return sap_launch_tree_far_force(tree->session, tree->f, to->w.slots, to->of->sorted.mem, to->slot->mem,
                                     to->w.all_slots, to->row->mem, p->field.mem, r->acc.mem, r->pot.mem, r->acc.mem,
                                     r->pot.mem, walk->lists->left.mem, 1 / p->period, tree->frame->mass_unit,
                                     to->w.slots);
}

/* Adds the far images to the sums over the near ones, and writes the rows. */
static int finish_images(struct sap_gpu_periodic *p, const struct sap_gpu_walking *walk,
                         const struct sap_gpu_subset *to, int tidal)
{
    const struct sap_gpu_built *const tree = &walk->tree;
    const struct sap_gpu_session *const s = tree->session;
    const struct sap_gpu_results *const r = walk->results;
    const int n = to->w.slots;
    const double inverse = 1 / p->period, mass_unit = tree->frame->mass_unit;
    TRY(end_field(p, tree));
    TRY(tidal
            ? sap_launch_tree_far_tidal(s, tree->f, n, to->of->sorted.mem, to->slot->mem, to->w.all_slots, to->row->mem,
                                        p->field.mem, p->acc.mem, r->tidal.mem, p->told.mem, inverse, mass_unit, n)
            : sap_launch_tree_far_force(s, tree->f, n, to->of->sorted.mem, to->slot->mem, to->w.all_slots, to->row->mem,
                                        p->field.mem, p->acc.mem, p->pot.mem, r->acc.mem, r->pot.mem, p->told.mem,
                                        inverse, mass_unit, n));
    return sap_session_copy(s, walk->lists->left.mem, 0, p->told.mem, 0, SAP_LEFT_COUNT * sizeof(int));
}

int sap_gpu_periodic_walk(struct sap_gpu_periodic *p, const struct sap_gpu_walking *walk,
                          const struct sap_gpu_subset *to, int tidal)
{
    int joins = !walk->stops;
    TRY(start_field(p, &walk->tree));
    if (joins) TRY(sap_gpu_images_make(&p->images, &walk->tree, to, &joins));
    TRY(joins ? walk_joined(p, walk, to) : walk_images(p, walk, to, tidal));
    return joins ? finish_joined(p, walk, to) : finish_images(p, walk, to, tidal);
}

/* ---- memory ------------------------------------------------------------------------------- */

size_t sap_gpu_periodic_bytes(const struct sap_tree_settings *settings, int n)
{
    if (!(settings->period > 0)) return 0;
    return (size_t)n * (2 * PARTICLE + SAP_GROUP_WORDS) + (MOST_PARTS + 1) * (size_t)MOMENTS + FIELD +
           sap_gpu_images_bytes(n);
}

void sap_gpu_periodic_free(const struct sap_driver *driver, struct sap_gpu_periodic *p)
{
    struct sap_gpu_buffer *const all[] = {&p->sorted, &p->bound,    &p->acc,   &p->pot,    &p->told,
                                          &p->part,   &p->far_sums, &p->field, &p->moments};
    for (int k = 0; k < COUNT(all); k++) sap_gpu_free(driver, all[k]);
    sap_gpu_images_free(driver, &p->images);
}
