/* partial_loop.c - loops of libsapporo_mpi on the threads of this library (partial.h). */
#include "base/threads.h"
#include "context/partial.h"

void sapporo_partial_loop(int threads, int n, sap_team_range *range, void *argument)
{
    enum {
        A_THREAD = 2048,
        AT_ONCE = 256
    }; /* numbers that are worth a thread; that a thread takes at a time at least */
    const int most = 1 + n / A_THREAD, wanted = threads > 0 ? threads : sap_threads_default();
    const int used = sap_threads_now(most < wanted ? most : wanted);
    sap_team_for(used, n, sap_team_chunk(n, used, AT_ONCE), range, argument);
}
