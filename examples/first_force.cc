/*
 * first_force.cc - the forces of four particles on each other, by the native interface, in C++.
 *
 *   c++ first_force.cc -lsapporo -o first_force
 *   ./first_force
 *
 * Shows how smart pointers own a context and a force, so that every return frees both.  Prints the engine that
 * computed, and one line for each particle: mass, position, acceleration, potential.  G = 1, softening length 0.1.
 */
#include <cstdio>
#include <memory>
#include <sapporo.h>

static const int n = 4;
static const double mass[n] = {1, 2, 3, 4};
static const double x[n][3] = {{0, 0, 0}, {1, 0, 0}, {0, 2, 0}, {0, 0, -3}};
static const double eps = 0.1;

using Context = std::unique_ptr<sapporo, decltype(&sapporo_close)>;
using Job = std::unique_ptr<sapporo_job, decltype(&sapporo_force_free)>;

/* Prints which call failed and why.  `status` < 0 is an error; 0 is success; > 0 is success with a remark. */
static int failed(int status, const sapporo *context, const char *call)
{
    if (status >= 0) return 0;
    std::fprintf(stderr, "first_force: %s: %s: %s\n", call, sapporo_status_text(status), sapporo_last_error(context));
    return 1;
}

int main()
{
    sapporo *opened = nullptr;
    if (failed(sapporo_open(nullptr, &opened), nullptr, "sapporo_open")) return 1;
    const Context context(opened, sapporo_close);

    sapporo_particles particles = {};
    particles.size = sizeof particles;
    particles.derivative[0].base = x; // the positions; velocities and times are absent and count as 0
    particles.mass.base = mass;
    if (failed(sapporo_set_particles(context.get(), 0, n, &particles), context.get(), "sapporo_set_particles"))
        return 1;

    const int index[n] = {0, 1, 2, 3}; // a source acts on a target unless their indices are equal
    sapporo_request request = {};
    request.size = sizeof request;
    request.nj = n; // sources: the particles at addresses 0 to nj - 1
    request.ni = n; // targets: the rows of x and index
    request.eps2 = eps * eps;
    request.x.base = x;
    request.index.base = index;
    sapporo_job *begun = nullptr;
    if (failed(sapporo_force_begin(context.get(), &request, &begun), context.get(), "sapporo_force_begin")) return 1;
    const Job job(begun, sapporo_force_free);

    double acc[n][3], pot[n];
    sapporo_result result = {};
    result.size = sizeof result;
    result.acc = acc;
    result.pot = pot;
    if (failed(sapporo_force_end(job.get(), request.ni, &result), context.get(), "sapporo_force_end")) return 1;

    std::printf("# %s, softening length %.3f\n", sapporo_kind(context.get()), eps);
    std::printf("# mass, position, acceleration, potential\n");
    for (int k = 0; k < n; k++)
        std::printf("%g  %g %g %g  %.8f %.8f %.8f  %.8f\n", mass[k], x[k][0], x[k][1], x[k][2], acc[k][0], acc[k][1],
                    acc[k][2], pot[k]);
    if (std::fflush(stdout) != 0) return std::perror("first_force: standard output"), 1;
    return 0;
}
