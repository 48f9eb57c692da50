/* check_order2.c - checks order 2: acceleration and potential, with softening per star, and batches of small forces. */
#include "check.h"
#include "util.h"
#include <stdlib.h>
#include <string.h>

/* The results of one call. */
typedef struct newton {
    double (*acc)[3], *pot;
} newton;

static newton newton_new(int n)
{
    const newton made = {allocate((size_t)n, sizeof *made.acc), allocate((size_t)n, sizeof *made.pot)};
    return made;
}

static void newton_free(newton *out)
{
    free(out->acc);
    free(out->pot);
}

static int load(sapporo *context, const scene *on)
{
    const sapporo_particle *p = on->cluster.particle;
    const ptrdiff_t stride = sizeof *p;
    const sapporo_particles columns = {.size = sizeof columns,
                                       .derivative = {{p->derivative[0], stride}},
                                       .mass = {&p->mass, stride},
                                       .index = {&p->index, stride}};
    return sapporo_set_particles(context, 0, on->cluster.n, &columns);
}

/*
 * Computes a force of order 2.  index NULL: stars act on themselves too.  eps2_i: softening per i-particle, NULL:
 * common.
 */
static int force(sapporo *context, const scene *on, const int *index, const double *eps2_i, const newton *out)
{
    sapporo_job *job = NULL;
    const sapporo_request request = {.size = sizeof request,
                                     .nj = on->cluster.n,
                                     .ni = on->stars.n,
                                     .x = {on->stars.x, 0},
                                     .index = {index, 0},
                                     .eps2 = eps2_i != NULL ? 0.0 : on->eps2,
                                     .eps2_i = {eps2_i, 0}};
    const sapporo_result result = {.size = sizeof result, .acc = out->acc, .pot = out->pot};
    int status = sapporo_force_begin(context, &request, &job);
    if (status == SAPPORO_OK) status = sapporo_force_end(job, on->stars.n, &result);
    sapporo_force_free(job);
    return status;
}

static int count_different(const newton *a, const newton *b, int n)
{
    int wrong = 0;
    for (int i = 0; i < n; i++)
        wrong +=
            memcmp(a->acc[i], b->acc[i], sizeof a->acc[i]) != 0 || memcmp(&a->pot[i], &b->pot[i], sizeof *a->pot) != 0;
    return wrong;
}

/* Computes the force of all stars as two lists, by address and as sources of their own. */
static int two_lists(sapporo *context, const scene *on, const newton out[2])
{
    const int n = on->cluster.n;
    const sapporo_particle *p = on->cluster.particle;
    int *address = allocate((size_t)n, sizeof *address);
    for (int k = 0; k < n; k++) address[k] = k;
    sapporo_small_force list[2];
    sapporo_result result[2];
    for (int k = 0; k < 2; k++) {
        list[k] = (sapporo_small_force){.size = sizeof list[k], .ni = on->stars.n, .nj = n, .eps2 = on->eps2};
        list[k].x.base = on->stars.x;
        result[k] = (sapporo_result){.size = sizeof result[k], .acc = out[k].acc, .pot = out[k].pot};
    }
    list[0].address = address;
    list[1].x_j = (sapporo_column){p->derivative[0], sizeof *p};
    list[1].mass_j = (sapporo_column){&p->mass, sizeof *p};
    const int status = sapporo_force_batch(context, 2, list, result);
    free(address);
    return status;
}

static void check_bits2(report *to, sapporo *context, const scene *on, const newton *first)
{
    const int n = on->stars.n;
    newton out[2] = {newton_new(n), newton_new(n)}, whole = newton_new(n);
    double *eps2 = allocate((size_t)n, sizeof *eps2);
    for (int i = 0; i < n; i++) eps2[i] = on->eps2;
    if (force(context, on, on->stars.index, eps2, &out[0]) != SAPPORO_OK)
        report_failure(to, "order 2, softening of each", sapporo_last_error(context));
    else
        report_wrong(to, "order 2, same bits: softening of each", count_different(first, &out[0], n), n);
    int status = force(context, on, NULL, NULL, &whole);
    if (status == SAPPORO_OK) status = two_lists(context, on, out);
    if (status != SAPPORO_OK)
        report_failure(to, "sapporo_force_batch", sapporo_last_error(context));
    else
        report_wrong(to, "order 2, same bits: sapporo_force_batch",
                     count_different(&whole, &out[0], n) + count_different(&whole, &out[1], n), 2 * n);
    for (int k = 0; k < 2; k++) newton_free(&out[k]);
    newton_free(&whole);
    free(eps2);
}

void check_order2(report *to, const settings *what, const scene *on, bound acc, bound pot)
{
    const int n = on->stars.n;
    sapporo *context = open_order2(what);
    newton out = newton_new(n);
    if (context == NULL || load(context, on) != SAPPORO_OK ||
        force(context, on, on->stars.index, NULL, &out) != SAPPORO_OK) {
        report_failure(to, "order 2", sapporo_last_error(context));
    } else {
        double *error = allocate((size_t)n, sizeof *error);
        for (int i = 0; i < n; i++) error[i] = vector_error(out.acc[i], on->exact[i].acc);
        report_errors(to, "order 2, eps = 1/256", "acc", error, n, acc);
        for (int i = 0; i < n; i++) error[i] = number_error(out.pot[i], on->exact[i].pot);
        report_errors(to, "order 2, eps = 1/256", "pot", error, n, pot);
        free(error);
        check_bits2(to, context, on, &out);
    }
    newton_free(&out);
    sapporo_close(context);
}
