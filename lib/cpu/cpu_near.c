/*
 * cpu_near.c - decides exactly, among candidates that kernels found, which particles are neighbours.
 *
 * Kernels compare squared distances in the working type. Particles within the error of a boundary (the smallest
 * distance, or the radius of a list) are decided by canonical.h, so all paths and precisions give the same answer.
 */
#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cpu/cpu_engine.h"
#include "engine/canonical.h"

enum { TILE = SAP_CPU_SUPERPACKET, LANES = SAP_CPU_LANES };

/*
 * Squares below SMALLEST lose digits in single precision, up to all of them. Kernels cannot distinguish particles at
 * such small distances: all are candidates, and none is certain.
 */
#define SMALLEST   0x1p-110
#define NO_FARTHER 0x1p-120 /* the smallest radius^2 of candidates, for any list */

static double largest(const double *x) { return fmax(fabs(x[0]), fmax(fabs(x[1]), fabs(x[2]))); }

/* Returns the largest squared distance that a kernel may report for a true one of r2, and vice versa. */
static double outer(const struct sap_judge *j, int i, double r2)
{
    const struct sap_kernel *k = j->store->devices->kernel;
    const double r = sqrt(r2);
    const double far = r * (1 + k->r2_error) + k->x_error * (largest(j->force->request.x[i]) + r);
    return fmax(far * far, NO_FARTHER);
}

/* Returns the smallest such distance. */
static double inner(const struct sap_judge *j, int i, double r2)
{
    const struct sap_kernel *k = j->store->devices->kernel;
    const double r = sqrt(r2);
    const double near = r * (1 - k->r2_error) - k->x_error * (largest(j->force->request.x[i]) + r);
    return near > 0 && near * near > SMALLEST ? near * near : 0;
}

double sap_near_reach(const struct sap_judge *j, int i, double h2) { return h2 > 0 ? outer(j, i, h2) : 0; }

double sap_near_sure(const struct sap_judge *j, int i, double h2) { return inner(j, i, h2); }

/*
 * Returns the sphere of candidates of a regular force. Errors of a separation that grow with it are far below the
 * margin of 2^-10 in its square. Other errors, `off`, come from positions and, where the rule looks ahead, from a
 * distance of dtr times the velocities. A margin in (r + off)^2 of r^2 2^-11 + off^2 2^12 covers them.
 */
struct sap_sphere sap_near_reach_outside(const struct sap_judge *j, int i)
{
    const struct sap_kernel *k = j->store->devices->kernel;
    const struct sap_force_request *r = &j->force->request;
    const double h2 = r->h2 ? r->h2[i] : 0,
                 way = r->dtr && r->dtr[i] != 0 ? fabs(r->dtr[i]) * (largest(r->v[i]) + j->fastest) : 0;
    if (!(h2 > 0)) return (struct sap_sphere){0}; /* kernels then find only particles at zero distance */
    const double off = 4 * k->x_error * (largest(r->x[i]) + way) + 8 * k->r2_error * way;
    const double margin = off * off * 0x1p12, least = h2 > SMALLEST ? h2 * (1 - 0x1p-10) : 0,
                 most = fmax(h2 * (1 + 0x1p-10), NO_FARTHER);
    if (r->h2_by_mass) return (struct sap_sphere){margin, most, -margin, least};
    return (struct sap_sphere){most + margin, 0, least - margin, 0};
}

/* Returns whether a particle can be a neighbour of i at all. */
static int eligible(const struct sap_judge *j, int i, int address)
{
    const struct sap_force_request *r = &j->force->request;
    if (address >= j->force->nj || (j->holes && !sap_jstore_has(j->store->host, address))) return 0;
    return r->rule != SAP_PAIRS_SKIP_OWN || sap_jstore_index(j->store->host, address) != r->index[i];
}

/* Returns the squared distance to the accuracy of the working type, or better. */
static double rough_r2(const struct sap_judge *j, int i, int address)
{
    const double *x = j->force->request.x[i];
    if (!j->use_records) return sap_canonical_r2(j->store->host, address, j->force->request.time, x);
    const struct sap_predicted *p = &j->store->predicted[address / TILE];
    return j->store->devices->kernel->rough_r2(p->records, address % TILE, x);
}

/* The best result of a search so far; ties go to the lower address. */
struct best_neighbour {
    int address;
    double r2;
};

static void consider(const struct sap_judge *j, int i, int address, struct best_neighbour *s)
{
    const double r2 = sap_canonical_r2(j->store->host, address, j->force->request.time, j->force->request.x[i]);
    if (r2 < s->r2 || (r2 == s->r2 && (s->address < 0 || address < s->address)))
        *s = (struct best_neighbour){address, r2};
}

static int found(const struct best_neighbour *s, double *r2)
{
    *r2 = s->r2;
    return s->address;
}

/* Returns the nearest particle of one block, compared roughly first; -1 if it has no eligible particle. */
static int nearest_of_block(const struct sap_judge *j, int i, int64_t block, double *r2)
{
    struct best_neighbour s = {-1, INFINITY};
    double rough[SAP_BLOCK], least = INFINITY;
    const int64_t tile = block / (LANES * SAP_BLOCKS);
    const int packet = (int)(block / SAP_BLOCKS % LANES), element = (int)(block % SAP_BLOCKS) * SAP_BLOCK;
    const int first = (int)(tile * TILE) + element * LANES + packet;
    for (int e = 0; e < SAP_BLOCK; e++) {
        const int address = first + e * LANES;
        rough[e] = eligible(j, i, address) ? rough_r2(j, i, address) : INFINITY;
        if (rough[e] < least) least = rough[e];
    }
    const double limit = least < INFINITY ? outer(j, i, outer(j, i, least)) : -1;
    for (int e = 0; e < SAP_BLOCK; e++)
        if (rough[e] <= limit) consider(j, i, first + e * LANES, &s);
    return found(&s, r2);
}

int sap_near_of(const struct sap_judge *j, int i, const struct sap_near *near, double *r2, double *reach)
{
    *r2 = INFINITY;
    *reach = 0;
    const int address = near->block < 0 ? -1 : nearest_of_block(j, i, near->block, r2);
    if (address < 0) return -2;             /* no particle within the range of the working type, or only empty slots */
    *reach = outer(j, i, outer(j, i, *r2)); /* of the particle found: an empty slot may seem to be nearer */
    return near->second <= *reach ? -2 : address;
}

int sap_near_in_all(const struct sap_judge *j, int i, double *r2)
{
    struct best_neighbour s = {-1, INFINITY};
    const struct sap_jstore *const host = j->store->host;
    for (int address = sap_jstore_next(host, 0); address < j->force->nj; address = sap_jstore_next(host, address + 1))
        if (eligible(j, i, address)) consider(j, i, address, &s);
    return found(&s, r2);
}

/* Returns the address of a candidate. */
static int address_of(const struct sap_hit *hit) { return (int)(hit->address & ~SAP_DOUBTFUL); }

int sap_near_in_hits(const struct sap_judge *j, int i, uint32_t lane, const struct sap_hits *hits, double *r2)
{
    struct best_neighbour s = {-1, INFINITY};
    for (const struct sap_hit *h = hits->hit, *end = h + hits->n; h < end; h += 1 + h->index)
        for (int k = 1; k <= h->index && h->address == lane; k++)
            if (eligible(j, i, address_of(&h[k]))) consider(j, i, address_of(&h[k]), &s);
    return found(&s, r2);
}

/* Returns whether a doubtful candidate is a member of the list of i. */
static int is_member(const struct sap_judge *j, int i, int address)
{
    const struct sap_force_request *r = &j->force->request;
    const struct sap_jstore *const host = j->store->host;
    if (r->rule != SAP_PAIRS_OUTSIDE) return sap_canonical_r2(host, address, r->time, r->x[i]) < r->h2[i];
    const double h2 = r->h2_by_mass ? sap_jstore_mass(host, address) * r->h2[i] : r->h2[i];
    return sap_canonical_r2_ahead(host, address, r->time, r->x[i], r->v[i], r->dtr ? r->dtr[i] : 0) < h2;
}

int sap_near_members(const struct sap_judge *j, int i, const struct sap_hit *hit, int n, int32_t *entries, int32_t *out,
                     int *nout)
{
    int kept = 0;
    for (int k = 0; k < n; k++) { /* kernels have left out the particle itself and addresses from nj on */
        const int address = address_of(&hit[k]);
        entries[kept] = hit[k].index;
        if (j->holes && !sap_jstore_has(j->store->host, address)) continue;
        if (hit[k].address & SAP_DOUBTFUL) {
            if (!is_member(j, i, address)) {
                if (out) out[-++*nout] = address;
                continue;
            }
            entries[kept] = sap_jstore_index(j->store->host, address);
        }
        kept++;
    }
    return kept;
}

static int compare(const void *a, const void *b)
{
    const int32_t x = *(const int32_t *)a, y = *(const int32_t *)b;
    return (x > y) - (x < y);
}

static int ascending(const int32_t *entries, int n)
{
    int k = 1;
    while (k < n && entries[k - 1] < entries[k]) k++;
    return k >= n;
}

int sap_sort_indices(const struct sap_kernel *kernel, int32_t *entries, int n)
{
    if (ascending(entries, n)) return n; /* mostly, indices rise with addresses */
    if (n <= SAP_SORT_MAX && kernel->sort(entries, n)) return n;
    qsort(entries, (size_t)n, sizeof *entries, compare);
    int kept = 0;
    for (int k = 0; k < n; k++)
        if (kept == 0 || entries[k] != entries[kept - 1]) entries[kept++] = entries[k];
    return kept;
}
