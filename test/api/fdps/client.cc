/*
 * client.cc - plays FDPS's part: calls the functors of sapporo_fdps.hpp with types whose members have FDPS's names, in
 * the order of FDPS's calls, and compares with sums in long double.  The argument names a backend.  Status 1: there is
 * no device.  Prints TAP lines.
 */
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <thread>
#include <vector>

#include "sapporo_fdps.hpp"

namespace
{

template <class T> struct vec {
    T x, y, z;
};

/* A particle of the user: target, source and force at a time. */
struct particle {
    double mass;
    vec<double> pos, acc;
    double pot;
    vec<double> getPos() const { return pos; }
    double getCharge() const { return mass; }
};

/* A superparticle with single-precision members. */
struct superparticle {
    float mass;
    vec<float> pos;
    vec<float> getPos() const { return pos; }
    float getCharge() const { return mass; }
};

/* A superparticle of a quadrupole tree. */
struct moments {
    double xx, yy, zz, xy, xz, yz;
};
struct superparticle_quad {
    double mass;
    vec<double> pos;
    moments quad;
    vec<double> getPos() const { return pos; }
    double getCharge() const { return mass; }
};

/* A force with other names. */
struct other_force {
    double a[3], phi;
};
struct add_other {
    static void add(other_force &f, const double *acc, double pot)
    {
        for (int c = 0; c < 3; c++) f.a[c] += acc[c];
        f.phi += pot;
    }
};

const double eps2 = 1e-3;
int cases, failures;

void check(bool good, const char *what, double error)
{
    std::printf("%sok %d - %s (%g)\n", good ? "" : "not ", ++cases, what, error);
    failures += !good;
}

double draw()
{
    static unsigned long long state = 12345;
    state = state * 6364136223846793005ULL + 1442695040888963407ULL;
    return static_cast<double>(state >> 11) / 9007199254740992.0;
}

/* Walks of a system: targets, and lists of sources by number. */
struct problem {
    std::vector<particle> all, targets;
    std::vector<superparticle> super;
    std::vector<std::vector<particle>> j;
    std::vector<std::vector<superparticle>> s;
    std::vector<std::vector<int>> at_j, at_s;
    std::vector<int> ni, nj, ns, first;
};

problem new_problem(int walks, int n, int nsuper)
{
    problem p;
    for (int k = 0; k < n; k++) {
        const particle one = {draw() / n, {4 + draw(), draw(), draw()}, {0, 0, 0}, 0};
        p.all.push_back(one);
    }
    for (int k = 0; k < nsuper; k++) {
        const superparticle one = {static_cast<float>(draw()),
                                   {static_cast<float>(9 * draw()), static_cast<float>(9 * draw()), 0.5F}};
        p.super.push_back(one);
    }
    for (int w = 0; w < walks; w++) {
        p.first.push_back(static_cast<int>(p.targets.size()));
        p.ni.push_back(w == 3 ? 0 : 1 + w % 40);
        p.nj.push_back(w == 4 ? 0 : 1 + w * 7 % 60);
        p.ns.push_back(w == 5 ? 0 : w * 11 % 50);
        p.j.push_back(std::vector<particle>());
        p.s.push_back(std::vector<superparticle>());
        p.at_j.push_back(std::vector<int>());
        p.at_s.push_back(std::vector<int>());
        const std::size_t at = static_cast<std::size_t>(w);
        for (int k = 0; k < p.ni[at]; k++) p.targets.push_back(p.all[static_cast<std::size_t>((w * 13 + k) % n)]);
        for (int k = 0; k < p.nj[at]; k++) {
            p.at_j[at].push_back((w * 17 + k * 3) % n);
            p.j[at].push_back(p.all[static_cast<std::size_t>(p.at_j[at].back())]);
        }
        for (int k = 0; k < p.ns[at]; k++) {
            p.at_s[at].push_back((w * 5 + k) % nsuper);
            p.s[at].push_back(p.super[static_cast<std::size_t>(p.at_s[at].back())]);
        }
    }
    return p;
}

/* The floor of a particle. */
template <class J> double floor_of(const J &) { return 0; }

/* Adds the forces of sources on a particle whose own squared softening is eps2_i; floor: its floor. */
template <class J>
void sum(const particle &i, const std::vector<J> &j, long double *of, long double eps2_i = 0, long double floor = 0)
{
    for (std::size_t k = 0; k < j.size(); k++) {
        const long double x = static_cast<long double>(j[k].getPos().x) - i.pos.x,
                          y = static_cast<long double>(j[k].getPos().y) - i.pos.y,
                          z = static_cast<long double>(j[k].getPos().z) - i.pos.z;
        const long double r2 = x * x + y * y + z * z, least = std::max<long double>(floor, floor_of(j[k])),
                          R2 = std::max(r2 + eps2 + eps2_i, least * least), R = std::sqrt(R2), m = j[k].getCharge();
        of[0] += m * x / (R * R2);
        of[1] += m * y / (R * R2);
        of[2] += m * z / (R * R2);
        of[3] -= m / R;
        of[4] += m * std::sqrt(r2) / (R * R2);
    }
}

/* The largest error of the forces of walks, which began with acc 1, 2, 3 and pot 4. */
double error_of(const problem &p, const std::vector<particle> &f)
{
    double worst = 0;
    for (std::size_t w = 0; w < p.ni.size(); w++)
        for (int k = 0; k < p.ni[w]; k++) {
            const std::size_t at = static_cast<std::size_t>(p.first[w] + k);
            long double right[5] = {0, 0, 0, 0, 1e-300L};
            sum(p.targets[at], p.j[w], right);
            sum(p.targets[at], p.s[w], right);
            const long double got[4] = {f[at].acc.x - 1, f[at].acc.y - 2, f[at].acc.z - 3, f[at].pot - 4};
            for (int c = 0; c < 4; c++) {
                const long double size = c < 3 ? right[4] : -right[3];
                const double error = static_cast<double>(std::fabs(got[c] - right[c]) / (size + 1e-3L));
                if (!(error <= worst)) worst = error;
            }
        }
    return worst;
}

std::vector<particle> fresh(const problem &p)
{
    std::vector<particle> f = p.targets;
    for (std::size_t k = 0; k < f.size(); k++) f[k].acc = {1, 2, 3}, f[k].pot = 4;
    return f;
}

/* Arrays of pointers, as FDPS passes them. */
template <class T> std::vector<const T *> pointers(const std::vector<std::vector<T>> &lists)
{
    std::vector<const T *> at;
    for (std::size_t k = 0; k < lists.size(); k++) at.push_back(lists[k].data());
    return at;
}

std::vector<const particle *> targets_of(const problem &p)
{
    std::vector<const particle *> at;
    for (std::size_t w = 0; w < p.ni.size(); w++) at.push_back(p.targets.data() + p.first[w]);
    return at;
}

std::vector<particle *> forces_of(const problem &p, std::vector<particle> &f)
{
    std::vector<particle *> at;
    for (std::size_t w = 0; w < p.ni.size(); w++) at.push_back(f.data() + p.first[w]);
    return at;
}

void kernels(const problem &p, double bound)
{
    sapporo_fdps::gravity gravity(eps2);
    std::vector<particle> f = fresh(p);
    std::vector<std::thread> team;
    for (std::size_t t = 0; t < 3; t++)
        team.push_back(std::thread([&p, &f, &gravity, t]() {
            const auto kernel = gravity.kernel();
            for (std::size_t w = t; w < p.ni.size(); w += 3) {
                kernel(p.targets.data() + p.first[w], p.ni[w], p.j[w].data(), p.nj[w], f.data() + p.first[w]);
                kernel(p.targets.data() + p.first[w], p.ni[w], p.s[w].data(), p.ns[w], f.data() + p.first[w]);
            }
        }));
    for (std::size_t t = 0; t < team.size(); t++) team[t].join();
    const double error = error_of(p, f);
    check(error < bound, "kernel, three threads", error);
}

/* Two problems in flight, as with FDPS's tags; then particles alone. */
void multi_walk(const problem &p, const problem &q, const sapporo_fdps::settings &s, double bound)
{
    sapporo_fdps::gravity gravity(s);
    const auto dispatch = gravity.dispatch();
    const auto retrieve = gravity.retrieve();
    const problem *const both[2] = {&p, &q};
    std::vector<particle> f[2] = {fresh(p), fresh(q)};
    const int n = static_cast<int>(p.ni.size());
    for (int turn = 0; turn < 4; turn++) {
        const int tags = turn < 2, k = turn % 2;
        for (int t = 0; t < 2; t++) { /* with two tags, or the same tag twice */
            auto i = targets_of(*both[t]);
            auto j = pointers(both[t]->j);
            auto sp = pointers(both[t]->s);
            check(dispatch(tags ? t : 0, n, i.data(), both[t]->ni.data(), j.data(), both[t]->nj.data(), sp.data(),
                           both[t]->ns.data()) == 0,
                  "dispatch", turn);
        }
        for (int t = 0; t < 2; t++) {
            const int of = tags && k ? 1 - t : t;
            f[of] = fresh(*both[of]);
            auto to = forces_of(*both[of], f[of]);
            const int status = retrieve(tags ? of : 0, n, both[of]->ni.data(), to.data());
            const double error = error_of(*both[of], f[of]);
            check(status == 0 && error < bound, "retrieve", error);
        }
    }
    problem alone = p;
    for (std::size_t w = 0; w < alone.s.size(); w++) alone.s[w].clear();
    auto i = targets_of(alone);
    auto j = pointers(alone.j);
    f[0] = fresh(alone);
    auto to = forces_of(alone, f[0]);
    const int begun = dispatch(0, n, i.data(), alone.ni.data(), j.data(), alone.nj.data());
    const int status = retrieve(0, n, alone.ni.data(), to.data());
    const double error = error_of(alone, f[0]);
    check(begun == 0 && status == 0 && error < bound, "particles alone", error);
    const int nothing = retrieve(0, n, alone.ni.data(), to.data());
    check(nothing < 0 && std::isnan(f[0][0].pot), "retrieve without dispatch", nothing);
}

/* Trees of different sizes, each of which is sent once. */
void multi_walk_index(const problem &p, const problem &q, const sapporo_fdps::settings &s, double bound)
{
    sapporo_fdps::gravity gravity(s);
    const auto dispatch = gravity.dispatch_index();
    const auto retrieve = gravity.retrieve();
    const problem *const order[3] = {&p, &q, &p};
    for (int turn = 0; turn < 3; turn++) {
        const problem &of = *order[turn];
        const int n = static_cast<int>(of.ni.size()), nj = static_cast<int>(of.all.size()),
                  ns = static_cast<int>(of.super.size());
        auto i = targets_of(of);
        auto j = pointers(of.at_j), sp = pointers(of.at_s);
        std::vector<particle> f[2] = {fresh(of), fresh(of)};
        int begun = dispatch(0, 0, i.data(), of.ni.data(), j.data(), of.nj.data(), sp.data(), of.ns.data(),
                             of.all.data(), nj, of.super.data(), ns, true);
        for (int t = 0; t < 2; t++)
            begun |= dispatch(0, n, i.data(), of.ni.data(), j.data(), of.nj.data(), sp.data(), of.ns.data(),
                              of.all.data(), nj, of.super.data(), ns, false);
        for (int t = 0; t < 2; t++) {
            auto to = forces_of(of, f[t]);
            const int status = retrieve(0, n, of.ni.data(), to.data());
            const double error = error_of(of, f[t]);
            check(begun == 0 && status == 0 && error < bound, "index", error);
        }
        problem alone = of;
        for (std::size_t w = 0; w < alone.s.size(); w++) alone.s[w].clear();
        f[0] = fresh(of);
        auto to = forces_of(of, f[0]);
        begun = dispatch(0, n, i.data(), of.ni.data(), j.data(), of.nj.data(), of.all.data(), nj, turn == 1);
        const int status = retrieve(0, n, of.ni.data(), to.data());
        const double error = error_of(alone, f[0]);
        check(begun == 0 && status == 0 && error < bound, "index, particles alone", error);
    }
    auto i = targets_of(p);
    auto j = pointers(p.at_j);
    const int beyond[1] = {1 << 20}, *const wrong[1] = {beyond};
    const int *at[1] = {wrong[0]};
    const int one = 1;
    std::vector<particle> f = fresh(p);
    auto to = forces_of(p, f);
    const int begun = dispatch(0, 1, i.data(), &one, at, &one, p.all.data(), 1, false);
    const int status = retrieve(0, 1, &one, to.data());
    check(begun < 0 && status < 0 && std::isnan(f[0].acc.x), "a number beyond the tree", begun);
}

void other_names(const problem &p)
{
    sapporo_fdps::gravity_with<add_other> gravity(eps2);
    other_force f = {{0, 0, 0}, 1};
    gravity.kernel()(p.targets.data(), 1, p.j[7].data(), p.nj[7], &f);
    long double right[5] = {0};
    sum(p.targets[0], p.j[7], right);
    const double error = static_cast<double>(std::fabs(f.phi - 1 - right[3]) / -right[3]);
    check(error < 1e-6 && f.a[0] != 0, "a force with other names", error);
}

/* Clusters far away: superparticles with moments of their particles, by each form, against the particles' own sum. */
void quadrupoles(const sapporo_fdps::settings &s)
{
    std::vector<superparticle_quad> super;
    std::vector<particle> j(1), all, targets(5);
    for (int k = 0; k < 30; k++) {
        const vec<double> at = {6 + 3 * draw(), 5 * draw() - 10, 8 * draw()};
        std::vector<particle> own;
        superparticle_quad one = {0, {0, 0, 0}, {0, 0, 0, 0, 0, 0}};
        for (int n = 0; n < 20; n++) {
            const particle p = {draw(), {at.x + 0.5 * draw(), at.y + 0.2 * draw(), at.z + draw()}, {0, 0, 0}, 0};
            own.push_back(p);
            all.push_back(p);
            one.mass += p.mass;
            one.pos.x += p.mass * p.pos.x, one.pos.y += p.mass * p.pos.y, one.pos.z += p.mass * p.pos.z;
        }
        one.pos.x /= one.mass, one.pos.y /= one.mass, one.pos.z /= one.mass;
        for (std::size_t n = 0; n < own.size(); n++) {
            const double m = own[n].mass, x = own[n].pos.x - one.pos.x, y = own[n].pos.y - one.pos.y,
                         z = own[n].pos.z - one.pos.z;
            one.quad.xx += m * x * x, one.quad.yy += m * y * y, one.quad.zz += m * z * z;
            one.quad.xy += m * x * y, one.quad.xz += m * x * z, one.quad.yz += m * y * z;
        }
        super.push_back(one);
    }
    j[0].mass = 3, j[0].pos = {0.5, 0.25, 0};
    for (std::size_t k = 0; k < targets.size(); k++) targets[k].pos = {draw(), draw(), draw()};
    sapporo_fdps::gravity gravity(s);
    std::vector<particle> f[3] = {targets, targets, targets};
    const particle *i[1] = {targets.data()}, *at[1] = {j.data()};
    const superparticle_quad *sp[1] = {super.data()};
    const int ni[1] = {5}, nj[1] = {1}, ns[1] = {30}, zero = 0, *at_j[1] = {&zero};
    std::vector<int> number(30);
    for (int k = 0; k < 30; k++) number[static_cast<std::size_t>(k)] = k;
    const int *at_s[1] = {number.data()};
    for (int form = 0; form < 3; form++) {
        std::vector<particle> &to = f[form];
        for (std::size_t k = 0; k < to.size(); k++) to[k].acc = {0, 0, 0}, to[k].pot = 0;
        particle *rows[1] = {to.data()};
        int status = 0;
        if (form == 0) {
            gravity.kernel()(targets.data(), 5, j.data(), 1, to.data());
            gravity.kernel()(targets.data(), 5, super.data(), 30, to.data());
        } else if (form == 1) {
            status = gravity.dispatch()(0, 1, i, ni, at, nj, sp, ns);
        } else {
            status = gravity.dispatch_index()(0, 0, i, ni, at_j, nj, at_s, ns, j.data(), 1, super.data(), 30, true);
            status |= gravity.dispatch_index()(0, 1, i, ni, at_j, nj, at_s, ns, j.data(), 1, super.data(), 30, false);
        }
        if (form > 0) status |= gravity.retrieve()(0, 1, ni, rows);
        double worst = 0;
        for (std::size_t k = 0; k < to.size(); k++) {
            long double right[5] = {0};
            sum(targets[k], j, right);
            sum(targets[k], all, right);
            const double error = static_cast<double>(std::fabs(to[k].acc.x - right[0]) / right[4]);
            if (!(error <= worst)) worst = error;
            const double of_pot = static_cast<double>(std::fabs((to[k].pot - right[3]) / right[3]));
            if (!(of_pot <= worst)) worst = of_pot;
        }
        check(status == 0 && worst < 1e-4, "quadrupoles", worst); /* masses alone: 1e-3 */
    }
}

/* A particle with softening and a floor of its own. */
struct soft_particle : particle {
    float own2;
    double r_out;
    double getFloor() const { return r_out; }
    float getEps2() const { return own2; }
};

double floor_of(const soft_particle &p) { return p.r_out; }

/* Softening of targets, floors and the gravitational constant, by each form. */
void own_softening(sapporo_fdps::settings s)
{
    const int n = 60, walks = 3, ni[3] = {20, 0, 35}, nj[3] = {60, 7, 31};
    std::vector<soft_particle> all;
    std::vector<int> number;
    for (int k = 0; k < n; k++) {
        soft_particle one = soft_particle();
        one.mass = draw();
        one.pos = {draw(), draw(), draw()};
        one.own2 = static_cast<float>(k % 3 * 0.01);
        one.r_out = k % 4 * 0.1;
        all.push_back(one);
        number.push_back(k);
    }
    s.gravitational_constant = 4.3e-3;
    sapporo_fdps::gravity gravity(s);
    const soft_particle *const of[3] = {all.data(), all.data(), all.data() + 20}, *i[3] = {of[0], of[1], of[2]},
                               *j[3] = {all.data(), all.data(), all.data()};
    const int *at[3] = {number.data(), number.data(), number.data()};
    for (int form = 0; form < 3; form++) {
        std::vector<particle> f(static_cast<std::size_t>(n), particle());
        particle *to[3] = {f.data(), f.data(), f.data() + 20};
        int status = 0;
        for (int w = 0; w < walks && form == 0; w++) gravity.kernel()(i[w], ni[w], j[w], nj[w], to[w]);
        if (form == 1) status = gravity.dispatch()(0, walks, i, ni, j, nj);
        if (form == 2) status = gravity.dispatch_index()(0, walks, i, ni, at, nj, all.data(), n, true);
        if (form > 0) status |= gravity.retrieve()(0, walks, ni, to);
        double worst = 0;
        for (int w = 0; w < walks; w++)
            for (int k = 0; k < ni[w]; k++) {
                long double right[5] = {0};
                sum(of[w][k], std::vector<soft_particle>(j[w], j[w] + nj[w]), right, of[w][k].own2, of[w][k].r_out);
                const double acc = static_cast<double>(std::fabs(to[w][k].acc.z / 4.3e-3L - right[2]) / right[4]),
                             pot = static_cast<double>(std::fabs(to[w][k].pot / 4.3e-3L / right[3] - 1));
                if (!(acc <= worst)) worst = acc;
                if (!(pot <= worst)) worst = pot;
            }
        check(status == 0 && worst < 2e-6, "softening of targets, floors, and G", worst);
    }
}

/* A particle that looks for neighbours. */
struct searcher : particle {
    double radius;
    long n_ngb;
    double getRSearch() const { return radius; }
};

/* Walks of searchers whose superparticles lie among them. */
struct search {
    std::vector<searcher> all;
    std::vector<superparticle_quad> super;
    std::vector<const searcher *> i, j;
    std::vector<const superparticle_quad *> s;
    std::vector<int> ni, nj, ns, number;
    std::vector<const int *> at_j, at_s;
};

const int walks = 25, most_targets = 30;

void make_search(search &p)
{
    const int n = 400, nsuper = 12;
    for (int k = 0; k < n; k++) {
        searcher one = searcher();
        one.mass = draw() / n;
        one.pos = {2 + draw(), draw(), draw()};
        one.radius = 0.4 * draw() * draw();
        p.all.push_back(one);
        p.number.push_back(k);
    }
    for (int k = 0; k < nsuper; k++) {
        const superparticle_quad one = {draw() / nsuper, {2 + draw(), draw(), draw()}, {0, 0, 0, 0, 0, 0}};
        p.super.push_back(one);
    }
    for (int w = 0; w < walks; w++) {
        p.i.push_back(p.all.data() + w * 9);
        p.ni.push_back(w == 3 ? 0 : 1 + w % most_targets);
        p.j.push_back(p.all.data() + w * 7);
        p.nj.push_back(w == 4 ? 0 : 200 - 3 * w);
        p.s.push_back(p.super.data());
        p.ns.push_back(w % (nsuper + 1));
        p.at_j.push_back(p.number.data() + w * 7);
        p.at_s.push_back(p.number.data());
    }
}

/* The number of searchers of walk w within the larger radius of target k, and the potential of all sources. */
long count_of(const search &p, std::size_t w, int k, long double *pot)
{
    const searcher &i = p.i[w][k];
    long count = 0;
    long double right[5] = {0};
    sum(i, std::vector<searcher>(p.j[w], p.j[w] + p.nj[w]), right);
    sum(i, std::vector<superparticle_quad>(p.s[w], p.s[w] + p.ns[w]), right);
    for (int n = 0; n < p.nj[w]; n++) {
        const searcher &j = p.j[w][n];
        const long double x = j.pos.x - i.pos.x, y = j.pos.y - i.pos.y, z = j.pos.z - i.pos.z,
                          h = i.radius > j.radius ? i.radius : j.radius;
        count += x * x + y * y + z * z < h * h;
    }
    *pot = right[3];
    return count;
}

/* A force that keeps its neighbours. */
struct found : searcher {
    std::vector<const searcher *> who;
};
struct add_found : sapporo_fdps::add_with_counts {
    static const bool neighbours = true;
    static void add_neighbour(found &f, const searcher &i, const searcher &j)
    {
        if (&i != &j) f.who.push_back(&j);
    }
};

/*
 * Neighbours by name: those within the larger radius, in the order of the list, but for the target itself.  Narrow:
 * targets of a list lie in a thin slab, most sources are out of reach, and a few sources of long radii are not.
 */
void names(bool narrow)
{
    search p;
    make_search(p);
    if (narrow) {
        for (searcher &one : p.all) one.radius *= 0.1;
        for (std::size_t k = 5; k < p.all.size(); k += 40) p.all[k].radius = 0.7;
        std::sort(p.all.begin(), p.all.end(), [](const searcher &a, const searcher &b) { return a.pos.x < b.pos.x; });
    }
    sapporo_fdps::gravity_with<add_found> gravity(eps2);
    long wrong = 0, all = 0;
    for (std::size_t w = 0; w < p.i.size(); w++) {
        std::vector<found> f(most_targets, found());
        gravity.kernel()(p.i[w], p.ni[w], p.j[w], p.nj[w], f.data());
        gravity.kernel()(p.i[w], p.ni[w], p.s[w], p.ns[w], f.data());
        for (int k = 0; k < p.ni[w]; k++) {
            const searcher &i = p.i[w][k];
            const std::vector<const searcher *> &who = f[static_cast<std::size_t>(k)].who;
            std::size_t at = 0;
            long own = 0;
            for (int n = 0; n < p.nj[w]; n++) {
                const searcher &j = p.j[w][n];
                const double x = j.pos.x - i.pos.x, y = j.pos.y - i.pos.y, z = j.pos.z - i.pos.z,
                             h = i.radius > j.radius ? i.radius : j.radius;
                own += &i == &j;
                if (&i == &j || !(x * x + y * y + z * z < h * h)) continue;
                wrong += at >= who.size() || who[at] != &j;
                at++;
            }
            wrong += at != who.size() || f[static_cast<std::size_t>(k)].n_ngb != static_cast<long>(at) + own;
            all += static_cast<long>(at);
        }
    }
    check(wrong == 0 && all > 300, narrow ? "neighbours by name, few in reach" : "neighbours by name",
          static_cast<double>(all));
}

/* Numbers of neighbours by each form; form 3: multi-walk with particles alone. */
void neighbours(const sapporo_fdps::settings &s)
{
    search p;
    make_search(p);
    const std::size_t room = static_cast<std::size_t>(walks) * most_targets;
    sapporo_fdps::gravity_with_counts gravity(s);
    for (int form = 0; form < 4; form++) {
        std::vector<searcher> f(room, searcher());
        std::vector<searcher *> to;
        int status = 0;
        long wrong = 0, found = 0;
        double worst = 0;
        for (int w = 0; w < walks; w++) to.push_back(f.data() + w * most_targets);
        for (std::size_t k = 0; k < room; k++) f[k].n_ngb = 5;
        if (form == 0)
            for (std::size_t w = 0; w < p.i.size(); w++) {
                gravity.kernel()(p.i[w], p.ni[w], p.j[w], p.nj[w], to[w]);
                gravity.kernel()(p.i[w], p.ni[w], p.s[w], p.ns[w], to[w]);
            }
        if (form == 1)
            status =
                gravity.dispatch()(0, walks, p.i.data(), p.ni.data(), p.j.data(), p.nj.data(), p.s.data(), p.ns.data());
        if (form == 2)
            status = gravity.dispatch_index()(0, walks, p.i.data(), p.ni.data(), p.at_j.data(), p.nj.data(),
                                              p.at_s.data(), p.ns.data(), p.all.data(), static_cast<int>(p.all.size()),
                                              p.super.data(), static_cast<int>(p.super.size()), true);
        if (form == 3) {
            p.ns.assign(p.ns.size(), 0);
            status = gravity.dispatch()(0, walks, p.i.data(), p.ni.data(), p.j.data(), p.nj.data());
        }
        if (form > 0) status |= gravity.retrieve()(0, walks, p.ni.data(), to.data());
        for (std::size_t w = 0; w < p.i.size(); w++)
            for (int k = 0; k < p.ni[w]; k++) {
                long double pot;
                const long count = count_of(p, w, k, &pot);
                wrong += to[w][k].n_ngb != 5 + count;
                found += count;
                const double error = static_cast<double>(std::fabs(to[w][k].pot - pot) / (1e-6L - pot));
                if (!(error <= worst)) worst = error;
            }
        check(status == 0 && wrong == 0 && found > 300 && worst < 1e-6, "numbers of neighbours", worst);
    }
    searcher lost = searcher();
    searcher *at[1] = {&lost};
    const int one = 1;
    const int status = gravity.retrieve()(7, 1, &one, at);
    check(status < 0 && lost.n_ngb == -1 && std::isnan(lost.pot), "no numbers without dispatch", status);
}

} // namespace

int main(int argc, char **argv)
{
    const char *const backend = argc > 1 ? argv[1] : "cpu";
    sapporo_fdps::settings s = sapporo_fdps::settings();
    s.eps2 = eps2;
    s.backend = std::strcmp(backend, "cuda") == 0     ? SAPPORO_BACKEND_CUDA
                : std::strcmp(backend, "opencl") == 0 ? SAPPORO_BACKEND_OPENCL
                                                      : SAPPORO_BACKEND_CPU;
    if (sapporo_device_count(s.backend) < 1) return 1;
    const problem p = new_problem(120, 900, 70), q = new_problem(120, 500, 40);
    if (s.backend == SAPPORO_BACKEND_CPU) {
        kernels(p, 1e-5);
        other_names(p);
        names(false);
        names(true);
    }
    quadrupoles(s);
    neighbours(s);
    own_softening(s);
    multi_walk(p, q, s, 1e-5);
    multi_walk_index(p, q, s, 3e-5); /* positions are those in the whole system */
    s.precision = SAPPORO_DS;
    multi_walk(p, q, s, 1e-6);
    multi_walk_index(q, p, s, 1e-6);
    return failures ? 2 : 0;
}
