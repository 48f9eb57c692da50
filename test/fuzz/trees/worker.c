/* worker.c - see worker.h. */
#define _GNU_SOURCE 1
#include "worker.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "reduce.h"
#include "rng.h"
#include "seconds.h"

/* ---- engines ------------------------------------------------------------------------------ */

const char *precision_name(sapporo_precision p) { return p == SAPPORO_DP ? "dp" : p == SAPPORO_DS ? "ds" : "sp"; }

static int is_usable(sapporo_backend backend, const char *isa)
{
    const sapporo_tree_options o = {.size = sizeof o, .backend = backend, .cpu_isa = isa};
    sapporo_tree *t = NULL;
    const int status = sapporo_tree_create(&o, 1, &t);
    sapporo_tree_destroy(t);
    return status == SAPPORO_OK;
}

/* Finds the instruction paths that can be used; the first one is the library's own choice. */
static int find_isas(const struct choice *c, const char **isa)
{
    static const char *const names[ISAS_MOST] = {NULL, "scalar", "sse2", "avx2", "avx512", "neon"};
    const int paths = c->backend == SAPPORO_BACKEND_CPU ? ISAS_MOST : 1;
    int n = 0;
    for (int k = 0; k < paths; k++)
        if ((!c->isa || (names[k] && strcmp(names[k], c->isa) == 0)) && is_usable(c->backend, names[k]))
            isa[n++] = names[k];
    return n;
}

/* sp mostly, since it has the fastest and the most delicate kernels. */
static sapporo_precision draw_precision(const struct choice *c, uint64_t number)
{
    static const sapporo_precision drawn[] = {SAPPORO_SP, SAPPORO_SP, SAPPORO_SP, SAPPORO_SP,
                                              SAPPORO_SP, SAPPORO_DS, SAPPORO_DS, SAPPORO_DP};
    for (int k = 0; k < 8 && c->precision; k++)
        if (strcmp(c->precision, precision_name(drawn[k])) == 0) return drawn[k];
    return drawn[number % 8];
}

int engine_of(const struct choice *c, uint64_t seed, struct proof_engine *e)
{
    static const char *isa[ISAS_MOST];
    static int isas = -1;
    rng random;
    if (isas < 0) isas = find_isas(c, isa);
    if (isas == 0) return 0;
    rng_seed(&random, seed, 32);
    *e = (struct proof_engine){.backend = c->backend, .threads = 1};
    e->precision = draw_precision(c, rng_next(&random));
    e->isa = rng_next(&random) % 2 ? isa[0] : isa[rng_next(&random) % (uint64_t)isas];
    if (rng_next(&random) % 16 == 0) e->threads = 2;
    return 1;
}

/* ---- systems ---------------------------------------------------------------------------------- */

static void tell(struct progress *progress, const char *text)
{
    const int n = atomic_load(&progress->failures);
    if (n == FAILURES_MOST) return;
    (void)snprintf(progress->text[n], FAILURE_TEXT, "%s", text);
    atomic_store(&progress->failures, n + 1);
}

/* Describes a failure, and reduces the first ones. */
static void tell_failure(const struct choice *c, struct progress *progress, uint64_t seed, struct multiscale *s,
                         const struct proof_engine *e, const struct proof_verdict *v)
{
    char text[FAILURE_TEXT], more[600] = "";
    const int number = (int)(atomic_load(&progress->failed[SAPPORO_SP]) + atomic_load(&progress->failed[SAPPORO_DS]) +
                             atomic_load(&progress->failed[SAPPORO_DP]));
    char words[sizeof s->words];
    memcpy(words, s->words, sizeof words);
    if (number <= c->reduced_most) reduce(s, e, c->programs, seed, more, sizeof more);
    (void)snprintf(text, sizeof text, "seed %llu, %s %s: %s\n  %s%s", (unsigned long long)seed, e->isa ? e->isa : "",
                   precision_name(e->precision), words, v->text, more);
    tell(progress, text);
}

static void prove(const struct choice *c, struct progress *progress, uint64_t seed)
{
    const struct multiscale_recipe recipe = multiscale_draw(seed);
    struct multiscale s;
    struct proof_engine e;
    struct proof_verdict v = {.failed = 1};
    if (!engine_of(c, seed, &e)) _exit(3);
    if (multiscale_make(&recipe, seed, &s)) proof_of(&s, &e, &v);
    atomic_fetch_add(v.failed ? &progress->failed[e.precision] : &progress->passed[e.precision], 1);
    atomic_fetch_add(&progress->refused, v.refused);
    if (v.failed)
        tell_failure(c, progress, seed, &s, &e, &v);
    else if (v.worst > atomic_load(&progress->worst))
        atomic_store(&progress->worst, v.worst);
    multiscale_free(&s);
}

void worker_run(const struct choice *c, struct progress *progress, uint64_t first, uint64_t step, long count)
{
    struct proof_engine e;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (!engine_of(c, first, &e)) _exit(3);
    for (long k = 0; k < count && !atomic_load(&progress->stop); k++) {
        atomic_store(&progress->seed, first + (uint64_t)k * step);
        atomic_store(&progress->began, seconds_now());
        prove(c, progress, first + (uint64_t)k * step);
    }
    _exit(0);
}
