/* problem.c - a force on one context and over ranks (problem.h). */
#include "problem.h"

#include <stdlib.h>

const char *const split_names[SPLITS] = {"in turn", "all on the first rank", "all on the last rank",
                                         "pieces and an empty rank"};

int is_mine(enum split how, int k, int n)
{
    switch (how) {
    case IN_TURN:
        return k % ranks == rank;
    case ALL_ON_FIRST:
        return rank == 0;
    case ALL_ON_LAST:
        return rank == ranks - 1;
    default:
        break;
    }
    if (ranks == 1) return 1;
    const int busy = ranks - 1, piece = (n + busy - 1) / busy; /* rank 0 has none */
    return k / piece + 1 == rank;
}

struct mine pick(const struct point *all, int n, enum split how)
{
    struct mine m = {.number = malloc((size_t)n * sizeof *m.number), .point = malloc((size_t)n * sizeof *m.point)};
    for (int k = 0; k < n; k++) {
        if (!is_mine(how, k, n)) continue;
        m.number[m.n] = k;
        m.point[m.n++] = all[k];
    }
    return m;
}

void drop(struct mine *m)
{
    free(m->number);
    free(m->point);
}

int set_all(sapporo_mpi *h, const struct point *all, int n, enum split how)
{
    struct mine m = pick(all, n, how);
    const sapporo_particles columns = points_columns(m.point);
    const int status = sapporo_mpi_set_particles(h, m.n, m.number, &columns);
    drop(&m);
    return status;
}

struct problem way_problem(sapporo_mpi_way way, int part, const struct point *source, int nj,
                           const struct point *target, int ni)
{
    return (struct problem){.order = 4,
                            .precision = SAPPORO_DS,
                            .nj = nj,
                            .ni = ni,
                            .way = way,
                            .sources = part,
                            .nearest = 1,
                            .source = source,
                            .target = target,
                            .eps2 = 0x1p-12};
}

sapporo_request request_of(const struct problem *p, const struct point *target, int ni)
{
    sapporo_request r = points_request(target, ni, p->nj);
    r.eps2 = p->eps2;
    r.want = p->nearest ? SAPPORO_WANT_NEAREST : 0;
    if (p->soft) r.eps2_i = (sapporo_column){&target->eps2, sizeof *target};
    if (p->no_index) r.index.base = NULL;
    r.softening = (sapporo_softening)p->softening;
    return r;
}

struct answers solve_alone(const struct problem *p, double time)
{
    sapporo_options options = one_thread(p->order, p->precision);
    options.gravitational_constant = p->gravity;
    const sapporo_particles columns = points_columns(p->source);
    const sapporo_request request = request_of(p, p->target, p->ni);
    struct answers a = answers_new(p->ni);
    const sapporo_result result = answers_result(&a, p->order, p->nearest);
    sapporo *c = NULL;
    sapporo_job *job = NULL;
    int bad = rank == 0 && (sapporo_open(&options, &c) || sapporo_set_particles(c, 0, p->nj, &columns) ||
                            sapporo_set_time(c, time) || sapporo_force_begin(c, &request, &job) ||
                            sapporo_force_end(job, p->ni, &result));
    report(!bad, "one context: %s", bad ? sapporo_last_error(c) : "computes");
    sapporo_force_free(job);
    sapporo_close(c);
    answers_share(&a, p->ni);
    return a;
}

int compute(sapporo_mpi *h, const struct problem *p, const struct mine *m, struct answers *a)
{
    const sapporo_request request = request_of(p, m->point, m->n);
    const sapporo_result result = answers_result(a, p->order, p->nearest);
    sapporo_mpi_job *job;
    const int bad = sapporo_mpi_force_begin(h, &request, &job) || sapporo_mpi_force_end(job, m->n, &result);
    sapporo_mpi_force_free(job);
    return bad;
}

int differing(sapporo_mpi *h, const struct problem *p, enum split how, const struct answers *alone)
{
    struct mine m = pick(p->target, p->ni, how);
    struct answers a = answers_new(m.n);
    int wrong = compute(h, p, &m, &a) ? -1 : 0;
    for (int i = 0; i < m.n && wrong >= 0; i++) wrong += !answers_same(&a, i, alone, m.number[i], p->order, p->nearest);
    answers_free(&a);
    drop(&m);
    return wrong;
}

sapporo_mpi *open_with(const struct problem *p, enum split how, double time)
{
    sapporo_options context = one_thread(p->order, p->precision);
    if (p->threads > 0) context.threads = p->threads;
    context.gravitational_constant = p->gravity;
    const sapporo_mpi_options options = {.size = sizeof options,
                                         .context = &context,
                                         .timeout = 60,
                                         .rows = p->rows,
                                         .way = p->way,
                                         .sources = p->sources,
                                         .costs = p->costs};
    sapporo_mpi *h;
    if (sapporo_mpi_open(MPI_COMM_WORLD, &options, &h)) return NULL;
    if (set_all(h, p->source, p->nj, how) || sapporo_mpi_set_time(h, time)) {
        sapporo_mpi_close(h);
        return NULL;
    }
    return h;
}
