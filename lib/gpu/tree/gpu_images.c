/* gpu_images.c - see gpu_images.h. */
#include "gpu/tree/gpu_images.h"

#include <limits.h>

#include "gpu/gpu_launch.h"
#include "gpu/tree/gpu_kernels.h"
#include "physics/tree_periodic.h"

enum { IMAGES = SAP_HALO_IMAGES, BLOCKS = IMAGES * SAP_HALO_REGIONS / SAP_HALO_BLOCK };
enum { MOST = 4, FEW = 1 << 16 }; /* nodes, and particles, of a halo: so many per particle of the tree, and these */
_Static_assert((int)SAP_HALO_IMAGES == SAP_NEAR_IMAGES - 1, "all near images but the cube itself");
_Static_assert(SAP_HALO_REGIONS % SAP_HALO_BLOCK == 0, "the regions of an image are whole blocks");

/*
 * Makes the regions of the targets: of groups, or, where these differ in strictness, of the slots that walk. Regions of
 * the tree's own particles are of all of them unless their strictness counts, so that a halo serves all subsets.
 */
static int make_regions(struct sap_gpu_images *images, const struct sap_gpu_built *tree,
                        const struct sap_gpu_subset *to)
{
    const struct sap_gpu_session *const s = tree->session;
    const struct sap_gpu_targets *const of = to->of;
    struct sap_gpu_selection *const h = &images->selection;
    const int has_strict = to->w.strict, has_slot = has_strict && !to->w.all_slots;
    const int n = has_slot ? to->w.slots : of->groups;
    const int has_length = tree->lengths->law->number == SAP_GPU_SPLINE;
    const size_t region = SAP_HALO_REGION * sizeof(double);
    TRY(sap_session_reserve(s, &h->region, (size_t)IMAGES * SAP_HALO_REGIONS * region));
    TRY(sap_session_reserve(s, &h->block, (size_t)BLOCKS * region));
    TRY(sap_launch_tree_image_regions(s, tree->f, SAP_HALO_REGIONS, of->bound.mem, of->group_of.mem, to->slot->mem,
                                      has_slot, to->strict->mem, has_strict,
                                      has_length ? of->longest.mem : of->bound.mem, has_length, tree->nodes->cell.mem,
                                      images->period, h->region.mem, n, *tree->frame));
    return sap_launch_tree_image_blocks(s, tree->f, BLOCKS, h->region.mem, h->block.mem, BLOCKS);
}

/* Copies nodes and particles of the tree, with their lengths, to the front of the halo, which has room for all. */
static int copy_tree(struct sap_gpu_images *images, const struct sap_gpu_built *tree, int nodes, int n)
{
    const struct sap_gpu_session *const s = tree->session;
    const struct sap_gpu_nodes *const from = tree->nodes;
    struct sap_gpu_halo *const to = &images->halo;
    const size_t words = (size_t)tree->lengths->law->of_node * sizeof(double), each = sizeof(double);
    const size_t own_nodes = (size_t)from->n, own_n = (size_t)tree->own->n;
    TRY(sap_gpu_halo_reserve(s, to, nodes, n));
    TRY(sap_session_copy(s, to->nodes.link.mem, 0, from->link.mem, 0, own_nodes * sizeof(struct sap_tree_link)));
    TRY(sap_session_copy(s, to->nodes.cell.mem, 0, from->cell.mem, 0, own_nodes * SAP_GPU_CELL));
    TRY(sap_session_copy(s, to->sorted.mem, 0, tree->own->sorted.mem, 0, own_n * 4 * each));
    if (words == 0) return SAP_DRIVER_OK;
    TRY(sap_session_reserve(s, &to->lengths.of_particle, (size_t)n * each));
    TRY(sap_session_reserve(s, &to->lengths.of_node, ((size_t)nodes + (size_t)nodes / 4 + 2) * words));
    TRY(sap_session_copy(s, to->lengths.of_particle.mem, 0, tree->own->length.mem, 0, own_n * each));
    return sap_session_copy(s, to->lengths.of_node.mem, 0, tree->lengths->of_node.mem, 0, own_nodes * words);
}

/* Joins what was selected to the tree. */
static int join(struct sap_gpu_images *images, const struct sap_gpu_built *tree, const int (*count)[2])
{
    struct sap_gpu_session *const s = tree->session;
    struct sap_gpu_selection *const from = &images->selection;
    struct sap_gpu_halo *const halo = &images->halo;
    const int own_n = tree->own->n;
    struct sap_gpu_arrived a = sap_gpu_halo_table(IMAGES, count, own_n, images->table);
    const int nodes = a.nodes, n = a.n, most = nodes > n ? nodes : n;
    a.in_units = 1;
    a.before = tree->nodes->n;
    TRY(sap_session_reserve(s, &images->first, sizeof images->table));
    TRY(sap_session_copy_in(s, images->first.mem, 0, images->table, sizeof images->table));
    TRY(copy_tree(images, tree, a.before + nodes, own_n + n));
    TRY(sap_launch_tree_image_place(s, tree->f, most, from->made.mem, from->made_x.mem, images->first.mem, IMAGES,
                                    halo->sorted.mem, images->period, own_n, nodes, n));
    TRY(sap_gpu_halo_join(halo, tree, &from->made, &images->first, &a));
    return sap_gpu_halo_join_lengths(halo, tree, &from->made_lengths, &from->made_h, &images->first, &a);
}

/* Returns how many nodes, and particles, of images are joined to a tree of n particles: all must have a number. */
static long long most_of(int n)
{
    const long long most = (long long)MOST * n + FEW, numbers = INT_MAX - (long long)n;
    return most < numbers ? most : numbers;
}

int sap_gpu_images_make(struct sap_gpu_images *images, const struct sap_gpu_built *tree,
                        const struct sap_gpu_subset *to, int *fits)
{
    const int serves_all = to->of == tree->own && !to->w.strict;
    int count[IMAGES][2];
    *fits = 1;
    if (serves_all && images->known) return SAP_DRIVER_OK;
    images->known = 0;
    TRY(make_regions(images, tree, to));
    TRY(sap_gpu_selection_images(&images->selection, tree, most_of(tree->frame->n), count));
    *fits = !images->selection.too_many;
    if (!*fits) return SAP_DRIVER_OK;
    TRY(join(images, tree, (const int(*)[2])count));
    images->known = serves_all;
    return SAP_DRIVER_OK;
}

size_t sap_gpu_images_bytes(int n)
{
    const size_t particles = 2 * (size_t)n + 26 * (size_t)(n < FEW / 26 ? n : FEW / 26), nodes = particles / 4;
    const size_t of_particle = 2 * 4 * sizeof(double);
    const size_t of_node = 2 * SAP_HALO_WORDS * sizeof(double) + sizeof(struct sap_tree_link) + 96 + 2 * sizeof(double);
    return particles * of_particle + nodes * of_node;
}

void sap_gpu_images_free(const struct sap_driver *driver, struct sap_gpu_images *images)
{
    sap_gpu_selection_free(driver, &images->selection);
    sap_gpu_halo_free(driver, &images->halo);
    sap_gpu_free(driver, &images->first);
    images->known = 0;
}
