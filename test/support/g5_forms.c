/* g5_forms.c - see g5_forms.h. */
#include "g5_forms.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

/* ---- by value ------------------------------------------------------------------- */

static int val_open(int id) { return id == 0 ? g5_open() : g5_openMC(id); }

static int val_close(int id) { return id == 0 ? g5_close() : g5_closeMC(id); }

static int val_pipelines(int id) { return id == 0 ? g5_get_number_of_pipelines() : g5_get_number_of_pipelinesMC(id); }

static int val_real_pipelines(int id)
{
    return id == 0 ? g5_get_number_of_real_pipelines() : g5_get_number_of_real_pipelinesMC(id);
}

static int val_jmemsize(int id) { return id == 0 ? g5_get_jmemsize() : g5_get_jmemsizeMC(id); }

static int val_set_range(int id, double xmin, double xmax, double mmin)
{
    return id == 0 ? g5_set_range(xmin, xmax, mmin) : g5_set_rangeMC(id, xmin, xmax, mmin);
}

static int val_get_range(int id, double *xmin, double *xmax, double *mmin)
{
    return id == 0 ? g5_get_range(xmin, xmax, mmin) : g5_get_rangeMC(id, xmin, xmax, mmin);
}

static int val_eps_to_all(double eps) { return g5_set_eps_to_all(eps); }

static int val_eps2_to_all(double eps2) { return g5_set_eps2_to_all(eps2); }

static int val_set_eta(double eta) { return g5_set_eta(eta); }

static int val_set_n(int id, int n) { return id == 0 ? g5_set_n(n) : g5_set_nMC(id, n); }

static int val_set_xmj(int id, int adr, int nj, vec3 *xj, double *mj)
{
    return id == 0 ? g5_set_xmj(adr, nj, xj, mj) : g5_set_xmjMC(id, adr, nj, xj, mj);
}

static int val_set_jp(int id, int adr, int nj, double *mj, vec3 *xj)
{
    return id == 0 ? g5_set_jp(adr, nj, mj, xj) : g5_set_jpMC(id, adr, nj, mj, xj);
}

static int val_set_xj(int id, int adr, int nj, vec3 *xj)
{
    return id == 0 ? g5_set_xj(adr, nj, xj) : g5_set_xjMC(id, adr, nj, xj);
}

static int val_set_mj(int id, int adr, int nj, double *mj)
{
    return id == 0 ? g5_set_mj(adr, nj, mj) : g5_set_mjMC(id, adr, nj, mj);
}

static int val_set_xmj0(int id, int adr, int nj, vec3 *xj, double *mj, double *epsj2)
{
    return id == 0 ? g5_set_xmj0(adr, nj, xj, mj, epsj2) : g5_set_xmjMC0(id, adr, nj, xj, mj, epsj2);
}

static int val_set_xi(int id, int ni, vec3 *xi) { return id == 0 ? g5_set_xi(ni, xi) : g5_set_xiMC(id, ni, xi); }

static int val_set_eps(int id, int ni, double *eps)
{
    return id == 0 ? g5_set_eps(ni, eps) : g5_set_epsMC(id, ni, eps);
}

static int val_set_eps2(int id, int ni, double *eps2)
{
    return id == 0 ? g5_set_eps2(ni, eps2) : g5_set_eps2MC(id, ni, eps2);
}

static int val_set_xepsi(int id, int ni, vec3 *xi, double *eps)
{
    return id == 0 ? g5_set_xepsi(ni, xi, eps) : g5_set_xepsiMC(id, ni, xi, eps);
}

static int val_set_ip(int id, int ni, vec3 *xi, double *eps, double *h)
{
    return id == 0 ? g5_set_ip(ni, xi, eps, h) : g5_set_ipMC(id, ni, xi, eps, h);
}

static int val_set_xi0(int id, int ni, vec3 *xi, double *eps2)
{
    return id == 0 ? g5_set_xi0(ni, xi, eps2) : g5_set_xiMC0(id, ni, xi, eps2);
}

static int val_run(int id) { return id == 0 ? g5_run() : g5_runMC(id); }

static int val_run0(int id) { return id == 0 ? g5_run0() : g5_runMC0(id); }

static int val_get_force(int id, int ni, vec3 *a, double *p)
{
    return id == 0 ? g5_get_force(ni, a, p) : g5_get_forceMC(id, ni, a, p);
}

static int val_calculate(int id, vec3 *x, vec3 *a, double *p, int ni)
{
    return id == 0 ? g5_calculate_force_on_x(x, a, p, ni) : g5_calculate_force_on_xMC(id, x, a, p, ni);
}

static int val_calculate0(int id, vec3 *x, vec3 *a, double *p, int ni, double *eps2)
{
    return id == 0 ? g5_calculate_force_on_x0(x, a, p, ni, eps2) : g5_calculate_force_on_xMC0(id, x, a, p, ni, eps2);
}

static int val_set_xmeps2j(int adr, int nj, vec3 *xj, double *mj, double *epsj2)
{
    return g5_set_xmeps2j(adr, nj, xj, mj, epsj2);
}

static int val_run_symmetrized(void) { return g5_run_symmetrized_softening(); }

static int val_calculate_xeps(vec3 *x, double *eps, vec3 *a, double *p, int ni)
{
    return g5_calculate_force_on_xeps(x, eps, a, p, ni);
}

static const struct g5_form by_value = {
    "by value",         val_open,      val_close,      val_pipelines,   val_real_pipelines, val_jmemsize,
    val_set_range,      val_get_range, val_eps_to_all, val_eps2_to_all, val_set_eta,        val_set_n,
    val_set_xmj,        val_set_jp,    val_set_xj,     val_set_mj,      val_set_xmj0,       val_set_xi,
    val_set_eps,        val_set_eps2,  val_set_xepsi,  val_set_ip,      val_set_xi0,        val_run,
    val_run0,           val_get_force, val_calculate,  val_calculate0,  val_set_xmeps2j,    val_run_symmetrized,
    val_calculate_xeps,
};

/* ---- by reference --------------------------------------------------------------- */

static int ref_open(int id) { return id == 0 ? g5_open_() : g5_openMC_(&id); }

static int ref_close(int id) { return id == 0 ? g5_close_() : g5_closeMC_(&id); }

static int ref_pipelines(int id)
{
    return id == 0 ? g5_get_number_of_pipelines_() : g5_get_number_of_pipelinesMC_(&id);
}

static int ref_real_pipelines(int id)
{
    return id == 0 ? g5_get_number_of_real_pipelines_() : g5_get_number_of_real_pipelinesMC_(&id);
}

static int ref_jmemsize(int id) { return id == 0 ? g5_get_jmemsize_() : g5_get_jmemsizeMC_(&id); }

static int ref_set_range(int id, double xmin, double xmax, double mmin)
{
    return id == 0 ? g5_set_range_(&xmin, &xmax, &mmin) : g5_set_rangeMC_(&id, &xmin, &xmax, &mmin);
}

static int ref_get_range(int id, double *xmin, double *xmax, double *mmin)
{
    return id == 0 ? g5_get_range_(xmin, xmax, mmin) : g5_get_rangeMC_(&id, xmin, xmax, mmin);
}

static int ref_eps_to_all(double eps) { return g5_set_eps_to_all_(&eps); }

static int ref_eps2_to_all(double eps2) { return g5_set_eps2_to_all_(&eps2); }

static int ref_set_eta(double eta) { return g5_set_eta_(&eta); }

static int ref_set_n(int id, int n) { return id == 0 ? g5_set_n_(&n) : g5_set_nMC_(&id, &n); }

static int ref_set_xmj(int id, int adr, int nj, vec3 *xj, double *mj)
{
    return id == 0 ? g5_set_xmj_(&adr, &nj, xj, mj) : g5_set_xmjMC_(&id, &adr, &nj, xj, mj);
}

static int ref_set_jp(int id, int adr, int nj, double *mj, vec3 *xj)
{
    return id == 0 ? g5_set_jp_(&adr, &nj, mj, xj) : g5_set_jpMC_(&id, &adr, &nj, mj, xj);
}

static int ref_set_xj(int id, int adr, int nj, vec3 *xj)
{
    return id == 0 ? g5_set_xj_(&adr, &nj, xj) : g5_set_xjMC_(&id, &adr, &nj, xj);
}

static int ref_set_mj(int id, int adr, int nj, double *mj)
{
    return id == 0 ? g5_set_mj_(&adr, &nj, mj) : g5_set_mjMC_(&id, &adr, &nj, mj);
}

static int ref_set_xmj0(int id, int adr, int nj, vec3 *xj, double *mj, double *epsj2)
{
    return id == 0 ? g5_set_xmj0_(&adr, &nj, xj, mj, epsj2) : g5_set_xmjMC0_(&id, &adr, &nj, xj, mj, epsj2);
}

static int ref_set_xi(int id, int ni, vec3 *xi) { return id == 0 ? g5_set_xi_(&ni, xi) : g5_set_xiMC_(&id, &ni, xi); }

static int ref_set_eps(int id, int ni, double *eps)
{
    return id == 0 ? g5_set_eps_(&ni, eps) : g5_set_epsMC_(&id, &ni, eps);
}

static int ref_set_eps2(int id, int ni, double *eps2)
{
    return id == 0 ? g5_set_eps2_(&ni, eps2) : g5_set_eps2MC_(&id, &ni, eps2);
}

static int ref_set_xepsi(int id, int ni, vec3 *xi, double *eps)
{
    return id == 0 ? g5_set_xepsi_(&ni, xi, eps) : g5_set_xepsiMC_(&id, &ni, xi, eps);
}

static int ref_set_ip(int id, int ni, vec3 *xi, double *eps, double *h)
{
    return id == 0 ? g5_set_ip_(&ni, xi, eps, h) : g5_set_ipMC_(&id, &ni, xi, eps, h);
}

static int ref_set_xi0(int id, int ni, vec3 *xi, double *eps2)
{
    return id == 0 ? g5_set_xi0_(&ni, xi, eps2) : g5_set_xiMC0_(&id, &ni, xi, eps2);
}

static int ref_run(int id) { return id == 0 ? g5_run_() : g5_runMC_(&id); }

static int ref_run0(int id) { return id == 0 ? g5_run0_() : g5_runMC0_(&id); }

static int ref_get_force(int id, int ni, vec3 *a, double *p)
{
    return id == 0 ? g5_get_force_(&ni, a, p) : g5_get_forceMC_(&id, &ni, a, p);
}

static int ref_calculate(int id, vec3 *x, vec3 *a, double *p, int ni)
{
    return id == 0 ? g5_calculate_force_on_x_(x, a, p, &ni) : g5_calculate_force_on_xMC_(&id, x, a, p, &ni);
}

static int ref_calculate0(int id, vec3 *x, vec3 *a, double *p, int ni, double *eps2)
{
    return id == 0 ? g5_calculate_force_on_x0_(x, a, p, &ni, eps2)
                   : g5_calculate_force_on_xMC0_(&id, x, a, p, &ni, eps2);
}

static int ref_set_xmeps2j(int adr, int nj, vec3 *xj, double *mj, double *epsj2)
{
    return g5_set_xmeps2j_(&adr, &nj, xj, mj, epsj2);
}

static int ref_run_symmetrized(void) { return g5_run_symmetrized_softening_(); }

static int ref_calculate_xeps(vec3 *x, double *eps, vec3 *a, double *p, int ni)
{
    return g5_calculate_force_on_xeps_(x, eps, a, p, &ni);
}

static const struct g5_form by_reference = {
    "by reference",     ref_open,      ref_close,      ref_pipelines,   ref_real_pipelines, ref_jmemsize,
    ref_set_range,      ref_get_range, ref_eps_to_all, ref_eps2_to_all, ref_set_eta,        ref_set_n,
    ref_set_xmj,        ref_set_jp,    ref_set_xj,     ref_set_mj,      ref_set_xmj0,       ref_set_xi,
    ref_set_eps,        ref_set_eps2,  ref_set_xepsi,  ref_set_ip,      ref_set_xi0,        ref_run,
    ref_run0,           ref_get_force, ref_calculate,  ref_calculate0,  ref_set_xmeps2j,    ref_run_symmetrized,
    ref_calculate_xeps,
};

/* ---- the form under test --------------------------------------------------------- */

const struct g5_form *g5;

static int use(const struct g5_form *form, void **state)
{
    g5 = form;
    g6_use_value(state); /* counts messages */
    return g5->eps_to_all(0);
}

int g5_use_value(void **state) { return use(&by_value, state); }

int g5_use_reference(void **state) { return use(&by_reference, state); }

int g5_new_device(void)
{
    static int next = 100;
    return next++;
}

/* ---- the model ---------------------------------------------------------------------- */

vec3 g5_three_x[3] = {{0, 0, 0}, {1, 0, 0}, {0, 2, 0}};
double g5_three_m[3] = {1, 2, 4};

void g5_load_three(int id)
{
    assert_int_equal(g5->set_xmj(id, 0, 3, g5_three_x, g5_three_m), 0);
    assert_int_equal(g5->set_n(id, 3), 0);
}

double g5_pot_of_three(double z, double eps)
{
    const double r2[3] = {z * z + eps * eps, z * z + eps * eps + 1, z * z + eps * eps + 4};
    double pot = 0;
    for (int j = 0; j < 3; j++)
        if (r2[j] > 0) pot += g5_three_m[j] / sqrt(r2[j]);
    return pot;
}

int g5_force(int id, int n, struct g5_batch *b)
{
    for (int i = 0; i < 8; i++) {
        for (int k = 0; k < 3; k++) b->x[i][k] = k == 2 ? i : 0, b->a[i][k] = 7;
        b->p[i] = 7;
    }
    return g5->calculate(id, b->x, b->a, b->p, n);
}

void g5_expect_three(int id, double eps)
{
    struct g5_batch b;
    assert_int_equal(g5_force(id, 3, &b), 0);
    for (int i = 0; i < 3; i++) g6_near(b.p[i], g5_pot_of_three(i, eps));
    if (eps > 0) return;
    g6_near(b.a[0][0], 2);
    g6_near(b.a[0][1], 1);
    g6_near(b.a[0][2], 0);
}

void g5_expect_nan(const struct g5_batch *b, int n)
{
    for (int i = 0; i < n; i++) {
        for (int k = 0; k < 3; k++) assert_true(isnan(b->a[i][k]));
        assert_true(isnan(b->p[i]));
    }
}

void g5_expect_untouched(const struct g5_batch *b)
{
    for (int i = 0; i < 8; i++) {
        for (int k = 0; k < 3; k++) assert_true(b->a[i][k] == 7);
        assert_true(b->p[i] == 7);
    }
}
