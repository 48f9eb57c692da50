/*
 * units.c - the units in which a context stores its particles: powers of two, so that single precision can hold them.
 *
 * A force in sp or ds looks at a few of its particles.  If they fit into single precision as they are, nothing happens.
 * Else it reads all of them, chooses units (engine/units.h), and multiplies what the store holds.  Particles that come
 * later are multiplied as they come, i-particles as they are copied, and results are divided.  Bits do not depend on
 * the units, so it does not matter when the context looks.
 */
#include <math.h>
#include <string.h>

#include "base/fpenv.h"
#include "base/structs.h"
#include "context/context_units.h"

/* ---- looking -------------------------------------------------------------------------------- */

/* Adds what an address holds. */
static void add_stored(const sapporo *c, struct sap_spread *s, struct sap_sizes *sizes, int address)
{
    const struct sap_segment *const g = sap_jstore_segment(&c->host, address);
    const unsigned in = (unsigned)address % SAP_SEGMENT;
    struct sap_numbers p = {.stride = SAP_CPU_LANES, .mass = g->mass[in], .eps2 = g->eps2 ? g->eps2[in] : 0};
    const int used = c->settings.order == 2 ? 0 : g->terms; /* order 2 uses no other column */
    for (int k = 0; k <= used; k++) p.derivative[k] = g->derivative[k] + sap_jstore_offset(in);
    if (used) p.time = g->time[in];
    sap_spread_add(s, sizes, &p);
}

/* Adds particle k of those that wait to be stored. */
static void add_staged(const sapporo *c, struct sap_spread *s, int k)
{
    const struct sap_staged *const at = sap_staged_at(c->staged, c->staged_bytes, k);
    struct sap_numbers p = {.stride = 1, .mass = at->mass, .time = at->time, .eps2 = at->eps2};
    for (int d = 0; d < SAP_DERIVATIVES && (d == 0 || c->settings.order > 2); d++) p.derivative[d] = at->derivative[d];
    sap_spread_add(s, NULL, &p);
}

/* Returns number k of LOOKS numbers that are spread over 0 .. n-1. */
enum { LOOKS = 8 };
static int place_of_look(int k, int n) { return n <= LOOKS ? k : (int)((2LL * k + 1) * n / (2 * LOOKS)); }

/* The exponent of the largest coordinate of row k of a column; SAP_UNITS_NONE: all are zero. */
static int exponent_of_row(const sapporo_column *x, int k)
{
    double row[3];
    int most = SAP_UNITS_NONE;
    memcpy(row, sap_column_at(x, k, sizeof row), sizeof row);
    for (int axis = 0; axis < 3; axis++) {
        const int e = sap_exponent(row[axis]);
        if (e > most) most = e;
    }
    return most;
}

int sap_exponent_of_column(const sapporo_column *x, int n)
{
    int sorted[LOOKS], count = 0;
    for (int k = 0; x && x->base && k < LOOKS && k < n; k++) {
        const int e = exponent_of_row(x, place_of_look(k, n));
        int at = count++;
        for (; at > 0 && sorted[at - 1] > e; at--) sorted[at] = sorted[at - 1];
        sorted[at] = e;
    }
    return count ? sorted[(count - 1) / 2] : SAP_UNITS_NONE;
}

static void look_at_targets(const struct sap_targets *targets, int of[2])
{
    of[0] = sap_exponent_of_column(targets->x, targets->ni);
    of[1] = sap_exponent_of_column(targets->v, targets->ni);
}

/*
 * Whether a few particles of the first nj addresses, and a few of those that wait, fit as they are: each by themselves,
 * since those that wait may replace the others.  *faint: about the potential of forces that the precision loses.
 */
static int seem_plain(const sapporo *c, int nj, const struct sap_targets *targets, double *faint)
{
    int of_targets[2];
    *faint = 0;
    look_at_targets(targets, of_targets);
    const int end = nj < c->host.upper ? nj : c->host.upper;
    for (int waiting = 0; waiting < (c->nstaged > 0 ? 2 : 1); waiting++) {
        const int n = waiting ? c->nstaged : end;
        struct sap_spread s;
        sap_spread_clear(&s);
        for (int k = 0; k < LOOKS && k < n; k++) {
            const int at = place_of_look(k, n);
            if (waiting)
                add_staged(c, &s, at);
            else if (sap_jstore_has(&c->host, at))
                add_stored(c, &s, NULL, at);
        }
        sap_spread_soften(&s, targets->most);
        sap_spread_close(&s, NULL, of_targets);
        if (!sap_spread_is_plain(&s, c->settings.order)) return 0;
        if (s.heavy == SAP_UNITS_NONE) continue;
        const double whole = s.whole / (n < LOOKS ? n : LOOKS) * nj,
                     most = sap_faint_potential(scalbn(1, s.heavy), whole);
        *faint = *faint > 0 && *faint < most ? *faint : most;
    }
    return 1;
}

int sap_context_seems_plain(const sapporo *c, double eps2)
{
    double faint;
    const struct sap_targets targets = {eps2, eps2, NULL, NULL, 0};
    if (c->settings.precision == SAPPORO_DP) return 1;
    return sap_units_are_plain(&c->units) && seem_plain(c, c->host.upper, &targets, &faint);
}

/* Adds the particles of the first nj addresses, in the units that they were given in.  Nothing waits to be stored. */
static void add_first(const sapporo *c, struct sap_spread *s, struct sap_sizes *sizes, int nj)
{
    struct sap_spread stored;
    struct sap_sizes their = {0};
    const int end = nj < c->host.upper ? nj : c->host.upper;
    sap_spread_clear(&stored);
    for (int a = sap_jstore_next(&c->host, 0); a < end; a = sap_jstore_next(&c->host, a + 1))
        add_stored(c, &stored, &their, a);
    sap_spread_join(s, sizes, &stored, &their, &c->units);
}

void sap_context_add_all(const sapporo *c, struct sap_spread *s, struct sap_sizes *sizes)
{
    add_first(c, s, sizes, c->host.upper);
}

void sap_context_note_wide(sapporo *c, const struct sap_jparticle *p)
{
    c->wide = 1;
    for (int k = 0; k < 3 && p->derivative[0]; k++) {
        const int e = sap_exponent(p->derivative[0][k]);
        if (e != SAP_UNITS_NONE && e - c->units.length > c->looked.farthest + SAP_UNITS_STEP / 4) c->looked.valid = 0;
    }
}

void sap_context_warn_wide(sapporo *c)
{
    if (c->wide)
        sap_warn_once(&c->notes, SAP_WARN_RANGE,
                      "coordinates beyond %.0e are near the end of single precision's range: use precision dp",
                      SAP_WIDE);
}

/* ---- changing ------------------------------------------------------------------------------- */

/* Multiplies the three axes of an address in a column by 2^exponent. */
static void scale_axes(double *column, unsigned in, int exponent)
{
    double *const to = column + sap_jstore_offset(in);
    for (int axis = 0; axis < 3; axis++) sap_scale(to + (ptrdiff_t)axis * SAP_CPU_LANES, 1, exponent);
}

/* Multiplies what an address holds: a particle, or in order 2 the parts of one (engine/jstore.h). */
static void scale_address(struct sap_segment *g, unsigned in, const struct sap_units *by)
{
    if (g->occupied[in / SAP_CPU_LANES] >> in % SAP_CPU_LANES & 1) {
        for (int k = 0; k <= g->terms; k++) scale_axes(g->derivative[k], in, sap_units_derivative(by, k));
        sap_scale(&g->mass[in], 1, by->mass);
        sap_scale(&g->time[in], 1, by->time);
        if (g->eps2) sap_scale(&g->eps2[in], 1, sap_units_square(by));
    } else if (g->index[in] & (SAP_JSTORE_POSITION | SAP_JSTORE_MASS)) {
        scale_axes(g->derivative[1], in, by->length);
        sap_scale(&g->time[in], 1, by->mass);
    }
}

static void scale_store(sapporo *c, const struct sap_units *by)
{
    sap_jstore_finish(&c->host);
    for (int k = 0; k < c->host.segments; k++) {
        struct sap_segment *const g = c->host.segment[k];
        for (unsigned in = 0; g && in < SAP_SEGMENT; in++)
            if (g->ready[in / SAP_CPU_SUPERPACKET]) scale_address(g, in, by);
    }
    sap_scale(&c->host.soft, 1, sap_units_square(by));
    sap_jstore_change_all(&c->host);
}

/* Finds out again which coordinates are large for the precision. */
static void note_far(sapporo *c)
{
    c->wide = c->host.far = 0;
    for (int a = sap_jstore_next(&c->host, 0); a < c->host.upper; a = sap_jstore_next(&c->host, a + 1)) {
        const struct sap_segment *const g = sap_jstore_segment(&c->host, a);
        const double *const x = g->derivative[0] + sap_jstore_offset((unsigned)a % SAP_SEGMENT);
        for (int axis = 0; axis < 3; axis++) {
            c->host.far |= fabs(x[(ptrdiff_t)axis * SAP_CPU_LANES]) >= SAP_FAR;
            c->wide |= fabs(x[(ptrdiff_t)axis * SAP_CPU_LANES]) >= SAP_WIDE;
        }
    }
}

void sap_context_set_units(sapporo *c, const struct sap_units *units)
{
    const struct sap_units by = {units->length - c->units.length, units->mass - c->units.mass,
                                 units->time - c->units.time};
    if (sap_units_are_plain(&by)) return;
    sap_context_settle(c);
    scale_store(c, &by);
    c->units = *units;
    note_far(c);
    sap_log(SAPPORO_LOG_INFO,
            "particles are multiplied for single precision: lengths by 2^%d, masses by 2^%d, times by 2^%d",
            units->length, units->mass, units->time);
}

void sap_context_judge_units(sapporo *c, const struct sap_spread *s, const struct sap_units *u, double eps2)
{
    const int softening = sap_exponent_of_length(eps2);
    if (sap_spread_loses_pairs(s, u))
        sap_warn_once(&c->notes, SAP_WARN_SPAN,
                      "coordinates of j-particles from 2^%d to 2^%d: single precision takes the smallest ones for one "
                      "place; SAPPORO_PRECISION=dp tells them apart",
                      s->nearest, s->derivative[0].most);
    if (sap_spread_loses_places(s, u, softening))
        sap_warn_once(&c->notes, SAP_WARN_SOFTENING,
                      "a softening length is 2^%d, but coordinates are at most 2^%d: single precision loses digits of "
                      "the accelerations, or all; SAPPORO_PRECISION=dp has them",
                      softening, s->derivative[0].most + 1);
    if (sap_spread_loses_masses(s, u))
        sap_warn_once(&c->notes, SAP_WARN_MASSES,
                      "masses from 2^%d to 2^%d: single precision loses the lightest beside the heaviest, so their "
                      "forces are too small; SAPPORO_PRECISION=dp has them",
                      s->mass.least, s->mass.most);
}

/* Whether the particles are still about those of the last look, so that its units serve. */
static int is_known(const sapporo *c, int nj, const struct sap_targets *targets)
{
    const struct sap_looked *const l = &c->looked;
    int of[2];
    if (!l->valid || l->nj != nj || l->common != targets->common || l->most != targets->most) return 0;
    if (c->host.version - l->version >= (uint64_t)nj / 16 || !sap_scales(&c->time, 1, l->units.time)) return 0;
    look_at_targets(targets, of);
    if (l->by_targets) return of[0] == l->targets[0] && of[1] == l->targets[1];
    return of[0] <= l->size + SAP_UNITS_MUCH && of[1] <= l->pace + SAP_UNITS_MUCH;
}

/* Whether particles from address nj on, which are multiplied too, fit into double. */
static int others_fit(const sapporo *c, int nj, const struct sap_units *units)
{
    struct sap_spread all;
    struct sap_sizes sizes = {0};
    if (nj >= c->host.upper || sap_units_are_plain(units)) return 1;
    sap_spread_clear(&all);
    sap_context_add_all(c, &all, &sizes);
    return sap_spread_fits_double(&all, units);
}

/* Reads all particles and chooses their units. */
static void look(sapporo *c, int nj, const struct sap_targets *targets)
{
    int of_targets[2];
    struct sap_spread s;
    struct sap_sizes sizes = {0};
    struct sap_numbers now = {.time = c->settings.order == 2 ? 0 : c->time};
    sap_spread_clear(&s);
    sap_spread_add(&s, NULL, &now);
    add_first(c, &s, &sizes, nj);
    sap_spread_soften(&s, targets->common);
    look_at_targets(targets, of_targets);
    sap_spread_close(&s, &sizes, of_targets);
    struct sap_units units = sap_spread_units(&s, c->settings.order);
    if (!others_fit(c, nj, &units)) units = (struct sap_units){0, 0, 0};
    sap_context_set_units(c, &units);
    sap_context_judge_units(c, &s, &units, targets->most);
    if (s.heavy != SAP_UNITS_NONE)
        c->faint = sap_faint_potential(scalbn(1, s.heavy + units.mass), sap_scaled(s.whole, units.mass));
    c->looked = (struct sap_looked){.valid = 1,
                                    .nj = nj,
                                    .farthest = s.derivative[0].most,
                                    .fastest = sap_spread_fastest(&s),
                                    .common = targets->common,
                                    .most = targets->most,
                                    .targets = {of_targets[0], of_targets[1]},
                                    .by_targets = s.targets[0] != SAP_UNITS_NONE || s.targets[1] != SAP_UNITS_NONE,
                                    .size = s.size,
                                    .pace = s.pace[1],
                                    .units = units,
                                    .faint = c->faint,
                                    .version = c->host.version};
}

void sap_context_take_units(sapporo *c, int nj, struct sap_targets targets, int few)
{
    static const struct sap_units plain = {0, 0, 0};
    c->faint = 0;
    if (c->given || few || c->settings.precision == SAPPORO_DP) {
        if (!sap_units_are_plain(&c->units)) sap_context_set_units(c, &plain);
        return;
    }
    const int plain_before = !c->wide && sap_units_are_plain(&c->units);
    if (plain_before && (sap_context_glance(c, nj, &targets, &c->faint) || seem_plain(c, nj, &targets, &c->faint)))
        return;
    sap_context_settle(c);
    if (is_known(c, nj, &targets)) {
        sap_context_set_units(c, &c->looked.units);
        c->faint = c->looked.faint;
        return;
    }
    look(c, nj, &targets);
}

/* ---- particles ------------------------------------------------------------------------------ */

static int fits(const struct sap_units *u, const struct sap_jparticle *p)
{
    for (int k = 0; k < SAP_DERIVATIVES_MOST; k++)
        if (p->derivative[k] && !sap_scales(p->derivative[k], 3, sap_units_derivative(u, k))) return 0;
    return sap_scales(&p->mass, 1, u->mass) && sap_scales(&p->time, 1, u->time) &&
           sap_scales(&p->eps2, 1, sap_units_square(u));
}

void sap_context_leave_units(sapporo *c)
{
    static const struct sap_units plain = {0, 0, 0};
    const sap_fpenv callers = sap_fp_enter();
    sap_context_set_units(c, &plain);
    c->looked.valid = 0;
    sap_fp_leave(callers);
}

/* Copies a particle to these units. */
static void copy_particle(const struct sap_units *u, const struct sap_jparticle *p, struct sap_jparticle *own,
                          double (*to)[3])
{
    const sap_fpenv callers = sap_fp_enter(); /* to multiply a signalling NaN would trap */
    *own = *p;
    for (int k = 0; k < SAP_DERIVATIVES_MOST; k++) {
        if (!p->derivative[k]) continue;
        memcpy(to[k], p->derivative[k], sizeof to[k]);
        sap_scale(to[k], 3, sap_units_derivative(u, k));
        own->derivative[k] = to[k];
    }
    own->mass = sap_scaled(p->mass, u->mass);
    own->time = sap_scaled(p->time, u->time);
    own->eps2 = sap_scaled(p->eps2, sap_units_square(u));
    sap_fp_leave(callers);
}

int sap_context_is_fast(const sapporo *c, const double *x, int n, int k)
{
    int rate = SAP_UNITS_NONE;
    for (int i = 0; i < n; i++) {
        const int one = sap_exponent_of_rate(sap_exponent(x[i]), c->looked.size, k);
        if (one > rate) rate = one;
    }
    return rate > c->looked.fastest + SAP_UNITS_STEP / 4;
}

static void note_fast(sapporo *c, const struct sap_jparticle *p)
{
    for (int k = 1; k < SAP_DERIVATIVES_MOST; k++)
        if (p->derivative[k] && sap_context_is_fast(c, p->derivative[k], 3, k)) c->looked.valid = 0;
}

const struct sap_jparticle *sap_context_in_units(sapporo *c, const struct sap_jparticle *p, struct sap_jparticle *own,
                                                 double (*to)[3])
{
    if (sap_units_are_plain(&c->units)) return p;
    if (fits(&c->units, p)) {
        note_fast(c, p);
        copy_particle(&c->units, p, own, to);
        return own;
    }
    sap_context_leave_units(c);
    return p;
}
