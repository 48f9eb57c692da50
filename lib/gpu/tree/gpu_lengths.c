/* gpu_lengths.c - the softening of a tree on an accelerator: the laws, and lengths with their uploads. */
#include "gpu/tree/gpu_lengths.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/structs.h"
#include "engine/cube.h"
#include "engine/tree_limits.h"
#include "engine/tree_ops.h"
#include "engine/tree_part.h"
#include "gpu/tree/gpu_nodes.h"
#include "gpu/tree/gpu_targets.h"

_Static_assert((int)SAP_SOFT_WORDS == (int)SAP_SOFTS_WORDS, "words of nodes that travel are those of devices");

/* ---- kernels and memory ---------------------------------------------------------------------- */

/* Makes memory and kernels for the lengths of the next law, if it has lengths. */
static int reserve(const struct sap_gpu_session *s, struct sap_gpu_lengths *l)
{
    const size_t room = (size_t)l->room + 1;
    if (!l->next->lengths) return SAP_DRIVER_OK;
    if (!l->h) l->h = calloc(room, sizeof *l->h);
    if (!l->h) return SAP_DRIVER_MEMORY;
    if (!l->f) TRY(sap_gpu_length_kernels(s, &l->f));
    TRY(l->next->open(s, l));
    return sap_session_reserve(s, &l->given, room * sizeof(double));
}

static int open_plain(const struct sap_gpu_session *s, struct sap_gpu_lengths *l)
{
    (void)s;
    (void)l;
    return SAP_DRIVER_OK;
}

static int open_spline(const struct sap_gpu_session *s, struct sap_gpu_lengths *l)
{
    return l->spline ? (int)SAP_DRIVER_OK : sap_gpu_spline_kernels(s, &l->spline);
}

static int open_soft(const struct sap_gpu_session *s, struct sap_gpu_lengths *l)
{
    return l->walks ? (int)SAP_DRIVER_OK : sap_gpu_soft_kernels(s, &l->walks);
}

void sap_gpu_lengths_free(const struct sap_driver *driver, struct sap_gpu_lengths *l)
{
    sap_gpu_free(driver, &l->given);
    sap_gpu_free(driver, &l->of_node);
    sap_gpu_free(driver, &l->of_positions);
    free(l->h);
}

size_t sap_gpu_lengths_bytes(const struct sap_tree_settings *settings, int n, size_t *device_bytes)
{
    const size_t size = (size_t)sap_softening_lengths(settings) * (size_t)n;
    if (device_bytes) *device_bytes += (2 * size + size / 2) * sizeof(double) + size / 8 * sizeof(float);
    return size * sizeof(double);
}

/* ---- lengths of particles and of positions ---------------------------------------------------- */

int sap_gpu_lengths_fetch(struct sap_gpu_session *s, const sapporo_column *of, int n, double period, double **h,
                          int *bad)
{
    const double too_long = period > 0 ? period / 2 : INFINITY;
    const size_t bytes = (size_t)n * sizeof **h;
    struct sap_mem *theirs = NULL;
    *bad = -1;
    *h = sap_session_host_memory(s, (size_t)n + 1, sizeof **h);
    if (!*h) return SAP_DRIVER_MEMORY;
    TRY(s->driver->adopt(s->device->dev, of->base, bytes, &theirs));
    int status = sap_session_copy_out(s, *h, theirs, 0, bytes);
    if (!status) status = sap_session_wait(s);
    s->driver->release(theirs);
    for (int i = 0; i < n && !status && *bad < 0; i++)
        if (!((*h)[i] >= 0 && (*h)[i] <= SAP_TREE_LIMIT && (*h)[i] < too_long)) *bad = i;
    return status;
}

int sap_gpu_lengths_short(const struct sap_gpu_lengths *l, int n, double unit)
{
    int is_short = 0;
    if (!(l->least * unit < SAP_TREE_SHORT)) return 0;
    for (int i = 0; i < n && !is_short; i++) {
        const double h = sap_cube_scaled_length(l->h[i], unit);
        is_short = h > 0 && h < SAP_TREE_SHORT;
    }
    return is_short;
}

/* ---- laws with lengths ------------------------------------------------------------------------- */

/* Computes the lengths of sorted targets in units from lengths by address. */
static int gather(const struct sap_gpu_session *s, const struct sap_gpu_lengths *l, const struct sap_gpu_targets *to,
                  const struct sap_gpu_buffer *given, double unit)
{
    return sap_launch_tree_length_gather(s, l->f, to->n, given->mem, to->address.mem, to->length.mem, unit, to->n);
}

/* Sets the lengths of positions that are no lengths to 0; their rows are erased. */
static void mend(const struct sap_gpu_lengths *l, const sapporo_column *of, int n, double unit, double *h)
{
    for (int i = 0; i < n; i++) {
        h[i] = of ? sap_column_double(of, i) : l->soft.usual;
        if (!sap_cube_is_length(h[i], unit)) h[i] = 0;
    }
}

static int sort_lengths(const struct sap_gpu_session *s, const struct sap_gpu_lengths *l, struct sap_gpu_targets *to,
                        double unit)
{
    TRY(sap_session_reserve(s, &to->length, (size_t)to->n * sizeof(double)));
    TRY(sap_session_reserve(s, &to->longest, (size_t)to->groups * sizeof(float)));
    return gather(s, l, to, &l->of_positions, unit);
}

static int positions_lengths(struct sap_gpu_session *s, struct sap_gpu_lengths *l, struct sap_gpu_targets *to,
                             const sapporo_column *of, double unit)
{
    const int n = to->n;
    double *const h = sap_session_host_memory(s, (size_t)n, sizeof *h);
    const sapporo_column all = {h, 0};
    if (!h) return SAP_DRIVER_MEMORY;
    mend(l, of, n, unit, h);
    int status = sap_session_reserve(s, &l->of_positions, (size_t)n * sizeof *h);
    if (!status) status = sap_session_upload_column(s, &l->of_positions, &all, sizeof *h, n);
    free(h);
    return status ? status : sort_lengths(s, l, to, unit);
}

static int nodes_spline(const struct sap_gpu_session *s, const struct sap_gpu_lengths *l,
                        const struct sap_gpu_nodes *nodes, const struct sap_gpu_targets *own,
                        const struct sap_gpu_tree *frame)
{
    TRY(gather(s, l, own, &l->given, frame->unit));
    for (int level = nodes->levels - 1; level >= 0; level--) {
        const int from = nodes->level_first[level], to = nodes->level_first[level + 1];
        TRY(sap_launch_tree_length_nodes(s, l->f, to - from, nodes->link.mem, nodes->cell.mem, own->length.mem,
                                         l->of_node.mem, nodes->word.mem, from, to, *frame));
    }
    return SAP_DRIVER_OK;
}

static int nodes_soft(const struct sap_gpu_session *s, const struct sap_gpu_lengths *l,
                      const struct sap_gpu_nodes *nodes, const struct sap_gpu_targets *own,
                      const struct sap_gpu_tree *frame)
{
    TRY(gather(s, l, own, &l->given, frame->unit));
    for (int level = nodes->levels - 1; level >= 0; level--) {
        const int from = nodes->level_first[level], to = nodes->level_first[level + 1];
        TRY(sap_launch_tree_soft_nodes(s, l->f, to - from, nodes->link.mem, nodes->cell.mem, nodes->cell.mem,
                                       own->sorted.mem, own->length.mem, l->of_node.mem, nodes->word.mem, from, to,
                                       *frame));
    }
    return SAP_DRIVER_OK;
}

static int groups_lengths(const struct sap_gpu_session *s, const struct sap_gpu_lengths *l,
                          const struct sap_gpu_targets *to)
{
    return sap_launch_tree_length_groups(s, l->f, to->groups, to->length.mem, to->group_first.mem, to->longest.mem,
                                         to->heavy.mem, to->groups);
}

/* Lengths of another part on their way to the device; words: per node. */
struct scaling {
    const double *from;
    int words;
    double unit;
};

static void fill_scaled(void *argument, void *to, int first, int n)
{
    const struct scaling *const s = argument;
    double *const chunk = to;
    for (int k = 0; k < n; k++) chunk[k] = sap_cube_scaled_length(s->from[first + k], s->unit);
}

/* Squares of lengths. */
static void fill_squares(void *argument, void *to, int first, int n)
{
    const struct scaling *const s = argument;
    const double *const from = s->from + (size_t)first * (size_t)s->words;
    double *const chunk = to;
    for (int k = 0; k < n * s->words; k++) chunk[k] = from[k] * s->unit * s->unit;
}

static int import_lengths(struct sap_gpu_session *s, struct sap_gpu_halo_lengths *to, const struct sap_tree_halo *halo,
                          double unit, sap_session_source *fill_nodes)
{
    const size_t each = (size_t)halo->words * sizeof(double);
    struct scaling of_nodes = {halo->of_node, halo->words, unit}, of_particles = {halo->h, 1, unit};
    TRY(sap_session_reserve(s, &to->of_node, (size_t)halo->nodes * each));
    TRY(sap_session_reserve(s, &to->of_particle, ((size_t)halo->n + 1) * sizeof(double)));
    TRY(sap_session_upload(s, &to->of_node, each, halo->nodes, fill_nodes, &of_nodes));
    return sap_session_upload(s, &to->of_particle, sizeof(double), halo->n, fill_scaled, &of_particles);
}

static int import_spline(struct sap_gpu_session *s, struct sap_gpu_halo_lengths *to, const struct sap_tree_halo *halo,
                         double unit)
{
    return import_lengths(s, to, halo, unit, fill_scaled);
}

static int import_soft(struct sap_gpu_session *s, struct sap_gpu_halo_lengths *to, const struct sap_tree_halo *halo,
                       double unit)
{
    return import_lengths(s, to, halo, unit, fill_squares);
}

static int above_spline(const struct sap_gpu_session *s, const struct sap_gpu_lengths *l,
                        const struct sap_gpu_length_halo *to, int first, int end)
{
    const struct sap_gpu_nodes *const nodes = to->nodes;
    return sap_launch_tree_length_nodes(s, l->f, end - first, nodes->link.mem, nodes->cell.mem,
                                        to->lengths->of_particle.mem, to->lengths->of_node.mem, nodes->word.mem, first,
                                        end, *to->frame);
}

static int above_soft(const struct sap_gpu_session *s, const struct sap_gpu_lengths *l,
                      const struct sap_gpu_length_halo *to, int first, int end)
{
    const struct sap_gpu_nodes *const nodes = to->nodes;
    return sap_launch_tree_soft_nodes(s, l->f, end - first, nodes->link.mem, nodes->cell.mem, to->root->mem,
                                      to->sorted->mem, to->lengths->of_particle.mem, to->lengths->of_node.mem,
                                      nodes->word.mem, first, end, *to->frame);
}

static int words_spline(const struct sap_gpu_session *s, const struct sap_gpu_lengths *l,
                        const struct sap_gpu_length_halo *to)
{
    const struct sap_gpu_nodes *const nodes = to->nodes;
    return sap_launch_tree_length_words(s, l->f, nodes->n, nodes->cell.mem, to->lengths->of_node.mem, nodes->word.mem,
                                        nodes->n, *to->frame);
}

static int words_soft(const struct sap_gpu_session *s, const struct sap_gpu_lengths *l,
                      const struct sap_gpu_length_halo *to)
{
    const struct sap_gpu_nodes *const nodes = to->nodes;
    return sap_launch_tree_soft_words(s, l->f, nodes->n, nodes->cell.mem, to->root->mem, to->lengths->of_node.mem,
                                      nodes->word.mem, nodes->n, *to->frame);
}

static int reach_spline(const struct sap_gpu_session *s, const struct sap_gpu_lengths *l,
                        const struct sap_gpu_nodes *nodes, const struct sap_gpu_buffer *reach,
                        const struct sap_gpu_tree *frame)
{
    return sap_launch_tree_length_reach(s, l->f, nodes->n, nodes->cell.mem, l->of_node.mem, reach->mem, frame->unit,
                                        nodes->n);
}

static int reach_soft(const struct sap_gpu_session *s, const struct sap_gpu_lengths *l,
                      const struct sap_gpu_nodes *nodes, const struct sap_gpu_buffer *reach,
                      const struct sap_gpu_tree *frame)
{
    return sap_launch_tree_soft_reach(s, l->f, nodes->n, nodes->cell.mem, l->of_node.mem, reach->mem, nodes->n, *frame);
}

static int fill_lengths(const struct sap_gpu_session *s, const struct sap_gpu_lengths *l,
                        const struct sap_gpu_length_fill *of, double unit)
{
    const struct sap_gpu_buffer *const from = of->in_order ? of->in_order : &l->given;
    const int has_address = !of->in_order;
    return sap_launch_tree_length_fill(s, l->f, of->entries, of->entry->mem, of->shift->mem, of->shift_at,
                                       of->before->mem, of->nodes->link.mem, l->of_node.mem, from->mem,
                                       of->address->mem, has_address, of->made->mem, of->made_h->mem, l->law->of_node,
                                       has_address ? unit : 1);
}

/* ---- one length for all ---------------------------------------------------------- */

static int nodes_plain(const struct sap_gpu_session *s, const struct sap_gpu_lengths *l,
                       const struct sap_gpu_nodes *nodes, const struct sap_gpu_targets *own,
                       const struct sap_gpu_tree *frame)
{
    (void)s;
    (void)l;
    (void)nodes;
    (void)own;
    (void)frame;
    return SAP_DRIVER_OK;
}

static int groups_plain(const struct sap_gpu_session *s, const struct sap_gpu_lengths *l,
                        const struct sap_gpu_targets *to)
{
    (void)s;
    (void)l;
    (void)to;
    return SAP_DRIVER_OK;
}

static int reach_plain(const struct sap_gpu_session *s, const struct sap_gpu_lengths *l,
                       const struct sap_gpu_nodes *nodes, const struct sap_gpu_buffer *reach,
                       const struct sap_gpu_tree *frame)
{
    (void)s;
    (void)l;
    (void)nodes;
    (void)reach;
    (void)frame;
    return SAP_DRIVER_OK;
}

static int fill_plain(const struct sap_gpu_session *s, const struct sap_gpu_lengths *l,
                      const struct sap_gpu_length_fill *of, double unit)
{
    (void)s;
    (void)l;
    (void)of;
    (void)unit;
    return SAP_DRIVER_OK;
}

static int sort_plain(const struct sap_gpu_session *s, const struct sap_gpu_lengths *l, struct sap_gpu_targets *to,
                      double unit)
{
    (void)s;
    (void)l;
    (void)to;
    (void)unit;
    return SAP_DRIVER_OK;
}

static int positions_plain(struct sap_gpu_session *s, struct sap_gpu_lengths *l, struct sap_gpu_targets *to,
                           const sapporo_column *of, double unit)
{
    (void)s;
    (void)l;
    (void)to;
    (void)of;
    (void)unit;
    return SAP_DRIVER_OK;
}

/* ---- which law --------------------------------------------------------------------------------------- */

/* Returns the law of the next build or refresh; lengths: particles have some, though they need none. */
static const struct sap_gpu_law *next_of(const struct sap_gpu_lengths *l, int lengths)
{
    static const struct sap_gpu_law law[SAP_GPU_LAWS] = {{.number = SAP_GPU_PLAIN,
                                                          .open = open_plain,
                                                          .nodes = nodes_plain,
                                                          .groups = groups_plain,
                                                          .reach = reach_plain,
                                                          .fill = fill_plain,
                                                          .sort = sort_plain,
                                                          .positions = positions_plain},
                                                         {.number = SAP_GPU_SOFT,
                                                          .lengths = 1,
                                                          .of_node = SAP_SOFT_WORDS,
                                                          .open = open_soft,
                                                          .nodes = nodes_soft,
                                                          .groups = groups_lengths,
                                                          .import = import_soft,
                                                          .above = above_soft,
                                                          .words = words_soft,
                                                          .reach = reach_soft,
                                                          .fill = fill_lengths,
                                                          .sort = sort_lengths,
                                                          .positions = positions_lengths},
                                                         {.number = SAP_GPU_SPLINE,
                                                          .lengths = 1,
                                                          .of_node = 1,
                                                          .open = open_spline,
                                                          .nodes = nodes_spline,
                                                          .groups = groups_lengths,
                                                          .import = import_spline,
                                                          .above = above_spline,
                                                          .words = words_spline,
                                                          .reach = reach_spline,
                                                          .fill = fill_lengths,
                                                          .sort = sort_lengths,
                                                          .positions = positions_lengths}};
    return &law[sap_softening_lengths(l->settings) ? SAP_GPU_SPLINE : lengths ? SAP_GPU_SOFT : SAP_GPU_PLAIN];
}

int sap_gpu_lengths_take(struct sap_gpu_session *s, struct sap_gpu_lengths *l, const sapporo_column *of, int n,
                         int keeps)
{
    l->next = next_of(l, of || (keeps && l->next->lengths));
    TRY(reserve(s, l));
    const sapporo_column all = {l->h, 0};
    const int lengths = l->next->lengths * n;
    if (of || !keeps) {
        l->uploaded = 0;
        l->least = INFINITY;
        for (int i = 0; i < lengths; i++) {
            l->h[i] = of ? sap_column_double(of, i) : l->soft.usual;
            if (l->h[i] > 0) l->least = fmin(l->least, l->h[i]);
        }
        l->soft = sap_softening_of(l->settings, l->h, lengths);
    }
    if (!l->uploaded) TRY(sap_session_upload_column(s, &l->given, &all, sizeof *l->h, lengths));
    l->uploaded = 1;
    return SAP_DRIVER_OK;
}

void sap_gpu_lengths_drop(struct sap_gpu_lengths *l)
{
    l->next = next_of(l, 0);
    if (l->next->lengths) return;
    l->soft = sap_softening_of(l->settings, NULL, 0);
    l->least = INFINITY;
}

void sap_gpu_lengths_new(struct sap_gpu_lengths *l, const struct sap_tree_settings *settings, int room)
{
    l->settings = settings;
    l->room = room;
    l->law = l->next = next_of(l, 0);
    l->soft = sap_softening_of(settings, NULL, 0);
    l->least = INFINITY;
}

int sap_gpu_lengths_open(const struct sap_gpu_session *s, struct sap_gpu_lengths *l) { return reserve(s, l); }
