/*
 * fdps_nbody.cc - a cold sphere by FDPS, with the forces of one kernel: test/clients/fdps.sh compiles it.
 *
 *     fdps_nbody N STEPS [GROUP [WALKS]]      prints the relative error of the energy and the seconds of the steps
 *
 * GROUP: most targets of a list, 64; WALKS: lists of a batch, 200.
 *
 * FORM 0: a loop in double in this file; 1, 2, 3: sapporo_fdps.hpp list by list, by multi-walk, by multi-walk with
 * indices; 4: GRAPE-5 calls.  QUADRUPOLE: trees with second moments, which forms 0 and 4 do not have.
 */
#include <particle_simulator.hpp>

#include <cstdio>
#include <cstdlib>
#include <vector>

#include "sapporo_fdps.hpp"
#if FORM == 4
#include "sapporo_g5.h"
#endif

static const double eps = 1.0 / 32;

struct star {
    PS::F64 mass, pot;
    PS::F64vec pos, vel, acc;
    PS::F64vec getPos() const { return pos; }
    void setPos(const PS::F64vec &to) { pos = to; }
    PS::F64 getCharge() const { return mass; }
    void copyFromFP(const star &from) { *this = from; }
    void copyFromForce(const star &force)
    {
        acc = force.acc;
        pot = force.pot;
    }
    void clear()
    {
        acc = 0.0;
        pot = 0.0;
    }
};

#if FORM == 0
struct kernel {
    template <class J> void operator()(const star *i, int ni, const J *j, int nj, star *force) const
    {
        for (int k = 0; k < ni; k++) {
            double ax = 0, ay = 0, az = 0, pot = 0;
            for (int n = 0; n < nj; n++) {
                const double x = j[n].pos.x - i[k].pos.x, y = j[n].pos.y - i[k].pos.y, z = j[n].pos.z - i[k].pos.z;
                const double u = 1 / std::sqrt(x * x + y * y + z * z + eps * eps), mu = j[n].mass * u, mu3 = mu * u * u;
                ax += mu3 * x, ay += mu3 * y, az += mu3 * z, pot -= mu;
            }
            force[k].acc += PS::F64vec(ax, ay, az);
            force[k].pot += pot;
        }
    }
};
#elif FORM == 4
struct kernel {
    template <class J> void operator()(const star *i, int ni, const J *j, int nj, star *force) const
    {
        const int device = PS::Comm::getThreadNum();
        std::vector<double> x(3 * static_cast<std::size_t>(ni + nj)), m(static_cast<std::size_t>(nj)), a(x.size()),
            p(x.size());
        double(*const xi)[3] = reinterpret_cast<double(*)[3]>(x.data()), (*const xj)[3] = xi + ni;
        double(*const acc)[3] = reinterpret_cast<double(*)[3]>(a.data());
        for (int k = 0; k < ni; k++) xi[k][0] = i[k].pos.x, xi[k][1] = i[k].pos.y, xi[k][2] = i[k].pos.z;
        for (int n = 0; n < nj; n++) {
            xj[n][0] = j[n].pos.x, xj[n][1] = j[n].pos.y, xj[n][2] = j[n].pos.z;
            m[static_cast<std::size_t>(n)] = j[n].mass;
        }
        g5_set_xmjMC(device, 0, nj, xj, m.data());
        g5_set_nMC(device, nj);
        g5_calculate_force_on_xMC(device, xi, acc, p.data(), ni);
        for (int k = 0; k < ni; k++) {
            force[k].acc += PS::F64vec(acc[k][0], acc[k][1], acc[k][2]);
            force[k].pot -= p[static_cast<std::size_t>(k)];
        }
    }
};
#endif

#ifdef QUADRUPOLE
typedef PS::TreeForForceLong<star, star, star>::Quadrupole tree_type;
#else
typedef PS::TreeForForceLong<star, star, star>::Monopole tree_type;
#endif

static int walks = 200;

static void compute(tree_type &tree, sapporo_fdps::gravity &gravity, PS::ParticleSystem<star> &stars,
                    PS::DomainInfo &domain)
{
#if FORM == 1
    tree.calcForceAllAndWriteBack(gravity.kernel(), gravity.kernel(), stars, domain);
#elif FORM == 2
    tree.calcForceAllAndWriteBackMultiWalk(gravity.dispatch(), gravity.retrieve(), 1, stars, domain, walks);
#elif FORM == 3
    tree.calcForceAllAndWriteBackMultiWalkIndex(gravity.dispatch_index(), gravity.retrieve(), 1, stars, domain, walks);
#else
    (void)gravity;
    tree.calcForceAllAndWriteBack(kernel(), kernel(), stars, domain);
#endif
}

static double energy(const PS::ParticleSystem<star> &stars)
{
    double sum = 0;
    for (int k = 0; k < stars.getNumberOfParticleLocal(); k++) {
        const star &s = stars[k];
        sum += 0.5 * s.mass * (s.vel * s.vel + s.pot + s.mass / eps); /* without a star's own potential */
    }
    return sum;
}

static double draw(unsigned long long &state)
{
    state = state * 6364136223846793005ULL + 1442695040888963407ULL;
    return static_cast<double>(state >> 11) / 9007199254740992.0;
}

int main(int argc, char **argv)
{
    const int n = argc > 1 ? std::atoi(argv[1]) : 1024, steps = argc > 2 ? std::atoi(argv[2]) : 64;
    const int group = argc > 3 ? std::atoi(argv[3]) : 64;
    const double dt = 1.0 / 128;
    walks = argc > 4 ? std::atoi(argv[4]) : walks;
    PS::Initialize(argc, argv);
    {
        PS::ParticleSystem<star> stars;
        PS::DomainInfo domain;
        tree_type tree;
        sapporo_fdps::gravity gravity(eps * eps);
        unsigned long long state = 1;
        stars.initialize();
        stars.setNumberOfParticleLocal(n);
        for (int k = 0; k < n; k++) {
            star &s = stars[k];
            s.mass = 1.0 / n;
            s.vel = 0.0;
            do s.pos = PS::F64vec(6 * draw(state) - 3, 6 * draw(state) - 3, 6 * draw(state) - 3);
            while (s.pos * s.pos >= 9);
        }
#if FORM == 4
        g5_open();
        g5_set_eps_to_all(eps);
#endif
        domain.initialize(0.3F);
        domain.decomposeDomainAll(stars);
        stars.exchangeParticle(domain);
        tree.initialize(n, 0.5F, 8, group);
        compute(tree, gravity, stars, domain);
        const double before = energy(stars), start = PS::GetWtime();
        for (int step = 0; step < steps; step++) {
            for (int k = 0; k < n; k++) stars[k].vel += 0.5 * dt * stars[k].acc, stars[k].pos += dt * stars[k].vel;
            compute(tree, gravity, stars, domain);
            for (int k = 0; k < n; k++) stars[k].vel += 0.5 * dt * stars[k].acc;
        }
        std::printf("energy error %.4e seconds %.3f\n", (energy(stars) - before) / before, PS::GetWtime() - start);
#if FORM == 4
        g5_close();
#endif
    }
    PS::Finalize();
    return 0;
}
