/*
 * irregular.c - NBODY6's irregular force: the neighbour force from each particle's list of neighbours.
 *
 * Many threads call set and set_list at the same time, for different particles.  Lists are stored by address, and
 * particles wait for the next force (waiting.c): the calls share no data but the locks of those.
 */
#include <limits.h>
#include <math.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "api/nbody6/nbody6.h"
#include "base/finite.h"
#include "base/fpenv.h"
#include "base/lock.h"

/* Addresses of the neighbours of one particle. */
struct neighbours {
    int *address;
    int n, room; /* n < 0: the list was refused or could not be stored */
};

/* The target particles of a force with their lists.  A target without a valid address or list gets address or length
 * -1.  The memory is kept for the next force. */
struct targets {
    int *address, *length;
    const int **list;
    int room;
};

static struct {
    sapporo *context;
    struct neighbours *of; /* [nmax] */
    int nmax, lmax;
    double computing; /* seconds since the last profile */
    long calls, forces, members;
    struct targets targets;
} irregular;

/* Held while opening, closing and computing forces.  Clients do not call these at the same time as set or set_list. */
static struct sap_lock lock = SAP_LOCK_INIT;

static void close_all(void)
{
    for (int k = 0; k < irregular.nmax; k++) free(irregular.of[k].address);
    free(irregular.of);
    free(irregular.targets.address);
    free(irregular.targets.length);
    free(irregular.targets.list);
    irregular.targets = (struct targets){0};
    sap_waiting_forget();
    sapporo_close(irregular.context);
    irregular.context = NULL;
    irregular.of = NULL;
    irregular.nmax = irregular.lmax = 0;
}

/* Opens a context on the engine of regular forces, which computes large blocks; if that fails, on the CPU. */
static sapporo *open_context(int rank)
{
    sapporo *const context = sap_nbody6_context(SAPPORO_BACKEND_AUTO, 4, SAPPORO_DS, rank);
    return context ? context : sap_nbody6_context(SAPPORO_BACKEND_CPU, 4, SAPPORO_DS, rank);
}

void sap_irregular_open(int nmax, int lmax, int rank)
{
    sap_lock(&lock);
    if (irregular.context) {
        sap_nbody6_tell("irregular force: it is open already; particles and lists are kept");
    } else if (nmax < 0 || lmax < 0) {
        sap_nbody6_tell("irregular force: it cannot be opened for %d particles with lists of %d", nmax, lmax);
    } else {
        irregular.of = calloc((size_t)nmax + 1, sizeof *irregular.of);
        irregular.nmax = irregular.of ? nmax : 0;
        irregular.lmax = lmax;
        if (irregular.of) irregular.context = open_context(rank);
        if (!irregular.of) sap_nbody6_tell("irregular force: no memory for %d particles", nmax);
        if (!irregular.context) close_all();
    }
    sap_unlock(&lock);
}

void sap_irregular_close(void)
{
    sap_lock(&lock);
    if (!irregular.context) sap_nbody6_tell("irregular force: it is not open");
    close_all();
    sap_unlock(&lock);
}

/* Whether the force is open and the address valid; reports an error in the name of `what`. */
static int known(const char *what, int address)
{
    if (!irregular.context) {
        sap_nbody6_tell("irregular force: open it before %s", what);
        return 0;
    }
    if (address >= 0 && address < irregular.nmax) return 1;
    if (address < 0)
        sap_nbody6_tell("irregular force: %s of a particle whose number is below 1", what);
    else
        sap_nbody6_tell("irregular force: %s of particle %d, which is none of 1 to %d", what, address + 1,
                        irregular.nmax);
    return 0;
}

/* Words whose sign bits tell whether the numbers are 0, denormal, >= 2^1020 or not finite. */
static inline pair extremes(pair x)
{
    static const uint64_t if_large = (UINT64_C(2048) - 1023 - 1020) << 52, one = UINT64_C(1) << 52;
    return carries(x, if_large) | ((x & (pair){finite_exponent, finite_exponent}) - (pair){one, one});
}

/* Whether the products of all these numbers with 6 are normal numbers. */
static inline int are_normal(const double *a2, const double *j6)
{
    return !carried(extremes((pair)two_at(a2)) | extremes((pair)two_at(j6)) | extremes(pair_of(a2[2], j6[2])));
}

/* Converts acc/2 and jerk/6 to full derivatives. */
static inline void put_full(double *a, const double *a2, double *j, const double *j6)
{
    for (int axis = 0; axis < 3; axis++) {
        a[axis] = 2 * a2[axis];
        j[axis] = 6 * j6[axis];
    }
}

/*
 * Like put_full in the library's floating-point environment, for numbers whose products could trap in the caller's.  It
 * is not inlined, because the compiler would move the products out of that environment.
 */
static __attribute__((noinline)) void put_extreme(double *a, const double *a2, double *j, const double *j6)
{
    const sap_fpenv caller = sap_fp_enter();
    put_full(a, a2, j, j6);
    sap_fp_leave(caller);
}

void sap_irregular_set(int address, const double *x, const double *v, const double *a2, const double *j6, double mass,
                       double time)
{
    double derivative[4][3];
    if (!known("set_jp", address)) return;
    memcpy(derivative[0], x, sizeof derivative[0]);
    memcpy(derivative[1], v, sizeof derivative[1]);
    if (are_normal(a2, j6))
        put_full(derivative[2], a2, derivative[3], j6);
    else
        put_extreme(derivative[2], a2, derivative[3], j6);
    sap_waiting_put(irregular.context, address, (const double(*)[3])derivative, mass, time);
}

/* Makes room for n neighbours and some more, because lists change often; returns 0 if memory is short. */
static int reserve(struct neighbours *of, int n)
{
    if (n <= of->room) return 1;
    const int room = n < INT_MAX / 2 ? n + n / 2 + 8 : INT_MAX;
    int *more = realloc(of->address, (size_t)room * sizeof *more);
    if (!more) return 0;
    of->address = more;
    of->room = room;
    return 1;
}

void sap_irregular_set_list(int address, const int *nblist)
{
    if (!known("set_list", address)) return;
    struct neighbours *const of = &irregular.of[address];
    const int n = nblist ? nblist[0] : -1;
    of->n = -1;
    if (n < 0 || n > irregular.lmax)
        sap_nbody6_tell("irregular force: a list of %d, where there are to be %d at most", n, irregular.lmax);
    else if (!reserve(of, n))
        sap_nbody6_tell("irregular force: no memory for a list of %d", n);
    else
        of->n = n;
    for (int k = 0; k < of->n; k++) of->address[k] = (int)((unsigned)nblist[1 + k] - 1U); /* no overflow */
}

void sap_irregular_time(double time)
{
    sap_lock(&lock);
    if (irregular.context) (void)sapporo_set_time(irregular.context, time);
    sap_unlock(&lock);
}

static int reserve_targets(int ni)
{
    struct targets *const t = &irregular.targets;
    if (ni <= t->room) return 1;
    int *const address = realloc(t->address, (size_t)ni * sizeof *address);
    if (address) t->address = address;
    int *const length = realloc(t->length, (size_t)ni * sizeof *length);
    if (length) t->length = length;
    const int **const list = realloc(t->list, (size_t)ni * sizeof *list);
    if (list) t->list = list;
    if (!address || !length || !list) return 0;
    t->room = ni;
    return 1;
}

/* Collects addresses and lists of the target particles in irregular.targets; 0: out of memory. */
static int gather(int ni, const int *number)
{
    const struct targets *const t = &irregular.targets;
    if (!reserve_targets(ni)) return 0;
    for (int i = 0; i < ni; i++) {
        const int address = sap_nbody6_address(number + i), good = address >= 0 && address < irregular.nmax;
        t->address[i] = good ? address : -1;
        t->length[i] = good ? irregular.of[address].n : -1;
        t->list[i] = good ? irregular.of[address].address : NULL;
        irregular.members += t->length[i] > 0 ? t->length[i] : 0;
    }
    return 1;
}

static int compute(int ni, const int *number, double (*acc)[3], double (*jerk)[3], int *nearest)
{
    const sapporo_result result = {.size = sizeof result, .acc = acc, .jerk = jerk, .nearest = nearest};
    sap_waiting_store(irregular.context);
    if (!gather(ni, number)) return SAPPORO_ERR_MEMORY;
    const sapporo_neighbour_request request = {.size = sizeof request,
                                               .ni = ni,
                                               .address = irregular.targets.address,
                                               .list = irregular.targets.list,
                                               .length = irregular.targets.length};
    return sapporo_neighbour_force(irregular.context, &request, &result);
}

void sap_irregular_compute(int ni, const int *number, double (*acc)[3], double (*jerk)[3], int *nearest)
{
    if (ni <= 0) return;
    sap_lock(&lock);
    const sap_fpenv caller = sap_fp_enter();
    const double start = sap_nbody6_clock();
    int status = SAPPORO_ERR_CLOSED;
    if (irregular.context && number)
        status = compute(ni, number, acc, jerk, nearest);
    else
        sap_nbody6_tell("irregular force: %s", number ? "open it before a force" : "no particles are named");
    for (int i = 0; i < ni && status < 0; i++) {
        for (int axis = 0; axis < 3 && acc; axis++) acc[i][axis] = NAN;
        for (int axis = 0; axis < 3 && jerk; axis++) jerk[i][axis] = NAN;
    }
    for (int i = 0; i < ni && nearest; i++)
        nearest[i] = status < 0 ? 0 : nearest[i] + 1; /* numbers start at 1; 0: none */
    irregular.computing += sap_nbody6_clock() - start;
    irregular.calls++;
    irregular.forces += ni;
    sap_fp_leave(caller);
    sap_unlock(&lock);
}

void sap_irregular_profile(int rank)
{
    sap_lock(&lock);
    const sap_fpenv caller = sap_fp_enter();
    if (irregular.calls > 0) {
        const double seconds = irregular.computing > 0 ? irregular.computing : 1e-9;
        sap_nbody6_report("[R.%d] irregular force: %.3f s, %ld calls on %ld particles", rank, irregular.computing,
                          irregular.calls, irregular.forces);
        sap_nbody6_report("[R.%d] %.3e interactions/s, <NB>: %.1f", rank, (double)irregular.members / seconds,
                          (double)irregular.members / (double)irregular.forces);
    }
    irregular.computing = 0;
    irregular.calls = irregular.forces = irregular.members = 0;
    sap_fp_leave(caller);
    sap_unlock(&lock);
}
