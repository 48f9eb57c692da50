/*
 * tree_near.c - near pairs in trees over any number of ranks: particles of one rank beside those of another.  Each
 * target is compared with a sum in extended precision, with the bounds of multiscale_proof.h.
 *
 *     tree_near ["SEED SYSTEMS"]    proves so many of the systems that `make fuzz-trees` draws; 1 40 if nothing is said
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "multiscale_proof.h"
#include "tree_problem.h"

/* The particles of this rank: each `ranks`-th one, so that near particles are of different ranks. */
struct mine {
    int n, ni;
    double (*x)[3], (*moved)[3], *mass, *a, (*acc)[3], *pot;
    int *active, *row; /* [ni] the number of a particle of this rank, and its row */
};

static struct mine mine_of(const struct multiscale *s)
{
    const size_t n = (size_t)s->n + 1, ni = (size_t)s->ni + 1;
    struct mine m = {.x = calloc(n, 24), .moved = calloc(n, 24), .mass = calloc(n, 8), .a = calloc(n, 8)};
    m.acc = calloc(ni, 24), m.pot = calloc(ni, 8), m.active = calloc(ni, sizeof(int)), m.row = calloc(ni, sizeof(int));
    for (int k = rank; k < s->n; k += ranks, m.n++) {
        memcpy(m.x[m.n], s->x[k], sizeof *m.x);
        memcpy(m.moved[m.n], s->moved ? s->moved[k] : s->x[k], sizeof *m.moved);
        m.mass[m.n] = s->mass[k];
        m.a[m.n] = s->a ? s->a[k] : 0;
    }
    for (int i = 0; i < s->ni; i++) {
        const int k = s->active ? s->active[i] : i;
        if (k % ranks != rank) continue;
        m.active[m.ni] = k / ranks;
        m.row[m.ni++] = i;
    }
    return m;
}

static void mine_free(struct mine *m)
{
    free(m->x);
    free(m->moved);
    free(m->mass);
    free(m->a);
    free(m->acc);
    free(m->pot);
    free(m->active);
    free(m->row);
}

static sapporo_tree_particles columns(const struct multiscale *s, const struct mine *m, double (*x)[3])
{
    return (sapporo_tree_particles){.size = sizeof(sapporo_tree_particles),
                                    .n = m->n,
                                    .x = {x, 0},
                                    .mass = {m->mass, 0},
                                    .a = {s->a ? m->a : NULL, 0}};
}

/* Computes the rows of this rank; returns a status. */
static int force(const struct multiscale *s, const struct mine *m, sapporo_precision precision)
{
    sapporo_tree_options tree = s->options;
    const sapporo_mpi_tree_options o = {.size = sizeof o, .tree = &tree, .timeout = 60};
    const sapporo_tree_particles first = columns(s, m, m->x), last = columns(s, m, m->moved);
    sapporo_mpi_tree *t = NULL;
    tree.backend = tested_backend(), tree.precision = precision, tree.threads = 1;
    int status = sapporo_mpi_tree_create(MPI_COMM_WORLD, &o, &t);
    if (!status) status = sapporo_mpi_tree_build(t, &first);
    if (!status && s->moved) status = sapporo_mpi_tree_refresh(t, &last);
    if (!status) status = sapporo_mpi_tree_force_active(t, m->ni, m->active, m->acc, m->pot);
    sapporo_mpi_tree_destroy(t);
    return status;
}

/* Computes a force, and gives all ranks all its rows. */
static void solve(const struct multiscale *s, const struct mine *m, sapporo_precision precision, struct proof_answer *a)
{
    double *const rows = calloc(4 * (size_t)s->ni + 4, sizeof *rows), *const all = calloc(4 * (size_t)s->ni + 4, 8);
    *a = (struct proof_answer){.rows = s->ni, .status = force(s, m, precision), .particles = -1, .cells = -1};
    a->acc = calloc((size_t)s->ni + 1, sizeof *a->acc);
    a->pot = calloc((size_t)s->ni + 1, sizeof *a->pot);
    for (int i = 0; i < m->ni; i++) {
        memcpy(rows + 4 * (size_t)m->row[i], m->acc[i], sizeof *m->acc);
        rows[4 * (size_t)m->row[i] + 3] = m->pot[i];
    }
    ranks_combine_doubles(rows, all, 4 * s->ni, MPI_SUM); /* the rows of other ranks are 0 */
    for (int i = 0; i < s->ni; i++) {
        memcpy(a->acc[i], all + 4 * (size_t)i, sizeof *a->acc);
        a->pot[i] = all[4 * (size_t)i + 3];
    }
    free(rows);
    free(all);
}

/* Proves the system of a seed; returns whether it fails, with the reason. */
static int prove(unsigned long seed, sapporo_precision precision, struct proof_verdict *v)
{
    struct multiscale_recipe recipe = multiscale_draw(seed);
    struct multiscale s;
    struct proof_answer wide, narrow;
    recipe.options.softening = SAPPORO_SOFTENING_PLUMMER;
    recipe.options.experiments = 0;
    if (recipe.form >= MULTISCALE_POSITIONS) recipe.form = MULTISCALE_ALL;
    memset(v, 0, sizeof *v);
    if (!multiscale_make(&recipe, seed, &s)) return 1;
    struct mine m = mine_of(&s);
    solve(&s, &m, SAPPORO_DP, &wide);
    solve(&s, &m, precision, &narrow);
    v->refused = precision == SAPPORO_DS && narrow.status == SAPPORO_ERR_UNSUPPORTED;
    v->failed = wide.status < 0 || (narrow.status < 0 && !v->refused);
    if (v->failed) (void)snprintf(v->text, sizeof v->text, "status %d, %d", wide.status, narrow.status);
    if (!v->failed) proof_check(&s, &wide, v->refused ? NULL : &narrow, precision, v);
    proof_free(&wide);
    proof_free(&narrow);
    mine_free(&m);
    multiscale_free(&s);
    return v->failed;
}

int main(int argc, char **argv)
{
    static const char *const names[] = {"", "sp", "ds", "dp"};
    unsigned long seed = 1, systems = 40;
    ranks_begin(&argc, &argv);
    if (argc > 1) {
        char *rest;
        seed = strtoul(argv[1], &rest, 10);
        systems = strtoul(rest, NULL, 10);
    }
    for (int p = SAPPORO_SP; p <= SAPPORO_DS && has_device(); p++) {
        int failed = 0;
        for (unsigned long k = seed; k < seed + systems; k++) {
            struct proof_verdict v;
            if (!prove(k, (sapporo_precision)p, &v)) continue;
            if (rank == 0 && failed++ < 8) fprintf(stderr, "seed %lu: %s\n", k, v.text);
        }
        report(failed == 0, "near pairs in %s: %d of %lu systems differ", names[p], failed, systems);
    }
    return ranks_end();
}
