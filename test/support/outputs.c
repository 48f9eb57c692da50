/* outputs.c - see outputs.h: outputs filled with a pattern. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "outputs.h"

#include <math.h>
#include <string.h>

enum { PATTERN = 0x42 };

void poison(void *memory, size_t bytes) { memset(memory, PATTERN, bytes); }

int is_poison(const void *memory, size_t bytes)
{
    const unsigned char *const byte = memory;
    for (size_t k = 0; k < bytes; k++)
        if (byte[k] != PATTERN) return 0;
    return 1;
}

int poisoned_int(void)
{
    int value;
    poison(&value, sizeof value);
    return value;
}

sapporo_result outputs_poisoned(struct outputs *out, unsigned arrays)
{
    sapporo_result r = {.size = sizeof r};
    poison(out, sizeof *out);
    if (arrays & OUTPUT_ACC) r.acc = out->acc;
    if (arrays & OUTPUT_JERK) r.jerk = out->jerk;
    if (arrays & OUTPUT_POT) r.pot = out->pot;
    if (arrays & OUTPUT_NEAREST) r.nearest = out->nearest;
    if (arrays & OUTPUT_R2) r.nearest_r2 = out->nearest_r2;
    if (arrays & OUTPUT_SNAP) r.snap = out->snap;
    if (arrays & OUTPUT_CRACKLE) r.crackle = out->crackle;
    return r;
}

/* Checks that n numbers of `room` are NaN, and the rest pattern. */
static void check_numbers(const char *what, const char *name, const double *number, int n, int room)
{
    for (int k = 0; k < n; k++)
        if (!isnan(number[k])) fail_msg("%s: %s[%d] is %g (%a), not NaN", what, name, k, number[k], number[k]);
    if (!is_poison(number + n, (size_t)(room - n) * sizeof *number))
        fail_msg("%s: %s was written beyond its %d numbers", what, name, n);
}

void outputs_ints(const char *what, const int *list, int n, int value, int room)
{
    for (int k = 0; k < n; k++)
        if (list[k] != value) fail_msg("%s: number %d is %d, not %d", what, k, list[k], value);
    if (!is_poison(list + n, (size_t)(room - n) * sizeof *list))
        fail_msg("%s: the array was written beyond its %d numbers", what, n);
}

void outputs_failed(const char *what, const struct outputs *out, unsigned arrays, int rows)
{
    const struct {
        const char *name;
        unsigned bit;
        const double *number;
        int of_row;
    } doubles[] = {{"acc", OUTPUT_ACC, out->acc[0], 3},    {"jerk", OUTPUT_JERK, out->jerk[0], 3},
                   {"snap", OUTPUT_SNAP, out->snap[0], 3}, {"crackle", OUTPUT_CRACKLE, out->crackle[0], 3},
                   {"pot", OUTPUT_POT, out->pot, 1},       {"nearest_r2", OUTPUT_R2, out->nearest_r2, 1}};
    for (size_t k = 0; k < sizeof doubles / sizeof doubles[0]; k++)
        check_numbers(what, doubles[k].name, doubles[k].number, arrays & doubles[k].bit ? rows * doubles[k].of_row : 0,
                      OUTPUT_ROWS * doubles[k].of_row);
    outputs_ints(what, out->nearest, arrays & OUTPUT_NEAREST ? rows : 0, -1, OUTPUT_ROWS);
}

void outputs_no_particle(const char *what, const sapporo_particle *p, int seventh)
{
    enum { NUMBERS = 3 * SAPPORO_DERIVATIVES };
    check_numbers(what, "derivative", p->derivative[0], NUMBERS, NUMBERS);
    check_numbers(what, "seventh", p->seventh, seventh ? 3 : 0, 3);
    check_numbers(what, "mass", &p->mass, 1, 1);
    check_numbers(what, "time", &p->time, 1, 1);
    check_numbers(what, "eps2", &p->eps2, 1, 1);
    assert_int_equal(p->index, -1);
}
