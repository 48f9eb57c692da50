/* model_checks.h - what tests of models assert; included after cmocka.h. */
#ifndef TEST_MODEL_CHECKS_H
#define TEST_MODEL_CHECKS_H

#include <math.h>
#include <string.h>

#include "cluster.h"

static inline void close_to(double value, double wanted, double allowed, const char *what)
{
    if (!(fabs(value - wanted) <= allowed)) fail_msg("%s: %.10g, wanted %.10g +- %.2g", what, value, wanted, allowed);
}

/* The model cannot be made: the error names the reason, and there are no particles. */
static inline void refused(cluster_request request, const char *what)
{
    bodies set;
    message why = {""};
    assert_int_equal(cluster_make(&request, &set, &why), -1);
    assert_non_null(strstr(why.text, what));
    assert_null(set.x);
}

#endif
