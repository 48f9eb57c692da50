/* tree.h - the object behind a handle of a tree over ranks, and the steps of a build and of a force. */
#ifndef SAP_MPI_TREE_H
#define SAP_MPI_TREE_H

#include <stdint.h>

#include "base/structs.h"
#include "context/tree_bodies.h"
#include "context/tree_pace.h"
#include "context/tree_part.h"
#include "mpi/exchange.h"
#include "mpi/link.h"
#include "mpi/registry.h"
#include "mpi/room.h"
#include "mpi/transport.h"
#include "mpi/tree_halo.h"

/* Particles of this rank's caller.  A build and a refresh read them where the caller has them. */
struct sap_bodies {
    int n;
    sapporo_column x, mass, a, h;
    double gravity;     /* masses count times the gravitational constant */
    const double *size; /* [n] sizes of accelerations where column a is absent */
    int by_engine;      /* the engine has them, and is asked */
};

/* Copies the position of particle i. */
static inline void sap_bodies_position(const struct sap_bodies *p, int i, double *x)
{
    memcpy(x, sap_column_at(&p->x, i, 3 * sizeof *x), 3 * sizeof *x);
}

static inline double sap_bodies_mass(const struct sap_bodies *p, int i)
{
    return sap_column_double(&p->mass, i) * p->gravity;
}

/* The size of the acceleration of particle i; < 0: unknown. */
static inline double sap_bodies_size(const struct sap_bodies *p, int i)
{
    return p->a.base ? sap_column_double(&p->a, i) : p->size[i];
}

/*
 * The particles on which a force is wanted: of this rank's caller, and of those that this rank walks.  Their route goes
 * from the callers to the ranks that walk them; forces take the way back.
 */
struct sap_active {
    const struct sap_route *route;
    const int *address;      /* [route->arrived] NULL: all of the tree's route.arrived, by address */
    const unsigned char *is; /* [the tree's route.arrived] NULL: all */
    unsigned char *flag;     /* memory of a choice, which MPI reads and writes */
    int *list;
};

/* What a caller asks for. */
struct sap_force_wish {
    int all;                /* 1: forces on all particles of this rank's caller */
    int wrong;              /* a status: the arguments of this rank's caller are wrong */
    sapporo_memory memory;  /* of acc and pot */
    int ni;                 /* rows */
    const int *particle;    /* [ni] particles of the caller, in host memory; NULL: 0 .. ni-1 */
    double (*acc)[3], *pot; /* [ni] NULL: not wanted */
    /* memory of a device to which rows are copied from acc and pot, which are in host memory; NULL: not wanted */
    double (*acc_there)[3], *pot_there;
};

/*
 * Memory that a tree keeps between calls.  A build and a force use the same records, one after the other.  MPI reads
 * and writes them.
 */
struct sap_tree_rooms {
    struct sap_room mine, a, mine_h;                   /* of the particles that this rank walks */
    struct sap_room given, out, in;                    /* answers to active particles; records sent, and received */
    struct sap_room out_h;                             /* softening lengths sent */
    struct sap_room columns, results;                  /* of the caller, copied from a device, and to it */
    struct sap_room look;                              /* at all particles */
    struct sap_room key, to, boundary, bucket, member; /* of a division */
    struct sap_room rows[3], more[3];                  /* of walks: own tree, nodes of other ranks */
    struct sap_room flag, list, wanted;                /* of active particles */
    struct sap_room regions, count, node, x;           /* of a halo */
    struct sap_room of_node, h;                        /* the same, with softening lengths */
};

/* What travels of a halo: its nodes, its particles, and the softening lengths of both. */
enum { SAP_TRAVEL_ROUTES = 2, SAP_TRAVEL_WIRES = 4 };

/* A halo on its way (tree_travel.c).  Its memory is kept for the next one. */
struct sap_travel {
    struct sap_halo out;                       /* for all other ranks, one after the other */
    struct sap_halo in;                        /* from all other ranks */
    struct sap_halo_region *regions;           /* of all ranks */
    int (*sent)[2], (*got)[2];                 /* nodes and particles for each rank, and from each rank */
    struct sap_route route[SAP_TRAVEL_ROUTES]; /* of nodes, and of particles */
    struct sap_wire wire[SAP_TRAVEL_WIRES];    /* nodes, particles, and the lengths of both */
    int wires;                                 /* that are under way */
    int on_device;                             /* on all ranks: nodes and particles stay in device memory, */
    struct sap_halo_room place[2];             /* where they leave, and arrive */
    struct sap_halo_memory memory;
};

struct sapporo_mpi_tree {
    struct sap_listed listed;
    struct sap_link link;
    struct sap_carrier carrier;   /* how what trees need of each other travels */
    sapporo_tree *tree;           /* of the particles that this rank walks */
    int divides;                  /* its engine divides the particles of callers (tree_by_engine.c) */
    int selects;                  /* its engine selects what travels; otherwise this library does, from `nodes` */
    int room;                     /* particles for which it has room */
    sapporo_tree_options options; /* of the own tree: the caller's, with copies of what they point to */
    int words;                    /* softening lengths of each node, on all ranks (engine/tree_part.h); or 0 */
    double gravity;               /* the gravitational constant, by which masses are multiplied before they travel */
    int device[64];
    char isa[32];
    struct sap_tree_settings settings;
    char kind[96];

    /* particles of this rank's caller */
    int given;
    double *size;        /* [given] size of the acceleration of the last force; < 0: unknown */
    int64_t *work;       /* [given] interactions in all forces since the build before the last force; < 0: unknown */
    double *length;      /* [given] softening lengths; NULL: there are none, or one rank, whose tree has them */
    int has_lengths;     /* 1: the caller has given them */
    int by_engine;       /* 1: the engine has the particles of the last build, and `order` and `a` */
    int all_by_engine;   /* 1: so have those of all ranks */
    int known_by_engine; /* 1: it has the present size and work */
    int in_order;        /* 1: of these particles, records go in the engine's order; 0: by number */
    int direct;          /* 1: of one rank: its tree has taken particles from memory of a device, with their `a` */
    int late;            /* a status that the next agreement takes (sap_mpi_tree_agree_all) */
    double unknown;      /* sizes of accelerations that it does not know, of the particles of this rank's caller */
    int worked;          /* 1: there was a force since the last build */
    const int *walker;   /* [given] ranks that walk the particles of the next build; NULL: it divides them */

    /* particles that this rank walks, in order of the ranks that gave them */
    int built;
    const char *call;         /* name of the collective call under way, for errors */
    struct sap_route route;   /* of the caller's particles; no order: all stay on this rank, and no others come */
    struct sap_route some;    /* of those that are active in the last force on some */
    double (*mine)[SAP_BODY]; /* [route.arrived]; NULL with one rank, whose tree has the caller's particles */
    double *a;                /* [route.arrived] sizes of their accelerations; < 0: unknown */
    double *mine_h;           /* [route.arrived] their softening lengths; NULL as `length` */
    struct sap_tree_rooms rooms;
    struct sap_halo_nodes nodes;
    struct sap_travel travel;
    struct sap_tree_whole whole;
    /* interactions of this rank's walk per row of all ranks, of forces on at least half of all particles */
    struct sap_tree_pace pace;
    double (*past_x[2])[3]; /* positions of the last two calls that refresh or build (tree_renew.c); NULL: none */
    int past[2];            /* so many */
    sapporo_mpi_tree_statistics done;
};

/* Sets the error of too little memory for n particles. */
static inline int sap_mpi_tree_no_memory(sapporo_mpi_tree *h, int n)
{
    return sap_link_fail(&h->link, SAPPORO_ERR_MEMORY, "%s: out of memory for %d particles and %d ranks", h->call, n,
                         h->link.size);
}

/* Frees memory that MPI may still use, unless the link is broken. */
void sap_mpi_tree_release(const sapporo_mpi_tree *h, void *memory);

/* Whether this rank is the only one: nothing travels then, and the tree takes the caller's particles as they are. */
static inline int sap_mpi_tree_is_alone(const sapporo_mpi_tree *h) { return h->link.size == 1; }

/*
 * Collective.  Finds the box, the cube and the typical pull of the particles of all ranks (tree_whole.c).  *mean: the
 * interactions of an average particle in the last force; 1 if they are unknown.  SAPPORO_ERR_NOT_FINITE: moments of all
 * particles are beyond the range of double.
 */
int sap_mpi_tree_find_whole(sapporo_mpi_tree *h, const struct sap_bodies *bodies, double *mean);

/* Collective.  Finds all of that anew but the cube, for a refresh; after an error the whole is unchanged. */
int sap_mpi_tree_find_range(sapporo_mpi_tree *h, const struct sap_bodies *bodies);

/*
 * Collective.  Divides the particles of all ranks into runs along the curve, one per rank, of about equal weight;
 * writes the rank of each particle (tree_split.c).
 */
int sap_mpi_tree_split(sapporo_mpi_tree *h, const struct sap_bodies *bodies, double mean, int *to);

/* Local.  Writes the rank that walks each particle of this rank's caller. */
void sap_mpi_tree_tell_walkers(const sapporo_mpi_tree *h, int *walker);

/* Local.  Takes the interactions of n particles of this rank's caller, as they were saved, for the next build. */
int sap_mpi_tree_take_work(sapporo_mpi_tree *h, int n, const int64_t *work);

/*
 * Collective.  Sends the particles to their ranks: fills the route and h->mine (tree_exchange.c).  to: NULL if the
 * engine has them, and the route tells how many go to each rank.
 */
int sap_mpi_tree_send(sapporo_mpi_tree *h, const struct sap_bodies *bodies, const int *to);

/*
 * Local.  Leave the particles of a build with the engine, if it divides them; bring to host memory what it knows of
 * them, and what it has of the last build; copy the caller's columns on a device to host memory; the order of the
 * records of the route, from the engine or not (tree_by_engine.c).
 */
int sap_mpi_tree_settle(sapporo_mpi_tree *h, const sapporo_tree_particles *p);
int sap_mpi_tree_bring_known(sapporo_mpi_tree *h);
int sap_mpi_tree_copy_known(sapporo_mpi_tree *h);
int sap_mpi_tree_bring(sapporo_mpi_tree *h);
int sap_mpi_tree_bring_columns(sapporo_mpi_tree *h, sapporo_tree_particles *p);
int sap_mpi_tree_bring_order(sapporo_mpi_tree *h);

/* Local.  Says that the particles of the caller are those that this rank walks, as host memory knows them. */
int sap_mpi_tree_renumber(sapporo_mpi_tree *h);

/* Makes room for the tree of the particles that this rank walks, with its engine. */
int sap_mpi_tree_grow(sapporo_mpi_tree *h);

/*
 * Whether records of particles and answers stay in device memory, which is so on all ranks; makes room there for those
 * of a route and its way back, before an agreement; then the wire of such records (tree_by_engine.c).
 */
int sap_mpi_tree_on_device(const sapporo_mpi_tree *h);
int sap_mpi_tree_reserve_records(sapporo_mpi_tree *h, const struct sap_route *p);
int sap_mpi_tree_wire(sapporo_mpi_tree *h, const struct sap_route *p, struct sap_wire *wire);

/* The records of a route that stay on this rank. */
struct sap_bodies_way sap_mpi_tree_way(const sapporo_mpi_tree *h, const struct sap_route *p);

/* Sets the error of a call on the engine; returns its status. */
int sap_mpi_tree_failed(sapporo_mpi_tree *h, int status);

/* Keep the status of a local step for the next agreement; collective: agrees on it, and on this status. */
static inline void sap_mpi_tree_fail_late(sapporo_mpi_tree *h, int status)
{
    if (status && !h->late) h->late = status;
}
static inline int sap_mpi_tree_agree_all(sapporo_mpi_tree *h, int status)
{
    const int late = h->late;
    h->late = SAPPORO_OK;
    return sap_link_agree(&h->link, status ? status : late);
}

/* Collective.  Sends them again, to the ranks of the last build: changes h->mine, if it succeeds (tree_exchange.c). */
int sap_mpi_tree_send_again(sapporo_mpi_tree *h, const struct sap_bodies *bodies);

/* With one rank: makes the route of n particles, and room for the sizes of their accelerations; 0 or an error. */
int sap_mpi_tree_stay(sapporo_mpi_tree *h, int n);

/* Chooses all particles (tree_active.c). */
void sap_active_choose_all(const sapporo_mpi_tree *h, struct sap_active *active);

/* Makes room for a choice, and writes it: particles of this rank's caller; 0 or SAPPORO_ERR_MEMORY. */
int sap_active_choose(sapporo_mpi_tree *h, int ni, const int *particle, struct sap_active *active);

/* Collective.  Tells the ranks that walk them; fills the rest. */
int sap_active_share(sapporo_mpi_tree *h, struct sap_active *active);

/* Local.  Makes room for what ranks tell each other of a travel. */
int sap_travel_reserve(sapporo_mpi_tree *h);

/* Collective.  Selects the nodes that particles of other ranks need; there is room. */
int sap_travel_prepare(sapporo_mpi_tree *h, struct sap_travel *travel, const struct sap_halo_targets *targets);

/* Collective.  Then starts to send them, and to receive theirs. */
int sap_travel_start(sapporo_mpi_tree *h, struct sap_travel *travel);
int sap_travel_room(const sapporo_mpi_tree *h); /* regions of a rank, at most: the same on all ranks */

/* Collective.  Waits for the nodes of all ranks. */
int sap_travel_finish(sapporo_mpi_tree *h, struct sap_travel *travel);
void sap_travel_free(struct sap_travel *travel);

/*
 * Builds the tree of the particles that this rank walks, and copies its nodes if there are other ranks; or refreshes it
 * (tree_mine.c).  The tree of one rank takes the caller's particles.
 */
int sap_mpi_tree_build_mine(sapporo_mpi_tree *h, const sapporo_tree_particles *mine);
int sap_mpi_tree_refresh_mine(sapporo_mpi_tree *h);

/* Collective.  Agrees on the status of the trees of all ranks, and on the size of bounds that are wide (tree_mine.c).
 */
int sap_mpi_tree_agree(sapporo_mpi_tree *h, int status);

/* Fails if the particles of this rank's caller are none; copies what it gives (tree_build.c). */
int sap_mpi_tree_check(sapporo_mpi_tree *h, const sapporo_tree_particles *given, sapporo_tree_particles *p);

/* Local.  Makes softening lengths of this rank's particles, the usual ones, if they are wanted and there are none. */
int sap_mpi_tree_need_lengths(sapporo_mpi_tree *h, int wanted);

/* Local, on all ranks.  Says that the particles of the next build have no lengths, unless those of splines. */
void sap_mpi_tree_drop_lengths(sapporo_mpi_tree *h);

/* Collective.  Build trees that are best `lead` calls later, and refresh them (tree_build.c). */
int sap_mpi_tree_build_anew(sapporo_mpi_tree *h, const sapporo_tree_particles *particles, double lead);
int sap_mpi_tree_refresh(sapporo_mpi_tree *h, const sapporo_tree_particles *given);

/* Gives the tree the particles of the next refresh; after an error the tree is as it was. */
int sap_mpi_tree_set_mine(sapporo_mpi_tree *h, const sapporo_tree_particles *mine);

/* Whether the tree of this rank is still there after a refresh that failed. */
int sap_mpi_tree_remains(const sapporo_mpi_tree *h);

/* What is selected of the nodes of this rank's tree for others. */
struct sap_halo_source sap_mpi_tree_source(const sapporo_mpi_tree *h);

/* The particles of h->mine as columns. */
sapporo_tree_particles sap_mpi_tree_columns(const sapporo_mpi_tree *h);

/* Collective.  Computes forces (tree_force.c).  Results in memory of a device need an engine that has the particles. */
int sap_mpi_tree_force(sapporo_mpi_tree *h, const struct sap_force_wish *wish);

/* The object of a handle; NULL: there is none. */
sapporo_mpi_tree *sap_mpi_tree_find(const sapporo_mpi_tree *handle);

#endif
