/*
 * tree_images.h - kernels that select what acts on the targets of a periodic tree from its images: the regions of the
 * targets, as the images see them, and the shift of what was selected (device/tree_halo.h).  Image p of the
 * SAP_HALO_IMAGES around the cube is part p.
 */
#include "device/tree_halo.h"
#include "device/tree_image_rest.h"

/* Returns component c of the shift of image p, in edges of the cube. */
SAP_INLINE D image_shift(int p, int c, D period)
{
    const int k = p < SAP_NO_SHIFT ? p : p + 1;
    return d_mul(d_of_int(SAP_SHIFT_OF(k, c)), period);
}

/* Adds the bound of a group, and what is close to it, to a region. */
SAP_INLINE void add_bound(struct region_look *to, const struct sap_bound *bound, D length)
{
    const D close = d_add(sap_bound_close(bound, d_set1(SAP_ONE)), length);
    for (int c = 0; c < 3; c++) {
        const D width = d_add(d_add(bound->extent[c], bound->radius), close);
        to->low[c] = d_min(to->low[c], d_sub(bound->centre[c], width));
        to->high[c] = d_max(to->high[c], d_add(bound->centre[c], width));
    }
    to->is_any = 1;
}

/* Writes a region as all images see it. */
SAP_INLINE void tell_images(const struct region_look *look, D strictness, D period, GLOBAL D *region)
{
    const D large = d_set1(SAP_LARGEST);
    for (int p = (int)local_id(); p < SAP_HALO_IMAGES; p += SAP_HALO_TELLERS) {
        GLOBAL D *const to = region + SAP_HALO_REGION * ((size_t)p * SAP_HALO_REGIONS + (size_t)group_id(0));
        for (int c = 0; c < 3; c++) {
            const D shift = image_shift(p, c, period);
            to[c] = look->is_any ? d_sub(look->low[c], shift) : large;
            to[3 + c] = look->is_any ? d_sub(look->high[c], shift) : d_neg(large);
        }
        to[6] = strictness;
    }
}

/*
 * Makes SAP_HALO_REGIONS regions of the targets, a group of threads each: runs of n groups of targets, or of n slots of
 * selected ones.  strict: of groups or slots; longest: of groups, in units.
 */
KERNEL(SAP_HALO_TELLERS)
tree_image_regions(const GLOBAL D *bounds, const GLOBAL int *group_of, const GLOBAL int *slot, const int has_slot,
                   const GLOBAL float *strict, const int has_strict, const GLOBAL float *longest, const int has_length,
                   const GLOBAL struct sap_cell *cell, const D period, GLOBAL D *region, const int n,
                   const struct sap_gpu_tree t)
{
    SHARED D room[SAP_HALO_REGION * SAP_HALO_TELLERS];
    SHARED int any[SAP_HALO_TELLERS];
    const long r = (long)group_id(0), all = SAP_HALO_REGIONS;
    const int from = (int)((long)n * r / all), to = (int)((long)n * (r + 1) / all);
    struct region_look look;
    for (int c = 0; c < 3; c++) look.low[c] = d_set1(SAP_LARGEST), look.high[c] = d_neg(d_set1(SAP_LARGEST));
    look.least = d_set1(SAP_ZERO); /* of what makes targets strict, the most with a minus sign */
    look.is_any = 0;
    for (int k = from + (int)local_id(); k < to; k += SAP_HALO_TELLERS) {
        const int g = has_slot ? group_of[slot[k]] : k;
        const struct sap_bound bound = load_bound(bounds, g);
        add_bound(&look, &bound, has_length ? d_div((D)longest[g], t.unit) : d_set1(SAP_ZERO));
        if (has_strict) look.least = d_min(look.least, d_neg((D)strict[k]));
    }
    join_looks(room, any, &look);
    const struct sap_cell root = cell[0];
    const struct sap_criterion how = sap_criterion_of(t.mac, t.order, t.accuracy, t.pull);
    const D word = d_mul(d_neg(look.least), d_set1(SAP_NUMBER(0x1.00001p0, 0x3FF0000100000000UL))); /* a float */
    tell_images(&look, d_mul(word, d_div(sap_turn_unit(&root, &how, t.unit), t.unit)), period, region);
}

/* Makes the boxes of n blocks of regions. */
KERNEL(SAP_TREE_THREADS)
tree_image_blocks(const GLOBAL D *region, GLOBAL D *block, const int n)
{
    const int b = (int)global_id();
    if (b >= n) return;
    GLOBAL D *const to = block + SAP_HALO_REGION * (size_t)b;
    for (int r = 0; r < SAP_HALO_BLOCK; r++) {
        const GLOBAL D *const one = region + SAP_HALO_REGION * (size_t)(SAP_HALO_BLOCK * b + r);
        for (int w = 0; w < SAP_HALO_REGION; w++)
            to[w] = r == 0 ? one[w] : w < 3 ? d_min(to[w], one[w]) : d_max(to[w], one[w]);
    }
}

/*
 * Shifts `nodes` selected nodes, and copies n particles to where they act, behind `before` others.  first: as of
 * tree_halo_join.
 */
KERNEL(SAP_TREE_THREADS)
tree_image_place(GLOBAL D *made, const GLOBAL D *made_x, const GLOBAL int *first, const int parts, GLOBAL D *x,
                 const D period, const int before, const int nodes, const int n)
{
    const int k = (int)global_id();
    if (k < nodes) {
        const int p = part_of_node(first, parts, k);
        GLOBAL D *const cell = made + SAP_HALO_WORDS * (size_t)k; /* struct sap_cell */
        for (int w = 2; w < 11; w++) cell[w] = d_add(cell[w], image_shift(p, (w - 2) % 3, period));
    }
    if (k < n) {
        const int p = part_of_node(first + 2 * parts, parts, before + k);
        const GLOBAL D *const from = made_x + 4 * (size_t)k;
        GLOBAL D *const to = x + 4 * ((size_t)before + (size_t)k);
        for (int c = 0; c < 3; c++) to[c] = d_add(from[c], image_shift(p, c, period));
        to[3] = from[3];
    }
}
