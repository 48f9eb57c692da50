/* store.c - the model's particles. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "oracle.h"

/* Derivatives that an order reads. */
static int terms_of(int order) { return order == 2 ? 1 : order == 4 ? 5 : order == 6 ? 6 : 8; }

void store_clear(struct store *s)
{
    free(s->at);
    s->at = NULL;
    s->n = s->room = 0;
}

/* The place of an address among the sorted ones. */
static int place_of(const struct store *s, int address)
{
    int low = 0, high = s->n;
    while (low < high) {
        const int middle = (low + high) / 2;
        if (s->at[middle].address < address)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static void judge(const struct store *s, struct particle *p)
{
    const int terms = terms_of(s->order);
    if (s->order == 2) p->time = 0;
    p->is_bad = !isfinite(p->mass) || !isfinite(p->time);
    for (int k = 0; k < TERMS_MOST; k++)
        for (int c = 0; c < 3; c++) {
            if (k >= terms) p->term[k][c] = 0;
            p->is_bad |= !isfinite(p->term[k][c]);
        }
}

void store_put(struct store *s, const struct particle *p)
{
    const int at = place_of(s, p->address);
    if (at == s->n || s->at[at].address != p->address) {
        if (s->n == s->room) {
            s->room = 2 * s->room + 64;
            s->at = realloc(s->at, (size_t)s->room * sizeof *s->at);
            if (!s->at) abort();
        }
        memmove(s->at + at + 1, s->at + at, (size_t)(s->n - at) * sizeof *s->at);
        s->n++;
    }
    s->at[at] = *p;
    judge(s, &s->at[at]);
}

void store_remove(struct store *s, int address)
{
    const int at = place_of(s, address);
    if (at == s->n || s->at[at].address != address) return;
    memmove(s->at + at, s->at + at + 1, (size_t)(s->n - at - 1) * sizeof *s->at);
    s->n--;
}

const struct particle *store_find(const struct store *s, int address)
{
    const int at = place_of(s, address);
    return at < s->n && s->at[at].address == address ? &s->at[at] : NULL;
}

/* One coordinate of orders 2 and 4: terms have the factors of GRAPE-6. */
static void predict_scaled(const double *c, double dt, double *x, double *v)
{
    const double xs = (c[4] * (dt * 0.75) + c[3]) * dt + c[2];
    const double vs = (c[4] * dt + c[3]) * (dt * 3) + (c[2] + c[2]);
    *x = (xs * dt + c[1]) * dt + c[0];
    *v = vs * dt + c[1];
}

/* One derivative of full terms c[0 .. last]. */
static double predict_full(const double *c, int last, int k, double dt)
{
    double sum = c[last];
    for (int m = last - 1; m >= k; m--) sum = sum * (dt * (1.0 / (m + 1 - k))) + c[m];
    return sum;
}

void predict_double(const struct store *s, const struct particle *p, double time, int n, double (*to)[3])
{
    const double dt = s->order == 2 ? 0 : time - p->time;
    for (int axis = 0; axis < 3; axis++) {
        double c[TERMS_MOST], two[2];
        for (int k = 0; k < TERMS_MOST; k++) c[k] = p->term[k][axis];
        predict_scaled(c, dt, &two[0], &two[1]);
        for (int k = 0; k < n; k++)
            to[k][axis] = s->order > 4 ? predict_full(c, terms_of(s->order) - 1, k, dt) : two[k];
    }
}
