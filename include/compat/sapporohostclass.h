/*
 * sapporohostclass.h - the C++ class `sapporo` of Sapporo2, over sapporo.h.
 *
 * Programs that were written for Sapporo2's own class compile with this header and link -lsapporo.  The class completes
 * the type `struct sapporo` of sapporo.h, whose handles are never looked into, so both headers go together.
 *
 * An object serves one thread at a time.  Functions that return int return 0, or -1 after a message of the library.
 * After an error, results are NaN and nearest neighbours -1.  docs/starsmasher.md says what differs from Sapporo2.
 */
#ifndef SAPPORO_COMPAT_SAPPOROHOSTCLASS_H
#define SAPPORO_COMPAT_SAPPOROHOSTCLASS_H

/* Programs rely on what Sapporo2's header includes. */
#include <math.h>
#include <sys/time.h>

#include <algorithm>
#include <cassert>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <iostream>
#include <limits>
#include <map>
#include <string>
#include <vector>

#include "sapporo.h"

/* Sapporo2's header has this line, and programs rely on it. */
using namespace std;

#ifndef NPIPES
#define NPIPES 16384
#endif
#ifndef NGB_PB
#define NGB_PB 256
#endif

/* Orders and precisions of open. */
enum { GRAPE5 = 0, FOURTH, SIXTH, EIGHT };
enum { FLOAT = 0, DOUBLESINGLE, DOUBLE };

struct sapporo {
  public:
    sapporo() : context_(NULL), job_(NULL), order_(4), at_rest_(false), time_(0) {}
    ~sapporo() { close(); }

    /*
     * Opens devices: nprocs > 0: devices[0] to devices[nprocs - 1]; 0: as SAPPORO_DEVICES says, or one device; < 0: the
     * first -nprocs devices.  kernelFile is ignored: the library has its kernels.  precision -1: SAPPORO_PRECISION, or
     * the default of sapporo.h.
     */
    int open(std::string kernelFile, int *devices, int nprocs = 1, int order = FOURTH, int precision = -1)
    {
        (void)kernelFile;
        if (context_) return refuse("open", "the object is open already; close it first");
        if (order < GRAPE5 || order > EIGHT)
            return refuse("open", "order is " + text_of(order) + "; it may be 0 to 3: GRAPE5, FOURTH, SIXTH, EIGHT");
        if (precision < -1 || precision > DOUBLE)
            return refuse("open", "precision is " + text_of(precision) +
                                      "; it may be 0 to 2: FLOAT, DOUBLESINGLE, DOUBLE; or -1, the default");
        sapporo_options options = sapporo_options();
        std::vector<int> first;
        for (int k = 0; k < -nprocs && k < 1024; k++) first.push_back(k);
        options.size = sizeof options;
        options.order = 2 * order + 2;
        options.precision = (sapporo_precision)(precision + 1);
        if (nprocs > 0 && devices) options.devices = devices, options.ndevices = nprocs;
        if (!first.empty()) options.devices = &first[0], options.ndevices = (int)first.size();
        if (sapporo_open(&options, &context_) < 0) return -1;
        order_ = options.order;
        return 0;
    }

    int close()
    {
        sapporo_force_free(job_);
        sapporo_close(context_);
        context_ = NULL;
        job_ = NULL;
        at_rest_ = false;
        time_ = 0;
        stored_.clear();
        return 0;
    }

    int get_n_pipes() { return NPIPES; }

    /* Forces predict the j-particles to the time ti. */
    int set_time(double ti)
    {
        time_ = ti;
        return rest(false);
    }

    /* Forces use the j-particles as they were stored. */
    int set_no_time() { return rest(true); }

    /*
     * Stores a j-particle.  GRAPE5 and FOURTH: k18, j6 and a2 are snap/18, jerk/6 and acc/2, as in GRAPE-6 calls. SIXTH
     * and EIGHT: a2, j6, snp and crk are the full derivatives.  NULL: zero.  dtj and eps play no part in forces.
     */
    int set_j_particle(int address, int index, double tj, double dtj, double mass, double k18[3], double j6[3],
                       double a2[3], double v[3], double x[3], double snp[3], double crk[3], double eps)
    {
        (void)dtj;
        if (!context_) return refuse("set_j_particle", not_open());
        if (address < 0 || address >= 1 << 30)
            return refuse("set_j_particle", "address is " + text_of(address) + "; it may be 0 to 1073741823");
        const bool full = order_ > 4;
        const double *const from[6] = {x, v, a2, j6, full ? snp : k18, full ? crk : NULL};
        const double factor[6] = {1, 1, 2, 6, 18, 1};
        std::vector<kept> &block = stored_[address / BLOCK];
        if (block.empty()) block.resize(BLOCK);
        kept &own = block[(size_t)(address % BLOCK)] = kept();
        for (int k = 0; k < 6 && (full || k < 5); k++)
            for (int axis = 0; axis < 3 && from[k]; axis++)
                own.particle.derivative[k][axis] = from[k][axis] * (full ? 1 : factor[k]);
        own.particle.mass = mass;
        own.particle.time = tj;
        own.particle.index = index;
        own.eps = eps;
        own.there = true;
        return send(address, own);
    }

    /*
     * Begins a force of the j-particles at addresses 0 to nj - 1 on ni particles.  Pairs of equal index are skipped.
     * aold is the acceleration of the i-particles in SIXTH and EIGHT, j6old their jerk in EIGHT.  eps2 is the squared
     * softening of all, eps2_i that of each beside it; h2 are squared radii of lists.  May be NULL: index, vi, aold,
     * j6old, phiold, h2, eps2_i.
     */
    void startGravCalc(int nj, int ni, int index[], double xi[][3], double vi[][3], double aold[][3], double j6old[][3],
                       double phiold[], double eps2, double h2[], double eps2_i[])
    {
        sapporo_request r = sapporo_request();
        (void)phiold;
        sapporo_force_free(job_);
        job_ = NULL;
        r.size = sizeof r;
        r.nj = nj;
        r.ni = ni;
        r.x.base = xi;
        r.v.base = order_ > 2 ? vi : NULL;
        r.a.base = order_ > 4 ? aold : NULL;
        r.jerk.base = order_ > 6 ? j6old : NULL;
        r.index.base = index;
        r.eps2 = eps2;
        r.eps2_i.base = eps2_i;
        r.h2.base = h2;
        r.want = SAPPORO_ALLOW_EMPTY;
        if (context_)
            sapporo_force_begin(context_, &r, &job_);
        else
            refuse("startGravCalc", not_open());
    }

    /*
     * Waits for the force that was begun, whose nj and ni are to be given again.  May be NULL: all results.  jerk is
     * written from FOURTH on, snp from SIXTH on, crk in EIGHT alone.  nnbindex and dsmin_i are the index of the nearest
     * neighbour and its squared distance without softening.  ngb: lists will be asked for; they can be in any case.
     */
    int getGravResults(int nj, int ni, int index[], double xi[][3], double vi[][3], double eps2, double h2[],
                       double acc[][3], double jerk[][3], double snp[][3], double crk[][3], double pot[],
                       int nnbindex[], double dsmin_i[], bool ngb)
    {
        sapporo_result r = sapporo_result();
        (void)nj, (void)index, (void)xi, (void)vi, (void)eps2, (void)h2, (void)ngb;
        r.size = sizeof r;
        r.acc = acc;
        r.jerk = order_ > 2 ? jerk : NULL;
        r.snap = order_ > 4 ? snp : NULL;
        r.crackle = order_ > 6 ? crk : NULL;
        r.pot = pot;
        r.nearest = nnbindex;
        r.nearest_r2 = dsmin_i;
        return sapporo_force_end(job_, ni, &r) < 0 ? -1 : 0;
    }

    /* Lists of the last force: read_ngb_list needs not be called. */
    int fetch_ngb_list_from_device(int) { return job_ ? 0 : -1; }
    int read_ngb_list(int) { return job_ ? 0 : -1; }

    /* Returns 1 if the list is longer than maxlength; nblen is then its full length, and maxlength entries are there.
     */
    int get_ngb_list(int cluster_id, int ipipe, int maxlength, int &nblen, int nbl[])
    {
        (void)cluster_id;
        int n = 0;
        nblen = 0;
        const int status = sapporo_force_neighbours(job_, ipipe, maxlength, &n, nbl, &nblen);
        return status < 0 ? -1 : status == SAPPORO_TRUNCATED;
    }

    /* Forces and reading particles back predict by themselves. */
    void forcePrediction(int nj) { (void)nj; }

    void retrieve_predicted_j_particle(int addr, double &mass, double &id, double &eps2, double pos[3], double vel[3],
                                       double acc[3])
    {
        read(addr, 1, mass, id, eps2, pos, vel, acc, NULL);
    }

    /* acc and jrk are full values; pacc is what the order predicts, or acc. */
    void retrieve_j_particle_state(int addr, double &mass, double &id, double &eps2, double pos[3], double vel[3],
                                   double acc[3], double jrk[3], double ppos[3], double pvel[3], double pacc[3])
    {
        read(addr, 1, mass, id, eps2, ppos, pvel, pacc, NULL);
        read(addr, 0, mass, id, eps2, pos, vel, acc, jrk);
    }

  private:
    /* A j-particle as it was given. */
    struct kept {
        sapporo_particle particle;
        double eps;
        bool there;
    };
    enum { BLOCK = 1024 };
    typedef std::map<int, std::vector<kept>> blocks; /* of BLOCK addresses each, by number */

    struct sapporo *context_;
    sapporo_job *job_;
    int order_;
    bool at_rest_; /* all particles are stored at the time of the context, so none moves */
    double time_;
    blocks stored_;

    sapporo(const sapporo &);
    sapporo &operator=(const sapporo &);

    /* Prints why a call does nothing, where the library prints its errors; returns -1. */
    static int refuse(const char *call, const std::string &why)
    {
        sapporo_log(SAPPORO_LOG_ERROR, ("sapporo::" + (call + (": " + why))).c_str());
        return -1;
    }
    static const char *not_open() { return "the object is not open"; }
    static std::string text_of(int number)
    {
        char text[16];
        snprintf(text, sizeof text, "%d", number);
        return text;
    }

    int send(int address, const kept &own)
    {
        sapporo_particle p = own.particle;
        if (at_rest_) p.time = 0;
        return sapporo_set_particle(context_, address, &p) < 0 ? -1 : 0;
    }

    int rest(bool at_rest)
    {
        if (!context_) return refuse("set_time", not_open());
        const bool other = at_rest != at_rest_;
        int status = 0;
        at_rest_ = at_rest;
        for (blocks::const_iterator b = stored_.begin(); other && b != stored_.end(); ++b)
            for (int k = 0; k < BLOCK; k++)
                if (b->second[(size_t)k].there && send(b->first * BLOCK + k, b->second[(size_t)k])) status = -1;
        return sapporo_set_time(context_, at_rest ? 0 : time_) < 0 ? -1 : status;
    }

    void read(int address, int predicted, double &mass, double &id, double &eps2, double *pos, double *vel, double *acc,
              double *jrk)
    {
        sapporo_particle p;
        double *const to[4] = {pos, vel, acc, jrk};
        const blocks::const_iterator b = stored_.find(address / BLOCK);
        const kept *const own = b != stored_.end() && address >= 0 ? &b->second[(size_t)(address % BLOCK)] : NULL;
        const bool there = context_ && own && own->there;
        const bool read = there && (!predicted || sapporo_get_particle(context_, address, 1, &p) >= 0);
        if (there && !predicted) p = own->particle;
        mass = read ? p.mass : numeric_limits<double>::quiet_NaN();
        id = read ? p.index : -1;
        eps2 = read ? own->eps : numeric_limits<double>::quiet_NaN();
        for (int d = 0; d < 4; d++)
            for (int axis = 0; axis < 3 && to[d]; axis++)
                to[d][axis] = read ? p.derivative[d][axis] : numeric_limits<double>::quiet_NaN();
    }
};

#endif
