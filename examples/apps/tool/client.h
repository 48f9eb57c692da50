/*
 * client.h - one way to ask the library for forces, through any of its interfaces.
 *
 * The self-test and the benchmark use this interface alone; client_native.c calls sapporo.h, client_g6.c and
 * client_g5.c call the GRAPE interfaces the way that GRAPE codes do.
 */
#ifndef TOOL_CLIENT_H
#define TOOL_CLIENT_H

#include "model.h"

enum { DEVICES_ROOM = 32 };

/* Settings of a client to be opened.  Zero: automatic. */
typedef struct settings {
    sapporo_backend backend;
    sapporo_precision precision;
    const char *isa; /* NULL: automatic */
    int threads;     /* ignored by the GRAPE clients: there OMP_NUM_THREADS at the start of the process decides */
    int ndevices, device[DEVICES_ROOM]; /* numbers of the devices to be used together */
    int order;                          /* order of the integrator, native only; 0: 4 */
} settings;

/* Buffers for the results of a force; only the results in `want` are asked of the library. */
typedef struct forces {
    double (*acc)[3], (*jerk)[3], *pot;
    int *nearest;       /* index */
    double *nearest_r2; /* native only */
    int *length;        /* lengths of the neighbour lists */
    int *list;          /* buffer for one list, list_room entries */
    int list_room;
} forces;

/* A run of i-particles, as a client would pass them. */
typedef struct batch {
    const targets *stars;
    int first, n; /* stars first .. first + n - 1 */
    int size;     /* most i-particles per call; 0: all (native), g6_npipes() (GRAPE-6) */
} batch;

typedef struct client client;

/* The functions of a kind of client.  They return 0, or -1 after a failure, which error() describes. */
typedef struct client_type {
    const char *name;
    client *(*open)(const settings *what); /* never NULL; its error() is "" if it is open */
    void (*close)(client *self);
    int (*load)(client *self, const model *cluster);                       /* all stars, at their addresses */
    int (*set)(client *self, const model *cluster, int star, int address); /* one star, at any address */
    int (*set_time)(client *self, double time);                            /* time to which stars are predicted */
    int (*force)(client *self, int nj, const batch *what, double eps2, unsigned want, forces *out);
    const char *(*error)(const client *self);
    int order; /* 2: no jerk, no prediction; i-particles act on themselves, and potentials are positive */
} client_type;

extern const client_type CLIENT_NATIVE, CLIENT_G6, CLIENT_G5;

/* Returns the type named "native", "g6" or "g5". */
const client_type *client_type_from_name(const char *name);

/* Returns the native context of a native client. */
sapporo *client_native_context(const client *self);

forces forces_new(int n, int list_room);
void forces_free(forces *out);

/* Writes the devices of the settings as "0,1,2"; "" if none are named. */
void settings_devices(const settings *what, char *text, size_t room);

/* Writes the kind of engine that the settings give, or "" with the reason in `why`. */
void settings_kind(const settings *what, char *kind, size_t kind_room, char *why, size_t why_room);

/*
 * Returns the backend that automatic choice opens, or the one asked for.  A backend that is named stays: no tuning file
 * puts the CPU in its place for small forces, so a measurement or a check concerns one engine.
 */
sapporo_backend backend_in_use(sapporo_backend asked);

/* Opens a context of order 2 for functions that no client has; NULL: sapporo_last_error(NULL) tells why. */
sapporo *open_order2(const settings *what);

/*
 * Calls a function of a GRAPE interface that opens a context, with the variables of the environment that it reads.  The
 * environment is restored afterwards, for contexts opened later.
 */
int open_in_environment(const settings *what, int (*open)(int id), int id);

/* Sets or, for NULL and "", removes a variable of the environment that the library reads. */
void set_environment(const char *name, const char *value);

#endif
