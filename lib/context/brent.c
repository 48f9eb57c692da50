/* brent.c - the least value of a function of one variable (brent.h). */
#include "context/brent.h"

#include <float.h>
#include <math.h>

static const double GOLDEN = 0.38196601125010515; /* (3 - sqrt 5) / 2 */

void sap_brent_start(struct sap_brent *b, double low, double high, double tolerance)
{
    *b = (struct sap_brent){.low = low, .high = high, .tolerance = tolerance};
    b->at = b->x = b->second = b->third = low + GOLDEN * (high - low);
}

/* Puts a value among the three best points, and narrows the interval. */
static void take(struct sap_brent *b, double at, double value)
{
    const int is_best = value <= b->value;
    const double edge = is_best ? b->x : at, inside = is_best ? at : b->x;
    if (edge < inside)
        b->low = edge;
    else
        b->high = edge;
    if (is_best || value <= b->second_value || b->second == b->x) {
        b->third = b->second;
        b->third_value = b->second_value;
        b->second = is_best ? b->x : at;
        b->second_value = is_best ? b->value : value;
    } else if (value <= b->third_value || b->third == b->x || b->third == b->second) {
        b->third = at;
        b->third_value = value;
    }
    if (!is_best) return;
    b->x = at;
    b->value = value;
}

/*
 * Computes the step from x to the minimum of the parabola through the three points; 0: there is none within the
 * interval, or the step is not less than half of the step before the last one, so steps do not shrink fast enough.
 */
static double parabola(const struct sap_brent *b, double before_last)
{
    const double to_second = b->x - b->second, to_third = b->x - b->third;
    const double r = to_second * (b->value - b->third_value), q = to_third * (b->value - b->second_value);
    const double over = 2 * (q - r), step = over != 0 ? -(to_third * q - to_second * r) / over : 0;
    const int is_inside = b->x + step > b->low && b->x + step < b->high;
    return is_inside && fabs(step) < fabs(before_last) / 2 ? step : 0;
}

/* Chooses where the next value is wanted; values closer to each other than `least` tell nothing. */
static void choose(struct sap_brent *b, double middle, double least)
{
    const double before_last = b->last_step;
    double step = fabs(before_last) > least ? parabola(b, before_last) : 0;
    if (step != 0) {
        b->last_step = b->step;
        if (b->x + step - b->low < 2 * least || b->high - (b->x + step) < 2 * least)
            step = copysign(least, middle - b->x);
    } else {
        b->last_step = b->x < middle ? b->high - b->x : b->low - b->x;
        step = GOLDEN * b->last_step;
    }
    b->step = step;
    b->at = b->x + (fabs(step) >= least ? step : copysign(least, step));
}

int sap_brent_tell(struct sap_brent *b, double value)
{
    const double known = isfinite(value) ? value : DBL_MAX;
    if (b->values++ == 0)
        b->value = b->second_value = b->third_value = known;
    else
        take(b, b->at, known);
    const double middle = b->low + (b->high - b->low) / 2, least = b->tolerance + 1e-10 * fabs(b->x);
    if (fabs(b->x - middle) <= 2 * least - (b->high - b->low) / 2) return 1;
    choose(b, middle, least);
    return 0;
}
