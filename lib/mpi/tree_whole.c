/* tree_whole.c - what the particles of all ranks have in common: box, cube, units, the pull of the whole. */
#include <math.h>
#include <string.h>

#include "context/internals.h"
#include "engine/softening.h"
#include "engine/tree_macs.h"
#include "mpi/tree.h"
#include "physics/scalars.h"
#include "physics/tree_sample.h"

/* What each rank says of its particles, in doubles only. */
struct report {
    double n;                 /* particles */
    double known, work;       /* particles whose interactions are known, and their sum */
    double lengths;           /* 1: particles have softening lengths */
    double longest, shortest; /* of these, the greatest, and the least above 0 */
    struct sap_cell cell;
};
enum { REPORT = sizeof(struct report) / sizeof(double) };

/* A look at the particles of this rank.  Part 0 adds up their masses, in their order; others look at ranges of them. */
enum { PARTS = 32 };
struct body_looking {
    const sapporo_mpi_tree *h;
    const struct sap_bodies *bodies;
    int refreshes; /* a refresh has no use for interactions */
    struct sap_cell sums;
    struct {
        struct sap_cell box;
        double known, work, longest, shortest;
    } of[PARTS];
};

/* Adds up masses one after the other, so that sums have the same bits with any number of threads. */
static void add_masses(struct body_looking *l)
{
    sap_cell_start(&l->sums);
    for (int i = 0; i < l->bodies->n; i++) l->sums.weight += fabs(sap_bodies_mass(l->bodies, i));
}

/* Finds the extremes of the softening lengths of particles from first to end - 1, for part k. */
static void look_at_lengths(struct body_looking *l, int k, int first, int end)
{
    double longest = 0, shortest = INFINITY;
    for (int i = first; i < end && l->h->length; i++) {
        const double h = l->h->length[i];
        longest = d_max(longest, h);
        if (h > 0) shortest = d_min(shortest, h);
    }
    l->of[k].longest = longest;
    l->of[k].shortest = shortest;
}

static void look_at_part(void *argument, int part, int from, int to)
{
    struct body_looking *const l = argument;
    (void)from;
    (void)to;
    if (part == 0) {
        add_masses(l);
        return;
    }
    const int64_t n = l->bodies->n, *const work = l->h->work;
    const int first = (int)(n * (part - 1) / PARTS), end = (int)(n * part / PARTS);
    struct sap_cell box;
    int known = 0;
    double sum = 0;
    sap_cell_start(&box);
    for (int i = first; i < end; i++) {
        double x[3];
        sap_bodies_position(l->bodies, i, x);
        for (int c = 0; c < 3; c++) {
            box.low[c] = d_min(box.low[c], x[c]);
            box.high[c] = d_max(box.high[c], x[c]);
        }
    }
    for (int i = first; i < end && !l->refreshes; i++) {
        known += work[i] >= 0;
        sum += work[i] >= 0 ? (double)work[i] : 0;
    }
    l->of[part - 1].box = box;
    l->of[part - 1].known = known;
    l->of[part - 1].work = sum;
    look_at_lengths(l, part - 1, first, end);
}

/* The report of particles that the engine has. */
static int ask_engine(sapporo_mpi_tree *h, struct report *mine)
{
    struct sap_bodies_look look;
    const int status = sapporo_internals()->bodies_look(h->tree, &look);
    *mine = (struct report){.n = h->given, .known = look.known, .work = look.work, .shortest = INFINITY};
    sap_cell_start(&mine->cell);
    memcpy(mine->cell.low, look.low, sizeof look.low);
    memcpy(mine->cell.high, look.high, sizeof look.high);
    mine->cell.weight = look.weight;
    h->unknown = look.unknown;
    return sap_mpi_tree_failed(h, status);
}

/* Joins the parts.  Interactions are integers, whose sums are exact. */
static struct report report_of(struct body_looking *l)
{
    struct report mine = {.n = l->bodies->n, .lengths = l->h->length != NULL, .shortest = INFINITY};
    sapporo_internals()->partial_parts(l->h->options.threads, l->bodies->n, PARTS + 1, look_at_part, l);
    mine.cell = l->sums;
    for (int part = 0; part < PARTS; part++) {
        for (int c = 0; c < 3; c++) {
            mine.cell.low[c] = d_min(mine.cell.low[c], l->of[part].box.low[c]);
            mine.cell.high[c] = d_max(mine.cell.high[c], l->of[part].box.high[c]);
        }
        mine.known += l->of[part].known;
        mine.work += l->of[part].work;
        mine.longest = d_max(mine.longest, l->of[part].longest);
        mine.shortest = d_min(mine.shortest, l->of[part].shortest);
    }
    return mine;
}

/* Joins the reports of all ranks, in their order. */
static struct report join_reports(const struct report *from, int ranks)
{
    struct report all = {.n = 0, .shortest = INFINITY};
    sap_cell_start(&all.cell);
    for (int r = 0; r < ranks; r++) {
        const struct sap_cell *const c = &from[r].cell;
        all.n += from[r].n, all.known += from[r].known, all.work += from[r].work;
        all.lengths = d_max(all.lengths, from[r].lengths);
        all.longest = d_max(all.longest, from[r].longest);
        all.shortest = d_min(all.shortest, from[r].shortest);
        if (from[r].n > 0) sap_cell_add(&all.cell, c->mass, c->weight, c->centre, c->low, c->high);
    }
    return all;
}

/* ------------------------------------------------------------------- sample */

/* Memory of the sample of positions that the cube is made of; all ranks compute the same numbers. */
struct cube_sample {
    int members, *count, *at; /* count, at: members of each rank, and its first one; in doubles */
    double (*mine)[3], (*all)[3], axis[3][SAP_CUBE_SAMPLE];
};

/* The particle of member k, counted over all ranks. */
static double member(double n, int members, int k)
{
    return (double)sap_sample_member((sap_address)n, (sap_address)members, k);
}

/* Reads the positions of particles: from the engine, or from host memory. */
static int read_places(sapporo_mpi_tree *h, const struct sap_bodies *bodies, int n, const int *list, double (*x)[3])
{
    if (bodies->by_engine) return sap_mpi_tree_failed(h, sapporo_internals()->bodies_places(h->tree, n, list, x));
    for (int k = 0; k < n; k++) sap_bodies_position(bodies, list[k], x[k]);
    return SAPPORO_OK;
}

/* Writes the members of this rank to `mine`, and the members of each rank. */
static int take_sample(sapporo_mpi_tree *h, const struct report *from, double n, const struct sap_bodies *bodies,
                       struct cube_sample *s)
{
    int list[SAP_CUBE_SAMPLE];
    double first = 0;
    int k = 0, taken = 0;
    for (int r = 0; r < h->link.size; r++) {
        s->at[r] = 3 * k;
        for (; k < s->members && member(n, s->members, k) < first + from[r].n; k++)
            if (r == h->link.rank) list[taken++] = (int)(member(n, s->members, k) - first);
        s->count[r] = 3 * k - s->at[r];
        first += from[r].n;
    }
    return read_places(h, bodies, taken, list, s->mine);
}

/* Collective.  Gathers a sample of the positions of all ranks. */
static int gather_sample(sapporo_mpi_tree *h, const struct report *from, const struct report *all,
                         const struct sap_bodies *bodies, struct cube_sample *s)
{
    struct sap_link *const link = &h->link;
    s->members = all->n < SAP_CUBE_SAMPLE ? (int)all->n : (int)SAP_CUBE_SAMPLE;
    sap_mpi_tree_fail_late(h, take_sample(h, from, all->n, bodies, s));
    const int bad = sap_link_finish(link, MPI_Iallgatherv(s->mine, s->count[link->rank], MPI_DOUBLE, s->all, s->count,
                                                          s->at, MPI_DOUBLE, link->communicator, &link->request));
    if (bad) return bad;
    for (int k = 0; k < s->members; k++)
        for (int c = 0; c < 3; c++) s->axis[c][k] = s->all[k][c];
    return SAPPORO_OK;
}

/* -------------------------------------------------------------------- whole */

/* A look at all particles.  MPI reads and writes its memory while the ranks exchange. */
struct look {
    struct report mine, *all;
    struct cube_sample sample;
};

/* Makes room for a look; NULL: out of memory. */
static struct look *reserve_look(sapporo_mpi_tree *h)
{
    const size_t ranks = (size_t)h->link.size, reports = ranks * sizeof(struct report),
                 places = SAP_CUBE_SAMPLE * sizeof(double[3]);
    char *const at =
        sap_room_reserve(&h->rooms.look, sizeof(struct look) + reports + 2 * places + 2 * ranks * sizeof(int));
    struct look *const l = (void *)at;
    if (!l) return NULL;
    memset(l, 0, sizeof *l);
    l->all = (void *)(at + sizeof *l);
    l->sample.mine = (void *)(at + sizeof *l + reports);
    l->sample.all = l->sample.mine + SAP_CUBE_SAMPLE;
    l->sample.count = (void *)(l->sample.all + SAP_CUBE_SAMPLE);
    l->sample.at = l->sample.count + ranks;
    return l;
}

/* Collective.  Gathers the reports of all ranks, and joins them. */
static int gather_reports(sapporo_mpi_tree *h, const struct sap_bodies *bodies, int refreshes, struct look *l,
                          struct report *all)
{
    struct sap_link *const link = &h->link;
    struct body_looking looking = {.h = h, .bodies = bodies, .refreshes = refreshes};
    int status = l ? SAPPORO_OK : sap_mpi_tree_no_memory(h, bodies->n);
    if (l && !bodies->by_engine) l->mine = report_of(&looking);
    if (l && bodies->by_engine) status = ask_engine(h, &l->mine);
    status = sap_link_agree(link, status);
    if (status || !l) return status ? status : (int)SAPPORO_ERR_MEMORY;
    status = sap_link_finish(link, MPI_Iallgather(&l->mine, REPORT, MPI_DOUBLE, l->all, REPORT, MPI_DOUBLE,
                                                  link->communicator, &link->request));
    if (status) return status;
    *all = join_reports(l->all, link->size);
    if (sap_cube_in_range(all->cell.low, all->cell.high, all->cell.weight)) return SAPPORO_OK;
    /* all ranks find the same */
    return sap_link_agree(link, sap_link_fail(link, SAPPORO_ERR_NOT_FINITE, "%s: %s", h->call, SAP_TREE_OUT_OF_RANGE));
}

/* Whether the unit of MULTIPOLE's tolerance is needed, which needs a sample in refreshes, too. */
static int needs_pull(const sapporo_mpi_tree *h) { return sap_mac_row(h->settings.mac).by_pull; }

/* Keeps what the particles of all ranks have in common, but the cube; s: their sample, if the pull is needed. */
static void take_report(sapporo_mpi_tree *h, const struct report *all, const struct cube_sample *s)
{
    const double(*const axis)[SAP_CUBE_SAMPLE] = (const double(*)[SAP_CUBE_SAMPLE])s->axis;
    memcpy(h->whole.low, all->cell.low, sizeof h->whole.low);
    memcpy(h->whole.high, all->cell.high, sizeof h->whole.high);
    h->whole.weight = all->cell.weight;
    h->words = all->lengths > 0 ? sap_softening_words(&h->settings) : 0;
    h->whole.longest = all->longest;
    h->whole.shortest = all->shortest;
    h->whole.pull = needs_pull(h) ? sapporo_internals()->part_pull(axis, s->members, all->cell.weight) : 1;
    h->done.total = (long long)all->n;
}

int sap_mpi_tree_find_whole(sapporo_mpi_tree *h, const struct sap_bodies *bodies, double *mean)
{
    struct look *const l = reserve_look(h);
    struct report all = {.n = 0};
    int status = gather_reports(h, bodies, 0, l, &all);
    if (!status) status = gather_sample(h, l->all, &all, bodies, &l->sample);
    if (status) return status;
    *mean = all.known > 0 ? fmax(floor(all.work / all.known), 1) : 1;
    take_report(h, &all, &l->sample);
    h->whole.cube = sap_cube_of(all.cell.low, all.cell.high, l->sample.axis, l->sample.members);
    return SAPPORO_OK;
}

int sap_mpi_tree_find_range(sapporo_mpi_tree *h, const struct sap_bodies *bodies)
{
    struct look *const l = reserve_look(h);
    struct report all = {.n = 0};
    int status = gather_reports(h, bodies, 1, l, &all);
    if (!status && needs_pull(h)) status = gather_sample(h, l->all, &all, bodies, &l->sample);
    if (!status) take_report(h, &all, &l->sample);
    return status;
}
