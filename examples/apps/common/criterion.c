/*
 * criterion.c - see criterion.h.
 */
#include "criterion.h"

#include <math.h>

/*
 * A number value * 2^power that is not negative.  Its operations round as those of double do, so the power decides no
 * bit; it is 0 for ordinary numbers.
 */
typedef struct scaled {
    double value;
    int power;
} scaled;

/* Values in this range can be multiplied, divided and added without overflow or loss of bits. */
static int is_ordinary(double value) { return value > 0x1p-250 && value < 0x1p250; }

static scaled scaled_of(double value, int power)
{
    int more = 0;
    if (is_ordinary(value)) return (scaled){value, power};
    value = frexp(value, &more);
    return (scaled){value, value > 0 ? power + more : 0};
}

static double plain(scaled a) { return a.power ? ldexp(a.value, a.power) : a.value; }

static scaled times(scaled a, scaled b) { return scaled_of(a.value * b.value, a.power + b.power); }

static scaled ratio(scaled a, scaled b) { return scaled_of(a.value / b.value, a.power - b.power); }

static scaled plus(scaled a, scaled b)
{
    if (a.power == b.power) return scaled_of(a.value + b.value, a.power);
    if (!(a.value > 0)) return b;
    if (!(b.value > 0)) return a;
    int more_a, more_b;
    a.value = frexp(a.value, &more_a);
    b.value = frexp(b.value, &more_b);
    a.power += more_a;
    b.power += more_b;
    const int power = a.power > b.power ? a.power : b.power;
    return scaled_of(ldexp(a.value, a.power - power) + ldexp(b.value, b.power - power), power);
}

static scaled root(scaled a)
{
    const int odd = a.power % 2 ? 1 : 0;
    return scaled_of(sqrt(odd ? 2 * a.value : a.value), (a.power - odd) / 2);
}

/* Returns a^(1/n). */
static scaled root_of(scaled a, int n)
{
    int more = 0;
    a.value = frexp(a.value, &more);
    a.power += more;
    int rest = a.power % n;
    if (rest < 0) rest += n;
    return scaled_of(pow(ldexp(a.value, rest), 1.0 / n), (a.power - rest) / n);
}

static scaled square(const double a[3])
{
    const double sum = a[0] * a[0] + a[1] * a[1] + a[2] * a[2];
    int power = 0;
    if (is_ordinary(sum)) return (scaled){sum, 0};
    (void)frexp(fmax(fabs(a[0]), fmax(fabs(a[1]), fabs(a[2]))), &power);
    const double x = ldexp(a[0], -power), y = ldexp(a[1], -power), z = ldexp(a[2], -power);
    return scaled_of(x * x + y * y + z * z, 2 * power);
}

static scaled size(const double a[3]) { return root(square(a)); }

double criterion_size(const double a[3]) { return plain(size(a)); }

double criterion_aarseth(const double a[3], const double jerk[3], const double snap[3], const double crackle[3],
                         double eta)
{
    const scaled j = size(jerk), s = size(snap);
    const scaled above = plus(times(size(a), s), times(j, j)), below = plus(times(j, size(crackle)), times(s, s));
    if (!(above.value > 0 && below.value > 0)) return (double)INFINITY;
    return plain(root(ratio(times(scaled_of(eta, 0), above), below)));
}

/* Returns A_k^2. */
static scaled change(const double (*f)[3], int k)
{
    return plus(root(times(square(f[k - 1]), square(f[k + 1]))), square(f[k]));
}

double criterion_generalised(const double (*f)[3], int highest, double eta)
{
    const int last = highest > 2 ? highest - 1 : 2;
    const scaled above = change(f, 1), below = highest > 2 ? change(f, last) : square(f[2]);
    if (!(above.value > 0 && below.value > 0)) return (double)INFINITY;
    return eta * plain(root_of(ratio(above, below), 2 * (last - 1)));
}

double criterion_averaged(const double (*f)[3], int last, double eta)
{
    scaled sum = {0, 0}, above = change(f, 1);
    for (int k = 1; k < last; k++) {
        const scaled below = change(f, k + 1);
        if (!(above.value > 0 && below.value > 0)) return (double)INFINITY;
        sum = plus(sum, root(ratio(above, below)));
        above = below;
    }
    return plain(times(scaled_of(eta, 0), sum)) / (last - 1);
}

double criterion_first(const double a[3], const double jerk[3], double pot, double eta, double longest)
{
    enum { LEAST = -10 }; /* power of two */
    const scaled now = size(a), change_of = size(jerk), speed = root(scaled_of(fabs(pot), 0));
    if (!(change_of.value > 0)) {
        if (!(now.value > 0)) return (double)INFINITY;
        return eta * (speed.value > 0 ? fmin(longest, plain(ratio(speed, now))) : longest);
    }
    const double least = ldexp(plain(root(ratio(speed, change_of))), LEAST);
    return fmax(plain(ratio(times(scaled_of(eta, 0), now), change_of)), eta * least);
}
