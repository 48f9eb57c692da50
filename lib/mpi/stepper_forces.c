/* stepper_forces.c - what the part of a rank asks of all ranks: statuses, sums, trees and forces (stepper.h). */
#include <stdio.h>
#include <string.h>

#include "mpi/handle.h"
#include "mpi/stepper.h"
#include "mpi/tree.h"

static sapporo_mpi_stepper *of_hook(void *of) { return of; }

/* ----------------------------------------------------------------- agreement */

static int agree(void *of, int status, const char *text)
{
    sapporo_mpi_stepper *const h = of_hook(of);
    if (status) (void)sap_link_note(&h->link, status, text);
    const int agreed = sap_link_agree(&h->link, status);
    if (agreed) h->agreed = 1;
    return agreed;
}

/* Adds counts over all ranks, and with them those of the last force. */
static int add_counts(void *of, long long *count, int n)
{
    sapporo_mpi_stepper *const h = of_hook(of);
    struct sap_link *const link = &h->link;
    memcpy(h->count, count, (size_t)n * sizeof *count);
    h->count[n] = h->work;
    h->count[n + 1] = h->rows;
    h->count[n + 2] = h->massive;
    const int status = link->broken
                           ? link->broken
                           : sap_link_finish(link, MPI_Iallreduce(h->count, h->all_count, n + 3, MPI_LONG_LONG, MPI_SUM,
                                                                  link->communicator, &link->request));
    if (status) h->agreed = 1;
    if (status) return status;
    memcpy(count, h->all_count, (size_t)n * sizeof *count);
    h->interactions = h->all_count[n + 1] > 0 ? (double)h->all_count[n] / (double)h->all_count[n + 1] : 0;
    h->all_massive = h->all_count[n + 2];
    return SAPPORO_OK;
}

/* Adds numbers over all ranks, in their order. */
static int add(void *of, double *number, int n)
{
    sapporo_mpi_stepper *const h = of_hook(of);
    struct sap_link *const link = &h->link;
    memcpy(h->sum, number, (size_t)n * sizeof *number);
    const int status = link->broken
                           ? link->broken
                           : sap_link_finish(link, MPI_Iallgather(h->sum, n, MPI_DOUBLE, h->all_sums, n, MPI_DOUBLE,
                                                                  link->communicator, &link->request));
    if (status) h->agreed = 1;
    if (status) return status;
    memcpy(number, h->all_sums, (size_t)n * sizeof *number);
    for (int r = 1; r < link->size; r++)
        for (int k = 0; k < n; k++) number[k] += h->all_sums[(size_t)r * (size_t)n + (size_t)k];
    return SAPPORO_OK;
}

/*
 * Collective.  Gives each source an address: those of rank 0 come first, then those of rank 1, and so on; and each
 * particle of all ranks a number in the same order.
 */
static int place(sapporo_mpi_stepper *h)
{
    static const char *const name[2] = {NULL, NULL};
    struct sap_link *const link = &h->link;
    const double field[2] = {h->massive, h->n};
    int before = 0, all = 0, status = sap_link_compare(link, SAPPORO_OK, 2, field, name);
    if (!status) status = sap_mpi_stepper_count(h, 1, &before, &all);
    if (!status) status = sap_mpi_stepper_count(h, 0, &before, &all);
    if (status) h->agreed = 1;
    if (status) return status;
    for (int k = 0; k < h->n && !h->on_device; k++)
        h->address[k] = k < h->massive ? before + k : all + (k - h->massive);
    for (int r = 0; r < link->size; r++) h->first[r + 1] = h->first[r] + (int)sap_link_field(link, r, 1);
    if (!h->on_device) return SAPPORO_OK;
    h->sharing.all = sap_mpi_stepper_route(h, &h->sources, 0, h->massive);
    h->sharing.before = before;
    h->sharing.first = h->first[link->rank];
    return SAPPORO_OK;
}

static int begin(void *of, int n, int massive, int has_lengths)
{
    sapporo_mpi_stepper *const h = of_hook(of);
    sapporo_mpi_tree *const tree = h->tree ? sap_mpi_tree_find(h->tree) : NULL;
    h->n = n;
    h->massive = massive;
    h->has_lengths = has_lengths;
    h->built = 0;
    if (tree && !has_lengths) sap_mpi_tree_drop_lengths(tree);
    h->work = h->rows = 0;
    h->words[0] = '\0';
    return h->sums ? place(h) : SAPPORO_OK;
}

static const char *words(const void *of)
{
    const sapporo_mpi_stepper *const h = of;
    return h->words;
}

int sap_mpi_stepper_note(sapporo_mpi_stepper *h, int status, const char *text)
{
    (void)snprintf(h->words, sizeof h->words, "%s", status ? text : "");
    if (status == SAPPORO_MPI_ERR_TIMEOUT || status == SAPPORO_MPI_ERR_MPI) h->link.broken = status;
    return status;
}

/* --------------------------------------------------------------------- trees */

static sapporo_mpi_stepper *of_tree(const struct sap_tree *tree) { return ((const struct sap_stepper_tree *)tree)->of; }

static sapporo_tree_particles particles_of(const sapporo_mpi_stepper *h)
{
    if (h->on_device)
        return (sapporo_tree_particles){.size = sizeof(sapporo_tree_particles),
                                        .memory = SAPPORO_MEMORY_DEVICE,
                                        .n = h->n,
                                        .x = {h->there.x, 0},
                                        .mass = {h->there.mass, 0},
                                        .a = {h->there.a, 0},
                                        .h = {h->has_lengths ? h->there.h : NULL, 0}};
    return (sapporo_tree_particles){.size = sizeof(sapporo_tree_particles),
                                    .n = h->n,
                                    .x = {h->x, 0},
                                    .mass = {h->mass, 0},
                                    .a = {h->a, 0},
                                    .h = {h->has_lengths ? h->length : NULL, 0}};
}

static int build(struct sap_tree *tree)
{
    sapporo_mpi_stepper *const h = of_tree(tree);
    const sapporo_tree_particles p = particles_of(h);
    const int status = sapporo_mpi_tree_build(h->tree, &p);
    h->built = !status;
    return sap_mpi_stepper_note(h, status, sapporo_mpi_tree_last_error(h->tree));
}

static int refresh(struct sap_tree *tree)
{
    sapporo_mpi_stepper *const h = of_tree(tree);
    const sapporo_tree_particles p = particles_of(h);
    const int status = sapporo_mpi_tree_refresh(h->tree, &p);
    if (status) h->built = 0;
    return sap_mpi_stepper_note(h, status, sapporo_mpi_tree_last_error(h->tree));
}

static int count(const struct sap_tree *tree, int cells)
{
    const sapporo_mpi_stepper *const h = of_tree(tree);
    (void)cells;
    return h->built ? h->massive : (int)SAP_TREE_NONE;
}

static double interactions(const struct sap_tree *tree)
{
    const sapporo_mpi_stepper *const h = of_tree(tree);
    return h->interactions;
}

static const char *tree_words(const struct sap_tree *tree) { return words(of_tree(tree)); }

static const struct sap_tree_ops tree_ops = {
    .build = build, .refresh = refresh, .count = count, .interactions = interactions, .words = tree_words};

static int force_by_tree(sapporo_mpi_stepper *h, const struct sap_step_rows *r)
{
    sapporo_mpi_tree_statistics s = {.size = sizeof s};
    const sapporo_tree_request there = {
        .size = sizeof there, .memory = SAPPORO_MEMORY_DEVICE, .ni = r->ni, .active = r->active};
    const int status = h->on_device ? sapporo_mpi_tree_force_request(h->tree, &there, r->acc, r->pot)
                                    : sapporo_mpi_tree_force_active(h->tree, r->ni, r->active, r->acc, r->pot);
    (void)sapporo_mpi_tree_get_statistics(h->tree, &s);
    h->work = status ? 0 : s.particle_particle + s.particle_cell;
    h->rows = status ? 0 : s.rows;
    return sap_mpi_stepper_note(h, status, sapporo_mpi_tree_last_error(h->tree));
}

/* --------------------------------------------------------------- direct sums */

/* Gives particles and active ones their squared lengths; Plummer's softening adds the common one. */
static void soften(const sapporo_mpi_stepper *h, const struct sap_step_rows *r, sapporo_particles *all,
                   sapporo_request *request)
{
    double *const of_active = h->soft + h->room + 1;
    request->softening = h->tree_options.softening;
    if (request->softening) request->eps2 = 0;
    sap_step_square_lengths(r, h->massive, h->soft, of_active);
    all->eps2.base = h->soft;
    request->eps2_i.base = of_active;
}

static int force_by_sums(sapporo_mpi_stepper *h, const struct sap_step_rows *r)
{
    sapporo_particles all = {.size = sizeof all};
    sapporo_request request = {
        .size = sizeof request, .nj = (int)h->all_massive, .ni = r->ni, .eps2 = h->tree_options.eps2};
    const sapporo_result result = {.size = sizeof result, .acc = r->acc, .pot = r->pot};
    sapporo_mpi_job *job = NULL;
    all.derivative[0].base = h->x;
    all.mass.base = h->mass;
    for (int k = 0; k < r->ni; k++) {
        const int slot = r->active ? r->active[k] : k;
        memcpy(h->target[k], h->x[slot], sizeof *h->target);
        h->index[k] = h->address[slot];
    }
    request.x.base = (const double(*)[3])h->target;
    request.index.base = h->index;
    if (r->h) soften(h, r, &all, &request);
    int status = sapporo_mpi_set_particles(h->sums, h->massive, h->address, &all);
    if (!status) status = sapporo_mpi_force_begin(h->sums, &request, &job);
    if (!status) status = sapporo_mpi_force_end(job, r->ni, &result);
    sapporo_mpi_force_free(job);
    return sap_mpi_stepper_note(h, status, sapporo_mpi_last_error(h->sums));
}

/* ------------------------------------------------------------ Hermite schemes */

static int clear(void *of)
{
    sapporo_mpi_stepper *const h = of_hook(of);
    h->puts = 0;
    return h->link.broken
               ? h->link.broken
               : sap_mpi_stepper_note(h, sapporo_mpi_clear_particles(h->sums), sapporo_mpi_last_error(h->sums));
}

static int put(void *of, int slot, const sapporo_particle *particle)
{
    sapporo_mpi_stepper *const h = of_hook(of);
    h->index[h->puts] = h->address[slot];
    h->kept[h->puts] = *particle;
    h->kept[h->puts++].index += h->first[h->link.rank];
    return SAPPORO_OK;
}

static int store(void *of)
{
    sapporo_mpi_stepper *const h = of_hook(of);
    const ptrdiff_t each = sizeof *h->kept;
    sapporo_particles all = {.size = sizeof all,
                             .mass = {&h->kept->mass, each},
                             .time = {&h->kept->time, each},
                             .eps2 = {&h->kept->eps2, each},
                             .index = {&h->kept->index, each}};
    if (h->link.broken) return h->link.broken;
    for (int d = 0; d < SAPPORO_DERIVATIVES; d++) all.derivative[d] = (sapporo_column){h->kept->derivative[d], each};
    const int status = sapporo_mpi_set_particles(h->sums, h->puts, h->index, &all);
    h->puts = 0;
    return sap_mpi_stepper_note(h, status, sapporo_mpi_last_error(h->sums));
}

static int force_by_series(void *of, double time, const sapporo_request *given, const sapporo_result *result)
{
    sapporo_mpi_stepper *const h = of_hook(of);
    sapporo_request request = *given;
    sapporo_mpi_job *job = NULL;
    if (h->link.broken) return h->link.broken;
    if (h->all_massive == 0) return sap_hermite_no_forces(given, result);
    for (int k = 0; k < given->ni; k++) h->index[k] = h->first[h->link.rank] + ((const int *)given->index.base)[k];
    request.index.base = h->index;
    request.nj = (int)h->all_massive;
    int status = sapporo_mpi_set_time(h->sums, time);
    if (!status) status = sapporo_mpi_force_begin(h->sums, &request, &job);
    if (!status) status = sapporo_mpi_force_end(job, request.ni, result);
    sapporo_mpi_force_free(job);
    return sap_mpi_stepper_note(h, status == SAPPORO_PARTIAL ? (int)SAPPORO_OK : status,
                                sapporo_mpi_last_error(h->sums));
}

static int any(void *of, int *is)
{
    static const char *const name[1] = {NULL};
    sapporo_mpi_stepper *const h = of_hook(of);
    const double mine = *is;
    const int status = sap_link_compare(&h->link, SAPPORO_OK, 1, &mine, name);
    for (int r = 0; r < h->link.size && !status; r++) *is |= sap_link_field(&h->link, r, 0) != 0;
    return status;
}

static const struct sap_hermite_sums hermite_sums = {
    .clear = clear, .put = put, .store = store, .force = force_by_series, .any = any, .words = words};

/* ------------------------------------------------------------------- devices */

static void place_there(void *of, const struct sap_step_places *places) { of_hook(of)->there = *places; }

static int ready(void *of, int status)
{
    sapporo_mpi_stepper *const h = of_hook(of);
    if (h->link.broken) return h->link.broken;
    return sap_mpi_stepper_note(h, sap_link_agree(&h->link, status), h->link.error);
}

/* -------------------------------------------------------------------- forces */

static int force(void *of, const struct sap_step_rows *rows)
{
    sapporo_mpi_stepper *const h = of_hook(of);
    if (h->link.broken) return h->link.broken;
    if (h->all_massive > 0) return h->tree ? force_by_tree(h, rows) : force_by_sums(h, rows);
    if (h->on_device) return SAPPORO_OK; /* rows are 0 already */
    memset(rows->acc, 0, (size_t)rows->ni * sizeof *rows->acc);
    memset(rows->pot, 0, (size_t)rows->ni * sizeof *rows->pot);
    return SAPPORO_OK;
}

struct sap_stepper_whole sap_mpi_stepper_whole(sapporo_mpi_stepper *h)
{
    sapporo *const context = sapporo_mpi_context(h->sums);
    const int threads = h->tree ? h->tree_options.threads : sap_mpi_threads(context);
    h->as_tree = (struct sap_stepper_tree){{&tree_ops}, h};
    return (struct sap_stepper_whole){.of = h,
                                      .agree = agree,
                                      .add_counts = add_counts,
                                      .add = add,
                                      .begin = begin,
                                      .renumber = sap_mpi_stepper_renumber,
                                      .words = words,
                                      .tree = h->tree ? &h->as_tree.base : NULL,
                                      .context = context,
                                      .precision = h->order ? (int)sapporo_get_precision(context) : 0,
                                      .source = {.force = force,
                                                 .sums = h->order ? &hermite_sums : NULL,
                                                 .of = h,
                                                 .threads = threads,
                                                 .shared = 1,
                                                 .place = h->tree && h->on_device ? place_there : NULL,
                                                 .ready = ready,
                                                 .sharing = h->sums && h->on_device ? &h->sharing : NULL,
                                                 .x = h->x,
                                                 .mass = h->mass,
                                                 .a = h->tree ? h->a : NULL,
                                                 .h = h->length},
                                      .kind = h->kind};
}
