/* stepper_pairs.c - the close pairs of a stepper of a Hermite scheme, from the nearest neighbours of its particles. */
#include "physics/ops_scalar.h"

#include <stdlib.h>
#include <string.h>

#include "base/structs.h"
#include "context/call.h"
#include "context/stepper_private.h"

/* Nearest neighbours, and the levels that say which particles were active in the last step. */
struct pair_columns {
    int *nearest, *level;
    double *r2;
};

/* ---- close particles --------------------------------------------------------------------------- */

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
    return status;
}

/* Whether a particle ended a step at the present time, and its nearest neighbour is close. */
static int is_close(const sapporo_stepper *s, const struct pair_columns *all, int i)
{
    return all->nearest[i] >= 0 && all->r2[i] < s->settings.close2 &&
           sap_step_behind(s->clock.tick, all->level[i], 1) == 0;
}

/* Copies the close particles, in order of address, to memory that the caller frees. */
static int copy_close(const sapporo_stepper *s, const struct pair_columns *all, struct sap_close_particle **close,
                      int *n)
{
    int most = 0;
    for (int i = 0; i < s->n; i++) most += is_close(s, all, i);
    *close = malloc(((size_t)most + 1) * sizeof **close);
    if (!*close) return SAPPORO_ERR_MEMORY;
    for (int i = 0; i < s->n; i++)
        if (is_close(s, all, i))
            (*close)[(*n)++] = (struct sap_close_particle){.number = i, .nearest = all->nearest[i], .r2 = all->r2[i]};
    return SAPPORO_OK;
}

static int find_close(sapporo_stepper *s, struct sap_close_particle **close, int *n)
{
    struct pair_columns all = {NULL, NULL, NULL};
    if (!s->ready) return sap_stepper_empty(s);
    if (!(s->settings.close2 > 0))
        return fail(s, SAPPORO_ERR_ARGUMENT, "the stepper has no limit for close pairs: see its option");
    int status = read_all(s, &all);
    if (!status) status = copy_close(s, &all, close, n);
    free(all.nearest);
    free(all.level);
    free(all.r2);
    return status ? sap_stepper_failed(s, status, "close pairs") : SAPPORO_OK;
}

int sap_stepper_part_close(sapporo_stepper *stepper, struct sap_close_particle **close, int *n)
{
    struct sap_public_call call;
    sapporo_stepper *const s = sap_call_begin(&call, SAP_HANDLE_STEPPER, stepper);
    *close = NULL;
    *n = 0;
    return s ? sap_call_end(&call, find_close(s, close, n)) : (int)SAPPORO_ERR_CLOSED;
}

/* ---- pairs ------------------------------------------------------------------------------------- */

static int compare_numbers(const void *a, const void *b)
{
    const struct sap_close_particle *const p = a, *const q = b;
    return (p->number > q->number) - (p->number < q->number);
}

/* Whether the nearest neighbour of *p has told the pair already: it is a close particle before p, and p is nearest. */
static int is_told(const struct sap_close_particle *close, int n, const struct sap_close_particle *p)
{
    const struct sap_close_particle key = {.number = p->nearest};
    if (p->nearest > p->number) return 0;
    const struct sap_close_particle *const other = bsearch(&key, close, (size_t)n, sizeof key, compare_numbers);
    return other && other->nearest == p->number;
}

int sap_close_pairs(const struct sap_close_particle *close, int n, sapporo_stepper_pairs *pairs)
{
    pairs->n = 0;
    for (int k = 0; k < n; k++) {
        const int i = close[k].number, j = close[k].nearest;
        if (is_told(close, n, &close[k])) continue;
        if (pairs->n < pairs->room) {
            pairs->pair[pairs->n][0] = i < j ? i : j;
            pairs->pair[pairs->n][1] = i < j ? j : i;
            if (pairs->r2) pairs->r2[pairs->n] = close[k].r2;
        }
        pairs->n++;
    }
    return pairs->n > pairs->room ? SAPPORO_TRUNCATED : SAPPORO_OK;
}

static int find(sapporo_stepper *s, sapporo_stepper_pairs *pairs)
{
    struct sap_close_particle *close = NULL;
    int n = 0;
    if (!sap_pairs_have_room(pairs))
        return fail(s, SAPPORO_ERR_ARGUMENT, "room is %d; it may be 0 or more, with an array", pairs->room);
    int status = find_close(s, &close, &n);
    if (!status) status = sap_close_pairs(close, n, pairs);
    free(close);
    return status;
}

int sapporo_stepper_get_pairs(sapporo_stepper *stepper, sapporo_stepper_pairs *pairs)
{
    sapporo_stepper_pairs p = {.n = 0};
    const int known = pairs ? sap_struct_copy(&p, sizeof p, pairs, SAP_PAIRS_LEAST) : (int)SAPPORO_ERR_ARGUMENT;
    struct sap_public_call call;
    sapporo_stepper *const s = sap_call_begin(&call, SAP_HANDLE_STEPPER, stepper);
    int status = SAPPORO_ERR_CLOSED;
    p.n = 0;
    if (s) status = known ? sap_struct_error(&s->object.notes, known, "sapporo_stepper_pairs", pairs) : find(s, &p);
    if (!known) pairs->n = status < 0 ? 0 : p.n;
    return s ? sap_call_end(&call, status) : status;
}
