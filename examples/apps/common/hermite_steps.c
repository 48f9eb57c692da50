/* hermite_steps.c - see hermite_steps.h. */
#include "hermite_steps.h"

#include "stepping.h"

#include <stdio.h>

/* Whether forces of the order come from a GPU. */
static int has_gpu(int order)
{
    const sapporo_options options = {.size = sizeof options, .order = order};
    sapporo *context;
    const int there = !sapporo_open(&options, &context) && sapporo_get_backend(context) != SAPPORO_BACKEND_CPU;
    sapporo_close(context);
    return there;
}

static int is_wanted(const run *job, const hermite_steps *h, const char *layout)
{
    if (h->by_calls || h->on_device) return h->on_device;
    return job->restart ? restart_is_of(job->restart, layout) : has_gpu(h->order);
}

int hermite_steps_run(run *job, const hermite_steps *h)
{
    static char layout[32];
    (void)snprintf(layout, sizeof layout, "hermite%d steps 1", h->order);
    if (h->by_calls && h->on_device) {
        run_warn(job, "--by-calls and --on-device exclude each other");
        return RUN_USAGE;
    }
    if (!is_wanted(job, h, layout)) return -1;
    stepping s = {.job = job,
                  .set = {.method = SAPPORO_STEP_DIRECT,
                          .scheme = SAPPORO_STEPS_HERMITE4 + (h->order - 4) / 2,
                          .criterion = (int64_t)h->criterion,
                          .levels = h->shared ? 1 : SAPPORO_STEP_LEVELS_MOST,
                          .eta = h->eta,
                          .eta_start = h->eta_start}};
    job->layout = layout;
    return stepping_run(&s);
}
