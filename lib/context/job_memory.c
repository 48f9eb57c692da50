/* job_memory.c - makes, keeps and frees the objects of forces. */
#include <stdlib.h>
#include <string.h>

#include "context/context_private.h"

static void free_rows(sapporo_job *j)
{
    free(j->x);
    free(j->v);
    free(j->a);
    free(j->jerk);
    free(j->index);
    free(j->h2);
    free(j->dtr);
    free(j->eps2_i);
    free(j->bad);
}

/* Frees the memory of a job and keeps the empty object, which any context may reuse. */
static void free_job(sapporo *c, sapporo_job *j)
{
    const size_t from = offsetof(sapporo_job, previous);
    sap_handle_withdraw(&j->self);
    if (j->force) c->engine->force->drop(j->force);
    free_rows(j);
    memset((char *)j + from, 0, sizeof *j - from);
    sap_handle_keep(&j->self);
}

void sap_jobs_free_all(sapporo *c)
{
    for (sapporo_job *j = c->jobs, *next; j; j = next) {
        next = j->next;
        free_job(c, j);
    }
    for (int few = 0; few < 2; few++) {
        for (sapporo_job *j = c->spare[few], *next; j; j = next) {
            next = j->next;
            free_job(c, j);
        }
        c->spare[few] = NULL;
        c->spares[few] = 0;
    }
    c->jobs = NULL;
}

int sap_job_reserve(sapporo_job *j, int ni)
{
    const size_t n = ni > 0 ? (size_t)ni : 1;
    if (j->room > 0 && ni <= j->room) return 0;
    free_rows(j);
    j->dtr = j->eps2_i = NULL;
    j->a = j->vectors > 2 ? malloc(n * sizeof *j->a) : NULL;
    j->jerk = j->vectors > 3 ? malloc(n * sizeof *j->jerk) : NULL;
    j->x = malloc(n * sizeof *j->x);
    j->v = calloc(n, sizeof *j->v); /* order 2 never writes them */
    j->index = malloc(n * sizeof *j->index);
    j->h2 = malloc(n * sizeof *j->h2);
    j->bad = malloc(n);
    const int all = (j->a || j->vectors <= 2) && (j->jerk || j->vectors <= 3);
    j->room = all && j->x && j->v && j->index && j->h2 && j->bad ? (int)n : 0;
    return j->room ? 0 : -1;
}

sapporo_job *sap_job_new(sapporo *c, int ni, int few)
{
    sapporo_job *j = c->spare[few];
    if (j) {
        c->spare[few] = j->next;
        c->spares[few]--;
    } else if (!(j = sap_handle_object(SAP_HANDLE_JOB, sizeof *j, NULL))) {
        return NULL;
    }
    atomic_store_explicit(&j->context, c, memory_order_release);
    j->previous = NULL;
    j->next = c->jobs;
    if (c->jobs) c->jobs->previous = j;
    c->jobs = j;
    j->ni = ni;
    j->few = few;
    j->vectors = c->settings.order / 2;
    j->nbad = j->needs_store = j->delivered = j->reported = j->failed = 0;
    return j;
}

void sap_job_release_store(sapporo *c, sapporo_job *j)
{
    if (!j->needs_store) return;
    j->needs_store = 0;
    c->open_needs--;
}

void sap_job_retire(sapporo *c, sapporo_job *j)
{
    sap_handle_withdraw(&j->self);
    sap_job_release_store(c, j);
    if (j->previous)
        j->previous->next = j->next;
    else
        c->jobs = j->next;
    if (j->next) j->next->previous = j->previous;
    if (c->spares[j->few] < 4 && !sap_handle_is_worn(&j->self)) {
        j->next = c->spare[j->few];
        c->spare[j->few] = j;
        c->spares[j->few]++;
    } else {
        free_job(c, j);
    }
}
