/* check.c - see check.h. */
#include "check.h"

#include <stdarg.h>
#include <stdio.h>

#include "calls.h"

static struct failure *failure;
static int operation;

void check_begin(struct failure *f, int op)
{
    memset(f, 0, sizeof *f);
    failure = f;
    operation = op;
}

void check_operation(int op) { operation = op; }

int check_failed(void) { return failure->is_set; }

void check_fail(const char *condition, const char *format, ...)
{
    va_list args;
    if (failure->is_set) return;
    failure->is_set = 1;
    failure->op = operation;
    (void)snprintf(failure->condition, sizeof failure->condition, "%s", condition);
    va_start(args, format);
    (void)vsnprintf(failure->text, sizeof failure->text, format, args);
    va_end(args);
}

void check_int(const char *name, long long got, long long expected)
{
    char condition[200];
    if (got == expected) return;
    (void)snprintf(condition, sizeof condition, "%s == %lld", name, expected);
    check_fail(condition, "%s is %lld, should be %lld", name, got, expected);
}

/* The same bits; not a comparison, which a NaN would always pass. */
static int is_poison(double x)
{
    const double poison_value = CALL_POISON;
    return memcmp(&x, &poison_value, sizeof x) == 0;
}

void check_written(const char *name, double got)
{
    char condition[200];
    if (!is_poison(got)) return;
    (void)snprintf(condition, sizeof condition, "%s != CALL_POISON", name);
    check_fail(condition, "%s was not written", name);
}

void check_nan(const char *name, double got)
{
    char condition[200];
    if (isnan(got)) return;
    (void)snprintf(condition, sizeof condition, "isnan(%s)", name);
    check_fail(condition, "%s is %s%.17g, should be NaN", name, is_poison(got) ? "not written: " : "", got);
}

void check_not_finite(const char *name, double got)
{
    char condition[200];
    if (!isfinite(got)) return;
    (void)snprintf(condition, sizeof condition, "!isfinite(%s)", name);
    check_fail(condition, "%s is %s%.17g, and a particle that is not finite acts", name,
               is_poison(got) ? "not written: " : "", got);
}

void check_double(const char *name, double got, double expected, double bound)
{
    char condition[200];
    if (fabs(got - expected) <= bound || got == expected) return;
    (void)snprintf(condition, sizeof condition, "fabs(%s - %a) <= %a || %s == %a", name, expected, bound, name,
                   expected);
    check_fail(condition, "%s is %s%.17g, should be %.17g within %.3g", name, is_poison(got) ? "not written: " : "",
               got, expected, bound);
}

/* ------------------------------------------------------------------- rows */

static void check_sum(const struct row *r, const char *name, double got, int quantity, double expected)
{
    if (!r || r->is_nan) {
        check_nan(name, got);
    } else if (r->is_doubtful && !isfinite(got)) {
        return;
    } else if (r->is_broken) {
        check_not_finite(name, got);
    } else if (r->bounded[quantity] && !r->is_shown) {
        check_double(name, got, expected, r->bound[quantity]);
    } else {
        check_written(name, got);
    }
}

/* Most sums are right, and need no name. */
static int is_right(const struct row *r, double got, int quantity, double expected)
{
    if (!r || r->is_nan) return isnan(got);
    if (r->is_doubtful && !isfinite(got)) return 1;
    if (r->is_broken) return !isfinite(got);
    return r->bounded[quantity] && !r->is_shown ? fabs(got - expected) <= r->bound[quantity] : !is_poison(got);
}

static void check_vector(const struct row *r, const char *array, vec3 *x, int i, int quantity)
{
    for (int c = 0; c < 3; c++) {
        char name[40];
        if (is_right(r, x[i][c], quantity, r ? r->sum[3 * quantity - 2 + c] : 0)) continue;
        (void)snprintf(name, sizeof name, "out.%s[%d][%d]", array, i, c);
        check_sum(r, name, x[i][c], quantity, r ? r->sum[3 * quantity - 2 + c] : 0);
    }
}

static void check_pot(const struct row *r, int i, unsigned has)
{
    char name[40];
    const double expected = (r ? r->sum[0] : 0) * (has & HAS_POSITIVE_POT ? -1 : 1);
    if (is_right(r, out.pot[i], POT, expected)) return;
    (void)snprintf(name, sizeof name, "out.pot[%d]", i);
    check_sum(r, name, out.pot[i], POT, expected);
}

static void check_nearest(const struct row *r, int i, unsigned has)
{
    char name[40];
    const int from = has & HAS_COUNT_FROM_1 ? 1 : 0;
    (void)snprintf(name, sizeof name, "out.nearest[%d]", i);
    if (r && r->any_nearest) {
        if (has & HAS_NEAREST && out.nearest[i] == CALL_POISON_INT) check_fail(name, "%s was not written", name);
        return;
    }
    if (has & HAS_NEAREST) check_int(name, out.nearest[i], r ? r->nearest + from : from - 1);
    if (!(has & HAS_R2)) return;
    (void)snprintf(name, sizeof name, "out.r2[%d]", i);
    if (!r || r->is_nan)
        check_nan(name, out.r2[i]);
    else
        check_double(name, out.r2[i], r->r2, 8 * 0x1p-53 * r->r2);
}

static void check_row(const struct row *r, int i, unsigned has)
{
    if (has & HAS_ACC) check_vector(r, "acc", out.acc, i, ACC);
    if (has & HAS_JERK) check_vector(r, "jerk", out.jerk, i, JERK);
    if (has & HAS_SNAP) check_vector(r, "snap", out.snap, i, SNAP);
    if (has & HAS_CRACKLE) check_vector(r, "crackle", out.crackle, i, CRACKLE);
    if (has & HAS_POT) check_pot(r, i, has);
    if (r && r->is_shown && has & HAS_ACC && isfinite(out.acc[i][0]) && isfinite(out.acc[i][1]) &&
        isfinite(out.acc[i][2]))
        check_fail("0", "acceleration %d is finite, and a particle that is not acts", i);
    if (has & (HAS_NEAREST | HAS_R2)) check_nearest(r, i, has);
}

void check_rows(const struct answer *a, int ni, unsigned has)
{
    for (int i = 0; i < ni && !failure->is_set; i++) check_row(a ? &a->row[i] : NULL, i, has);
    check_guards(ni);
}

static void check_untouched(const char *array, int i, int c, double got)
{
    char condition[100], element[60];
    if (is_poison(got)) return;
    if (c < 0)
        (void)snprintf(element, sizeof element, "out.%s[%d]", array, i);
    else
        (void)snprintf(element, sizeof element, "out.%s[%d][%d]", array, i, c);
    (void)snprintf(condition, sizeof condition, "%s == CALL_POISON", element);
    check_fail(condition, "%s was written to, beyond the rows asked for", element);
}

void check_guards(int ni)
{
    for (int i = ni > 0 ? ni : 0; i < out.rows; i++) {
        for (int c = 0; c < 3; c++) {
            check_untouched("acc", i, c, out.acc[i][c]);
            check_untouched("jerk", i, c, out.jerk[i][c]);
            check_untouched("snap", i, c, out.snap[i][c]);
            check_untouched("crackle", i, c, out.crackle[i][c]);
        }
        check_untouched("pot", i, -1, out.pot[i]);
        check_untouched("r2", i, -1, out.r2[i]);
        if (out.nearest[i] != CALL_POISON_INT) check_int("out.nearest[ni]", out.nearest[i], CALL_POISON_INT);
    }
}

void check_list(int at, int n, const int *list, int end)
{
    char name[40];
    for (int k = 0; k < n && !failure->is_set; k++) {
        if (out.list[at + k] == list[k]) continue;
        (void)snprintf(name, sizeof name, "out.list[%d]", at + k);
        check_int(name, out.list[at + k], list[k]);
    }
    for (int k = at + n; k < end && !failure->is_set; k++) {
        if (out.list[k] == CALL_POISON_INT) continue;
        (void)snprintf(name, sizeof name, "out.list[%d]", k);
        check_int(name, out.list[k], CALL_POISON_INT);
    }
}
