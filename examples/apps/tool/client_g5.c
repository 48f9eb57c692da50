/*
 * client_g5.c - forces of order 2 through the GRAPE-5 interface, called as leap-frog and tree codes call it.
 */
#include "client.h"
#include "util.h"
#include <sapporo_g5.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct client {
    int id;
    double (*x)[3], *mass; /* arrays by address, as codes of this kind keep them */
    int room, n;           /* n: number that the library knows */
    char error[256];
};

static int fail(client *self, const char *call, int status)
{
    snprintf(self->error, sizeof self->error, "%s returned %d", call, status);
    return -1;
}

static client *tree_open(const settings *what)
{
    static int next_id = 2000; /* a new id each time: an open id would keep its settings */
    client *self = allocate(1, sizeof *self);
    self->id = next_id++;
    const int status = open_in_environment(what, g5_openMC, self->id);
    if (status != 0) fail(self, "g5_openMC", status);
    return self;
}

static void tree_close(client *self)
{
    g5_closeMC(self->id);
    free(self->x);
    free(self->mass);
    free(self);
}

static const char *tree_error(const client *self) { return self->error; }

static void grow(client *self, int n)
{
    if (n <= self->room) return;
    double(*x)[3] = allocate((size_t)n, sizeof *x), *mass = allocate((size_t)n, sizeof *mass);
    if (self->room > 0) memcpy(x, self->x, (size_t)self->room * sizeof *x);
    if (self->room > 0) memcpy(mass, self->mass, (size_t)self->room * sizeof *mass);
    free(self->x);
    free(self->mass);
    self->x = x;
    self->mass = mass;
    self->room = n;
}

static int send(client *self, int first, int n)
{
    const int status = g5_set_xmjMC(self->id, first, n, self->x, self->mass);
    return status == 0 ? 0 : fail(self, "g5_set_xmjMC", status);
}

static void keep(client *self, const model *cluster, int star, int address)
{
    memcpy(self->x[address], cluster->particle[star].derivative[0], sizeof self->x[address]);
    self->mass[address] = cluster->particle[star].mass;
}

static int tree_set(client *self, const model *cluster, int star, int address)
{
    grow(self, address < cluster->n ? cluster->n : address + 1);
    keep(self, cluster, star, address);
    return send(self, address, 1);
}

static int tree_load(client *self, const model *cluster)
{
    grow(self, cluster->n);
    for (int k = 0; k < cluster->n; k++) keep(self, cluster, k, k);
    return send(self, 0, cluster->n);
}

/* Does nothing, since the interface does not predict. */
static int tree_set_time(client *self, double time)
{
    (void)self, (void)time;
    return 0;
}

static int tree_force(client *self, int nj, const batch *what, double eps2, unsigned want, forces *out)
{
    (void)want; /* the interface has no neighbours */
    const int size = what->size > 0 ? what->size : what->n;
    if (g5_set_eps2_to_all(eps2) != 0) return fail(self, "g5_set_eps2_to_all", -1);
    if (self->n != nj && g5_set_nMC(self->id, nj) != 0) return fail(self, "g5_set_nMC", -1);
    self->n = nj;
    for (int done = 0; done < what->n; done += size) {
        const int n = what->n - done < size ? what->n - done : size;
        const int status = g5_calculate_force_on_xMC(self->id, what->stars->x + what->first + done, out->acc + done,
                                                     out->pot + done, n);
        if (status != 0) return fail(self, "g5_calculate_force_on_xMC", status);
    }
    return 0;
}

const client_type CLIENT_G5 = {"g5",          tree_open,  tree_close, tree_load, tree_set,
                               tree_set_time, tree_force, tree_error, 2};
