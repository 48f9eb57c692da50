/* multiscale_force.c - forces on the systems of multiscale.h by trees and by steppers. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "multiscale_proof.h"

/* What results hold before a call; no force has this value. */
static const double POISON = -7.25e+77;

enum { GUARDS = 2 }; /* rows behind the results, which must stay as they are */

/* Keeps the last message of the library. */
static void keep_message(void *user, int level, const char *text)
{
    char *const to = user;
    if (level <= SAPPORO_LOG_WARNING) (void)snprintf(to, sizeof((struct proof_answer *)0)->text, "%s", text);
}

static int note(struct proof_answer *a, int status, const char *what, const char *error)
{
    if (status) (void)snprintf(a->text, sizeof a->text, "%s: %s: %s", what, sapporo_status_text(status), error);
    a->status = status;
    return status;
}

static sapporo_tree_options options_of(const struct multiscale *s, const struct proof_engine *e)
{
    sapporo_tree_options o = s->options;
    o.backend = e->backend;
    o.cpu_isa = e->isa;
    o.precision = e->precision;
    o.threads = e->threads;
    return o;
}

/* ---- trees ------------------------------------------------------------------------------- */

static int set(sapporo_tree *t, const struct multiscale *s, double (*x)[3])
{
    const sapporo_tree_particles p = {
        .size = sizeof p, .n = s->n, .x = {x, 0}, .mass = {s->mass, 0}, .a = {s->a, 0}, .h = {s->h, 0}};
    return sapporo_tree_set(t, &p);
}

/* Makes the tree: of the first positions, and refreshed for the last ones. */
static int grow(sapporo_tree *t, const struct multiscale *s)
{
    int status = set(t, s, s->x);
    if (!status) status = sapporo_tree_build(t);
    if (!status && s->moved) status = set(t, s, s->moved);
    if (!status && s->moved) status = sapporo_tree_refresh(t);
    return status;
}

static void by_tree(const struct multiscale *s, const struct proof_engine *e, struct proof_answer *a)
{
    const sapporo_tree_options o = options_of(s, e);
    const sapporo_tree_request r = {
        .size = sizeof r, .ni = s->ni, .active = s->active, .x = {s->position, 0}, .h = {s->position_h, 0}};
    sapporo_tree_statistics f = {.size = sizeof f};
    sapporo_tree *t = NULL;
    if (note(a, sapporo_tree_create(&o, s->n, &t), "create", sapporo_last_error(NULL))) return;
    if (!note(a, grow(t, s), "build", sapporo_tree_last_error(t))) {
        (void)note(a, sapporo_tree_force(t, &r, a->acc, a->pot), "force", sapporo_tree_last_error(t));
        if (sapporo_tree_get_statistics(t, &f) == SAPPORO_OK) {
            a->particles = f.particle_particle;
            a->cells = f.particle_cell;
        }
    }
    sapporo_tree_destroy(t);
}

/* ---- steppers ------------------------------------------------------------------------------- */

/* Particles of a stepper: those of the system, then the massless ones if there are some. */
struct all {
    int n, first; /* first: that of the targets */
    double (*x)[3], (*v)[3], (*acc)[3], *mass, *pot;
};

static void all_free(struct all *p)
{
    free(p->x);
    free(p->v);
    free(p->acc);
    free(p->mass);
    free(p->pot);
}

static int all_make(const struct multiscale *s, struct all *p)
{
    const size_t stars = (size_t)s->n, massless = s->position ? (size_t)s->ni : 0, n = stars + massless;
    *p = (struct all){(int)n,        s->position ? s->n : 0, calloc(n, 24), calloc(n, 24),
                      calloc(n, 24), calloc(n, 8),           calloc(n, 8)};
    if (!p->x || !p->v || !p->acc || !p->mass || !p->pot) return 0;
    memcpy(p->x, s->x, stars * sizeof *p->x);
    if (s->position) memcpy(p->x + stars, s->position, massless * sizeof *p->x);
    memcpy(p->mass, s->mass, stars * sizeof *p->mass);
    for (size_t k = 0; k < n; k++) p->pot[k] = p->acc[k][0] = p->acc[k][1] = p->acc[k][2] = POISON;
    return 1;
}

static void integrate(const struct multiscale *s, sapporo_stepper *stepper, struct all *p, struct proof_answer *a)
{
    const sapporo_stepper_particles particles = {
        .size = sizeof particles, .n = p->n, .x = {p->x, 0}, .v = {p->v, 0}, .mass = {p->mass, 0}};
    const sapporo_stepper_output o = {
        .size = sizeof o, .n = p->n, .when = SAPPORO_STEP_OWN, .acc = p->acc, .pot = p->pot};
    if (note(a, sapporo_stepper_set(stepper, &particles), "set", sapporo_stepper_last_error(stepper)) < 0) return;
    if (note(a, sapporo_stepper_get(stepper, &o), "get", sapporo_stepper_last_error(stepper)) < 0) return;
    memcpy(a->acc, p->acc + p->first, (size_t)s->ni * sizeof *a->acc);
    memcpy(a->pot, p->pot + p->first, (size_t)s->ni * sizeof *a->pot);
}

static int by_stepper(const struct multiscale *s, const struct proof_engine *e, struct proof_answer *a)
{
    const sapporo_tree_options tree = options_of(s, e);
    const sapporo_stepper_options o = {.size = sizeof o, .method = SAPPORO_STEP_TREE, .tree = &tree, .dt = 1.0 / 64};
    sapporo_stepper *stepper = NULL;
    struct all p;
    const int made = all_make(s, &p);
    if (made && !note(a, sapporo_stepper_create(&o, p.n, &stepper), "create", sapporo_last_error(NULL)))
        integrate(s, stepper, &p, a);
    sapporo_stepper_destroy(stepper);
    all_free(&p);
    return made;
}

/* ---- both --------------------------------------------------------------------------------------- */

int proof_force(const struct multiscale *s, const struct proof_engine *e, struct proof_answer *a)
{
    const size_t room = (size_t)s->ni + GUARDS;
    int good = 1;
    *a = (struct proof_answer){.rows = s->ni, .particles = -1, .cells = -1};
    a->acc = calloc(room, sizeof *a->acc);
    a->pot = calloc(room, sizeof *a->pot);
    if (!a->acc || !a->pot) return 0;
    for (size_t i = 0; i < room; i++) a->pot[i] = a->acc[i][0] = a->acc[i][1] = a->acc[i][2] = POISON;
    sapporo_set_log(keep_message, a->text);
    if (s->form == MULTISCALE_MASSLESS || s->form == MULTISCALE_STEPPED)
        good = by_stepper(s, e, a);
    else
        by_tree(s, e, a);
    sapporo_set_log(NULL, NULL);
    for (size_t i = 0; i < room && a->status >= 0; i++) {
        const int behind = (int)i >= s->ni, written = a->pot[i] != POISON && a->acc[i][0] != POISON &&
                                                      a->acc[i][1] != POISON && a->acc[i][2] != POISON;
        if (written != behind) continue;
        (void)snprintf(a->text, sizeof a->text, "row %zu of %d was %swritten", i, s->ni, behind ? "" : "not ");
        a->status = SAPPORO_ERR_GONE;
    }
    return good;
}

void proof_free(struct proof_answer *a)
{
    free(a->acc);
    free(a->pot);
    memset(a, 0, sizeof *a);
}
