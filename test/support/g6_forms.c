/* g6_forms.c - see g6_forms.h. */
#include "g6_forms.h"

#include <limits.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/log.h"

/* ---- by reference --------------------------------------------------------------- */

static int ref_open(int id) { return g6_open_(&id); }

static int ref_close(int id) { return g6_close_(&id); }

static int ref_reinitialize(int id) { return g6_reinitialize_(&id); }

static int ref_reset(int id) { return g6_reset_(&id); }

static int ref_reset_fofpga(int id) { return g6_reset_fofpga_(&id); }

static int ref_set_tunit(int unit) { return g6_set_tunit_(&unit); }

static int ref_set_xunit(int unit) { return g6_set_xunit_(&unit); }

static int ref_set_ti(int id, double ti) { return g6_set_ti_(&id, &ti); }

static int ref_set_j(int id, int address, int index, double tj, double dtj, double mass, double *k18, double *j6,
                     double *a2, double *v, double *x)
{
    return g6_set_j_particle_(&id, &address, &index, &tj, &dtj, &mass, k18, j6, a2, v, x);
}

static int ref_set_mx(int id, int address, int index, double mass, double *x)
{
    return g6_set_j_particle_mxonly_(&id, &address, &index, &mass, x);
}

static void ref_first(int id, int nj, int ni, int *index, vec3 *x, vec3 *v, vec3 *fold, vec3 *jold, double *phiold,
                      double eps2, double *h2)
{
    g6calc_firsthalf_(&id, &nj, &ni, index, x, v, fold, jold, phiold, &eps2, h2);
}

static int ref_last(int id, int nj, int ni, int *index, vec3 *x, vec3 *v, double eps2, double *h2, vec3 *acc,
                    vec3 *jerk, double *pot)
{
    return g6calc_lasthalf_(&id, &nj, &ni, index, x, v, &eps2, h2, acc, jerk, pot);
}

static int ref_last2(int id, int nj, int ni, int *index, vec3 *x, vec3 *v, double eps2, double *h2, vec3 *acc,
                     vec3 *jerk, double *pot, int *nn)
{
    return g6calc_lasthalf2_(&id, &nj, &ni, index, x, v, &eps2, h2, acc, jerk, pot, nn);
}

static int ref_last2p(int id, int nj, int ni, int *index, vec3 *x, vec3 *v, double eps2, double *h2, vec3 *acc,
                      vec3 *jerk, double *pot, int *nn, float *rnnb)
{
    return g6calc_lasthalf2p_(&id, &nj, &ni, index, x, v, &eps2, h2, acc, jerk, pot, nn, rnnb);
}

static int ref_read_lists(int id) { return g6_read_neighbour_list_(&id); }

static int ref_get_list(int id, int pipe, int room, int *n, int *list)
{
    return g6_get_neighbour_list_(&id, &pipe, &room, n, list);
}

static void ref_set_sort_mode(int mode) { g6_set_neighbour_list_sort_mode_(&mode); }

static int ref_overflow_mode(int a, int j, int p) { return g6_set_overflow_flag_test_mode_(&a, &j, &p); }

static int ref_initialize_buffer(int id, int size) { return g6_initialize_jp_buffer_(&id, &size); }

static int ref_flush_buffer(int id) { return g6_flush_jp_buffer_(&id); }

static void ref_setup_njdata(int id, int nj) { g6_setup_njdata_(&id, &nj); }

const struct g6_form g6_by_reference = {
    "by reference",
    ref_open,
    ref_close,
    ref_reinitialize,
    ref_reset,
    ref_reset_fofpga,
    g6_npipes_,
    g6_get_number_of_pipelines_,
    ref_set_tunit,
    ref_set_xunit,
    ref_set_ti,
    ref_set_j,
    ref_set_mx,
    ref_first,
    ref_last,
    ref_last2,
    ref_last2p,
    ref_read_lists,
    ref_get_list,
    ref_set_sort_mode,
    g6_get_neighbour_list_sort_mode_,
    ref_overflow_mode,
    ref_initialize_buffer,
    ref_flush_buffer,
    ref_setup_njdata,
};

/* ---- by value --------------------------------------------------------------------- */

const struct g6_form g6_by_value = {
    "by value",
    g6_open,
    g6_close,
    g6_reinitialize,
    g6_reset,
    g6_reset_fofpga,
    g6_npipes,
    g6_get_number_of_pipelines,
    g6_set_tunit,
    g6_set_xunit,
    g6_set_ti,
    g6_set_j_particle,
    g6_set_j_particle_mxonly,
    g6calc_firsthalf,
    g6calc_lasthalf,
    g6calc_lasthalf2,
    g6calc_lasthalf2p,
    g6_read_neighbour_list,
    g6_get_neighbour_list,
    g6_set_neighbour_list_sort_mode,
    g6_get_neighbour_list_sort_mode,
    g6_set_overflow_flag_test_mode,
    g6_initialize_jp_buffer,
    g6_flush_jp_buffer,
    g6_setup_njdata,
};

const struct g6_form *g6 = &g6_by_value;

/* ---- model ------------------------------------------------------------------------ */

void g6_batch_one(struct g6_batch *b, int index, double z)
{
    memset(b, 0, sizeof *b);
    b->n = 1;
    b->index[0] = index;
    b->x[0][2] = z;
}

void g6_first(int id, int nj, struct g6_batch *b, double eps2)
{
    g6->first(id, nj, b->n, b->index, b->x, b->v, NULL, NULL, NULL, eps2, b->h2);
}

int g6_last(int id, int nj, struct g6_batch *b, double eps2)
{
    for (int i = 0; i < G6_BATCH; i++) {
        for (int k = 0; k < 3; k++) b->acc[i][k] = b->jerk[i][k] = 7;
        b->pot[i] = 7;
        b->nn[i] = 7;
    }
    return g6->last2(id, nj, b->n, b->index, b->x, b->v, eps2, b->h2, b->acc, b->jerk, b->pot, b->nn);
}

int g6_force(int id, int nj, struct g6_batch *b, double eps2)
{
    g6_first(id, nj, b, eps2);
    return g6_last(id, nj, b, eps2);
}

void g6_set_one_of_three(int id, int address)
{
    vec3 zero = {0, 0, 0}, x = {address == 1, 2 * (address == 2), 0}, v = {address == 2, 0, 0};
    assert_int_equal(g6->set_j(id, address, 10 + address, 0, 0.125, 1 << address, zero, zero, zero, v, x), 0);
}

void g6_set_three(int id)
{
    for (int address = 0; address < 3; address++) g6_set_one_of_three(id, address);
}

void g6_open_three(int id)
{
    assert_int_equal(g6->open(id), 0);
    assert_int_equal(g6->set_ti(id, 0), 0);
    g6_set_three(id);
}

double g6_pot_of_three(double z) { return -1 / fabs(z) - 2 / sqrt(1 + z * z) - 4 / sqrt(4 + z * z); }

void g6_near(double got, double expected)
{
    if (!(fabs(got - expected) <= 1e-6)) fail_msg("got %.12g, expected %.12g", got, expected);
}

void g6_expect_three(const struct g6_batch *b, int i)
{
    static const vec3 acc = {2, 1, 0}, jerk = {0.5, 0, 0};
    for (int k = 0; k < 3; k++) {
        g6_near(b->acc[i][k], acc[k]);
        g6_near(b->jerk[i][k], jerk[k]);
    }
    g6_near(b->pot[i], -4);
    assert_int_equal(b->nn[i], 11);
}

void g6_expect_healthy(int id)
{
    struct g6_batch b;
    g6_batch_one(&b, 10, 0);
    assert_int_equal(g6_force(id, 3, &b, 0), 0);
    g6_expect_three(&b, 0);
}

void g6_expect_nan(const struct g6_batch *b, int n)
{
    for (int i = 0; i < n; i++) {
        for (int k = 0; k < 3; k++) {
            assert_true(isnan(b->acc[i][k]));
            assert_true(isnan(b->jerk[i][k]));
        }
        assert_true(isnan(b->pot[i]));
        assert_int_equal(b->nn[i], -1);
    }
}

/* ---- around a test --------------------------------------------------------------------- */

static atomic_int heard[2];

static void hear(void *user, int level, const char *text)
{
    (void)user, (void)text;
    if (level >= 0 && level < 2) atomic_fetch_add(&heard[level], 1);
}

int g6_errors(void) { return atomic_exchange(&heard[SAPPORO_LOG_ERROR], 0); }

int g6_warnings(void) { return atomic_exchange(&heard[SAPPORO_LOG_WARNING], 0); }

static int use(const struct g6_form *form)
{
    g6 = form;
    sapporo_set_log(hear, NULL);
    sap_messages.notes.lines = 0; /* messages without a context count again */
    g6_errors();
    g6_warnings();
    return 0;
}

int g6_use_value(void **state)
{
    (void)state;
    return use(&g6_by_value);
}

int g6_use_reference(void **state)
{
    (void)state;
    return use(&g6_by_reference);
}

int g6_close_all(void **state)
{
    static const int others[] = {300, 1000, -5, INT_MAX};
    (void)state;
    for (int id = 0; id < 10; id++) g6->close(id);
    for (size_t k = 0; k < sizeof others / sizeof others[0]; k++) g6->close(others[k]);
    return 0;
}
