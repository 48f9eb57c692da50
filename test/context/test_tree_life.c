/* Tests of the rule that decides by counted interactions when a new tree pays (context/tree_life.h). */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "context/tree_life.h"
#include "stepper_places.h"
#include "tree_cases.h"

enum { STEPS = 3000, STEP = 1 << 16, LONGEST = 100, MOST_CLASSES = 4 };

/* ---- classes ---------------------------------------------------------------------------------- */

/* Levels with few particles belong to the class of the next finer level that has many. */
static void classes(void **state)
{
    long long count[SAP_STEP_LEVELS] = {0};
    (void)state;
    for (int k = 0; k < SAP_STEP_LEVELS; k++) assert_int_equal(sap_life_class(count, k), k);
    count[4] = 1000;
    for (int k = 0; k < SAP_STEP_LEVELS; k++) assert_int_equal(sap_life_class(count, k), k < 4 ? 4 : k);
    count[2] = 10, count[5] = 500, count[9] = 3;
    for (int k = 0; k < 5; k++) assert_int_equal(sap_life_class(count, k), 4);
    assert_int_equal(sap_life_class(count, 5), 5);
    assert_int_equal(sap_life_class(count, 6), 9);
    count[0] = 300;
    assert_int_equal(sap_life_class(count, 0), 0);
}

/* ---- laws of growth ----------------------------------------------------------------------------- */

/* Forces of steps: class k % classes has `active` particles; `off` steps from its best time a tree needs growth more.
 */
struct law {
    int classes;
    double active[MOST_CLASSES], fresh[MOST_CLASSES];
    double slope, power;
};

static double cost_of(const struct law *w, int class, double off)
{
    return w->fresh[class] * (1 + w->slope * pow(fabs(off), w->power));
}

static double price_of(const struct law *w) { return w->active[0] * w->fresh[0] * (3.0 / 32); }

/* The mean cost of a step if each tree is built for the middle of `interval` steps. */
static double mean_of_interval(const struct law *w, int interval)
{
    double sum = 0;
    for (int k = 0; k < interval * w->classes; k++) {
        const int age = k % interval, class = k % w->classes;
        sum += w->active[class] * cost_of(w, class, age - 0.5 * (interval - 1)) + (age == 0 ? price_of(w) : 0);
    }
    return sum / (interval * w->classes);
}

/* The mean cost of a step by the rule; the first force is on all particles by a new tree. */
static double mean_of_rule(const struct law *w)
{
    struct sap_tree_life life = {.age = 0};
    double sum = 0;
    for (int step = 0; step < STEPS; step++) {
        const int class = step % w->classes;
        struct sap_life_force force = {.class = class, .active = w->active[class], .step = STEP, .ticks = STEP};
        force.price = step > 0 ? sap_life_price(&life, 0, w->active[0]) : 0;
        const int builds = step == 0 || sap_life_ends(&life, &force);
        const long long lead = builds && step > 0 ? sap_life_lead(&life, &force) : 0;
        life.age += STEP;
        if (builds) sap_life_begin(&life, lead, &force);
        sum += builds ? price_of(w) : 0;
        force.interactions = cost_of(w, class, (double)(life.age - life.lead) / STEP);
        sap_life_note(&life, &force);
        sum += force.active * force.interactions;
    }
    return sum / STEPS;
}

static double best_interval(const struct law *w)
{
    double least = INFINITY;
    for (int interval = 1; interval <= LONGEST; interval++) least = fmin(least, mean_of_interval(w, interval));
    return least;
}

static void follow(struct law w, double margin)
{
    for (w.slope = 1e-4; w.slope < 100; w.slope *= 2) {
        const double rule = mean_of_rule(&w), best = best_interval(&w);
        if (!(rule < margin * best))
            fail_msg("%d classes, growth %g to the power of %g: %g, best %g", w.classes, w.slope, w.power, rule, best);
    }
}

/* Whatever the growth is, the rule costs at most a tenth more than the best constant interval. */
static void near_the_best(void **state)
{
    static const double power[] = {1, 1.5, 2, 3};
    (void)state;
    for (int k = 0; k < 4; k++) {
        follow((struct law){1, {1000}, {2000}, 0, power[k]}, 1.1);
        follow((struct law){2, {1000, 370}, {2000, 2200}, 0, power[k]}, 1.1);
        follow((struct law){4, {1000, 100, 300, 100}, {2000, 2200, 2100, 2200}, 0, power[k]}, 1.1);
    }
}

/* Forces that do not grow never end a life. */
static void stays(void **state)
{
    struct sap_tree_life life = {.age = 0};
    const struct sap_life_force force = {
        .active = 1000, .interactions = 50, .price = 6000, .step = STEP, .ticks = STEP};
    (void)state;
    sap_life_begin(&life, 0, &force);
    for (int step = 0; step < STEPS; step++, life.age += STEP) {
        sap_life_note(&life, &force);
        assert_false(sap_life_ends(&life, &force));
    }
}

/* ---- steppers ------------------------------------------------------------------------------------ */

/* So many that the first lives of trees, in which the rule learns, do not decide. */
enum { STARS = 4096, BLOCKS = 48 };

/* Interactions of a run of an NFW sphere, and its builds, each an eighth of the first force; in units of that force. */
static double cost_of_run(const struct place *p, int rebuild)
{
    const sapporo_tree_options tree = stepper_tree_at(p, 1.0 / 64);
    const sapporo_stepper_options o = {.size = sizeof o,
                                       .tree = &tree,
                                       .scheme = SAPPORO_STEPS_BLOCK,
                                       .criterion = SAPPORO_STEP_BY_ACCELERATION,
                                       .dt = 8,
                                       .eta = 6.4,
                                       .rebuild = rebuild};
    bodies b = tree_model(CLUSTER_NFW, STARS);
    sapporo_stepper *s = stepper_make(&o, STARS);
    double sum = 0;
    stepper_put(s, STARS, b.x, b.v, b.mass, 0);
    const double first = stepper_figures(s).interactions * STARS;
    for (int step = 0; step < BLOCKS; step++) {
        stepper_advance(s, INFINITY, 1);
        const sapporo_stepper_statistics f = stepper_figures(s);
        sum += f.interactions * f.active;
    }
    sum += 0.125 * first * (double)stepper_figures(s).builds;
    sapporo_stepper_destroy(s);
    bodies_free(&b);
    return sum / first;
}

/* Where particles pass several neighbours in a step, the rule is within a tenth of the best number of steps. */
static void neighbours_pass_at(const struct place *p)
{
    double least = INFINITY;
    for (int rebuild = 1; rebuild <= 4; rebuild++) least = fmin(least, cost_of_run(p, rebuild));
    const double rule = cost_of_run(p, 0);
    print_message("%s: %.2f forces on all particles; by the best number of steps %.2f\n", p->name, rule, least);
    if (!(rule < 1.1 * least)) fail_msg("%s: %g forces on all particles, the best are %g", p->name, rule, least);
}

static void neighbours_pass(void **state)
{
    (void)state;
    stepper_everywhere(neighbours_pass_at, 1);
}

/* ---- changes that stay ------------------------------------------------------------------------------ */

/* One build for a force of class 2, and that force, at its tree's best time or a step from it. */
static void build_and_force(struct sap_tree_life *life, double interactions, int is_best)
{
    const struct sap_life_force f = {
        .class = 2, .active = 100, .interactions = interactions, .price = 1e9, .step = 16, .ticks = 16};
    sap_life_begin(life, is_best ? 0 : 64, &f);
    sap_life_note(life, &f);
}

/* Forces that need twice as many interactions from now on: what they need when fresh is forgotten, for their class
 * alone. */
static void dearer_forces(void **state)
{
    struct sap_tree_life life = {.age = 0};
    (void)state;
    life.fresh[2] = life.fresh[5] = 100;
    for (int k = 0; k < 1000; k++) build_and_force(&life, 200, 0);
    if (!(life.fresh[2] > 190 && life.fresh[2] < 201)) fail_msg("fresh is %g, not 200", life.fresh[2]);
    assert_true(life.fresh[5] == 100);
    life.fresh[2] = 100;
    for (int k = 0; k < 20; k++) build_and_force(&life, 200, 1);
    if (!(life.fresh[2] > 195 && life.fresh[2] < 201)) fail_msg("fresh is %g after best forces", life.fresh[2]);
}

/*
 * Forces that need a fifth less from now on.  Trees differ by a sixteenth, so a cheap one does not make the forces of
 * an equal tree seem dear; after some forces they are as they were before.
 */
static void cheaper_forces(void **state)
{
    struct sap_tree_life life = {.age = 0};
    (void)state;
    life.fresh[2] = 100;
    build_and_force(&life, 80, 1);
    const double fresh = (100 * (1 + 0x1p-8) + 80) / 2;
    assert_true(fabs(life.fresh[2] - fresh) < 1e-9 && life.base == 1 - 0.0625);
    assert_true(fabs(life.last - (80 - 0.9375 * fresh) * 100) < 1e-9);
    for (int k = 0; k < 40; k++) build_and_force(&life, 80, 1);
    assert_true(fabs(life.fresh[2] - 80) < 1 && life.base >= 0.9375 && life.base <= 1.0625);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(classes),       cmocka_unit_test(near_the_best),
                                       cmocka_unit_test(stays),         cmocka_unit_test(neighbours_pass),
                                       cmocka_unit_test(dearer_forces), cmocka_unit_test(cheaper_forces)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
