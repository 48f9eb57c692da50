/* reduce.c - delta debugging: operations first, then rows, then values (Zeller and Hildebrandt 2002). */
#define _POSIX_C_SOURCE 200809L
#include "reduce.h"
#include "seconds.h"

#include <stdlib.h>
#include <string.h>

struct reduction {
    const struct job *job;
    struct sequence *s;
    struct result *result;
    double end;
    void *progress; /* the page of all attempts */
};

/* The letters of a name up to the first digit or bracket. */
static size_t word_of(const char *text) { return strcspn(text, "[0123456789 "); }

int results_alike(const struct result *a, const struct result *b)
{
    const char *const x = a->failure.text, *const y = b->failure.text;
    if (a->outcome != b->outcome) return 0;
    if (a->outcome != OUTCOME_DIFFERS) return 1;
    return word_of(x) == word_of(y) && strncmp(x, y, word_of(x)) == 0;
}

/* Whether a candidate fails in the same way; then it takes the place of the sequence. */
static int accept(struct reduction *r, struct sequence *candidate)
{
    struct job job = *r->job;
    struct result result;
    job.given = candidate;
    job.count = 1;
    job.progress = r->progress;
    job_run(&job, &result);
    r->progress = job.progress;
    const int good = results_alike(&result, r->result);
    if (good) {
        sequence_clear(r->s);
        *r->s = *candidate;
        *r->result = result;
    } else {
        sequence_clear(candidate);
    }
    return good;
}

static int is_late(const struct reduction *r) { return seconds_now() > r->end; }

static int without_operations(struct reduction *r, int first, int n)
{
    struct sequence c;
    sequence_copy(&c, r->s);
    sequence_remove(&c, first, n);
    return accept(r, &c);
}

static void reduce_operations(struct reduction *r)
{
    for (int n = r->s->n / 2 > 0 ? r->s->n / 2 : 1; n > 0; n /= 2)
        for (int first = r->s->n - n; first >= 0 && !is_late(r);) {
            if (first + n > r->s->n) first = r->s->n - n;
            if (first < 0 || r->s->n <= 1 || !without_operations(r, first, n)) first -= n > 1 ? (n + 1) / 2 : 1;
        }
}

/* Operations that lose rows together: all that belong to one group, or one alone. */
static int without_rows(struct reduction *r, int k, int first, int n)
{
    struct sequence c;
    const int group = r->s->op[k].group;
    sequence_copy(&c, r->s);
    for (int other = 0; other < c.n; other++) {
        struct op *const op = &c.op[other];
        if (other != k && (group == 0 || op->group != group)) continue;
        if (op->rows >= first + n)
            op_remove_rows(op, first, n);
        else if (op->rows == 0 && op->rows_at >= 0 && op->i[op->rows_at] > n)
            op->i[op->rows_at] -= n;
    }
    return accept(r, &c);
}

static void reduce_rows(struct reduction *r, int k)
{
    for (int n = r->s->op[k].rows / 2; n > 0; n /= 2)
        for (int first = r->s->op[k].rows - n; first >= 0 && !is_late(r);)
            if (first + n > r->s->op[k].rows || r->s->op[k].rows <= 1 || !without_rows(r, k, first, n)) first -= n;
}

/* Sets the values from .. to-1 of a column to zero. */
static int with_zeros(struct reduction *r, int k, int column, int from, int to)
{
    struct sequence c;
    int any = 0;
    sequence_copy(&c, r->s);
    const struct column *const at = &c.op[k].column[column];
    for (int m = from; m < to; m++) {
        if (at->is_int) {
            any |= ((int *)at->data)[m] != 0;
            ((int *)at->data)[m] = 0;
        } else {
            any |= ((double *)at->data)[m] != 0;
            ((double *)at->data)[m] = 0;
        }
    }
    if (any) return accept(r, &c);
    sequence_clear(&c);
    return 1;
}

static void zero_values(struct reduction *r, int k, int column, int from, int to)
{
    if (is_late(r) || from >= to || with_zeros(r, k, column, from, to) || to - from == 1) return;
    zero_values(r, k, column, from, (from + to) / 2);
    zero_values(r, k, column, (from + to) / 2, to);
}

static void reduce_values(struct reduction *r)
{
    for (int k = 0; k < r->s->n && !is_late(r); k++)
        for (int column = 0; column < OP_COLUMNS; column++) {
            const struct column *const c = &r->s->op[k].column[column];
            if (!c->data || (c->is_int && r->s->op[k].rows > 1 && column == 0 && r->s->op[k].kind != OP_FILL)) continue;
            zero_values(r, k, column, 0, c->width * r->s->op[k].rows);
        }
}

static void reduce_scalars(struct reduction *r)
{
    for (int k = 0; k < r->s->n; k++)
        for (int m = 0; m < OP_REALS && !is_late(r); m++) {
            struct sequence c;
            if (r->s->op[k].d[m] == 0) continue;
            sequence_copy(&c, r->s);
            c.op[k].d[m] = 0;
            (void)accept(r, &c);
        }
}

void reduce(const struct job *job, struct sequence *s, struct result *result, double seconds)
{
    struct reduction r = {.job = job, .s = s, .result = result, .end = seconds_now() + seconds};
    reduce_operations(&r);
    for (int k = 0; k < s->n && !is_late(&r); k++) reduce_rows(&r, k);
    reduce_operations(&r);
    reduce_scalars(&r);
    reduce_values(&r);
    for (int k = 0; k < s->n && !is_late(&r); k++) reduce_rows(&r, k);
}
