/*
 * cpu_walk.c - forces and tidal tensors by groups: each group makes a list of cells and particles, which the kernels
 * sum.
 *
 * One thread computes a whole group. So the sums do not depend on the threads, nor on which other groups or how many
 * particles of the group take part.
 */
#include <math.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "base/team.h"
#include "cpu/tree/cpu_tree.h"

/* Consecutive nodes or particles: from ... to - 1. */
struct span {
    int from, to;
};

struct spans {
    struct span *at;
    int n, room;
    int end[SAP_NEAR_IMAGES + 1]; /* those of image k are numbers end[k] to end[k + 1] - 1 */
};

/* Numbers of nodes. */
struct cells {
    int *at;
    int n, room;
    int end[SAP_NEAR_IMAGES + 1]; /* as of spans */
};

/* Work memory of a thread, reused from group to group. */
struct walk_memory {
    struct spans runs;          /* nodes to examine, in order: a queue, of which `head` are done */
    struct spans outer, inner;  /* particles on the list, without the group's own (SAP_SOURCES_*) */
    struct cells near, distant; /* cells on the list; the distant ones act as one polynomial */
    int *accepted, *opened, open_room;
    char *words;
    size_t word_room;
    struct sap_tree_lanes *lanes;
    int which[SAP_TREE_LANES], number[SAP_TREE_LANES], row[SAP_TREE_LANES]; /* of the lanes */
    int beyond;                                                             /* rows whose force double cannot hold */
};

static void free_work(struct walk_memory *w)
{
    free(w->runs.at);
    free(w->outer.at);
    free(w->inner.at);
    free(w->near.at);
    free(w->distant.at);
    free(w->accepted);
    free(w->opened);
    free(w->words);
    free(w->lanes);
    free(w);
}

static struct walk_memory *new_work(void)
{
    struct walk_memory *w = calloc(1, sizeof *w);
    if (w) w->lanes = aligned_alloc(64, sizeof *w->lanes);
    if (w && !w->lanes) {
        free_work(w);
        return NULL;
    }
    return w;
}

/* ---- softening -------------------------------------------------------------------- */

static void open_plain(const struct sap_cpu_field *f, int from, int to, const struct sap_tree_bound *bound,
                       int *accepted, int *naccepted, int *opened, int *nopened)
{
    f->frame->narrow->open(&f->from->words_of, from, to, bound, accepted, naccepted, opened, nopened);
}

static void open_spline(const struct sap_cpu_field *f, int from, int to, const struct sap_tree_bound *bound,
                        int *accepted, int *naccepted, int *opened, int *nopened)
{
    f->frame->narrow->open_spline(&f->from->words_of, from, to, bound, accepted, naccepted, opened, nopened);
}

/* Targets of Plummer's softening have no more than `start` of the kernel gave them. */
static void start_plain(const struct sap_tree_kernel *kernel, const struct sap_cpu_run *run, const int *which,
                        struct sap_tree_lanes *lanes)
{
    (void)kernel;
    (void)run;
    (void)which;
    (void)lanes;
}

static void start_spline(const struct sap_tree_kernel *kernel, const struct sap_cpu_run *run, const int *which,
                         struct sap_tree_lanes *lanes)
{
    kernel->start_spline(run->walkers->h, which, lanes);
}

static void take_plain(const struct sap_cpu_nodes *from, const struct sap_tree_kernel *kernel,
                       const struct sap_tree_frame *frame, int first, int n, void *words)
{
    kernel->take_particles(frame, (const double(*)[4])from->x + first, n, words);
}

static void take_spline(const struct sap_cpu_nodes *from, const struct sap_tree_kernel *kernel,
                        const struct sap_tree_frame *frame, int first, int n, void *words)
{
    kernel->take_spline(frame, (const double(*)[4])from->x + first, from->h + first, n, words);
}

static void sum_plain(const struct sap_tree_kernel *kernel, const struct sap_tree_frame *frame, const void *words,
                      int n, int sources, struct sap_tree_lanes *lanes)
{
    kernel->particles(frame, words, n, sources, lanes);
}

static void sum_spline(const struct sap_tree_kernel *kernel, const struct sap_tree_frame *frame, const void *words,
                       int n, int sources, struct sap_tree_lanes *lanes)
{
    kernel->particles_spline(frame, words, n, sources, lanes);
}

static void sum_soft(const struct sap_tree_kernel *kernel, const struct sap_tree_frame *frame, const void *words, int n,
                     int sources, struct sap_tree_lanes *lanes)
{
    kernel->particles_soft(frame, words, n, sources, lanes);
}

static void take_cells_plain(const struct sap_cpu_field *f, const struct sap_tree_kernel *kernel,
                             const struct sap_tree_frame *frame, const int *cells, int n, void *words)
{
    kernel->take_cells(frame, f->from->source, cells, n, f->frame->settings->order, words);
}

static void cells_plain(const struct sap_cpu_field *f, const struct sap_tree_kernel *kernel,
                        const struct sap_tree_frame *frame, const void *words, int n, struct sap_tree_lanes *lanes)
{
    if (f->frame->settings->order > 1)
        kernel->cells(frame, words, n, lanes);
    else
        kernel->particles(frame, words, n, SAP_SOURCES_OUTER, lanes);
}

static void take_cells_soft(const struct sap_cpu_field *f, const struct sap_tree_kernel *kernel,
                            const struct sap_tree_frame *frame, const int *cells, int n, void *words)
{
    kernel->take_cells_soft(frame, f->from->source, cells, n, f->frame->settings->order, words);
}

static void cells_soft(const struct sap_cpu_field *f, const struct sap_tree_kernel *kernel,
                       const struct sap_tree_frame *frame, const void *words, int n, struct sap_tree_lanes *lanes)
{
    if (f->frame->settings->order > 1)
        kernel->cells_soft(frame, words, n, lanes);
    else
        kernel->particles_soft(frame, words, n, SAP_SOURCES_OUTER, lanes);
}

static double length_plain(const struct sap_cpu_run *run, int first, int n)
{
    (void)run;
    (void)first;
    (void)n;
    return 0;
}

static double length_spline(const struct sap_cpu_run *run, int first, int n)
{
    return sap_cpu_tree_greatest_length(run->walkers->h + first, n);
}

const struct sap_cpu_pairs *sap_cpu_pairs_of(const struct sap_tree_settings *settings, int lengths)
{
    static const struct sap_cpu_pairs plain = {.words = SAP_TREE_PARTICLE_WORDS,
                                               .open = open_plain,
                                               .start = start_plain,
                                               .take = take_plain,
                                               .sum = sum_plain,
                                               .take_cells = take_cells_plain,
                                               .cells = cells_plain,
                                               .length = length_plain};
    static const struct sap_cpu_pairs soft = {.adds = 1,
                                              .words = SAP_TREE_SPLINE_WORDS,
                                              .open = open_plain,
                                              .start = start_spline,
                                              .take = take_spline,
                                              .sum = sum_soft,
                                              .take_cells = take_cells_soft,
                                              .cells = cells_soft,
                                              .length = length_plain};
    static const struct sap_cpu_pairs spline = {.lost = NAN,
                                                .words = SAP_TREE_SPLINE_WORDS,
                                                .open = open_spline,
                                                .start = start_spline,
                                                .take = take_spline,
                                                .sum = sum_spline,
                                                .take_cells = take_cells_plain,
                                                .cells = cells_plain,
                                                .length = length_spline};
    return sap_softening_lengths(settings) ? &spline : lengths ? &soft : &plain;
}

/* ---- lists ---------------------------------------------------------------------- */

/* Adds a span, or extends the last one if they are adjacent; the first `first` spans are not extended. */
static int add_span(struct spans *s, int first, int from, int to)
{
    if (from >= to) return 1;
    if (s->n > first && s->at[s->n - 1].to == from) {
        s->at[s->n - 1].to = to;
        return 1;
    }
    if (s->n == s->room) {
        const int room = s->room ? 2 * s->room : 256;
        struct span *at = realloc(s->at, (size_t)room * sizeof *at);
        if (!at) return 0;
        s->at = at;
        s->room = room;
    }
    s->at[s->n++] = (struct span){from, to};
    return 1;
}

static int add_cell(struct cells *c, int node)
{
    if (c->n == c->room) {
        const int room = c->room ? 2 * c->room : 1024;
        int *at = realloc(c->at, (size_t)room * sizeof *at);
        if (!at) return 0;
        c->at = at;
        c->room = room;
    }
    c->at[c->n++] = node;
    return 1;
}

/* Adds the particles of a leaf for an image, without those of the group itself. */
static int add_leaf(struct spans *to_list, const struct sap_tree_node *leaf, struct span own, int image)
{
    const int from = leaf->first, to = leaf->first + leaf->count, first = to_list->end[image];
    const int before = to < own.from ? to : own.from, after = from > own.to ? from : own.to;
    return add_span(to_list, first, from, before) && add_span(to_list, first, after, to);
}

static int room_to_open(struct walk_memory *w, int n)
{
    if (n <= w->open_room) return 1;
    free(w->accepted);
    free(w->opened);
    w->accepted = malloc((size_t)n * sizeof *w->accepted);
    w->opened = malloc((size_t)n * sizeof *w->opened);
    w->open_room = w->accepted && w->opened ? n : 0;
    return w->open_room > 0;
}

/* Examines a run of nodes for an image; the children of opened nodes are queued behind `done` runs. */
static int open_run(const struct sap_cpu_field *t, struct walk_memory *w, struct span run,
                    const struct sap_tree_bound *bound, struct span own, int done, int image)
{
    int accepted = 0, opened = 0, ok = room_to_open(w, run.to - run.from);
    if (!ok) return 0;
    t->frame->pairs->open(t, run.from, run.to, bound, w->accepted, &accepted, w->opened, &opened);
    for (int k = 0; k < accepted && ok; k++) {
        const int distant = w->accepted[k] < 0;
        ok = add_cell(distant ? &w->distant : &w->near, distant ? ~w->accepted[k] : w->accepted[k]);
    }
    for (int k = 0; k < opened && ok; k++) {
        const int is_outer = w->opened[k] < 0, at = is_outer ? ~w->opened[k] : w->opened[k];
        const struct sap_tree_node *const node = &t->from->node[at];
        ok = node->children ? add_span(&w->runs, done, node->child, node->child + node->children)
             : node->count  ? add_leaf(is_outer ? &w->outer : &w->inner, node, own, image)
                            : add_cell(&w->near, at); /* of a halo: all target particles accept it */
    }
    return ok;
}

/* Adds to the lists what acts on an image of a group. */
static int add_to_list(const struct sap_cpu_field *t, struct walk_memory *w, const struct sap_tree_bound *bound,
                       struct span own, int image)
{
    w->runs.n = 0;
    w->outer.end[image] = w->outer.n;
    w->inner.end[image] = w->inner.n;
    w->near.end[image] = w->near.n;
    w->distant.end[image] = w->distant.n;
    int ok = add_span(&w->runs, 0, 0, t->from->nodes > 0);
    for (int done = 0; done < w->runs.n && ok; done++)
        ok = open_run(t, w, w->runs.at[done], bound, own, done + 1, image);
    w->outer.end[image + 1] = w->outer.n;
    w->inner.end[image + 1] = w->inner.n;
    w->near.end[image + 1] = w->near.n;
    w->distant.end[image + 1] = w->distant.n;
    return ok;
}

/* ---- sums ------------------------------------------------------------------------- */

static int room_for_words(struct walk_memory *w, size_t bytes)
{
    if (bytes <= w->word_room) return 1;
    free(w->words);
    w->words = malloc(bytes + bytes / 2);
    w->word_room = w->words ? bytes + bytes / 2 : 0;
    return w->words != NULL;
}

static int count_particles(const struct spans *s)
{
    int n = 0;
    for (int k = 0; k < s->n; k++) n += s->at[k].to - s->at[k].from;
    return n;
}

static int room_for_cells(struct walk_memory *w, const struct sap_tree_kernel *kernel, const struct cells *cells)
{
    return room_for_words(w, (size_t)cells->n * SAP_TREE_CELL_WORDS * kernel->word);
}

/* Returns the frame in which sources act on an image of the targets as on the targets. */
static struct sap_tree_frame frame_of(const struct sap_cpu_run *run, const struct sap_tree_frame *frame, int image)
{
    struct sap_tree_frame of = *frame;
    sap_cpu_shift(run, image, of.centre);
    return of;
}

static int sum_cells(const struct sap_cpu_field *t, const struct sap_cpu_run *run, struct walk_memory *w,
                     const struct sap_tree_kernel *kernel, const struct sap_tree_frame *frame)
{
    const size_t each = kernel->word * (t->frame->settings->order > 1 ? SAP_TREE_CELL_WORDS
                                        : t->frame->pairs->adds       ? SAP_TREE_SPLINE_WORDS
                                                                      : SAP_TREE_PARTICLE_WORDS);
    const struct sap_cpu_images images = sap_cpu_images_of(run);
    const struct cells *const c = &w->near;
    if (!room_for_cells(w, kernel, c)) return 0;
    for (int k = images.from; k <= images.to; k++) {
        const struct sap_tree_frame of = frame_of(run, frame, k);
        t->frame->pairs->take_cells(t, kernel, &of, c->at + c->end[k], c->end[k + 1] - c->end[k],
                                    w->words + (size_t)c->end[k] * each);
    }
    t->frame->pairs->cells(t, kernel, frame, w->words, c->n, w->lanes);
    return 1;
}

static int sum_distant(const struct sap_cpu_field *t, const struct sap_cpu_run *run, struct walk_memory *w,
                       const struct sap_tree_kernel *kernel, const struct sap_tree_frame *frame)
{
    const int order = t->frame->settings->order;
    const size_t each = kernel->word * (order > 1 ? SAP_TREE_CELL_WORDS : SAP_TREE_PARTICLE_WORDS);
    const struct sap_cpu_images images = sap_cpu_images_of(run);
    const struct cells *const c = &w->distant;
    if (c->n == 0) return 1;
    if (!room_for_cells(w, kernel, c)) return 0;
    for (int k = images.from; k <= images.to; k++) {
        const struct sap_tree_frame of = frame_of(run, frame, k);
        kernel->take_cells(&of, t->from->source, c->at + c->end[k], c->end[k + 1] - c->end[k], order,
                           w->words + (size_t)c->end[k] * each);
    }
    kernel->distant(frame, w->words, order, c->n, w->lanes);
    return 1;
}

/* Adds the particles of spans. */
static int sum_spans(const struct sap_cpu_field *t, const struct sap_cpu_run *run, struct walk_memory *w,
                     const struct sap_tree_kernel *kernel, const struct sap_tree_frame *frame,
                     const struct spans *spans, int sources)
{
    const size_t each = t->frame->pairs->words * kernel->word;
    const struct sap_cpu_images images = sap_cpu_images_of(run);
    const int n = count_particles(spans);
    if (n == 0) return 1;
    if (!room_for_words(w, (size_t)n * each)) return 0;
    char *to = w->words;
    for (int image = images.from; image <= images.to; image++) {
        const struct sap_tree_frame of = frame_of(run, frame, image);
        for (int k = spans->end[image]; k < spans->end[image + 1]; k++) {
            const struct span s = spans->at[k];
            t->frame->pairs->take(t->from, kernel, &of, s.from, s.to - s.from, to);
            to += (size_t)(s.to - s.from) * each;
        }
    }
    t->frame->pairs->sum(kernel, frame, w->words, n, sources, w->lanes);
    return 1;
}

/* Returns the spans of the own particles of a group, which act on no image. */
static struct spans spans_of(struct span *own)
{
    struct spans of = {.at = own, .n = own->to > own->from};
    for (int k = SAP_NO_SHIFT + 1; k <= SAP_NEAR_IMAGES; k++) of.end[k] = of.n;
    return of;
}

static int sum_particles(const struct sap_cpu_field *t, const struct sap_cpu_run *run, struct walk_memory *w,
                         const struct sap_tree_kernel *kernel, const struct sap_tree_frame *frame, struct span own)
{
    const struct spans of_group = spans_of(&own);
    return sum_spans(t, run, w, kernel, frame, &w->outer, SAP_SOURCES_OUTER) &&
           sum_spans(t, run, w, kernel, frame, &w->inner, SAP_SOURCES_INNER) &&
           sum_spans(t, run, w, kernel, frame, &of_group, SAP_SOURCES_OWN);
}

/* Computes the potential and the acceleration of lane k in the caller's units; returns whether they are finite. */
static int results_of(const struct sap_cpu_frame *f, const struct sap_tree_kernel *kernel,
                      const struct sap_tree_lanes *lanes, int k, double *acc, double *pot)
{
    double sum[4] = {lanes->sum[0][k] * kernel->pot_scale};
    for (int c = 1; c < 4; c++) sum[c] = lanes->sum[c][k] * kernel->acc_scale;
    return sap_cpu_results(f, sum, acc, pot);
}

static void rescue_spans(const struct sap_cpu_field *t, const struct spans *s, int image, struct sap_cpu_rescue *r)
{
    for (int k = s->end[image]; k < s->end[image + 1]; k++)
        sap_cpu_tree_rescue_particles(t, s->at[k].from, s->at[k].to, -1, r);
}

static void rescue_cells(const struct sap_cpu_field *t, const struct cells *c, int image, struct sap_cpu_rescue *r)
{
    for (int k = c->end[image]; k < c->end[image + 1]; k++) sap_cpu_tree_rescue_cell(t, c->at[k], r);
}

/* Computes the force of the list of a group on its target particle k by quotients, and writes its row. */
static void rescue(const struct sap_cpu_field *t, const struct sap_cpu_run *run, struct walk_memory *w, struct span own,
                   int k)
{
    const int walker = w->which[k], row = w->row[k];
    struct sap_cpu_rescue r = sap_cpu_rescue_of(t, run->walkers, walker);
    const struct sap_cpu_images images = sap_cpu_images_of(run);
    for (int image = images.from; image <= images.to; image++) {
        for (int c = 0; c < 3; c++) r.x[c] = run->walkers->x[walker][c];
        sap_cpu_shift(run, image, r.x);
        rescue_cells(t, &w->near, image, &r);
        rescue_cells(t, &w->distant, image, &r);
        rescue_spans(t, &w->outer, image, &r);
        rescue_spans(t, &w->inner, image, &r);
    }
    for (int c = 0; c < 3; c++) r.x[c] = run->walkers->x[walker][c];
    sap_cpu_tree_rescue_particles(t, own.from, own.to, walker, &r);
    double acc[3], pot;
    w->beyond += !sap_cpu_rescued(t->frame, &r, acc, &pot);
    sap_cpu_write_row(run, acc, pot, row);
}

/*
 * Writes the lanes whose sums are finite, or all lanes in double; returns the number of remaining lanes, which it moves
 * to the front. Each lane is judged alone: the bits of a row do not depend on other rows.
 */
static int deliver_good(const struct sap_cpu_field *t, const struct sap_cpu_run *run, struct walk_memory *w,
                        struct span own, int wide, int n)
{
    const struct sap_tree_kernel *const kernel = wide ? t->frame->wide : t->frame->narrow;
    int left = 0;
    for (int k = 0; k < n; k++) {
        double acc[3], pot;
        if (results_of(t->frame, kernel, w->lanes, k, acc, &pot)) {
            sap_cpu_write_row(run, acc, pot, w->row[k]);
            continue;
        }
        if (wide) {
            rescue(t, run, w, own, k);
            continue;
        }
        w->which[left] = w->which[k];
        w->number[left] = w->number[k];
        w->row[left++] = w->row[k];
    }
    return left;
}

/* Returns the particles of a group among those of the tree; positions from the caller are none. */
static struct span own_span(const struct sap_cpu_run *run, const struct sap_cpu_group *group)
{
    return run->walkers->own ? (struct span){group->first, group->first + group->count} : (struct span){0, 0};
}

/* Returns whether sources of some spans lie in a clump (SAP_CLUMP). */
static int has_clump(const struct sap_cpu_field *t, const struct spans *s, double close)
{
    const double(*const x)[4] = (const double(*)[4])t->from->x;
    for (int k = 0; k < s->n; k++)
        for (int j = s->at[k].from; j + SAP_CLUMP < s->at[k].to; j += SAP_CLUMP_STEP)
            if (sap_is_clumped(sap_ball_far(x[j], x[j + SAP_CLUMP]), close)) return 1;
    return 0;
}

/* Returns 1 if a group needs double: its own positions, or clumps of its sources, which are listed. */
static int needs_double(const struct sap_cpu_field *t, const struct walk_memory *w, const struct sap_cpu_group *group,
                        struct span own)
{
    const struct spans of_group = {.at = &own, .n = own.to > own.from};
    const double close = sap_bound_close(&group->bound, 1);
    if (group->wide || t->frame->settings->precision == SAPPORO_DP) return 1;
    return has_clump(t, &of_group, close) || has_clump(t, &w->inner, close);
}

/* Notes the target particles and rows of n slots of a group whose first particle is `base`. */
static void take_slots(const struct sap_cpu_run *run, struct walk_memory *w, int base, int first, int n)
{
    for (int k = 0; k < n; k++) {
        w->which[k] = run->slots->walker[first + k];
        w->number[k] = run->walkers->own ? w->which[k] - base : -1;
        w->row[k] = run->slots->row[first + k];
    }
}

/*
 * Sums slots first ... first + n - 1, at most SAP_TREE_LANES, all of group g, whose list is complete. wide: in double.
 */
static int sum_slots(const struct sap_cpu_field *t, const struct sap_cpu_run *run, struct walk_memory *w, int g,
                     int first, int n, int wide)
{
    const struct sap_cpu_group *const group = &run->walkers->group[g];
    const struct span own = own_span(run, group);
    struct sap_tree_frame frame = {.unit = t->frame->unit,
                                   .eps2 = t->frame->soft.eps2 * t->frame->unit * t->frame->unit,
                                   .close = sap_bound_close(&group->bound, t->frame->unit),
                                   .far = group->wide == SAP_WIDE_FAR,
                                   .law = t->frame->soft.law};
    for (int c = 0; c < 3; c++) frame.middle[c] = group->bound.centre[c];
    take_slots(run, w, group->first, first, n);
    /* sums beyond the range of float are computed again in double */
    for (; wide < 2 && n > 0; wide++) {
        const struct sap_tree_kernel *const kernel = wide ? t->frame->wide : t->frame->narrow;
        /* in double, coordinates are not shifted: their differences are more exact without a shift */
        for (int c = 0; c < 3; c++) frame.centre[c] = wide ? 0 : group->bound.centre[c];
        kernel->start(&frame, run->walkers->x, w->which, w->number, n, w->lanes);
        t->frame->pairs->start(kernel, run, w->which, w->lanes);
        if (!sum_cells(t, run, w, kernel, &frame) || !sum_distant(t, run, w, kernel, &frame) ||
            !sum_particles(t, run, w, kernel, &frame, own))
            return 0;
        n = deliver_good(t, run, w, own, wide, n);
    }
    return 1;
}

/* ---- tidal tensors ------------------------------------------------------------------- */

static int tensors_of_spans(const struct sap_cpu_field *t, const struct sap_cpu_run *run, struct walk_memory *w,
                            const struct sap_tree_frame *frame, const struct spans *spans, int own)
{
    const struct sap_tree_kernel *const kernel = t->frame->wide;
    const size_t each = SAP_TREE_SPLINE_WORDS * kernel->word;
    const struct sap_cpu_images images = sap_cpu_images_of(run);
    const int n = count_particles(spans);
    if (!room_for_words(w, (size_t)n * each)) return 0;
    char *to = w->words;
    for (int image = images.from; image <= images.to; image++) {
        const struct sap_tree_frame of = frame_of(run, frame, image);
        for (int k = spans->end[image]; k < spans->end[image + 1]; k++) {
            const struct span s = spans->at[k];
            kernel->take_tensor(&of, (const double(*)[4])t->from->x + s.from,
                                t->from->lengths ? t->from->h + s.from : NULL, s.to - s.from, to);
            to += (size_t)(s.to - s.from) * each;
        }
    }
    kernel->particles_tensor(frame, w->words, n, own, w->lanes);
    return 1;
}

static void tensors_of_cells(const struct sap_cpu_field *t, const struct sap_cpu_run *run, struct walk_memory *w,
                             const struct sap_tree_frame *frame, const struct cells *c)
{
    const struct sap_cpu_images images = sap_cpu_images_of(run);
    for (int k = images.from; k <= images.to; k++) {
        const struct sap_tree_frame of = frame_of(run, frame, k);
        t->frame->wide->cells_tensor(&of, t->from->source, c->at + c->end[k], c->end[k + 1] - c->end[k],
                                     t->frame->settings->order, t->frame->pairs->adds, w->lanes);
    }
}

/* Computes tensors of slots, as sum_slots does forces; distant cells act one by one. */
static int tensors_of_slots(const struct sap_cpu_field *t, const struct sap_cpu_run *run, struct walk_memory *w, int g,
                            int first, int n)
{
    const struct sap_tree_kernel *const kernel = t->frame->wide;
    struct span own = own_span(run, &run->walkers->group[g]);
    const struct spans of_group = spans_of(&own);
    const struct sap_tree_frame frame = {.unit = t->frame->unit,
                                         .eps2 = t->frame->soft.eps2 * t->frame->unit * t->frame->unit,
                                         .law = t->frame->soft.law};
    take_slots(run, w, run->walkers->group[g].first, first, n);
    kernel->start_tensor(&frame, run->walkers->x, t->from->lengths ? run->walkers->h : NULL, w->which, w->number, n,
                         w->lanes);
    tensors_of_cells(t, run, w, &frame, &w->near);
    tensors_of_cells(t, run, w, &frame, &w->distant);
    if (!tensors_of_spans(t, run, w, &frame, &w->outer, 0) || !tensors_of_spans(t, run, w, &frame, &w->inner, 0) ||
        !tensors_of_spans(t, run, w, &frame, &of_group, 1))
        return 0;
    for (int k = 0; k < n; k++) {
        double sum[SAP_MOMENTS2];
        for (int q = 0; q < SAP_MOMENTS2; q++) sum[q] = w->lanes->sum[q][k] * kernel->acc_scale;
        w->beyond += !sap_cpu_tidal_results(t->frame, sum, run->tidal[w->row[k]]);
    }
    return 1;
}

/* ---- groups ------------------------------------------------------------------------- */

double sap_cpu_tree_strictness(const struct sap_cpu_field *t, const struct sap_cpu_run *run, int first, int n)
{
    double least = INFINITY;
    if (!run->a) return 0;
    for (int k = first; k < first + n; k++) {
        const double a = run->a[run->a_of ? run->a_of[k] : k];
        if (!(a >= least)) least = a;
    }
    if (t->frame->least > 0 && !(least >= t->frame->least)) least = t->frame->least;
    const double accuracy = sap_group_accuracy((int)t->frame->settings->ball, t->frame->settings->accuracy);
    const double word = sap_accept_strictness(accuracy * least) * (t->frame->unit / t->from->turn_unit);
    return word < SAP_TREE_NEVER ? word : SAP_TREE_NEVER;
}

/* Moves the bound of a group to an image. */
static void bound_image(const struct sap_cpu_field *t, const struct sap_cpu_run *run, int g, int image,
                        struct sap_tree_bound *words)
{
    const struct sap_bound *const b = &run->walkers->group[g].bound;
    double x[3], centre[3] = {b->centre[0], b->centre[1], b->centre[2]};
    sap_cpu_shift(run, image, centre);
    const double size = sap_tree_in_units(centre, &t->frame->cube.gaps, t->frame->middle, t->frame->unit, x);
    words->x = (float)sap_tree_cut(x[0]);
    words->y = (float)sap_tree_cut(x[1]);
    words->z = (float)sap_tree_cut(x[2]);
    words->radius = (float)sap_tree_padded(b->radius * t->frame->unit, size);
}

/* Returns the bound as the walk uses it, enlarged by the rounding errors of float; bound_image completes it. */
static struct sap_tree_bound bound_of(const struct sap_cpu_field *t, const struct sap_cpu_run *run, int g)
{
    const struct sap_cpu_group *const group = &run->walkers->group[g];
    const struct sap_bound *const b = &group->bound;
    struct sap_tree_bound words = {.size = (float)sap_tree_padded(sap_bound_size(b) * t->frame->unit, 0),
                                   .close = (float)sap_tree_padded(sap_bound_close(b, t->frame->unit), 0),
                                   .strictness = (float)sap_cpu_tree_strictness(t, run, group->first, group->count)};
    for (int c = 0; c < 3; c++) words.extent[c] = (float)sap_tree_padded(b->extent[c] * t->frame->unit, 0);
    words.length = (float)t->frame->pairs->length(run, group->first, group->count);
    if (t->frame->pairs->adds) words.size = (float)SAP_TREE_NEVER; /* one polynomial would have one length */
    return words;
}

static int make_list(const struct sap_cpu_field *t, const struct sap_cpu_run *run, struct walk_memory *w, int g,
                     struct span own)
{
    const struct sap_cpu_images images = sap_cpu_images_of(run);
    const struct span none = {0, 0};
    struct sap_tree_bound bound = bound_of(t, run, g);
    int ok = 1;
    w->outer.n = w->inner.n = w->near.n = w->distant.n = 0;
    for (int k = images.from; k <= images.to && ok; k++) {
        bound_image(t, run, g, k, &bound);
        ok = add_to_list(t, w, &bound, k == SAP_NO_SHIFT ? own : none, k);
    }
    return ok;
}

static int sum_group(const struct sap_cpu_field *t, const struct sap_cpu_run *run, struct walk_memory *w, int g,
                     long long *particle, long long *cell)
{
    const int *const slot = run->slots->first + g, rows = slot[1] - slot[0];
    const struct span own = own_span(run, &run->walkers->group[g]);
    if (rows == 0) return 1;
    int ok = make_list(t, run, w, g, own);
    const int wide = ok && !run->tidal && needs_double(t, w, &run->walkers->group[g], own);
    for (int at = slot[0]; at < slot[1] && ok; at += SAP_TREE_LANES) {
        const int some = slot[1] - at < SAP_TREE_LANES ? slot[1] - at : SAP_TREE_LANES;
        ok = run->tidal ? tensors_of_slots(t, run, w, g, at, some) : sum_slots(t, run, w, g, at, some, wide);
    }
    const int others = own.to > own.from ? own.to - own.from - 1 : 0;
    const int nears = ok ? count_particles(&w->outer) + count_particles(&w->inner) + others : 0;
    const int cells = w->near.n + w->distant.n;
    for (int at = slot[0]; at < slot[1] && run->work; at++) run->work[run->slots->row[at]] = nears + cells;
    *cell += (long long)rows * cells;
    *particle += (long long)rows * nears;
    return ok;
}

/* A walk whose groups are distributed over threads. */
struct group_walk {
    struct sap_items items;
    const struct sap_cpu_field *field;
    const struct sap_cpu_run *run;
    atomic_llong particle, cell;
    atomic_int done, failed, beyond; /* done: groups */
};

/* Walks groups in one thread. A thread without memory takes none. */
static void walk_groups(void *argument, int thread)
{
    struct group_walk *const s = argument;
    struct walk_memory *const w = new_work();
    long long particle = 0, cell = 0;
    ptrdiff_t from, to;
    int done = 0;
    (void)thread;
    while (w && sap_items_take(&s->items, &from, &to))
        for (int g = (int)from; g < to && !atomic_load_explicit(&s->failed, memory_order_relaxed); g++, done++)
            if (!sum_group(s->field, s->run, w, g, &particle, &cell)) atomic_store(&s->failed, 1);
    if (w) atomic_fetch_add(&s->beyond, w->beyond);
    if (w) free_work(w);
    atomic_fetch_add(&s->particle, particle);
    atomic_fetch_add(&s->cell, cell);
    atomic_fetch_add(&s->done, done);
}

int sap_cpu_walk(const struct sap_cpu_nodes *from, const struct sap_cpu_frame *frame, struct sap_cpu_run *run,
                 int threads)
{
    enum { GROUPS_AT_ONCE = 4 };
    const struct sap_cpu_field field = {from, frame};
    struct group_walk s = {.field = &field, .run = run};
    const int groups = run->walkers->groups;
    sap_items_start(&s.items, groups, GROUPS_AT_ONCE);
    sap_team_run(threads, walk_groups, &s);
    run->particle = atomic_load(&s.particle);
    run->cell = atomic_load(&s.cell);
    run->beyond = atomic_load(&s.beyond);
    return atomic_load(&s.failed) || atomic_load(&s.done) < groups ? SAPPORO_ERR_MEMORY : SAPPORO_OK;
}
