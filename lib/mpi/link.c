/* link.c - the ranks of a communicator: waits with a timeout, agreement on statuses, comparison of options (link.h). */
#define _POSIX_C_SOURCE 200809L

#include "mpi/link.h"

#include <math.h>
#include <sched.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/structs.h"

enum { RECORD = SAP_LINK_HEAD + SAP_LINK_FIELDS, STATUS = 0, CALL = 1 };

static const double default_timeout = 3600;

/* ------------------------------------------------------------------- calls */

static const char *const call_names[SAP_CALLS] = {
    [SAP_CALL_NONE] = "none",
    [SAP_CALL_OPEN] = "sapporo_mpi_open",
    [SAP_CALL_TREE_CREATE] = "sapporo_mpi_tree_create",
    [SAP_CALL_STEPPER_CREATE] = "sapporo_mpi_stepper_create",
    [SAP_CALL_CLOSE] = "sapporo_mpi_close",
    [SAP_CALL_TREE_DESTROY] = "sapporo_mpi_tree_destroy",
    [SAP_CALL_STEPPER_DESTROY] = "sapporo_mpi_stepper_destroy",
    [SAP_CALL_SET_PARTICLES] = "sapporo_mpi_set_particles",
    [SAP_CALL_CLEAR_PARTICLES] = "sapporo_mpi_clear_particles",
    [SAP_CALL_FORCE_BEGIN] = "sapporo_mpi_force_begin",
    [SAP_CALL_FORCE_END] = "sapporo_mpi_force_end",
    [SAP_CALL_TREE_BUILD] = "sapporo_mpi_tree_build",
    [SAP_CALL_TREE_REFRESH] = "sapporo_mpi_tree_refresh",
    [SAP_CALL_TREE_REFRESH_OR_BUILD] = "sapporo_mpi_tree_refresh_or_build",
    [SAP_CALL_TREE_FORCE] = "sapporo_mpi_tree_force",
    [SAP_CALL_TREE_FORCE_ACTIVE] = "sapporo_mpi_tree_force_active",
    [SAP_CALL_TREE_FORCE_REQUEST] = "sapporo_mpi_tree_force_request",
    [SAP_CALL_TREE_EXCHANGE] = "sapporo_mpi_tree_exchange",
    [SAP_CALL_STEPPER_SET] = "sapporo_mpi_stepper_set",
    [SAP_CALL_STEPPER_ADD] = "sapporo_mpi_stepper_add",
    [SAP_CALL_STEPPER_REMOVE] = "sapporo_mpi_stepper_remove",
    [SAP_CALL_STEPPER_ADVANCE] = "sapporo_mpi_stepper_advance",
    [SAP_CALL_STEPPER_ENERGY] = "sapporo_mpi_stepper_energy",
    [SAP_CALL_STEPPER_GET_PAIRS] = "sapporo_mpi_stepper_get_pairs",
    [SAP_CALL_STEPPER_GET_POTENTIALS] = "sapporo_mpi_stepper_get_potentials",
    [SAP_CALL_STEPPER_EXCHANGE] = "sapporo_mpi_stepper_exchange",
    [SAP_CALL_STEPPER_SAVE] = "sapporo_mpi_stepper_save",
    [SAP_CALL_STEPPER_RESTORE] = "sapporo_mpi_stepper_restore",
};

const char *sap_link_begin(struct sap_link *l, enum sap_call call)
{
    l->call = call;
    return call_names[call];
}

static int is_creation(int call) { return call >= SAP_CALL_OPEN && call <= SAP_CALL_STEPPER_CREATE; }

static int is_end(int call) { return call >= SAP_CALL_CLOSE && call <= SAP_CALL_STEPPER_DESTROY; }

/* Fails on all ranks, with the same text: two ranks make different calls.  No rank waits for one that has closed. */
static int fail_by_calls(struct sap_link *l, int rank, int call, int other, int others)
{
    const int first = rank < other; /* the lower rank comes first */
    (void)snprintf(l->error, sizeof l->error, "the ranks make different calls: rank %d %s, rank %d %s",
                   first ? rank : other, call_names[first ? call : others], first ? other : rank,
                   call_names[first ? others : call]);
    if (l->rank == 0) sapporo_log(SAPPORO_LOG_ERROR, l->error);
    return SAPPORO_MPI_ERR_DIFFERENT;
}

/* ------------------------------------------------------------------ errors */

int sap_link_note(struct sap_link *l, int status, const char *text)
{
    (void)snprintf(l->error, sizeof l->error, "rank %d: %s", l->rank, text);
    return status;
}

int sap_link_fail(struct sap_link *l, int status, const char *format, ...)
{
    char text[256];
    va_list args;
    va_start(args, format);
    (void)vsnprintf(text, sizeof text, format, args);
    va_end(args);
    (void)sap_link_note(l, status, text);
    sapporo_log(SAPPORO_LOG_ERROR, l->error);
    return status;
}

int sap_link_judge(struct sap_link *l, int code)
{
    char text[MPI_MAX_ERROR_STRING] = "";
    int length;
    if (code == MPI_SUCCESS) return SAPPORO_OK;
    if (MPI_Error_string(code, text, &length) != MPI_SUCCESS) text[0] = '\0';
    for (char *c = text; *c; c++)
        if (*c == '\n') *c = ' ';
    return l->broken = sap_link_fail(l, SAPPORO_MPI_ERR_MPI, "MPI failed: %.200s", text);
}

/* ----------------------------------------------------------------- waiting */

enum { BUSY = 100, YIELDS = 2000 };

/* Ranks may share cores, and long waits need none. */
void sap_link_pause(unsigned tries)
{
    const struct timespec nap = {.tv_nsec = 50000};
    if (tries < BUSY) return;
    if (tries < YIELDS)
        (void)sched_yield();
    else
        (void)nanosleep(&nap, NULL);
}

int sap_link_wait(struct sap_link *l, MPI_Request *request) { return sap_link_wait_for(l, request, 0); }

/*
 * MPI may move bytes only while it is called, a piece per call.  So naps begin as many calls later as pieces may be on
 * their way.
 */
int sap_link_wait_for(struct sap_link *l, MPI_Request *request, size_t bytes)
{
    enum { PIECE = 256 };
    if (l->broken) return l->broken;
    l->traffic.waits++;
    const double start = MPI_Wtime();
    size_t moves = bytes / PIECE;
    for (unsigned tries = 0;;) {
        int done = 0;
        const int status = sap_link_judge(l, MPI_Test(request, &done, MPI_STATUS_IGNORE));
        if (status || done) return status;
        if (MPI_Wtime() - start > l->timeout)
            return l->broken = sap_link_fail(l, SAPPORO_MPI_ERR_TIMEOUT,
                                             "other ranks did not take part in a collective call for %g s", l->timeout);
        sap_link_pause(tries);
        if (tries < BUSY || moves == 0)
            tries++;
        else
            moves--;
    }
}

int sap_link_poke(struct sap_link *l, MPI_Request *request)
{
    int done;
    return l->broken ? l->broken : sap_link_judge(l, MPI_Test(request, &done, MPI_STATUS_IGNORE));
}

int sap_link_finish(struct sap_link *l, int code)
{
    const int status = sap_link_judge(l, code);
    return status ? status : sap_link_wait(l, &l->request);
}

/* --------------------------------------------------------- opening, closing */

static int mpi_runs(void)
{
    int begun = 0, ended = 0;
    (void)MPI_Initialized(&begun);
    (void)MPI_Finalized(&ended);
    return begun && !ended;
}

MPI_Comm sap_link_communicator(MPI_Fint communicator)
{
    return mpi_runs() ? MPI_Comm_f2c(communicator) : MPI_COMM_NULL;
}

int sap_link_check(MPI_Comm communicator, const char *call, char text[SAP_LINK_TEXT])
{
    int inter = 0;
    const char *why = NULL;
    if (!mpi_runs())
        why = "MPI is not initialised, or has been finalised";
    else if (communicator == MPI_COMM_NULL)
        why = "the communicator is MPI_COMM_NULL";
    else if (MPI_Comm_test_inter(communicator, &inter) != MPI_SUCCESS || inter)
        why = "the communicator is an intercommunicator";
    if (!why) return SAPPORO_OK;
    (void)snprintf(text, SAP_LINK_TEXT, "%s: %s", call, why);
    sapporo_log(SAPPORO_LOG_ERROR, text);
    return SAPPORO_ERR_ARGUMENT;
}

double sap_link_timeout(double asked) { return asked > 0 ? asked : default_timeout; }

int sap_link_open(struct sap_link *l, MPI_Comm communicator)
{
    l->communicator = MPI_COMM_NULL;
    int status = sap_link_judge(l, MPI_Comm_rank(communicator, &l->rank));
    if (!status) status = sap_link_judge(l, MPI_Comm_size(communicator, &l->size));
    if (!status) status = sap_link_finish(l, MPI_Comm_idup(communicator, &l->communicator, &l->request));
    return status ? status : sap_link_judge(l, MPI_Comm_set_errhandler(l->communicator, MPI_ERRORS_RETURN));
}

void sap_link_look(struct sap_link *l)
{
    int ended = 0;
    (void)MPI_Finalized(&ended);
    if (!ended || l->ended) return;
    l->ended = 1;
    l->broken = SAPPORO_MPI_ERR_MPI;
    (void)snprintf(l->error, sizeof l->error, "MPI was finalised: objects over ranks are closed before MPI_Finalize");
}

void sap_link_free_type(const struct sap_link *l, MPI_Datatype *type)
{
    if (*type != MPI_DATATYPE_NULL && !l->ended) (void)MPI_Type_free(type);
}

void sap_link_close(struct sap_link *l)
{
    if (sap_link_keeps(l)) return;
    free(l->records);
    l->records = NULL;
    if (l->communicator != MPI_COMM_NULL && !l->ended) (void)MPI_Comm_free(&l->communicator);
}

/* --------------------------------------------------------------- agreement */

/* The order of statuses: an error is worse than SAPPORO_PARTIAL, which is worse than success. */
static int badness(int status) { return status < 0 ? status : status == SAPPORO_PARTIAL ? 0 : 1; }

/* Gives the error text of one rank to all ranks. */
static int share_error(struct sap_link *l, int rank)
{
    return sap_link_finish(l, MPI_Ibcast(l->error, SAP_LINK_TEXT, MPI_CHAR, rank, l->communicator, &l->request));
}

int sap_link_agree(struct sap_link *l, int status)
{
    const int call = (int)l->call;
    if (l->broken) return l->broken;
    if (call && !is_creation(call)) return sap_link_compare(l, status, 0, NULL, NULL);
    l->call = SAP_CALL_NONE;
    l->mine[0] = (struct sap_link_status){badness(status), l->rank};
    l->mine[1] = (struct sap_link_status){call, l->rank};
    l->mine[2] = (struct sap_link_status){-call, l->rank};
    int bad = sap_link_finish(
        l, MPI_Iallreduce(l->mine, l->worst, call ? 3 : 1, MPI_2INT, MPI_MINLOC, l->communicator, &l->request));
    if (bad) return bad;
    const struct sap_link_status *const w = l->worst;
    if (call && w[1].status != -w[2].status) return fail_by_calls(l, w[1].rank, w[1].status, w[2].rank, -w[2].status);
    if (w->status >= 0) return w->status ? SAPPORO_OK : SAPPORO_PARTIAL;
    const int agreed = w->status;
    bad = share_error(l, w->rank);
    return bad ? bad : agreed;
}

/* -------------------------------------------------------------- comparison */

static const double *record_of(const struct sap_link *l, int rank) { return l->records + (size_t)rank * RECORD; }

/* Fails if the ranks make different calls. */
static int compare_calls(struct sap_link *l)
{
    const int first = (int)record_of(l, 0)[CALL];
    int ends = is_end(first), other = 0;
    for (int r = l->size - 1; r > 0; r--) {
        const int call = (int)record_of(l, r)[CALL];
        if (call != first) other = r;
        ends |= is_end(call);
    }
    if (other == 0) return SAPPORO_OK;
    const int status = fail_by_calls(l, 0, first, other, (int)record_of(l, other)[CALL]);
    if (ends) l->broken = status;
    return status;
}

/* Returns the worst status of all records, after it has shared the error text. */
static int worst_record(struct sap_link *l)
{
    int rank = 0;
    for (int r = 1; r < l->size; r++)
        if (record_of(l, r)[STATUS] < record_of(l, rank)[STATUS]) rank = r;
    const int status = (int)record_of(l, rank)[STATUS];
    if (status >= 0) return SAPPORO_OK;
    const int bad = share_error(l, rank);
    return bad ? bad : status;
}

/* The first rank with a field that is compared; -1: there is none. */
static int first_with(const struct sap_link *l, int field)
{
    for (int r = 0; r < l->size; r++)
        if (!isnan(sap_link_field(l, r, field))) return r;
    return -1;
}

/* Compares a field over all ranks; all ranks find the same difference and write the same text. */
static int compare_field(struct sap_link *l, int field, const char *name)
{
    const int first = first_with(l, field);
    for (int r = first + 1; r < l->size && first >= 0; r++) {
        const double a = sap_link_field(l, first, field), b = sap_link_field(l, r, field);
        if (isnan(b) || a == b) continue;
        (void)snprintf(l->error, sizeof l->error, "%s differs: rank %d has %.17g, rank %d has %.17g", name, first, a, r,
                       b);
        if (l->rank == 0) sapporo_log(SAPPORO_LOG_ERROR, l->error);
        return SAPPORO_MPI_ERR_DIFFERENT;
    }
    return SAPPORO_OK;
}

int sap_link_compare(struct sap_link *l, int status, int fields, const double *field, const char *const *name)
{
    if (l->broken) return l->broken;
    memset(l->record, 0, sizeof l->record);
    l->record[STATUS] = status;
    l->record[CALL] = l->call;
    l->call = SAP_CALL_NONE;
    for (int k = 0; k < fields; k++) l->record[SAP_LINK_HEAD + k] = field[k];
    int bad = sap_link_finish(
        l, MPI_Iallgather(l->record, RECORD, MPI_DOUBLE, l->records, RECORD, MPI_DOUBLE, l->communicator, &l->request));
    if (!bad) bad = compare_calls(l);
    if (!bad) bad = worst_record(l);
    for (int k = 0; k < fields && !bad; k++)
        if (name[k]) bad = compare_field(l, k, name[k]);
    return bad;
}

int sap_link_same_kind(struct sap_link *l, const char *own, char *kind, size_t room)
{
    int status = SAPPORO_OK;
    (void)snprintf(kind, room, "%s", own);
    const int bad = sap_link_finish(l, MPI_Ibcast(kind, (int)room, MPI_CHAR, 0, l->communicator, &l->request));
    if (bad) return bad;
    if (strcmp(kind, own) != 0)
        status = sap_link_fail(l, SAPPORO_MPI_ERR_DIFFERENT,
                               "the kind of engine is '%s', on rank 0 it is '%s'; cpu_isa, backend or precision of the "
                               "options can make them the same",
                               own, kind);
    return sap_link_agree(l, status);
}

/* ----------------------------------------------------------------- traffic */

int sap_link_tell_traffic(const struct sap_link *l, sapporo_mpi_traffic *traffic)
{
    sapporo_mpi_traffic known = {0};
    if (!traffic || traffic->size < sizeof traffic->size) return SAPPORO_ERR_ARGUMENT;
    if (l) known = l->traffic;
    sap_struct_return(traffic, &known, sizeof known);
    return l ? SAPPORO_OK : SAPPORO_ERR_CLOSED;
}
