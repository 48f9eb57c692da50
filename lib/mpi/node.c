/* node.c - what the machines of all ranks have (node.h). */
#define _GNU_SOURCE /* sched_getaffinity */

#include "mpi/node.h"

#include <math.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* What each rank tells of itself. */
enum { NAME, CORES, ALL_CORES, SHARE, FACTS };

/* A number for the name of this rank's machine. */
static double name_of_machine(void)
{
    char name[MPI_MAX_PROCESSOR_NAME] = "";
    int length;
    uint32_t sum = 2166136261u; /* FNV-1a, whose 32 bits a double holds */
    if (MPI_Get_processor_name(name, &length) != MPI_SUCCESS) name[0] = '\0';
    for (const char *c = name; *c; c++) sum = (sum ^ (unsigned char)*c) * 16777619u;
    return sum;
}

/* Cores of the affinity mask; 0: unknown. */
static int cores_of_mask(void)
{
#ifdef __linux__
    enum { CPUS = 8192 };
    unsigned long set[CPUS / (8 * sizeof(unsigned long))] = {0};
    if (sched_getaffinity(0, sizeof set, (cpu_set_t *)(void *)set)) return 0;
    return CPU_COUNT_S(sizeof set, (cpu_set_t *)(void *)set);
#else
    return 0;
#endif
}

static int ranks_beside(const struct sap_link *l, int rank)
{
    int n = 0;
    for (int r = 0; r < l->size; r++) n += sap_link_field(l, r, NAME) == sap_link_field(l, rank, NAME);
    return n;
}

/*
 * Whether MPI has bound a rank so that cores are left idle, or that a GPU's helpers fight for its core.  MPI binds one
 * or two ranks unless it is told not to; more ranks than that on all cores of a CPU are bound because the user wants
 * it.
 */
static int is_bound(const struct sap_link *l, int rank, int on_cpu)
{
    const double cores = sap_link_field(l, rank, CORES), all = sap_link_field(l, rank, ALL_CORES);
    if (cores != 1 || all < 2) return 0;
    const int ranks = ranks_beside(l, rank);
    return !on_cpu || ranks <= 2 || ranks < all;
}

/* Warns of the first rank that is bound, on that rank. */
static void warn_bound(const struct sap_link *l, int on_cpu)
{
    static atomic_int said; /* state of the process (base/process.h) */
    char text[SAP_LINK_TEXT];
    int first = 0, bound = 0;
    for (int r = l->size - 1; r >= 0; r--)
        if (is_bound(l, r, on_cpu)) first = r, bound++;
    if (bound == 0 || l->rank != first || atomic_exchange(&said, 1)) return;
    (void)snprintf(
        text, sizeof text,
        "MPI has bound rank %d to one of %.0f cores (%d of %d ranks are), so the library has one thread there: "
        "start the program with mpirun --bind-to none (MPICH: mpirun -bind-to none; Slurm: srun "
        "--cpu-bind=none)",
        first, sap_link_field(l, first, ALL_CORES), bound, l->size);
    sapporo_log(SAPPORO_LOG_WARNING, text);
}

int sap_node_meet(struct sap_link *l, int on_cpu, double share, double *least)
{
    static const char *const name[FACTS] = {NULL};
    const double field[FACTS] = {[NAME] = name_of_machine(),
                                 [CORES] = cores_of_mask(),
                                 [ALL_CORES] = (double)sysconf(_SC_NPROCESSORS_ONLN),
                                 [SHARE] = share};
    const int status = sap_link_compare(l, SAPPORO_OK, FACTS, field, name);
    if (status) return status;
    warn_bound(l, on_cpu);
    if (!least) return SAPPORO_OK;
    *least = INFINITY;
    for (int r = 0; r < l->size; r++) *least = fmin(*least, sap_link_field(l, r, SHARE) / ranks_beside(l, r));
    return SAPPORO_OK;
}
