/*
 * g5c.c - the calls of libg5c: their sequences, and a model of its devices.  Forces of cells with quadrupole moments
 * are summed in extended precision here, since no other interface has them.
 */
#include <stddef.h>

#include "calls.h"
#include "interface.h"

enum { DEVICES = 8, CELLS = 4200 };

struct cell {
    double x[3], mass, q[6]; /* q: xx, xy, xz, yy, yz, zz */
};

struct device {
    int n;
    struct cell cell[CELLS];
};

static struct device devices[DEVICES];
static double eps2_of_all;

static struct device *find(int id) { return id >= 0 && id < DEVICES ? &devices[id] : NULL; }

/* ---- a force ---- */

/* The sums of one target, and the sizes of their terms: as in oracle.c, by rounding, and by errors of coordinates. */
struct sums {
    long double pot, acc[3];
    double size[QUANTITIES], by_x[QUANTITIES], slack;
    int is_wild; /* a pair is outside the ranges in which errors are known */
};

static double size_of(const double *x) { return fabs(x[0]) + fabs(x[1]) + fabs(x[2]); }

/* The sum of the sizes of all nine moments. */
static double size_of_moments(const double *q)
{
    return fabs(q[0]) + fabs(q[3]) + fabs(q[5]) + 2 * (fabs(q[1]) + fabs(q[2]) + fabs(q[4]));
}

/* Whether a number and its products with powers of the distance R are in the middle of the precision's range. */
static int is_moderate(double number, double R, sapporo_precision precision)
{
    const double least = precision == SAPPORO_DP ? 1e-200 : 1e-30, most = 1 / least, u = 1 / R;
    const double product = number * u * u * u * u * u;
    return number == 0 || (number > least && number < most && product > least && product * (1 + R * R * R) < most);
}

/* With a relative error e of the coordinates, d is off by e * x_size; no derivative of the moments' terms is larger
 * than 8 q / R^4 and 40 q / R^5. */
static void add_sizes(const struct cell *c, double r, double x_size, double u, struct sums *s)
{
    const double m = fabs(c->mass), q = size_of_moments(c->q), u2 = u * u;
    s->size[POT] += m * u + q * u * u2;
    s->size[ACC] += m * r * u * u2 + 4 * q * u2 * u2;
    s->by_x[POT] += m * x_size * u2 + 8 * q * x_size * u2 * u2;
    s->by_x[ACC] += 4 * m * x_size * u * u2 + 40 * q * x_size * u * u2 * u2;
}

static void add_cell(const struct cell *c, const double *x, double eps2, sapporo_precision precision, struct sums *s)
{
    const int at[3][3] = {{0, 1, 2}, {1, 3, 4}, {2, 4, 5}};
    const double most = precision == SAPPORO_DP ? 1e100 : 0x1p36, unit = precision == SAPPORO_DP ? 0x1p-51 : 0x1p-24;
    const double least = precision == SAPPORO_DP ? 1e-100 : 0x1p-62, x_size = size_of(c->x) + size_of(x);
    long double d[3], qd[3] = {0}, r2 = 0, dqd = 0;
    for (int k = 0; k < 3; k++) d[k] = (long double)c->x[k] - x[k], r2 += d[k] * d[k];
    if (r2 + eps2 == 0) { /* skipped, by factors of zero */
        s->is_wild |= !(x_size < most && fabs(c->mass) < 1e30 && size_of_moments(c->q) < 1e30);
        return;
    }
    const double R = sqrt((double)(r2 + eps2));
    if (!(x_size < most && R > least && R < most && x_size * unit < 0.125 * R) ||
        !is_moderate(fabs(c->mass), R, precision) || !is_moderate(size_of_moments(c->q), R, precision)) {
        s->is_wild = 1;
        return;
    }
    for (int k = 0; k < 3; k++)
        for (int l = 0; l < 3; l++) qd[k] += c->q[at[k][l]] * d[l];
    for (int k = 0; k < 3; k++) dqd += d[k] * qd[k];
    const long double u = 1 / sqrtl(r2 + eps2), u3 = u * u * u, u5 = u3 * u * u;
    /* Moments have no trace.  One that is there, by a replaced number, is taken out. */
    const long double trace = (long double)c->q[0] + c->q[3] + c->q[5],
                      radial = 2.5L * dqd * u5 * u * u - trace * u5 / 2;
    s->pot -= c->mass * u + dqd * u5 / 2 - trace * u3 / 6;
    for (int k = 0; k < 3; k++) s->acc[k] += (c->mass * u3 + radial) * d[k] - u5 * qd[k];
    add_sizes(c, (double)(fabsl(d[0]) + fabsl(d[1]) + fabsl(d[2])), x_size, (double)u, s);
}

static int finite_numbers(const double *x, int n)
{
    for (int k = 0; k < n; k++)
        if (!isfinite(x[k])) return 0;
    return 1;
}

/* What a cell that is not finite does to a row. */
static void note_bad(const struct cell *c, const double *x, double eps2, struct row *row)
{
    const int is_far = isfinite(c->mass) && finite_numbers(c->q, 6) && !isnan(c->x[0] + c->x[1] + c->x[2]);
    double r2 = eps2;
    for (int k = 0; k < 3; k++) r2 += (c->x[k] - x[k]) * (c->x[k] - x[k]);
    if (r2 == 0)
        row->is_doubtful = 1; /* skipped, by factors of zero */
    else if (is_far)
        row->is_shown = 1;
    else
        row->is_broken = 1;
}

static void solve_row(const struct device *d, const double *x, double eps2, sapporo_precision precision,
                      struct row *row)
{
    /* As docs/numerics.md has them; the coordinates of `ds` have two words. */
    const double unit = precision == SAPPORO_DP ? 0x1p-53 : 0x1p-24;
    const double x_unit = precision == SAPPORO_SP ? 0x1p-24 : precision == SAPPORO_DS ? 0x1p-48 : 0x1p-51;
    struct sums s = {.is_wild = !(eps2 < 1e30 && (eps2 == 0 || eps2 > 1e-30))};
    for (int j = 0; j < d->n && j < CELLS; j++) {
        const struct cell *const c = &d->cell[j];
        if (finite_numbers(c->x, 3) && isfinite(c->mass) && finite_numbers(c->q, 6))
            add_cell(c, x, eps2, precision, &s);
        else
            note_bad(c, x, eps2, row);
    }
    row->sum[0] = (double)s.pot;
    for (int k = 0; k < 3; k++) row->sum[1 + k] = (double)s.acc[k];
    for (int q = POT; q <= ACC; q++) {
        row->bounded[q] = !s.is_wild;
        row->bound[q] = 44 * unit * s.size[q] + 1.5 * x_unit * s.by_x[q]; /* 44: as in oracle.c */
    }
}

/* The force on ni targets; NULL: it fails. */
static struct answer *solve(const struct device *d, int ni, double (*x)[3])
{
    const sapporo_precision precision = *setting.precision ? precision_of(2) : SAPPORO_SP; /* as in g5.c */
    int far = 0;
    if (d->n < 0 || !(eps2_of_all >= 0 && isfinite(eps2_of_all))) return NULL;
    struct answer *const a = calloc(1, sizeof *a);
    if (!a || !(a->row = calloc((size_t)ni + 1, sizeof *a->row))) abort();
    a->ni = ni;
    a->order = 2;
    for (int i = 0; i < ni; i++) {
        a->row[i].nearest = -1;
        a->row[i].is_nan = !finite_numbers(x[i], 3);
        a->bad += a->row[i].is_nan;
        far |= !(size_of(x[i]) < 0x1p36);
        if (!a->row[i].is_nan) solve_row(d, x[i], eps2_of_all, precision, &a->row[i]);
    }
    for (int i = 0; i < ni && far && precision != SAPPORO_DP; i++)
        memset(a->row[i].bounded, 0, sizeof a->row[i].bounded);
    return a;
}

/* ---- calls ---- */

static void run_eps(const struct op *op)
{
    make_call(op, 0, 0);
    eps2_of_all = op->kind == OP_G5_EPS ? op->d[0] * op->d[0] : op->d[0];
    check_int("rc", rc, eps2_of_all >= 0 && isfinite(eps2_of_all) ? 0 : -1);
}

static void run_set_n(const struct op *op)
{
    struct device *const d = find(op->i[0]);
    make_call(op, 0, 0);
    check_int("rc", rc, d && op->i[1] >= 0 ? 0 : -1);
    if (d) d->n = op->i[1];
}

static void run_load(const struct op *op)
{
    struct device *const d = find(op->i[0]);
    const int adr = op->i[1], nj = op->i[2];
    const double *const x = op->column[0].data, *const m = op->column[1].data, *const q = op->column[2].data;
    if (adr >= 0 && adr + nj > op->rows) return; /* a reduced sequence */
    const int good = d && adr >= 0 && nj >= 0 && (nj == 0 || (x && m && q));
    make_call(op, 0, 0);
    check_int("rc", rc, good ? 0 : -1);
    for (int j = adr; good && j < adr + nj; j++) {
        memcpy(d->cell[j].x, x + 3 * (ptrdiff_t)j, sizeof d->cell[j].x);
        d->cell[j].mass = m[j];
        memcpy(d->cell[j].q, q + 6 * (ptrdiff_t)j, sizeof d->cell[j].q);
    }
}

static void run_force(const struct op *op)
{
    const struct device *const d = find(op->i[0]);
    const int ni = op->i[1], rows = ni > 0 ? ni : 0, missing = op->i[4];
    const unsigned has = (missing & 1 << 4 ? 0 : HAS_ACC) | (missing & 1 << 6 ? 0 : HAS_POT);
    struct answer *const a = d && ni > 0 ? solve(d, ni, batch[op->i[2]].x) : NULL;
    make_call(op, rows, 0);
    check_int("rc", rc, !d || ni < 0 ? -1 : ni == 0 ? 0 : !a ? -1 : a->bad > 0);
    check_rows(a, rows, has);
    answer_free(a);
}

static void run(const struct op *op)
{
    switch (op->kind) {
    case OP_G5_EPS:
    case OP_G5_EPS2:
        run_eps(op);
        break;
    case OP_G5C_SET_N:
        run_set_n(op);
        break;
    case OP_G5C_LOAD:
        run_load(op);
        break;
    case OP_G5C_FORCE:
        run_force(op);
        break;
    default:
        make_call(op, 0, 0);
    }
}

/* ---- sequences ---- */

struct plan {
    struct sequence *s;
    struct scene scene;
    rng *random;
    int id, nj, group;
};

static struct op *add(struct plan *p, enum kind kind, int a) { return g5_add(p->s, p->random, kind, p->id, a); }

/* Moments without a trace, as tree codes make them, of cells whose size is a part of the scene's. */
static void draw_moments(const struct plan *p, double mass, double *q)
{
    rng *const r = p->random;
    const double width = p->scene.kind == SCENE_LATTICE ? p->scene.spacing : p->scene.kind == SCENE_TIGHT ? 1e-6 : 0.1;
    const double size = one_in(r, 8) ? 0 : mass * width * width;
    for (int k = 0; k < 5; k++) q[k] = size * uniform(r, -1, 1);
    q[5] = -(q[0] + q[3]);
    if (p->scene.odd > 0 && rng_uniform(r) < p->scene.odd) q[draw(r, 6)] = odd_number(r);
}

static void add_load(struct plan *p)
{
    rng *const r = p->random;
    const int first = one_in(r, 6) ? draw(r, 40) : 0, n = draw_nj(r);
    struct op *const op = add(p, OP_G5C_LOAD, first);
    op->rows = first + n;
    op->rows_at = 2;
    op->i[2] = n;
    double *const x = op_reals(op, 0, 3), *const m = op_reals(op, 1, 1);
    double *const q = one_in(r, 60) ? NULL : op_reals(op, 2, 6);
    for (int k = 0; k < op->rows; k++) {
        scene_position(&p->scene, x + 3 * (ptrdiff_t)k);
        m[k] = scene_mass(&p->scene);
        if (q) draw_moments(p, m[k], q + 6 * (ptrdiff_t)k);
    }
    if (q) p->nj = first + n;
    if (one_in(r, 60)) op->i[one_in(r, 2) ? 1 : 2] = -1;
}

static void add_n(struct plan *p)
{
    static const int odd[] = {-1, INT_MAX, 1000000000, 0};
    rng *const r = p->random;
    add(p, OP_G5C_SET_N, one_in(r, 30) ? odd[draw(r, 4)] : one_in(r, 4) ? draw(r, p->nj + 3) : p->nj);
}

static void add_eps(struct plan *p)
{
    struct op *const op = sequence_add(p->s, one_in(p->random, 2) ? OP_G5_EPS : OP_G5_EPS2);
    op->d[0] = scene_eps2(&p->scene);
}

static void add_force(struct plan *p)
{
    rng *const r = p->random;
    const int b = draw(r, CALL_BATCHES);
    int ni = limit_ni(draw_ni(r), p->nj);
    if (ni < 1) ni = 1;
    add_fill(p->s, &p->scene, b, ni, ++p->group);
    struct op *const op = add(p, OP_G5C_FORCE, one_in(r, 100) ? -draw(r, 2) : ni);
    op->i[2] = b;
    op->rows_at = 1;
    op->group = p->group;
    if (one_in(r, 30)) op->i[4] = one_in(r, 2) ? 1 << 4 : 1 << 6;
}

static void generate(struct sequence *s, rng *r)
{
    struct plan p = {.s = s, .random = r, .id = draw(r, setting.cheap ? 6 : 2)};
    const int n = 2 + draw(r, 8);
    scene_draw(&p.scene, r);
    add_eps(&p);
    add_load(&p);
    add_n(&p);
    for (int k = 0; k < n; k++) switch (draw(r, 8)) {
        case 0:
            add_eps(&p);
            break;
        case 1:
            add_n(&p);
            break;
        case 2:
            add_load(&p);
            break;
        default:
            add_force(&p);
        }
}

const struct interface interface_g5c = {"g5c", generate, run};
