/* gpu_selection.c - see gpu_selection.h: level by level, for all parts at once. */
#include "gpu/tree/gpu_selection.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "gpu/gpu_launch.h"
#include "gpu/gpu_memory.h"
#include "gpu/gpu_primitives.h"
#include "gpu/tree/gpu_kernels.h"
#include "physics/scalars.h"

enum { BLOCK = SAP_HALO_BLOCK };

_Static_assert(sizeof(struct sap_halo_region) == SAP_HALO_REGION * sizeof(double), "regions as kernels see them");
_Static_assert(sizeof(struct sap_halo_node) == SAP_HALO_WORDS * sizeof(double), "nodes as kernels see them");

/* A selection under way: numbers in host memory. */
struct selecting {
    const struct sap_gpu_built *of;
    struct sap_gpu_selection *h;
    int parts, level_most;
    int in_order;                       /* particles are copied as the tree has them, not as they were given */
    long long most;                     /* entries, and particles; with more nothing is selected */
    int levels, n[SAP_TREE_LEVELS + 1]; /* entries of each level */
    int *first;                         /* [levels][parts + 1] first entry of each part in each level */
    int *shift, *base;                  /* [levels + 1][parts], [parts + 1]: as tree_halo_fill has them */
    int blocks;                         /* of regions */
    int *region_first;                  /* [parts + 1] */
    struct sap_halo_region *packed;     /* [blocks * BLOCK] regions, then [blocks] boxes of blocks */
};

static void free_selecting(struct selecting *s)
{
    free(s->first);
    free(s->region_first);
    free(s->packed);
}

/* ---- regions of other parts ----------------------------------------------------------------- */

static int is_there(const struct sap_halo_region *region) { return region->strictness >= 0; }

/* A region that no cell reaches. */
static struct sap_halo_region far_away(void)
{
    struct sap_halo_region r = {.strictness = 0};
    for (int c = 0; c < 3; c++) r.low[c] = SAP_LARGEST, r.high[c] = -SAP_LARGEST;
    return r;
}

/* Adds a region to the box of a block. */
static void widen(struct sap_halo_region *block, const struct sap_halo_region *region)
{
    for (int c = 0; c < 3; c++) {
        block->low[c] = d_min(block->low[c], region->low[c]);
        block->high[c] = d_max(block->high[c], region->high[c]);
    }
    block->strictness = d_max(block->strictness, region->strictness);
}

/* Counts the blocks of each part. */
static void count_blocks(struct selecting *s, const struct sap_halo_wish *w)
{
    s->blocks = 0;
    for (int p = 0; p < w->parts; p++) {
        int n = 0;
        for (int i = 0; i < w->room; i++) n += is_there(&w->region[(size_t)p * (size_t)w->room + (size_t)i]);
        s->region_first[p] = BLOCK * s->blocks;
        s->blocks += (n + BLOCK - 1) / BLOCK;
    }
    s->region_first[w->parts] = BLOCK * s->blocks;
}

/* Packs the regions that have particles, and makes the boxes of blocks. */
static void pack_regions(struct selecting *s, const struct sap_halo_wish *w)
{
    struct sap_halo_region *const block = s->packed + (size_t)BLOCK * (size_t)s->blocks;
    for (int i = 0; i < (BLOCK + 1) * s->blocks; i++) s->packed[i] = far_away();
    for (int p = 0; p < w->parts; p++) {
        int at = s->region_first[p];
        for (int i = 0; i < w->room; i++) {
            const struct sap_halo_region *const region = &w->region[(size_t)p * (size_t)w->room + (size_t)i];
            if (!is_there(region)) continue;
            s->packed[at] = *region;
            widen(&block[at / BLOCK], region);
            at++;
        }
    }
}

static int upload(const struct sap_gpu_session *session, struct sap_gpu_buffer *to, const void *from, size_t bytes)
{
    if (bytes == 0) return SAP_DRIVER_OK; /* no other part has targets, so nothing was reserved */
    TRY(sap_session_reserve(session, to, bytes));
    TRY(sap_session_copy_in(session, to->mem, 0, from, bytes));
    return sap_session_wait(session);
}

static int take_regions(struct selecting *s, const struct sap_halo_wish *w)
{
    struct sap_gpu_session *const session = s->of->session;
    const size_t each = sizeof *s->packed, parts = (size_t)s->parts;
    s->region_first = sap_session_host_memory(session, parts + 1, sizeof *s->region_first);
    if (!s->region_first) return SAP_DRIVER_MEMORY;
    count_blocks(s, w);
    const size_t blocks = (size_t)s->blocks;
    s->packed = sap_session_host_memory(session, (BLOCK + 1) * blocks + 1, each);
    if (!s->packed) return SAP_DRIVER_MEMORY;
    pack_regions(s, w);
    TRY(upload(session, &s->h->region_first, s->region_first, (parts + 1) * sizeof *s->region_first));
    TRY(upload(session, &s->h->region, s->packed, BLOCK * blocks * each));
    return upload(session, &s->h->block, s->packed + BLOCK * blocks, blocks * each);
}

/* The same of images, whose regions are in device memory. */
static int number_regions(struct selecting *s)
{
    struct sap_gpu_session *const session = s->of->session;
    const size_t many = (size_t)s->parts + 1;
    s->region_first = sap_session_host_memory(session, many, sizeof *s->region_first);
    if (!s->region_first) return SAP_DRIVER_MEMORY;
    for (int p = 0; p <= s->parts; p++) s->region_first[p] = p * SAP_HALO_REGIONS;
    return upload(session, &s->h->region_first, s->region_first, many * sizeof *s->region_first);
}

/* ---- levels ------------------------------------------------------------------------------------ */

/* Computes from which distance on nodes are accepted, and their parents. */
static int find_reach(const struct selecting *s)
{
    struct sap_gpu_selection *const h = s->h;
    struct sap_gpu_session *const session = s->of->session;
    const struct sap_gpu_nodes *const nodes = s->of->nodes;
    TRY(sap_session_reserve(session, &h->reach, (size_t)nodes->n * 2 * sizeof(double)));
    TRY(sap_session_reserve(session, &h->parent, (size_t)nodes->n * sizeof(int)));
    TRY(sap_launch_tree_halo_reach(session, s->of->f, nodes->n, nodes->link.mem, nodes->cell.mem, h->reach.mem,
                                   h->parent.mem, *s->of->frame));
    return s->of->lengths->law->reach(session, s->of->lengths, nodes, &h->reach, s->of->frame);
}

/* Begins the first level with the root, for each part that has regions. */
static int begin(struct selecting *s)
{
    struct sap_gpu_session *const session = s->of->session;
    const int parts = s->parts;
    struct sap_halo_entry *const entry = sap_session_host_memory(session, (size_t)parts + 1, sizeof *entry);
    if (!entry) return SAP_DRIVER_MEMORY;
    for (int p = 0; p < parts; p++)
        if (s->region_first[p + 1] > s->region_first[p]) entry[s->n[0]++] = (struct sap_halo_entry){.part = p};
    const int status = upload(session, &s->h->entry[0], entry, ((size_t)s->n[0] + 1) * sizeof *entry);
    free(entry);
    return status;
}

/* Finds which entries of a level are opened, so many in a launch that its threads are an int. */
static int open_level(const struct selecting *s, int level)
{
    enum { AT_ONCE = 1 << 24 };
    const struct sap_gpu_selection *const h = s->h;
    struct sap_gpu_session *const session = s->of->session;
    const int n = s->n[level];
    TRY(sap_session_fill(session, h->more.mem, 0, 0, (size_t)n * sizeof(int)));
    for (int first = 0; first < n; first += AT_ONCE) {
        const int threads = SAP_HALO_BLOCK * (n - first < AT_ONCE ? n - first : (int)AT_ONCE);
        TRY(sap_launch_tree_halo_open(session, s->of->f, threads, h->entry[level].mem, h->more.mem,
                                      s->of->nodes->cell.mem, h->reach.mem, h->parent.mem, h->region.mem, h->block.mem,
                                      h->region_first.mem, first, threads));
    }
    return SAP_DRIVER_OK;
}

static int test_level(const struct selecting *s, int level)
{
    const struct sap_gpu_selection *const h = s->h;
    const struct sap_gpu_nodes *const nodes = s->of->nodes;
    const int n = s->n[level], level_most = s->level_most;
    TRY(open_level(s, level));
    return sap_launch_tree_halo_test(s->of->session, s->of->f, n, h->entry[level].mem, h->more.mem, nodes->link.mem,
                                     nodes->level.mem, level_most, s->of->frame->order, n);
}

/* Finds the entries of the next level; waits for their number. */
static int make_level(struct selecting *s, int level)
{
    struct sap_gpu_selection *const h = s->h;
    struct sap_gpu_session *const session = s->of->session;
    const struct sap_gpu_nodes *const nodes = s->of->nodes;
    const int n = s->n[level], parts = s->parts;
    const size_t bytes = (size_t)n * sizeof(int), firsts = ((size_t)parts + 1) * sizeof(int);
    size_t at;
    TRY(sap_session_reserve(session, &h->more, bytes));
    TRY(sap_session_reserve(session, &h->before, bytes));
    TRY(sap_session_reserve(session, &h->level_first, firsts));
    TRY(sap_session_reserve(session, &session->scratch, sap_primitives_scratch(n)));
    TRY(test_level(s, level));
    TRY(sap_primitives_scan(session->primitives, session->stream, h->more.mem, h->before.mem, n, session->scratch.mem,
                            &at));
    TRY(sap_session_download(session, &s->n[level + 1], &session->scratch, at, sizeof(int)));
    TRY(sap_session_reserve(session, &h->entry[level + 1],
                            ((size_t)s->n[level + 1] + 1) * sizeof(struct sap_halo_entry)));
    TRY(sap_launch_tree_halo_spread(session, s->of->f, n, h->entry[level].mem, h->more.mem, h->before.mem,
                                    nodes->link.mem, h->entry[level + 1].mem, h->level_first.mem, parts, n));
    return sap_session_download(session, s->first + (size_t)level * ((size_t)parts + 1), &h->level_first, 0, firsts);
}

static int make_levels(struct selecting *s)
{
    struct sap_gpu_session *const session = s->of->session;
    long long entries = 0;
    const size_t parts = (size_t)s->parts, levels = SAP_TREE_LEVELS + 1;
    s->first =
        sap_session_host_memory(session, levels * (parts + 1) + (levels + 1) * parts + parts + 1, sizeof *s->first);
    if (!s->first) return SAP_DRIVER_MEMORY;
    s->shift = s->first + levels * (parts + 1);
    s->base = s->shift + (levels + 1) * parts;
    TRY(find_reach(s));
    TRY(begin(s));
    for (s->levels = 0; s->levels < SAP_TREE_LEVELS && s->n[s->levels] > 0 && entries <= s->most; s->levels++) {
        entries += s->n[s->levels];
        TRY(make_level(s, s->levels));
    }
    s->h->too_many = entries > s->most;
    return SAP_DRIVER_OK;
}

/* ---- what is sent ------------------------------------------------------------------------------ */

/* Finds where the entries of each level are sent; writes the number of nodes of each part. */
static void place_levels(struct selecting *s, int (*count)[2])
{
    const int parts = s->parts;
    int at = 0;
    for (int p = 0; p < parts; p++) {
        s->base[p] = at;
        for (int level = 0; level < s->levels; level++) {
            const int *const first = s->first + (size_t)level * ((size_t)parts + 1);
            s->shift[(size_t)level * (size_t)parts + (size_t)p] = at - first[p];
            at += first[p + 1] - first[p];
        }
        count[p][0] = at - s->base[p];
    }
    s->base[parts] = at;
}

/* Finds the first particle of each node and part; writes the number of particles of each part; waits. */
static int place_particles(const struct selecting *s, int (*count)[2])
{
    struct sap_gpu_selection *const h = s->h;
    struct sap_gpu_session *const session = s->of->session;
    const int parts = s->parts, nodes = s->base[parts] + 1, n = parts + 1;
    int *const first = s->first; /* which is not needed any more */
    size_t at;
    TRY(sap_session_reserve(session, &h->more, (size_t)nodes * sizeof(int)));
    TRY(sap_session_reserve(session, &h->before, (size_t)nodes * sizeof(int)));
    TRY(sap_session_reserve(session, &h->x_base, (size_t)n * sizeof(int)));
    TRY(sap_session_reserve(session, &session->scratch, sap_primitives_scratch(nodes)));
    TRY(sap_session_fill(session, h->more.mem, 0, 0, (size_t)nodes * sizeof(int)));
    for (int level = 0; level < s->levels; level++) {
        const int shift_at = level * parts, some = s->n[level];
        TRY(sap_launch_tree_halo_place(session, s->of->f, some, h->entry[level].mem, h->shift.mem, shift_at,
                                       h->more.mem, some));
    }
    TRY(sap_primitives_scan(session->primitives, session->stream, h->more.mem, h->before.mem, nodes,
                            session->scratch.mem, &at));
    TRY(sap_launch_tree_halo_bases(session, s->of->f, n, h->before.mem, h->base.mem, h->x_base.mem, n));
    TRY(sap_session_download(session, first, &h->x_base, 0, (size_t)n * sizeof(int)));
    for (int p = 0; p < parts; p++) count[p][1] = first[p + 1] - first[p];
    h->sent = s->base[parts];
    h->sent_x = first[parts];
    h->too_many = h->sent_x > s->most;
    return SAP_DRIVER_OK;
}

static int reserve_made(const struct selecting *s)
{
    struct sap_gpu_selection *const h = s->h;
    struct sap_gpu_session *const session = s->of->session;
    const size_t nodes = (size_t)h->sent, n = (size_t)h->sent_x;
    TRY(sap_session_reserve(session, &h->made, nodes * sizeof(struct sap_halo_node)));
    TRY(sap_session_reserve(session, &h->made_x, (n + 1) * 4 * sizeof(double)));
    h->words = s->of->lengths->law->of_node;
    if (h->words == 0) return SAP_DRIVER_OK;
    TRY(sap_session_reserve(session, &h->made_lengths, nodes * (size_t)h->words * sizeof(double)));
    return sap_session_reserve(session, &h->made_h, (n + 1) * sizeof(double));
}

/* Writes the softening lengths of the entries of a level. */
static int fill_lengths(const struct selecting *s, int level)
{
    const struct sap_gpu_selection *const h = s->h;
    const struct sap_gpu_length_fill all = {.entries = s->n[level],
                                            .shift_at = level * s->parts,
                                            .entry = &h->entry[level],
                                            .shift = &h->shift,
                                            .before = &h->before,
                                            .address = &s->of->own->address,
                                            .made = &h->made_lengths,
                                            .made_h = &h->made_h,
                                            .in_order = s->in_order ? &s->of->own->length : NULL,
                                            .nodes = s->of->nodes};
    return s->of->lengths->law->fill(s->of->session, s->of->lengths, &all, s->of->frame->unit);
}

static int fill(const struct selecting *s)
{
    struct sap_gpu_selection *const h = s->h;
    struct sap_gpu_session *const session = s->of->session;
    const struct sap_gpu_nodes *const nodes = s->of->nodes;
    const int parts = s->parts, has_address = !s->in_order;
    const struct sap_gpu_buffer *const from = s->in_order ? &s->of->own->sorted : &s->of->given->particle;
    TRY(reserve_made(s));
    for (int level = 0; level < s->levels; level++) {
        const int shift_at = level * parts;
        TRY(sap_launch_tree_halo_fill(session, s->of->f, s->n[level], h->entry[level].mem, h->shift.mem, shift_at,
                                      parts, h->base.mem, h->x_base.mem, h->before.mem, nodes->link.mem,
                                      nodes->cell.mem, from->mem, s->of->own->address.mem, has_address, h->made.mem,
                                      h->made_x.mem));
        TRY(fill_lengths(s, level));
    }
    return sap_session_wait(session);
}

static int select_all(struct selecting *s, int (*count)[2])
{
    const size_t parts = (size_t)s->parts;
    TRY(make_levels(s));
    if (s->h->too_many) return SAP_DRIVER_OK;
    place_levels(s, count);
    if (s->levels == 0) return SAP_DRIVER_OK;
    TRY(upload(s->of->session, &s->h->shift, s->shift, ((size_t)s->levels + 1) * parts * sizeof *s->shift));
    TRY(upload(s->of->session, &s->h->base, s->base, (parts + 1) * sizeof *s->base));
    TRY(place_particles(s, count));
    return s->h->too_many ? (int)SAP_DRIVER_OK : fill(s);
}

/* Selects with the regions of a wish; NULL: those of images. */
static int begin_and_select(struct selecting *s, const struct sap_halo_wish *wish, int (*count)[2])
{
    s->h->sent = s->h->sent_x = s->h->too_many = 0;
    memset(count, 0, (size_t)s->parts * sizeof *count);
    int status = wish ? take_regions(s, wish) : number_regions(s);
    if (!status) status = select_all(s, count);
    free_selecting(s);
    return status;
}

int sap_gpu_selection_make(struct sap_gpu_selection *h, const struct sap_gpu_built *of,
                           const struct sap_halo_wish *wish, int (*count)[2])
{
    struct selecting s = {.of = of, .h = h, .parts = wish->parts, .level_most = wish->level_most, .most = LLONG_MAX};
    return begin_and_select(&s, wish, count);
}

int sap_gpu_selection_images(struct sap_gpu_selection *h, const struct sap_gpu_built *of, long long most,
                             int (*count)[2])
{
    struct selecting s = {
        .of = of, .h = h, .parts = SAP_HALO_IMAGES, .level_most = SAP_TREE_LEVELS, .in_order = 1, .most = most};
    return begin_and_select(&s, NULL, count);
}

int sap_gpu_selection_fetch(const struct sap_gpu_selection *h, struct sap_gpu_session *s,
                            const struct sap_halo_room *to)
{
    const size_t nodes = (size_t)h->sent, n = (size_t)h->sent_x;
    TRY(sap_session_download(s, to->node, &h->made, 0, nodes * sizeof *to->node));
    TRY(sap_session_download(s, to->x, &h->made_x, 0, n * sizeof *to->x));
    if (!to->h) return SAP_DRIVER_OK;
    TRY(sap_session_download(s, to->of_node, &h->made_lengths, 0, nodes * (size_t)h->words * sizeof *to->of_node));
    return sap_session_download(s, to->h, &h->made_h, 0, n * sizeof *to->h);
}

void sap_gpu_selection_free(const struct sap_driver *driver, struct sap_gpu_selection *h)
{
    struct sap_gpu_buffer *const all[] = {&h->region,      &h->block, &h->region_first, &h->reach,        &h->parent,
                                          &h->level_first, &h->more,  &h->before,       &h->shift,        &h->base,
                                          &h->x_base,      &h->made,  &h->made_x,       &h->made_lengths, &h->made_h};
    for (int k = 0; k < COUNT(all); k++) sap_gpu_free(driver, all[k]);
    for (int k = 0; k < COUNT(h->entry); k++) sap_gpu_free(driver, &h->entry[k]);
}
