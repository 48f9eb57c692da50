/*
 * test_told.c - forces whose last kernel tells the host that they have ended (lib/device/tell.h): they wait for no
 * event, a kernel that tells nothing is waited for, a device that fails meanwhile is an error; and all kinds of forces
 * report their pairs at zero distance, once.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "device/gpu_layout.h"
#include "gpu/gpu_kernels.h"
#include "model.h"
#include "sapporo.h"
#include "stub_driver.h"
#include "stub_kernels.h"

enum { N = 3000, NI = 40, SAME = 17 /* the target that lies on a source */ };

static const double unsoftened = 0, softened = 1e-4;

static double x[N][3];

/* Sources on a helix, so that no two lie at the same place. */
static void fill(sapporo *c)
{
    for (int i = 0; i < N; i++) {
        x[i][0] = cos(0.37 * i), x[i][1] = sin(0.37 * i), x[i][2] = 1e-3 * i;
        const sapporo_particle p = {.derivative = {{x[i][0], x[i][1], x[i][2]}}, .mass = 1.0 / N, .index = i};
        assert_int_equal(sapporo_set_particle(c, i, &p), SAPPORO_OK);
    }
}

/* Targets beside sources; target `same` lies on one, none if it is -1. */
static int force(sapporo *c, int nj, double eps2, unsigned want, int same, double *pot)
{
    double at[NI][3], acc[NI][3], h2[NI];
    int nearest[NI];
    for (int i = 0; i < NI; i++) {
        memcpy(at[i], x[i * (nj / NI)], sizeof at[i]);
        at[i][0] += i == same ? 0 : 1e-3;
        h2[i] = 0.01;
    }
    const sapporo_request request = {
        .size = sizeof request, .nj = nj, .ni = NI, .x = {at, 0}, .h2 = {h2, 0}, .eps2 = eps2, .want = want};
    const sapporo_result result = {
        .size = sizeof result, .acc = acc, .pot = pot, .nearest = want & SAPPORO_WANT_NEAREST ? nearest : NULL};
    sapporo_job *job = NULL;
    int status = sapporo_force_begin(c, &request, &job);
    if (!status) status = sapporo_force_end(job, NI, &result);
    sapporo_force_free(job);
    return status;
}

/* ---- the stub: kernels that tell, and such that do not ---- */

static int sums; /* launches that add records up */

/* As stub_kernel, but only the first force tells that it has ended. */
static void silent(const char *name, const struct sap_launch *l)
{
    const int adds = strcmp(name, "finish_sums") == 0 && l->argument[5].value;
    struct sap_gpu_counters *const told = adds ? stub_memory(l->argument[5].value) : NULL;
    const int before = told ? told->ended : 0;
    stub_kernel(name, l);
    if (told && sums++ > 0) told->ended = before;
}

static int lost(struct sap_event *e) { return (void)e, SAP_DRIVER_LOST; }

/* Forces by a driver whose queries of events are `query`; returns the status of the last one. */
static int on_stub(void (*kernel)(const char *, const struct sap_launch *), int (*query)(struct sap_event *))
{
    static struct sap_driver driver;
    sapporo *c = NULL;
    double pot[NI];
    int status = SAPPORO_OK;
    stub_reset(1);
    sums = 0;
    driver = stub_driver;
    if (query) driver.event_query = query;
    stub.on_launch = kernel;
    stub.pending = 3;
    sap_driver_replaced.cuda = &driver;
    sap_driver_replaced.cuda_kernels = &stub_kernels;
    const sapporo_options options = {.size = sizeof options, .backend = SAPPORO_BACKEND_CUDA, .precision = SAPPORO_DS};
    assert_int_equal(sapporo_open(&options, &c), SAPPORO_OK);
    fill(c);
    for (int k = 0; k < 3 && !status; k++) {
        const double before = stub_serial();
        status = force(c, N, k == 1 ? unsoftened : softened, 0, -1, pot);
        for (int i = 0; i < NI; i++) assert_true(status ? isnan(pot[i]) : fabs(pot[i]) > before);
    }
    sapporo_close(c);
    sap_gpu_unload_idle(&driver);
    assert_true(stub_idle());
    assert_int_equal(stub.outside, 0);
    sap_driver_replaced.cuda = NULL;
    sap_driver_replaced.cuda_kernels = NULL;
    return status;
}

static void without_events(void **state)
{
    (void)state;
    assert_int_equal(on_stub(stub_kernel, lost), SAPPORO_OK); /* no event is asked */
}

static void waited_for(void **state)
{
    (void)state;
    assert_int_equal(on_stub(silent, NULL), SAPPORO_OK);
}

static void fails_meanwhile(void **state)
{
    (void)state;
    assert_int_equal(on_stub(silent, lost), SAPPORO_ERR_DEVICE);
}

/* ---- pairs at zero distance ---- */

static int warnings;

static void hear(void *user, int level, const char *text)
{
    (void)user;
    if (level == SAPPORO_LOG_WARNING && strstr(text, "at the same place")) warnings++;
}

/* A force of some kind, before the one that has a pair at zero distance. */
struct before {
    int nj;
    double eps2;
    unsigned want;
};

static void reported(const struct engine *e)
{
    static const struct before before[] = {{0, 0, 0},
                                           {N, 0, 0},
                                           {N, 1e-4, 0},
                                           {500, 0, 0},
                                           {500, 1e-4, 0},
                                           {N, 0, SAPPORO_WANT_LISTS},
                                           {N, 1e-4, SAPPORO_WANT_LISTS},
                                           {N, 0, SAPPORO_WANT_NEAREST}};
    enum { KINDS = sizeof before / sizeof before[0] };
    double pot[NI];
    for (int k = 0; k < KINDS * KINDS; k++) {
        const struct before *const one = &before[k / KINDS], *const other = &before[k % KINDS];
        sapporo *c = engine_open(e, 1);
        fill(c);
        warnings = 0;
        sapporo_set_log(hear, NULL);
        if (one->nj > 0) assert_int_equal(force(c, one->nj, one->eps2, one->want, -1, pot), SAPPORO_OK);
        if (other->nj > 0) assert_int_equal(force(c, other->nj, other->eps2, other->want, -1, pot), SAPPORO_OK);
        assert_int_equal(warnings, 0);
        assert_int_equal(force(c, N, softened, 0, SAME, pot), SAPPORO_OK); /* softened pairs are nothing to tell */
        assert_int_equal(warnings, 0);
        assert_int_equal(force(c, one->nj > 0 ? one->nj : N, unsoftened, one->want, SAME, pot), SAPPORO_OK);
        assert_int_equal(warnings, 1);
        assert_int_equal(force(c, N, unsoftened, 0, SAME, pot), SAPPORO_OK);
        assert_int_equal(warnings, 1);
        sapporo_set_log(NULL, NULL);
        sapporo_close(c);
    }
}

/* The driver of HIP does not say that kernels may tell; here they do, as an emulator of cards writes in order. */
static void zero_distances(void **state)
{
    static struct sap_driver hip;
    (void)state;
    hip = sap_driver_hip;
    hip.pinned_in_order = 1;
    sap_driver_replaced.hip = &hip;
    engines_on_each(engines, ENGINES, engine_usable, reported);
    sap_gpu_unload_idle(&hip);
    sap_driver_replaced.hip = NULL;
}

int main(void)
{
    const struct CMUnitTest all[] = {cmocka_unit_test(without_events), cmocka_unit_test(waited_for),
                                     cmocka_unit_test(fails_meanwhile), cmocka_unit_test(zero_distances)};
    return cmocka_run_group_tests_name("told", all, NULL, NULL);
}
