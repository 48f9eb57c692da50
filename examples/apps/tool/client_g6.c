/*
 * client_g6.c - forces through the GRAPE-6 interface, called as GRAPE codes call it.
 */
#include "client.h"
#include "util.h"
#include <sapporo_g6.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A particle as GRAPE codes keep it: derivatives already divided. */
typedef struct grape_particle {
    double k18[3], j6[3], a2[3], v[3], x[3], mass, time;
    int index;
} grape_particle;

struct client {
    int id;
    grape_particle *particle; /* particles of the last model */
    const sapporo_particle *source;
    int npipes;
    char error[256];
};

static int fail(client *self, const char *call, int status)
{
    snprintf(self->error, sizeof self->error, "%s returned %d", call, status);
    return -1;
}

static client *grape_open(const settings *what)
{
    static int next_id = 1000; /* a new id each time: an open id would keep its settings */
    client *self = allocate(1, sizeof *self);
    self->id = next_id++;
    const int status = open_in_environment(what, g6_open, self->id);
    if (status != 0) fail(self, "g6_open", status);
    self->npipes = g6_npipes();
    if (self->npipes < 1) fail(self, "g6_npipes", self->npipes);
    return self;
}

static void grape_close(client *self)
{
    g6_close(self->id);
    free(self->particle);
    free(self);
}

static const char *grape_error(const client *self) { return self->error; }

static void divide(const double value[3], double divisor, double out[3])
{
    for (int c = 0; c < 3; c++) out[c] = value[c] / divisor;
}

/* Takes a model: divides the derivatives once and not at each call, as integrators do too. */
static void take_model(client *self, const model *cluster)
{
    if (self->source == cluster->particle) return;
    free(self->particle);
    self->particle = allocate((size_t)cluster->n, sizeof *self->particle);
    self->source = cluster->particle;
    for (int k = 0; k < cluster->n; k++) {
        const sapporo_particle *star = &cluster->particle[k];
        grape_particle *own = &self->particle[k];
        divide(star->derivative[4], 18.0, own->k18);
        divide(star->derivative[3], 6.0, own->j6);
        divide(star->derivative[2], 2.0, own->a2);
        divide(star->derivative[1], 1.0, own->v);
        divide(star->derivative[0], 1.0, own->x);
        own->mass = star->mass;
        own->time = star->time;
        own->index = star->index;
    }
}

static int grape_set(client *self, const model *cluster, int star, int address)
{
    if (self->source != cluster->particle) take_model(self, cluster);
    grape_particle *p = &self->particle[star];
    const int status =
        g6_set_j_particle(self->id, address, p->index, p->time, 0.0, p->mass, p->k18, p->j6, p->a2, p->v, p->x);
    return status == 0 ? 0 : fail(self, "g6_set_j_particle", status);
}

static int grape_load(client *self, const model *cluster)
{
    self->source = NULL;
    for (int k = 0; k < cluster->n; k++)
        if (grape_set(self, cluster, k, k) != 0) return -1;
    return 0;
}

static int grape_set_time(client *self, double time)
{
    const int status = g6_set_ti(self->id, time);
    return status == 0 ? 0 : fail(self, "g6_set_ti", status);
}

static int read_lists(client *self, int n, int first, forces *out)
{
    int status = g6_read_neighbour_list(self->id);
    if (status != 0) return fail(self, "g6_read_neighbour_list", status);
    for (int i = 0; i < n && status == 0; i++)
        status = g6_get_neighbour_list(self->id, i, out->list_room, &out->length[first + i], out->list);
    return status == 0 ? 0 : fail(self, "g6_get_neighbour_list", status);
}

/* Does one call of the hardware's kind: n <= npipes i-particles from star i on, results from row `row` on. */
static int one_batch(client *self, int nj, const targets *stars, int i, int n, int row, double eps2, unsigned want,
                     forces *out)
{
    int *index = stars->index + i, status;
    double(*x)[3] = stars->x + i, (*v)[3] = stars->v + i, *h2 = stars->h2 + i;
    double(*acc)[3] = out->acc + row, (*jerk)[3] = out->jerk + row, *pot = out->pot + row;
    g6calc_firsthalf(self->id, nj, n, index, x, v, acc, jerk, pot, eps2, h2);
    if ((want & SAPPORO_WANT_NEAREST) != 0)
        status = g6calc_lasthalf2(self->id, nj, n, index, x, v, eps2, h2, acc, jerk, pot, out->nearest + row);
    else
        status = g6calc_lasthalf(self->id, nj, n, index, x, v, eps2, h2, acc, jerk, pot);
    if (status != 0) return fail(self, "g6calc_lasthalf", status);
    return (want & SAPPORO_WANT_LISTS) != 0 ? read_lists(self, n, row, out) : 0;
}

static int grape_force(client *self, int nj, const batch *what, double eps2, unsigned want, forces *out)
{
    const int size = what->size > 0 ? what->size : self->npipes;
    for (int done = 0; done < what->n; done += size) {
        const int n = what->n - done < size ? what->n - done : size;
        if (one_batch(self, nj, what->stars, what->first + done, n, done, eps2, want, out) != 0) return -1;
    }
    return 0;
}

const client_type CLIENT_G6 = {"g6",           grape_open,  grape_close, grape_load, grape_set,
                               grape_set_time, grape_force, grape_error, 4};
