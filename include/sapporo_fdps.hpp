/*
 * sapporo_fdps.hpp - gravity for programs on FDPS (Framework for Developing Particle Simulators), over sapporo.h.
 *
 * An object of sapporo_fdps::gravity gives the functors that FDPS calls for forces of particles and superparticles:
 *
 *     sapporo_fdps::gravity gravity(eps * eps);
 *     tree.calcForceAllAndWriteBack(gravity.kernel(), gravity.kernel(), particles, domain);
 *     tree.calcForceAllAndWriteBackMultiWalk(gravity.dispatch(), gravity.retrieve(), 1, particles, domain, 200);
 *     tree.calcForceAllAndWriteBackMultiWalkIndex(gravity.dispatch_index(), gravity.retrieve(), 1, particles, domain,
 *                                                 200);
 *
 * kernel() computes list after list on the CPU, in the thread that calls it: the form for CPUs.  dispatch() hands over
 * some hundreds of lists with their own sources, and dispatch_index() lists of addresses of sources, which are stored
 * once per tree: the forms for accelerators.  retrieve() serves both.
 *
 * Positions and masses come from getPos(), whose x, y and z are numbers, and getCharge(), which FDPS itself needs.
 * Where targets have getEps2(), its result is added to the squared softening of each of their pairs.  Where targets or
 * sources have getFloor(), the distance of a pair is at least the larger of both.
 * Superparticles with a member `quad` (xx, yy, zz, xy, xz, yz: sums of m x x, trace not removed), as those of FDPS's
 * quadrupole trees, act by their second moments, too.
 *
 * Results are added to the members acc (with x, y, z) and pot of a force, or by a function of the caller's class Add in
 * gravity_with<Add>.  Potentials are negative, and contain a particle's own, -m / eps, as those of FDPS's samples do.
 *
 * An object of sapporo_fdps::gravity_with_counts also counts neighbours, as PeTar uses them: the particles whose
 * distance is less than the larger of two radii, those of the target and of the source, which are what their
 * getRSearch() returns. A particle counts itself if its list has it; superparticles never count.  The number is added
 * to the member n_ngb.  kernel() also names them, if a class Add of the caller has `neighbours` and add_neighbour().
 *
 * Errors are told by the library on standard error, once each; the results of a call that failed are NaN, and functions
 * that return int return a negative sapporo_status.  C++11 and later.  FDPS's own headers are not needed.
 */
#ifndef SAPPORO_FDPS_HPP
#define SAPPORO_FDPS_HPP

#include <cstddef>
#include <cstdlib>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <type_traits>
#include <utility>
#include <vector>

#include "sapporo.h"

namespace sapporo_fdps
{

/* How forces are computed.  Zero everywhere: the default, or what the environment says. */
struct settings {
    double eps2;                   /* squared softening length, common */
    sapporo_precision precision;   /* SAPPORO_SP unless SAPPORO_PRECISION names another */
    sapporo_backend backend;       /* of dispatch() and dispatch_index(); kernel() always computes on the CPU */
    int threads;                   /* of the CPU engine in dispatch() and dispatch_index() */
    double floor2;                 /* squared floor of the distance, as of sapporo_small_force; 0: none */
    double gravitational_constant; /* G in the units of the particles; 0: 1 */
};

/* Adds a result to a force of the caller's type.  A class of the caller with the same function may replace it. */
struct add_to_acc_and_pot {
    template <class Force> static void add(Force &force, const double *acc, double pot)
    {
        force.acc.x += acc[0];
        force.acc.y += acc[1];
        force.acc.z += acc[2];
        force.pot += pot;
    }
};

/* The same, and adds the number of neighbours to the member n_ngb; -1 after a call that failed. */
struct add_with_counts : add_to_acc_and_pot {
    static const bool counts = true; /* the class has this add() */
    template <class Force> static void add(Force &force, const double *acc, double pot, int count)
    {
        add_to_acc_and_pot::add(force, acc, pot);
        force.n_ngb += count;
    }
};

namespace detail
{

/* Whether a class of the caller takes numbers of neighbours. */
template <class Add> struct has_counts {
    template <class A> static std::integral_constant<bool, A::counts> test(decltype(A::counts) *);
    template <class A> static std::false_type test(...);
    static const bool value = decltype(test<Add>(NULL))::value;
};

/* Whether such a class takes the neighbours themselves, too. */
template <class Add> struct has_neighbours {
    template <class A> static std::integral_constant<bool, A::neighbours> test(decltype(A::neighbours) *);
    template <class A> static std::false_type test(...);
    static const bool value = decltype(test<Add>(NULL))::value;
};

template <class Add, class Force> void give(Force &force, const double *acc, double pot, int count, std::true_type)
{
    Add::add(force, acc, pot, count);
}
template <class Add, class Force> void give(Force &force, const double *acc, double pot, int, std::false_type)
{
    Add::add(force, acc, pot);
}

/* Whether particles of a type have a radius within which they look for neighbours. */
template <class Particle> struct has_radius {
    template <class P> static char test(decltype(std::declval<const P &>().getRSearch()) *);
    template <class P> static long test(...);
    static const bool value = sizeof(test<Particle>(NULL)) == sizeof(char);
};

template <class Particle> double squared_radius(const Particle &p, std::true_type)
{
    const double h = static_cast<double>(p.getRSearch());
    return h * h;
}
template <class Particle> double squared_radius(const Particle &, std::false_type) { return 0; }

/* Appends the squared radii of n particles. */
template <class Particle> void append_radii(std::vector<double> &h2, const Particle *p, int n)
{
    const std::size_t at = h2.size();
    h2.resize(at + static_cast<std::size_t>(n > 0 ? n : 0));
    double *const to = h2.data() + at;
    for (int k = 0; k < n; k++)
        to[k] = squared_radius(p[k], std::integral_constant<bool, has_radius<Particle>::value>());
}

/* Whether particles of a type have softening of their own. */
template <class Particle> struct has_softening {
    template <class P> static char test(decltype(std::declval<const P &>().getEps2()) *);
    template <class P> static long test(...);
    static const bool value = sizeof(test<Particle>(NULL)) == sizeof(char);
};

/* Appends the squared softenings of n particles, if their type has them. */
template <class Particle> void append_softening(std::vector<double> &eps2, const Particle *p, int n, std::true_type)
{
    const std::size_t at = eps2.size();
    eps2.resize(at + static_cast<std::size_t>(n > 0 ? n : 0));
    double *const to = eps2.data() + at;
    for (int k = 0; k < n; k++) to[k] = static_cast<double>(p[k].getEps2());
}
template <class Particle> void append_softening(std::vector<double> &, const Particle *, int, std::false_type) {}

/* Whether particles of a type have a floor of the distance. */
template <class Particle> struct has_floor {
    template <class P> static char test(decltype(std::declval<const P &>().getFloor()) *);
    template <class P> static long test(...);
    static const bool value = sizeof(test<Particle>(NULL)) == sizeof(char);
};

template <class Particle> double squared_floor(const Particle &p, std::true_type)
{
    const double r = static_cast<double>(p.getFloor());
    return r * r;
}
template <class Particle> double squared_floor(const Particle &, std::false_type) { return 0; }

/* Appends the squared floors of n particles. */
template <class Particle> void append_floors(std::vector<double> &floor2, const Particle *p, int n)
{
    const std::size_t at = floor2.size();
    floor2.resize(at + static_cast<std::size_t>(n > 0 ? n : 0));
    double *const to = floor2.data() + at;
    for (int k = 0; k < n; k++) to[k] = squared_floor(p[k], std::integral_constant<bool, has_floor<Particle>::value>());
}

/* Whether particles of a type have second moments. */
template <class Particle> struct has_moments {
    template <class P> static char test(decltype(std::declval<const P &>().quad.xx) *);
    template <class P> static long test(...);
    static const bool value = sizeof(test<Particle>(NULL)) == sizeof(char);
};

template <class Particle> void read_moments(const Particle &p, double *to, std::true_type)
{
    const double q[6] = {static_cast<double>(p.quad.xx), static_cast<double>(p.quad.yy),
                         static_cast<double>(p.quad.zz), static_cast<double>(p.quad.xy),
                         static_cast<double>(p.quad.xz), static_cast<double>(p.quad.yz)};
    for (int k = 0; k < 6; k++) to[k] = q[k];
}
template <class Particle> void read_moments(const Particle &, double *to, std::false_type)
{
    for (int k = 0; k < 6; k++) to[k] = 0;
}

/* Positions relative to an origin, masses, and, where wanted, six second moments.  Vectors keep what they had. */
struct points {
    std::vector<double> x, mass, quad;
    std::size_t n;
    bool moments;

    points() : n(0), moments(false) {}
    void clear(bool with_moments)
    {
        moments = with_moments;
        n = 0;
    }
    int size() const { return static_cast<int>(n); }

    static void reserve(std::vector<double> &v, std::size_t size)
    {
        if (v.size() < size) v.resize(size);
    }

    /* Appends some particles.  No origin: absolute positions. */
    template <class Particle> void append(const Particle *p, int some, const double *origin)
    {
        const std::size_t at = n;
        n += static_cast<std::size_t>(some);
        reserve(x, 3 * n);
        reserve(mass, n);
        double *to = x.data() + 3 * at;
        for (int k = 0; k < some; k++, to += 3) {
            const auto pos = p[k].getPos();
            to[0] = static_cast<double>(pos.x) - (origin ? origin[0] : 0);
            to[1] = static_cast<double>(pos.y) - (origin ? origin[1] : 0);
            to[2] = static_cast<double>(pos.z) - (origin ? origin[2] : 0);
            mass[at + static_cast<std::size_t>(k)] = static_cast<double>(p[k].getCharge());
        }
        if (!moments) return;
        reserve(quad, 6 * n);
        for (std::size_t k = at; k < n; k++)
            read_moments(p[k - at], &quad[6 * k], std::integral_constant<bool, has_moments<Particle>::value>());
    }
};

/* Appends the positions of n targets, of which no masses are needed. */
template <class Particle> void append_targets(std::vector<double> &x, const Particle *p, int n, const double *origin)
{
    const std::size_t at = x.size();
    x.resize(at + 3 * static_cast<std::size_t>(n));
    double *to = x.data() + at;
    for (int k = 0; k < n; k++, to += 3) {
        const auto pos = p[k].getPos();
        to[0] = static_cast<double>(pos.x) - (origin ? origin[0] : 0);
        to[1] = static_cast<double>(pos.y) - (origin ? origin[1] : 0);
        to[2] = static_cast<double>(pos.z) - (origin ? origin[2] : 0);
    }
}

/* The first target of a list, to which positions are relative: single precision then resolves the list's own size. */
template <class Particle> void origin_of(const Particle *p, int n, double *origin)
{
    origin[0] = origin[1] = origin[2] = 0;
    if (n <= 0) return;
    const auto pos = p[0].getPos();
    origin[0] = static_cast<double>(pos.x);
    origin[1] = static_cast<double>(pos.y);
    origin[2] = static_cast<double>(pos.z);
}

inline sapporo *open_context(const settings &s, sapporo_backend backend, int threads)
{
    sapporo_options o = sapporo_options();
    sapporo *context = NULL;
    o.size = sizeof o;
    o.order = 2;
    o.precision = s.precision;
    if (!s.precision && !std::getenv("SAPPORO_PRECISION")) o.precision = SAPPORO_SP;
    o.backend = backend;
    o.threads = threads;
    o.gravitational_constant = s.gravitational_constant;
    return sapporo_open(&o, &context) < 0 ? NULL : context;
}

/* A batch that was begun, and its lists per walk; NULL: it could not begin. */
struct begun {
    sapporo_batch *batch;
    int parts;
};

/* A context, and memory for a list. */
struct worker {
    sapporo *context;
    std::vector<double> x, acc, pot, eps2_i, h2_i, h2_j, floor2_i, floor2_j;
    std::vector<int> count;
    std::vector<std::size_t> near; /* sources that may be neighbours */
    points j;

    explicit worker(sapporo *opened) : context(opened) {}
    ~worker() { sapporo_close(context); }
    worker(const worker &) = delete;
    worker &operator=(const worker &) = delete;
};

/*
 * Finds the sources within reach of the box of all targets that have neighbours: each target then searches these few
 * only.  The reach is a little longer than the radii, so rounding, also that of -ffast-math, loses no neighbour.
 */
inline void find_near(worker &w)
{
    double low[3] = {0, 0, 0}, high[3] = {0, 0, 0}, longest = 0;
    std::size_t targets = 0, found = 0;
    for (std::size_t k = 0; k < w.count.size(); k++) {
        if (w.count[k] <= 0) continue;
        for (std::size_t c = 0; c < 3; c++) {
            const double x = w.x[3 * k + c];
            low[c] = targets == 0 || x < low[c] ? x : low[c];
            high[c] = targets == 0 || x > high[c] ? x : high[c];
        }
        longest = w.h2_i[k] > longest ? w.h2_i[k] : longest;
        targets++;
    }
    w.near.resize(targets > 0 ? w.h2_j.size() : 0);
    for (std::size_t n = 0; n < w.near.size(); n++) {
        double r2 = 0;
        for (std::size_t c = 0; c < 3; c++) {
            const double below = low[c] - w.j.x[3 * n + c], above = w.j.x[3 * n + c] - high[c];
            const double d = below > above ? below : above;
            r2 += d > 0 ? d * d : 0;
        }
        w.near[found] = n;
        found += r2 <= (1 + 1e-9) * (w.h2_j[n] > longest ? w.h2_j[n] : longest);
    }
    w.near.resize(found);
}

/* Workers that no thread uses now. */
class pool
{
  public:
    std::unique_ptr<worker> take(const settings &s)
    {
        {
            const std::lock_guard<std::mutex> lock(mutex_);
            if (!idle_.empty()) {
                std::unique_ptr<worker> w = std::move(idle_.back());
                idle_.pop_back();
                return w;
            }
        }
        return std::unique_ptr<worker>(new worker(open_context(s, SAPPORO_BACKEND_CPU, 1)));
    }
    void give(std::unique_ptr<worker> w)
    {
        const std::lock_guard<std::mutex> lock(mutex_);
        idle_.push_back(std::move(w));
    }

  private:
    std::mutex mutex_;
    std::vector<std::unique_ptr<worker>> idle_;
};

} // namespace detail

template <class Add> class gravity_with;

namespace detail
{

/* The functors, which FDPS copies.  They refer to an object that must outlive them. */
template <class Add> struct kernel {
    gravity_with<Add> *to;
    template <class I, class J, class Force>
    void operator()(const I *i, const int ni, const J *j, const int nj, Force *force) const
    {
        to->compute(i, ni, j, nj, force);
    }
};

template <class Add> struct dispatch {
    gravity_with<Add> *to;
    template <class I, class J, class S>
    int operator()(const int tag, const int nwalk, const I **i, const int *ni, const J **j, const int *nj, const S **s,
                   const int *ns) const
    {
        return to->begin(tag, nwalk, i, ni, j, nj, s, ns);
    }
    template <class I, class J>
    int operator()(const int tag, const int nwalk, const I **i, const int *ni, const J **j, const int *nj) const
    {
        return to->begin(tag, nwalk, i, ni, j, nj, static_cast<const J **>(NULL), NULL);
    }
};

template <class Add> struct dispatch_index {
    gravity_with<Add> *to;
    template <class I, class J, class S>
    int operator()(const int tag, const int nwalk, const I **i, const int *ni, const int **at_j, const int *nj,
                   const int **at_s, const int *ns, const J *j, const int all_j, const S *s, const int all_s,
                   const bool send) const
    {
        const int status = send ? to->store(j, all_j, s, all_s) : SAPPORO_OK;
        const int begun = nwalk > 0 ? to->begin_index(tag, nwalk, i, ni, at_j, nj, at_s, ns) : SAPPORO_OK;
        return status < 0 ? status : begun;
    }
    template <class I, class J>
    int operator()(const int tag, const int nwalk, const I **i, const int *ni, const int **at_j, const int *nj,
                   const J *j, const int all_j, const bool send) const
    {
        return (*this)(tag, nwalk, i, ni, at_j, nj, static_cast<const int **>(NULL), static_cast<const int *>(NULL), j,
                       all_j, static_cast<const J *>(NULL), 0, send);
    }
};

template <class Add> struct retrieve {
    gravity_with<Add> *to;
    template <class Force> int operator()(const int tag, const int nwalk, const int *ni, Force **force) const
    {
        return to->end(tag, nwalk, ni, force);
    }
};

} // namespace detail

/*
 * Forces of one system.  kernel() may be called by any number of threads at a time; all else by one thread at a time,
 * which may be another one in the next call.
 */
template <class Add> class gravity_with
{
  public:
    explicit gravity_with(double eps2) : settings_(), context_(NULL), stored_j_(0), stored_(0), parts_(1)
    {
        settings_.eps2 = eps2;
    }
    explicit gravity_with(const settings &s) : settings_(s), context_(NULL), stored_j_(0), stored_(0), parts_(1) {}
    ~gravity_with() { sapporo_close(context_); }
    gravity_with(const gravity_with &) = delete;
    gravity_with &operator=(const gravity_with &) = delete;

    detail::kernel<Add> kernel() { return detail::kernel<Add>{this}; }
    detail::dispatch<Add> dispatch() { return detail::dispatch<Add>{this}; }
    detail::dispatch_index<Add> dispatch_index() { return detail::dispatch_index<Add>{this}; }
    detail::retrieve<Add> retrieve() { return detail::retrieve<Add>{this}; }

    /* Adds the forces of nj sources to those of ni targets. */
    template <class I, class J, class Force> void compute(const I *i, int ni, const J *j, int nj, Force *force)
    {
        std::unique_ptr<detail::worker> w = workers_.take(settings_);
        const std::size_t n = static_cast<std::size_t>(ni > 0 ? ni : 0);
        double origin[3];
        sapporo_small_force list = sapporo_small_force();
        sapporo_result result = sapporo_result();
        detail::origin_of(i, ni, origin);
        w->x.clear();
        w->j.clear(detail::has_moments<J>::value);
        detail::append_targets(w->x, i, ni, origin);
        w->j.append(j, nj, origin);
        w->acc.resize(3 * n);
        w->pot.resize(n);
        w->count.assign(n, 0);
        fill(list, ni, nj, w->x.data());
        w->eps2_i.clear();
        detail::append_softening(w->eps2_i, i, ni, softens<I>());
        if (!w->eps2_i.empty()) list.eps2_i.base = w->eps2_i.data();
        if (detail::has_floor<I>::value) {
            w->floor2_i.clear();
            detail::append_floors(w->floor2_i, i, ni);
            list.floor2_i.base = w->floor2_i.data();
        }
        if (detail::has_floor<J>::value) {
            w->floor2_j.clear();
            detail::append_floors(w->floor2_j, j, nj);
            list.floor2_j.base = w->floor2_j.data();
        }
        list.x_j.base = w->j.x.data();
        list.mass_j.base = w->j.mass.data();
        if (w->j.moments) list.quad_j.base = w->j.quad.data();
        fill(result, w->acc.data(), w->pot.data());
        if (counts && detail::has_radius<J>::value) { /* superparticles have no radii */
            w->h2_i.clear();
            w->h2_j.clear();
            detail::append_radii(w->h2_i, i, ni);
            detail::append_radii(w->h2_j, j, nj);
            list.h2_i.base = w->h2_i.data();
            list.h2_j.base = w->h2_j.data();
            result.count = w->count.data();
        }
        if (ni > 0) (void)sapporo_force_batch(w->context, 1, &list, &result);
        if (searched<J>::value) detail::find_near(*w);
        for (std::size_t k = 0; k < n; k++) {
            give(force[k], &w->acc[3 * k], w->pot[k], w->count[k]);
            if (w->count[k] > 0) name(*w, k, i[k], j, force[k], searched<J>());
        }
        workers_.give(std::move(w));
    }

    /* Begins the forces of nwalk lists with sources of their own. */
    template <class I, class J, class S>
    int begin(int tag, int nwalk, const I *const *i, const int *ni, const J *const *j, const int *nj, const S *const *s,
              const int *ns)
    {
        static_assert(!names::value, "kernel() alone names neighbours");
        const bool floors = detail::has_floor<J>::value || detail::has_floor<S>::value;
        start_lists(nwalk, ns != NULL);
        sources_.clear(ns && detail::has_moments<S>::value);
        for (int k = 0; k < nwalk; k++) {
            double origin[3];
            detail::origin_of(i[k], ni[k], origin);
            append_targets(i[k], ni[k], origin);
            sources_.append(j[k], nj[k], origin);
            if (counts) detail::append_radii(h2_j_, j[k], nj[k]);
            if (floors) detail::append_floors(floor2_j_, j[k], nj[k]);
            if (floors && ns) detail::append_floors(floor2_j_, s[k], ns[k]);
            if (ns) sources_.append(s[k], ns[k], origin);
            if (counts && ns) h2_j_.resize(h2_j_.size() + static_cast<std::size_t>(ns[k])); /* 0 */
        }
        std::size_t target = 0, source = 0;
        for (int k = 0; k < nwalk; k++)
            for (int part = 0; part < parts_; part++) {
                sapporo_small_force &l = next_list(k, part, ni, nj, ns, target);
                l.x_j.base = sources_.x.data() + 3 * source;
                l.mass_j.base = sources_.mass.data() + source;
                if (floors) l.floor2_j.base = floor2_j_.data() + source;
                if (sources_.moments) l.quad_j.base = sources_.quad.data() + 6 * source;
                if (counts && part == 0) l.h2_j.base = h2_j_.data() + source;
                source += static_cast<std::size_t>(l.nj);
            }
        return launch(tag);
    }

    /* Begins the forces of nwalk lists of stored sources: particles at_j[k][..] and superparticles at_s[k][..]. */
    template <class I>
    int begin_index(int tag, int nwalk, const I *const *i, const int *ni, const int *const *at_j, const int *nj,
                    const int *const *at_s, const int *ns)
    {
        static_assert(!names::value, "kernel() alone names neighbours");
        start_lists(nwalk, ns != NULL);
        address_.clear();
        for (int k = 0; k < nwalk; k++) {
            append_targets(i[k], ni[k], NULL);
            address_.insert(address_.end(), at_j[k], at_j[k] + nj[k]);
            for (int n = 0; ns && n < ns[k]; n++) address_.push_back(stored_j_ + at_s[k][n]);
        }
        std::size_t target = 0, source = 0;
        for (int k = 0; k < nwalk; k++)
            for (int part = 0; part < parts_; part++) {
                sapporo_small_force &l = next_list(k, part, ni, nj, ns, target);
                l.address = address_.data() + source;
                if (ns && !stored_quad_.empty()) l.quad_j.base = stored_quad_.data();
                if (!stored_floor2_.empty()) l.floor2_j.base = stored_floor2_.data();
                if (counts) l.h2_j.base = stored_h2_.data();
                source += static_cast<std::size_t>(l.nj);
            }
        return launch(tag);
    }

    /* Stores the sources of a tree: particles from address 0 on, superparticles behind them. */
    template <class J, class S> int store(const J *j, int nj, const S *s, int ns)
    {
        sapporo_particles all = sapporo_particles();
        if (!opened()) return SAPPORO_ERR_DEVICE;
        sources_.clear(ns > 0 && detail::has_moments<S>::value);
        sources_.append(j, nj, NULL);
        if (ns > 0) sources_.append(s, ns, NULL);
        const int n = sources_.size();
        stored_j_ = nj;
        all.size = sizeof all;
        all.derivative[0].base = sources_.x.data();
        all.mass.base = sources_.mass.data();
        int status = n < stored_ ? sapporo_clear_particles(context_) : SAPPORO_OK;
        if (status >= 0 && n > 0) status = sapporo_set_particles(context_, 0, n, &all);
        stored_ = n;
        stored_quad_.clear();
        if (sources_.moments) stored_quad_ = sources_.quad;
        stored_floor2_.clear();
        if (detail::has_floor<J>::value || detail::has_floor<S>::value) {
            detail::append_floors(stored_floor2_, j, nj);
            detail::append_floors(stored_floor2_, s, ns);
        }
        stored_h2_.clear();
        if (counts) detail::append_radii(stored_h2_, j, nj);
        if (counts) stored_h2_.resize(static_cast<std::size_t>(n)); /* superparticles: 0 */
        return status;
    }

    /* Waits for the oldest batch with this tag, and adds its forces; NaN where there is no such batch. */
    template <class Force> int end(int tag, int nwalk, const int *ni, Force *const *force)
    {
        std::deque<detail::begun> &waiting = begun_[tag];
        detail::begun oldest = {NULL, 1};
        std::size_t rows = 0;
        if (nwalk <= 0) return SAPPORO_OK;
        if (!waiting.empty()) {
            oldest = waiting.front();
            waiting.pop_front();
        }
        const std::size_t parts = static_cast<std::size_t>(oldest.parts);
        for (int k = 0; k < nwalk; k++) rows += static_cast<std::size_t>(ni[k]);
        make_results(nwalk, ni, rows, parts);
        const int status = sapporo_force_batch_end(oldest.batch, nwalk * oldest.parts, ni_.data(), results_.data());
        sapporo_force_batch_free(oldest.batch);
        std::size_t at = 0;
        for (int k = 0; k < nwalk; k++)
            for (int n = 0; n < ni[k]; n++, at++) {
                for (std::size_t c = 0; c < 3 && parts > 1; c++) acc_[3 * at + c] += acc_[3 * (rows + at) + c];
                if (parts > 1) pot_[at] += pot_[rows + at];
                give(force[k][n], &acc_[3 * at], pot_[at], count_[at]);
            }
        return status < 0 ? status : 0;
    }

  private:
    static const bool counts = detail::has_counts<Add>::value;
    typedef std::integral_constant<bool, detail::has_neighbours<Add>::value> names;
    template <class J> using searched = std::integral_constant<bool, names::value && detail::has_radius<J>::value>;
    template <class I> using softens = std::integral_constant<bool, detail::has_softening<I>::value>;

    bool opened()
    {
        if (!context_) context_ = detail::open_context(settings_, settings_.backend, settings_.threads);
        return context_ != NULL;
    }

    template <class Force> static void give(Force &force, const double *acc, double pot, int count)
    {
        detail::give<Add>(force, acc, pot, count, std::integral_constant<bool, counts>());
    }

    /* Gives the force of target k its neighbours: those that the library counted, by the same distances in double. */
    template <class I, class J, class Force>
    static void name(const detail::worker &w, std::size_t k, const I &i, const J *j, Force &force, std::true_type)
    {
        for (const std::size_t n : w.near) {
            double r2 = 0;
            for (std::size_t c = 0; c < 3; c++) {
                const double d = w.j.x[3 * n + c] - w.x[3 * k + c];
                r2 += d * d;
            }
            if (r2 < (w.h2_i[k] > w.h2_j[n] ? w.h2_i[k] : w.h2_j[n])) Add::add_neighbour(force, i, j[n]);
        }
    }
    template <class I, class J, class Force>
    static void name(const detail::worker &, std::size_t, const I &, const J *, Force &, std::false_type)
    {
    }

    /* Clears the lists for nwalk walks.  Superparticles do not count, so they have lists of their own if others do. */
    void start_lists(int nwalk, bool super)
    {
        parts_ = counts && super ? 2 : 1;
        x_.clear();
        eps2_i_.clear();
        h2_i_.clear();
        h2_j_.clear();
        floor2_i_.clear();
        floor2_j_.clear();
        lists_.assign(static_cast<std::size_t>(nwalk) * static_cast<std::size_t>(parts_), sapporo_small_force());
    }

    template <class I> void append_targets(const I *i, int ni, const double *origin)
    {
        detail::append_targets(x_, i, ni, origin);
        detail::append_softening(eps2_i_, i, ni, softens<I>());
        if (detail::has_floor<I>::value) detail::append_floors(floor2_i_, i, ni);
        if (counts) detail::append_radii(h2_i_, i, ni);
    }

    /* The list of walk k: with all its sources, or with its particles (part 0) or superparticles (part 1). */
    sapporo_small_force &next_list(int k, int part, const int *ni, const int *nj, const int *ns, std::size_t &target)
    {
        sapporo_small_force &l =
            lists_[static_cast<std::size_t>(k) * static_cast<std::size_t>(parts_) + static_cast<std::size_t>(part)];
        const int all = parts_ == 1 ? nj[k] + (ns ? ns[k] : 0) : part == 0 ? nj[k] : ns[k];
        fill(l, ni[k], all, x_.data() + 3 * target);
        if (!eps2_i_.empty()) l.eps2_i.base = eps2_i_.data() + target;
        if (!floor2_i_.empty()) l.floor2_i.base = floor2_i_.data() + target;
        if (counts && part == 0) l.h2_i.base = h2_i_.data() + target;
        if (part == parts_ - 1) target += static_cast<std::size_t>(l.ni);
        return l;
    }

    /* Results of nwalk walks with `rows` targets; those of second parts lie behind those of the first. */
    void make_results(int nwalk, const int *ni, std::size_t rows, std::size_t parts)
    {
        acc_.resize(3 * rows * parts);
        pot_.resize(rows * parts);
        count_.assign(rows, 0);
        ni_.clear();
        results_.clear();
        std::size_t at = 0;
        for (int k = 0; k < nwalk; k++) {
            for (std::size_t part = 0; part < parts; part++) {
                sapporo_result r = sapporo_result();
                fill(r, acc_.data() + 3 * (part * rows + at), pot_.data() + part * rows + at);
                if (counts && part == 0 && rows > 0) r.count = count_.data() + at;
                results_.push_back(r);
                ni_.push_back(ni[k]);
            }
            at += static_cast<std::size_t>(ni[k]);
        }
    }

    void fill(sapporo_small_force &l, int ni, int nj, const double *x) const
    {
        l.size = sizeof l;
        l.ni = ni;
        l.nj = nj;
        l.x.base = x;
        l.eps2 = settings_.eps2;
        l.floor2 = settings_.floor2;
    }

    static void fill(sapporo_result &r, double *acc, double *pot)
    {
        r.size = sizeof r;
        r.acc = reinterpret_cast<double(*)[3]>(acc);
        r.pot = pot;
    }

    /* Begins the batch of lists_.  One that cannot begin is queued, too: its end gives NaN. */
    int launch(int tag)
    {
        sapporo_batch *batch = NULL;
        const int status =
            opened() ? sapporo_force_batch_begin(context_, static_cast<int>(lists_.size()), lists_.data(), &batch)
                     : static_cast<int>(SAPPORO_ERR_DEVICE);
        begun_[tag].push_back(detail::begun{batch, parts_});
        return status;
    }

    settings settings_;
    detail::pool workers_;
    sapporo *context_;
    int stored_j_, stored_; /* stored particles, and all that is stored */
    int parts_;             /* lists per walk of the batch that begins */
    std::map<int, std::deque<detail::begun>> begun_;
    std::vector<double> x_, eps2_i_, h2_i_, h2_j_, floor2_i_, floor2_j_, acc_, pot_;
    std::vector<double> stored_quad_, stored_h2_, stored_floor2_; /* of all that is stored; empty: there are none */
    std::vector<int> address_, ni_, count_;
    detail::points sources_;
    std::vector<sapporo_small_force> lists_;
    std::vector<sapporo_result> results_;
};

typedef gravity_with<add_to_acc_and_pot> gravity;
typedef gravity_with<add_with_counts> gravity_with_counts;

} // namespace sapporo_fdps

#endif
