/* stepper_pairs.c - the close pairs of a stepper of a Hermite scheme, from the nearest neighbours of its particles. */
#include "physics/ops_scalar.h"

#include <stdlib.h>
#include <string.h>

#include "base/structs.h"
#include "context/call.h"
#include "context/stepper_private.h"

enum { LEAST = sizeof(sapporo_stepper_pairs) }; /* the size of the first version of the struct */

/* Nearest neighbours by address, and the levels that say which particles were active in the last step. */
struct pair_columns {
    int *nearest, *level;
    double *r2;
};

static int read_all(sapporo_stepper *s, struct pair_columns *all)
{
    const size_t n = (size_t)s->n + 1;
    all->nearest = calloc(n, sizeof *all->nearest);
    all->level = calloc(n, sizeof *all->level);
    all->r2 = calloc(n, sizeof *all->r2);
    int status = all->nearest && all->level && all->r2 ? SAPPORO_OK : SAPPORO_ERR_MEMORY;
    if (!status) status = s->ops->read(s->particles, SAP_STEP_NEAREST, all->nearest);
    if (!status) status = s->ops->read(s->particles, SAP_STEP_LEVEL, all->level);
    if (!status) status = s->ops->read(s->particles, SAP_STEP_NEAREST_R2, all->r2);
    return status ? sap_stepper_failed(s, status, "close pairs") : SAPPORO_OK;
}

/* Whether a particle ended a step at the present time, and its nearest neighbour is close. */
static int is_close(const sapporo_stepper *s, const struct pair_columns *all, int i)
{
    return all->nearest[i] >= 0 && all->r2[i] < s->settings.close2 &&
           sap_step_behind(s->clock.tick, all->level[i], 1) == 0;
}

static void list(const sapporo_stepper *s, const struct pair_columns *all, sapporo_stepper_pairs *pairs)
{
    pairs->n = 0;
    for (int i = 0; i < s->n; i++) {
        const int j = is_close(s, all, i) ? all->nearest[i] : -1;
        if (j < 0 || (j < i && all->nearest[j] == i && is_close(s, all, j))) continue; /* none, or j has told it */
        if (pairs->n < pairs->room) {
            pairs->pair[pairs->n][0] = i < j ? i : j;
            pairs->pair[pairs->n][1] = i < j ? j : i;
            if (pairs->r2) pairs->r2[pairs->n] = all->r2[i];
        }
        pairs->n++;
    }
}

static int find(sapporo_stepper *s, sapporo_stepper_pairs *pairs)
{
    struct pair_columns all = {NULL, NULL, NULL};
    if (!s->ready) return sap_stepper_empty(s);
    if (!(s->settings.close2 > 0))
        return fail(s, SAPPORO_ERR_ARGUMENT, "the stepper has no limit for close pairs: see its option");
    if (pairs->room < 0 || (pairs->room > 0 && !pairs->pair))
        return fail(s, SAPPORO_ERR_ARGUMENT, "room is %d; it may be 0 or more, with an array", pairs->room);
    const int status = read_all(s, &all);
    if (!status) list(s, &all, pairs);
    free(all.nearest);
    free(all.level);
    free(all.r2);
    return status ? status : pairs->n > pairs->room ? (int)SAPPORO_TRUNCATED : (int)SAPPORO_OK;
}

int sapporo_stepper_get_pairs(sapporo_stepper *stepper, sapporo_stepper_pairs *pairs)
{
    sapporo_stepper_pairs p = {.n = 0};
    const int known = pairs ? sap_struct_copy(&p, sizeof p, pairs, LEAST) : (int)SAPPORO_ERR_ARGUMENT;
    struct sap_public_call call;
    sapporo_stepper *const s = sap_call_begin(&call, SAP_HANDLE_STEPPER, stepper);
    int status = SAPPORO_ERR_CLOSED;
    p.n = 0;
    if (s) status = known ? sap_struct_error(&s->object.notes, known, "sapporo_stepper_pairs", pairs) : find(s, &p);
    if (!known) pairs->n = status < 0 ? 0 : p.n;
    return s ? sap_call_end(&call, status) : status;
}
