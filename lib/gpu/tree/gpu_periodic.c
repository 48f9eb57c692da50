/* gpu_periodic.c - see gpu_periodic.h. */
#include "gpu/tree/gpu_periodic.h"

#include "engine/ewald.h"
#include "engine/periodic.h"
#include "gpu/gpu_launch.h"
#include "gpu/tree/gpu_kernels.h"
#include "physics/tree_periodic.h"

enum { PARTS = 256, FIELD = SAP_FAR_TERMS * sizeof(double), PARTICLE = 4 * sizeof(double) };
_Static_assert((int)SAP_FAR_PAIRS <= (int)SAP_TREE_THREADS, "a thread has two degrees");

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
    p->known = 0;
    p->least = sap_periodic_least(p->period, weight, n);
}

int sap_gpu_periodic_raise(const struct sap_gpu_periodic *p, const struct sap_gpu_built *tree,
                           const struct sap_gpu_buffer *a, int n)
{
    if (!(p->least > 0) || n == 0) return SAP_DRIVER_OK;
    return sap_launch_tree_least(tree->session, tree->f, n, a->mem, p->least, n);
}

/* ---- the field ---------------------------------------------------------------------------- */

/* Computes the field of the particles of the tree unless it is known; waits for their moments. */
static int make_field(struct sap_gpu_periodic *p, const struct sap_gpu_built *tree)
{
    struct sap_gpu_session *const s = tree->session;
    const int n = tree->frame->n;
    double moments[SAP_FAR_TERMS], field[SAP_FAR_TERMS];
    if (p->known) return SAP_DRIVER_OK;
    TRY(sap_session_reserve(s, &p->part, (size_t)PARTS * FIELD));
    TRY(sap_session_reserve(s, &p->far_sums, FIELD));
    TRY(sap_session_reserve(s, &p->field, FIELD));
    TRY(sap_launch_tree_far_moments(s, tree->f, PARTS, tree->own->sorted.mem, p->part.mem, 1 / p->period, PARTS, n));
    TRY(sap_launch_tree_far_join(s, tree->f, SAP_FAR_TERMS, p->part.mem, p->far_sums.mem, PARTS, SAP_FAR_TERMS));
    TRY(sap_session_download(s, moments, &p->far_sums, 0, sizeof moments));
    if (sap_ewald_field(moments, field)) return SAP_DRIVER_MEMORY;
    TRY(sap_session_copy_in(s, p->field.mem, 0, field, sizeof field));
    TRY(sap_session_wait(s));
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

/* Walks for image k of the targets. */
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

/* Adds the far images to the sums, and writes the rows. */
static int finish(struct sap_gpu_periodic *p, const struct sap_gpu_walking *walk, const struct sap_gpu_subset *to,
                  int tidal)
{
    const struct sap_gpu_built *const tree = &walk->tree;
    const struct sap_gpu_session *const s = tree->session;
    const struct sap_gpu_results *const r = walk->results;
    const int n = to->w.slots;
    const double inverse = 1 / p->period, mass_unit = tree->frame->mass_unit;
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
    TRY(make_field(p, &walk->tree));
    for (int k = 0; k < SAP_NEAR_IMAGES; k++) TRY(walk_image(p, walk, to, k, tidal));
    return finish(p, walk, to, tidal);
}

/* ---- memory ------------------------------------------------------------------------------- */

size_t sap_gpu_periodic_bytes(const struct sap_tree_settings *settings, int n)
{
    return settings->period > 0 ? (size_t)n * (2 * PARTICLE + SAP_GROUP_WORDS) + (PARTS + 2) * (size_t)FIELD : 0;
}

void sap_gpu_periodic_free(const struct sap_driver *driver, struct sap_gpu_periodic *p)
{
    struct sap_gpu_buffer *const all[] = {&p->sorted, &p->bound, &p->acc,      &p->pot,
                                          &p->told,   &p->part,  &p->far_sums, &p->field};
    for (int k = 0; k < COUNT(all); k++) sap_gpu_free(driver, all[k]);
}
