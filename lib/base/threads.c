/* threads.c - decides how many threads compute; see threads.h. */
#include "base/threads.h"

#include <stdatomic.h>

#include "base/cores.h"
#include "base/environment.h"
#include "base/process.h"
#include "base/team.h"

/* Functions of an OpenMP run time, if the program has one; the library does not need one. */
__attribute__((weak)) int omp_in_parallel(void);
__attribute__((weak)) int omp_get_max_threads(void);

/* First values of OMP_NUM_THREADS and OMP_THREAD_LIMIT, plus 1; 1: the variable has no number; 0: not read yet. */
static atomic_int threads_told, threads_most;

/* The number of threads in an OpenMP variable; 0: the variable is not set or not valid. */
static int read_number(const struct sap_variable_row *variable)
{
    char wrong[SAP_WRONG_ROOM];
    int n = 0;
    (void)sap_env_number(variable, &n, wrong);
    return n < SAP_TEAM_MOST ? n : SAP_TEAM_MOST;
}

/* Like read_number, but it reads the variable only once per process. */
static int number_of(const struct sap_variable_row *variable, atomic_int *known)
{
    int n = atomic_load_explicit(known, memory_order_relaxed) - 1;
    if (n >= 0) return n;
    n = read_number(variable);
    atomic_store_explicit(known, n + 1, memory_order_relaxed);
    return n;
}

static int smaller(int a, int b) { return a < b ? a : b; }

int sap_threads_default(void)
{
    const int limit = number_of(sap_variable_table.thread_limit, &threads_most);
    const int told = number_of(sap_variable_table.threads, &threads_told);
    const int of_program = omp_get_max_threads ? omp_get_max_threads() : told; /* respects omp_set_num_threads */
    int n = told > 0 && of_program > 0 ? of_program : sap_cores();
    if (of_program > 0) n = smaller(n, of_program);
    if (limit > 0) n = smaller(n, limit);
    return smaller(n, SAP_TEAM_MOST);
}

int sap_threads_now(int most)
{
    if (most <= 1 || sap_forked || (omp_in_parallel && omp_in_parallel()) || sap_team_inside()) return 1;
    return most;
}

int sap_threads_up_to(int most)
{
    if (most <= 1) return 1;
    const int all = sap_threads_default();
    return sap_threads_now(most < all ? most : all);
}

int sap_threads_few(int worth)
{
    enum { AT_MOST = 16 };
    return sap_threads_up_to(worth < AT_MOST ? worth : AT_MOST);
}

int sap_threads_for_rows(int rows)
{
    /* one thread copies about 1,000 rows in the time that it takes to start other threads and to wait for them */
    enum { ROWS_PER_THREAD = 1024 };
    return sap_threads_few(rows / ROWS_PER_THREAD);
}
