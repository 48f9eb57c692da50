/*
 * leapfrog_direct.c - a stellar system by leap-frog with one step for all and direct sums, everything on the device.
 *
 * The loop of Miki, Takahashi & Mori 2013 (Computer Physics Communications 184, 2159): kick, drift, force from all
 * particles, kick.  The stepper of sapporo_stepper.h keeps the particles in the memory of the GPU.  Only outputs copy
 * them to the host.
 */
#include "leapfrog.h"
#include "run.h"
#include "stepping.h"

#include <sapporo.h>

static double needed_step(const stepping *s, const double (*a)[3])
{
    return leapfrog_step(&s->body, a, s->pot, s->job->plan.eps);
}

static int run_program(run *job, int argc, char **argv)
{
    stepping s = {
        .job = job,
        .set = {.method = SAPPORO_STEP_DIRECT, .scheme = SAPPORO_STEPS_SHARED, .eta = 0.025, .view = {.half = 3}},
        .needed_step = needed_step};
    int pixels = 0, status;
    option_rule own[] = {
        {OPTION_COUNT, 0, "image", &pixels, "PIXELS", "the projected density at each output, PREFIX.0000.pgm ...", 0, 0,
         0},
        {OPTION_REAL, 0, "half-width", &s.set.view.half, "L", "of the images, in x and y (3)", 0, 0, 0},
        {OPTION_FLAG, 0, "film", &s.film, 0, "PREFIX.mp4 of the images at the end, by ffmpeg", 0, 1, 0},
    };
    job->own = own;
    job->own_n = (int)(sizeof own / sizeof *own);
    if (run_parse(job, argc, argv, &status)) return status;
    s.set.view.pixels = pixels;
    if (!job->restart && stepping_wrong_images(&s)) return RUN_USAGE;
    return stepping_run(&s);
}

int main(int argc, char **argv)
{
    run job = {.program = "leapfrog_direct",
               .layout = "leapfrog_direct 5",
               .about = "a stellar system by leap-frog with one step for all and direct sums, all on the device",
               .remedy = "use a smaller --dt-max or a larger --eps",
               .eps_default = 1.0 / 32,
               .eps_help = "softening length (1/32)",
               .dt_help = "the step is at most this (chosen from --eps, masses and speeds)",
               .one_step = 1,
               .advice = "@ --model king --w0 9 -n 4096 --imf salpeter -o king   (writes king.0000.txt, ...)\n"
                         "@ king.0000.txt -o again                (reads a snapshot; --help tells the rest)\n"
                         "@ --model hernquist -n 4096 --image 256 -o sphere    (images of the projected density)\n"
                         "@ --demo --eps 1/64                     (closer encounters, shorter steps)\n"};
    return run_end(&job, run_program(&job, argc, argv));
}
