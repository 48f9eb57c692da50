/*
 * link.h - the ranks of a communicator: operations that end at a timeout, and statuses that all ranks share.
 *
 * A collective function returns the same status on every rank, unless the link breaks on some ranks: by a timeout or an
 * error of MPI.  All functions of a broken link fail at once with the status that broke it.  Memory that an operation
 * of a broken link was given must stay allocated for ever, because MPI may still use it.
 */
#ifndef SAP_MPI_LINK_H
#define SAP_MPI_LINK_H

#include <stdint.h>

#include "sapporo_mpi.h"

/* SAP_LINK_HEAD: numbers of a record in front of its fields: a status, and a collective call. */
enum { SAP_LINK_TEXT = 320, SAP_LINK_FIELDS = 24, SAP_LINK_HEAD = 2 };

/*
 * The collective calls of sapporo_mpi.h.  The first message of a call has its number, and the same length for all
 * calls, so that ranks that make different calls notice it; link.c has the names.
 */
enum sap_call {
    SAP_CALL_NONE, /* the first message has been exchanged */
    SAP_CALL_OPEN,
    SAP_CALL_TREE_CREATE,
    SAP_CALL_STEPPER_CREATE,
    SAP_CALL_CLOSE,
    SAP_CALL_TREE_DESTROY,
    SAP_CALL_STEPPER_DESTROY,
    SAP_CALL_SET_PARTICLES,
    SAP_CALL_CLEAR_PARTICLES,
    SAP_CALL_FORCE_BEGIN,
    SAP_CALL_FORCE_END,
    SAP_CALL_TREE_BUILD,
    SAP_CALL_TREE_REFRESH,
    SAP_CALL_TREE_REFRESH_OR_BUILD,
    SAP_CALL_TREE_FORCE,
    SAP_CALL_TREE_FORCE_ACTIVE,
    SAP_CALL_TREE_FORCE_REQUEST,
    SAP_CALL_TREE_EXCHANGE,
    SAP_CALL_STEPPER_SET,
    SAP_CALL_STEPPER_ADD,
    SAP_CALL_STEPPER_REMOVE,
    SAP_CALL_STEPPER_ADVANCE,
    SAP_CALL_STEPPER_ENERGY,
    SAP_CALL_STEPPER_GET_PAIRS,
    SAP_CALL_STEPPER_GET_POTENTIALS,
    SAP_CALL_STEPPER_EXCHANGE,
    SAP_CALL_STEPPER_SAVE,
    SAP_CALL_STEPPER_RESTORE,
    SAP_CALLS
};

/* A status and its rank, in the form of MPI_2INT. */
struct sap_link_status {
    int status, rank;
};

struct sap_link {
    MPI_Comm communicator; /* a copy of the caller's */
    int rank, size;
    double timeout;                                 /* seconds */
    int broken;                                     /* the status that broke the link; 0: it is not broken */
    int ended;                                      /* 1: MPI was finalised, which broke the link */
    enum sap_call call;                             /* the call whose first message is to be sent */
    char error[SAP_LINK_TEXT];                      /* text of the last error */
    MPI_Request request;                            /* of the operation under way that sap_link_finish waits for */
    struct sap_link_status mine[3], worst[3];       /* of a creation the second and third tell the call */
    double record[SAP_LINK_HEAD + SAP_LINK_FIELDS]; /* of this rank: its status, its call, then its fields */
    double *records;                                /* of all ranks: [size][SAP_LINK_HEAD + SAP_LINK_FIELDS] */
    sapporo_mpi_traffic traffic;                    /* of this rank since the link was opened */
};

/* Counts n units of so many bytes that this rank sends to each other rank. */
static inline void sap_link_count_all(struct sap_link *link, int n, size_t unit, int on_device)
{
    long long *const bytes = on_device ? &link->traffic.device_bytes : &link->traffic.host_bytes;
    *bytes += (long long)n * (long long)unit * (link->size - 1);
}

/* The communicator of a Fortran integer; MPI_COMM_NULL while MPI does not run. */
MPI_Comm sap_link_communicator(MPI_Fint communicator);

/*
 * Whether MPI can be called with this communicator: SAPPORO_OK, or SAPPORO_ERR_ARGUMENT after it has written and
 * printed why, behind the name of the caller's function.
 */
int sap_link_check(MPI_Comm communicator, const char *call, char text[SAP_LINK_TEXT]);

/* The timeout of a link, in seconds, for the timeout of options: the default unless it is above 0. */
double sap_link_timeout(double asked);

/* Collective.  Copies a communicator into a link of zeros with a timeout, without memory for records. */
int sap_link_open(struct sap_link *link, MPI_Comm communicator);

/*
 * Begins a collective call of a caller; returns its name.  The next sap_link_agree or sap_link_compare fails with
 * SAPPORO_MPI_ERR_DIFFERENT on all ranks if they make different calls.  The link is broken then if a rank closes it.
 */
const char *sap_link_begin(struct sap_link *link, enum sap_call call);

/* Breaks the link if MPI was finalised since; every function that finds an object by its handle calls this one. */
void sap_link_look(struct sap_link *link);

/* Whether memory that operations of the link were given must stay, because MPI may still use it. */
static inline int sap_link_keeps(const struct sap_link *link) { return link->broken && !link->ended; }

/* Frees a type of MPI, or nothing if there is none or MPI was finalised. */
void sap_link_free_type(const struct sap_link *link, MPI_Datatype *type);

/* Collective.  Frees the communicator, and the records unless MPI may still use them. */
void sap_link_close(struct sap_link *link);

/* Sets and prints the error of this rank; returns status.  The next collective function tells the other ranks. */
int sap_link_fail(struct sap_link *link, int status, const char *format, ...) __attribute__((format(printf, 3, 4)));

/* Sets the error of this rank to a text that the library has printed already; returns status. */
int sap_link_note(struct sap_link *link, int status, const char *text);

/* Waits for a nonblocking operation, or breaks the link. */
int sap_link_wait(struct sap_link *link, MPI_Request *request);

/* The same for an operation that moves so many bytes of this rank, for which it does not sleep. */
int sap_link_wait_for(struct sap_link *link, MPI_Request *request, size_t bytes);

/* Lets other processes use the core, the longer the more often a wait has looked in vain. */
void sap_link_pause(unsigned tries);

/* Lets MPI go on with a nonblocking operation, without waiting for it. */
int sap_link_poke(struct sap_link *link, MPI_Request *request);

/* Breaks the link if `code`, which a function of MPI returned, is an error. */
int sap_link_judge(struct sap_link *link, int code);

/* Waits for link->request, whose operation was started with this code, or breaks the link. */
int sap_link_finish(struct sap_link *link, int code);

/*
 * Collective.  Returns the worst of the ranks' statuses: the lowest negative one, else SAPPORO_PARTIAL if any rank has
 * it.  All ranks then have the error text of the lowest rank with that status.
 */
int sap_link_agree(struct sap_link *link, int status);

/*
 * Collective.  Gathers the fields of all ranks behind their statuses.  Fails if a rank has an error, or if a field with
 * a name differs between ranks; NULL: the field may differ.  A field that is NaN is not compared.
 */
int sap_link_compare(struct sap_link *link, int status, int fields, const double *field, const char *const *name);

/* Collective.  Writes rank 0's kind of engine to `kind`; fails if the own kind of a rank is another one. */
int sap_link_same_kind(struct sap_link *link, const char *own, char *kind, size_t room);

/* Fills *traffic up to its size, with zeros of no link: SAPPORO_ERR_CLOSED. */
int sap_link_tell_traffic(const struct sap_link *link, sapporo_mpi_traffic *traffic);

/* A field of a rank, after sap_link_compare. */
static inline double sap_link_field(const struct sap_link *link, int rank, int field)
{
    return link->records[(size_t)rank * (SAP_LINK_HEAD + SAP_LINK_FIELDS) + SAP_LINK_HEAD + (size_t)field];
}

/* Turns numbers per rank into first places; returns the sum. */
static inline int64_t sap_link_places(const int *number, int *at, int ranks)
{
    int64_t sum = 0;
    for (int r = 0; r < ranks; r++) {
        at[r] = (int)sum;
        sum += number[r];
    }
    return sum;
}

#endif
