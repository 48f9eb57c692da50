/* reduce.c - see reduce.h. */
#define _DEFAULT_SOURCE 1
#include "reduce.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "print.h"
#include "seconds.h"
#include "worker.h"

static const double SECONDS_MOST = 10; /* for the reduction of one system */

/* ---- copies without some rows --------------------------------------------------------------- */

/* Copies an array without rows first ... first + n - 1; NULL of NULL. */
static void *without(const void *from, int rows, size_t size, int first, int n)
{
    char *const to = from ? calloc((size_t)rows + 1, size) : NULL;
    if (!to) return NULL;
    memcpy(to, from, (size_t)first * size);
    memcpy(to + (size_t)first * size, (const char *)from + (size_t)(first + n) * size,
           (size_t)(rows - first - n) * size);
    return to;
}

/* Copies a system without targets first ... first + n - 1; those of form ALL become active ones. */
static void without_targets(const struct multiscale *from, int first, int n, struct multiscale *to)
{
    int *all = NULL;
    *to = *from;
    if (from->form == MULTISCALE_ALL) {
        all = calloc((size_t)from->ni + 1, sizeof *all);
        for (int i = 0; i < from->ni && all; i++) all[i] = i;
        to->form = MULTISCALE_MANY;
    }
    to->ni = from->ni - n;
    to->x = without(from->x, from->n, sizeof *to->x, 0, 0);
    to->moved = without(from->moved, from->n, sizeof *to->moved, 0, 0);
    to->mass = without(from->mass, from->n, sizeof *to->mass, 0, 0);
    to->h = without(from->h, from->n, sizeof *to->h, 0, 0);
    to->a = without(from->a, from->n, sizeof *to->a, 0, 0);
    to->active = without(all ? all : from->active, from->ni, sizeof *to->active, first, n);
    to->position = without(from->position, from->ni, sizeof *to->position, first, n);
    to->position_h = without(from->position_h, from->ni, sizeof *to->position_h, first, n);
    free(all);
}

/* Copies a system without particles first ... first + n - 1, which are no targets any more. */
static void without_particles(const struct multiscale *from, int first, int n, struct multiscale *to)
{
    *to = *from;
    to->n = from->n - n;
    to->x = without(from->x, from->n, sizeof *to->x, first, n);
    to->moved = without(from->moved, from->n, sizeof *to->moved, first, n);
    to->mass = without(from->mass, from->n, sizeof *to->mass, first, n);
    to->h = without(from->h, from->n, sizeof *to->h, first, n);
    to->a = without(from->a, from->n, sizeof *to->a, first, n);
    to->active = without(from->active, from->ni, sizeof *to->active, 0, 0);
    to->position = without(from->position, from->ni, sizeof *to->position, 0, 0);
    to->position_h = without(from->position_h, from->ni, sizeof *to->position_h, 0, 0);
    if (from->form == MULTISCALE_ALL || from->form == MULTISCALE_STEPPED) to->ni = to->n;
    int left = 0;
    for (int i = 0; i < from->ni && to->active; i++) {
        const int a = from->active[i];
        if (a < first || a >= first + n) to->active[left++] = a < first ? a : a - n;
    }
    if (to->active) to->ni = left;
}

/* ---- trials ------------------------------------------------------------------------------------ */

/* Replaces *s by a smaller system if that fails, too. */
static int try(struct multiscale *s, struct multiscale *smaller, const struct proof_engine *e)
{
    struct proof_verdict v = {.failed = 0};
    if (smaller->n > 0 && smaller->ni > 0) proof_of(smaller, e, &v);
    if (!v.failed) {
        multiscale_free(smaller);
        return 0;
    }
    multiscale_free(s);
    *s = *smaller;
    return 1;
}

typedef void remover(const struct multiscale *from, int first, int n, struct multiscale *to);

/* Removes rows in runs of `run`, which fail without them. */
static void remove_runs(struct multiscale *s, const struct proof_engine *e, const int *rows, int run, remover *without_,
                        double end)
{
    for (int at = 0; at < *rows && seconds_now() < end;) {
        struct multiscale smaller;
        const int n = *rows - at < run ? *rows - at : run;
        without_(s, at, n, &smaller);
        if (!try(s, &smaller, e)) at += n;
    }
}

void reduce(struct multiscale *s, const struct proof_engine *e, const char *programs, uint64_t seed, char *text,
            size_t room)
{
    struct proof_verdict v;
    const double end = seconds_now() + SECONDS_MOST;
    const int n = s->n, ni = s->ni;
    const int most = s->form == MULTISCALE_STEPPED ? 0 : (s->ni + 1) / 2; /* a stepper gives all its particles */
    for (int run = most; run > 0; run /= 2) remove_runs(s, e, &s->ni, run, without_targets, end);
    for (int run = (s->n + 1) / 2; run > 0; run /= 2) remove_runs(s, e, &s->n, run, without_particles, end);
    proof_of(s, e, &v);
    const int used = snprintf(text, room, "\n  reduced from %d particles and %d targets to %d and %d: %s", n, ni, s->n,
                              s->ni, v.text);
    if (!programs || used < 0 || (size_t)used >= room) return;
    char path[300];
    (void)mkdir(programs, 0777);
    (void)snprintf(path, sizeof path, "%s/trees_%llu.c", programs, (unsigned long long)seed);
    if (print_system(path, s, e, &v)) (void)snprintf(text + used, room - (size_t)used, "\n  program: %s", path);
}
