/*
 * gpu_selftest.c - compares a small force on a new device with the same force in double precision.
 *
 * OpenCL compilers come with the user's driver. A compiler that contracts or reassociates against the rules would give
 * wrong forces without any error.
 */
#include "gpu/gpu_selftest.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/engine.h"
#include "gpu/gpu_devices.h"

enum { NJ = 1100, NI = 40, FEW = 3, SUMS = 10 /* up to the snap */ };

/* Particles of two superpackets in a small cube: lost low words show in the forces. */
struct bodies {
    double x[NJ][3], v[NJ][3], a[NJ][3], jerk[NJ][3];
    int32_t index[NJ];
};

static double draw(uint64_t *state)
{
    *state = *state * 6364136223846793005ULL + 1442695040888963407ULL;
    return (double)(*state >> 11) * 0x1p-53 - 0.5;
}

/* A staged particle with room for the derivatives of any order. */
union any_order {
    char room[sizeof(struct sap_staged) + (SAP_DERIVATIVES_MOST - SAP_DERIVATIVES) * 3 * sizeof(double)];
    struct sap_staged particle;
};

static int make(struct bodies *b, struct sap_jstore *store)
{
    uint64_t state = 1;
    for (int k = 0; k < NJ; k++) {
        union any_order room = {{0}};
        struct sap_staged *const p = &room.particle;
        p->mass = 1.0 / NJ;
        p->address = p->index = k;
        for (int c = 0; c < 3; c++) {
            p->derivative[0][c] = b->x[k][c] = 1 + 0x1p-10 * draw(&state);
            p->derivative[1][c] = b->v[k][c] = draw(&state);
            p->derivative[2][c] = b->a[k][c] = store->full ? draw(&state) : 0;
            b->jerk[k][c] = 0;
        }
        b->index[k] = k;
        if (sap_jstore_reserve(store, k, 1)) return SAPPORO_ERR_MEMORY;
        sap_jstore_put(store, p);
    }
    return SAPPORO_OK;
}

/* Computes the same sums in plain double, without the particle itself; `size` receives sums of absolute values. */
static void reference(const struct bodies *b, double eps2, int i, double *sum, double *size)
{
    memset(sum, 0, SUMS * sizeof *sum);
    memset(size, 0, SUMS * sizeof *size);
    for (int j = 0; j < NJ; j++) {
        double r[3], v[3], a[3], r2 = eps2, rv = 0, more = 0;
        if (j == i) continue;
        for (int c = 0; c < 3; c++) {
            r[c] = b->x[j][c] - b->x[i][c];
            v[c] = b->v[j][c] - b->v[i][c];
            a[c] = b->a[j][c] - b->a[i][c];
            r2 += r[c] * r[c];
            rv += r[c] * v[c];
            more += v[c] * v[c] + r[c] * a[c];
        }
        const double u = 1 / sqrt(r2), m = 1.0 / NJ, mu3 = m * u * u * u, alpha = rv * u * u;
        const double beta = more * u * u + alpha * alpha; /* Nitadori & Makino 2008 */
        sum[0] -= m * u;
        size[0] += m * u;
        for (int c = 0; c < 3; c++) {
            const double turn = v[c] - 3 * alpha * r[c], snap = a[c] - 6 * alpha * turn - 3 * beta * r[c];
            sum[1 + c] += mu3 * r[c];
            size[1 + c] += mu3 * sqrt(r2);
            sum[4 + c] += mu3 * turn;
            size[4 + c] += mu3 * (sqrt(v[0] * v[0] + v[1] * v[1] + v[2] * v[2]) + 3 * fabs(rv) * u);
            sum[7 + c] += mu3 * snap;
            size[7 + c] += mu3 * (fabs(a[c]) + 6 * fabs(alpha * turn) + 3 * fabs(beta) * sqrt(r2));
        }
    }
}

/* Returns the largest error of the sums of the first ni particles. */
static double worst(const struct sap_force_output *out, const struct bodies *b, double eps2, int ni, int sums)
{
    double most = 0;
    for (int i = 0; i < ni; i++) {
        double sum[SUMS], size[SUMS];
        reference(b, eps2, i, sum, size);
        for (int q = 0; q < sums && q < SUMS; q++) {
            const double error = fabs(out->sum[i * out->sum_row + q * out->sum_column] - sum[q]) / size[q];
            if (!(error <= most)) most = isfinite(error) ? error : INFINITY;
        }
    }
    return most;
}

/* Computes forces on few and on many particles, so kernels of both shapes are tested. */
static int run(struct sap_store *store, const struct sap_force_ops *ops, const struct bodies *b, int sums,
               double *error)
{
    const double eps2 = 0x1p-24;
    *error = 0;
    for (int turn = 0; turn < 2; turn++) {
        struct sap_force *force = NULL;
        struct sap_force_output out = {0};
        const struct sap_force_request request = {.nj = NJ,
                                                  .ni = turn ? NI : FEW,
                                                  .x = b->x,
                                                  .v = b->v,
                                                  .a = b->a,
                                                  .jerk = b->jerk,
                                                  .index = b->index,
                                                  .eps2 = eps2,
                                                  .rule = SAP_PAIRS_SKIP_OWN};
        int status = ops->begin(store, &request, &force);
        while (!status && out.rows < request.ni) status = ops->end(force, out.rows, &out);
        if (!status) *error = fmax(*error, worst(&out, b, eps2, request.ni, sums));
        ops->drop(force);
        if (status) return status;
    }
    return SAPPORO_OK;
}

static int test_set(struct sap_gpu_set *set, const struct sap_store_ops *store_ops,
                    const struct sap_force_ops *force_ops, double *error)
{
    struct sap_jstore host = {.full = set->order > 4 ? set->order == 6 ? 6 : SAP_DERIVATIVES_MOST : 0};
    struct sap_store *store = NULL;
    struct bodies *b = malloc(sizeof *b);
    int status = b ? make(b, &host) : SAPPORO_ERR_MEMORY;
    if (!status) status = store_ops->create((void *)set, &host, &store);
    if (!status) status = run(store, force_ops, b, set->sums, error);
    if (store) store_ops->destroy(store);
    sap_jstore_free(&host);
    free(b);
    return status;
}

/* Tests one device, in a temporary set. */
static int test_device(const struct sap_gpu_set *set, int k, const struct sap_store_ops *store,
                       const struct sap_force_ops *force, double *error)
{
    struct sap_gpu_set *one = malloc(sizeof *one + sizeof one->device[0]);
    if (!one) return SAPPORO_ERR_MEMORY;
    memcpy(one, set, sizeof *one);
    one->n = 1;
    one->device[0] = set->device[k];
    const int status = test_set(one, store, force, error);
    free(one);
    return status;
}

int sap_gpu_selftest(struct sap_gpu_set *set, const struct sap_store_ops *store, const struct sap_force_ops *force,
                     char *why, size_t room)
{
    /* relative to the sums of absolute values; sp rounds positions to 24 bits, and distances are 2^-10 of positions */
    static const double allowed[] = {[SAPPORO_SP] = 0x1p-8, [SAPPORO_DS] = 0x1p-20, [SAPPORO_DP] = 0x1p-46};
    for (int k = 0; k < set->n; k++) {
        double error = INFINITY;
        if (*set->device[k].checked) continue;
        const int status = test_device(set, k, store, force, &error);
        if (status)
            (void)snprintf(why, room, "device %d fails in its self-test: %s", set->device[k].number,
                           set->driver->error_text());
        else if (!(error <= allowed[set->precision]))
            (void)snprintf(why, room, "device %d (%.60s) computes wrong forces: %.1e off in its self-test",
                           set->device[k].number, set->device[k].properties.name, error);
        if (status || !(error <= allowed[set->precision])) return status ? status : SAPPORO_ERR_DEVICE;
        *set->device[k].checked = 1;
    }
    return SAPPORO_OK;
}
