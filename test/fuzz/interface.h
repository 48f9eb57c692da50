/* interface.h - the interfaces of the library, each with a generator of sequences and a model of what they must give.
 */
#ifndef FUZZ_INTERFACE_H
#define FUZZ_INTERFACE_H

#include "check.h"
#include "sequence.h"
#include "values.h"

/* The engine that the environment of a child asks for. */
struct setting {
    const char *backend, *isa, *precision; /* isa: "" on accelerators */
    int threads;
    int cheap; /* opening a context takes less than a millisecond */
};
extern struct setting setting;

/* The precision that contexts of an order get; 0: they cannot be opened. */
sapporo_precision precision_of(int order);

struct interface {
    const char *name;
    /* Appends the operations of one sequence.  It depends on the random numbers and on `setting` alone. */
    void (*generate)(struct sequence *s, rng *r);
    /* Prepares the outputs, makes the call, and compares.  What calls leave behind is kept in the module. */
    void (*run)(const struct op *op);
};

enum { INTERFACES_MOST = 8 };
extern const struct interface *const interfaces[];
extern const struct interface interface_g6, interface_g5, interface_native, interface_tree, interface_nbody6,
    interface_sixth, interface_onecall, interface_g5c;

/* The generators that have files of their own. */
void g6_generate(struct sequence *s, rng *r);
void native_generate(struct sequence *s, rng *r);

/* Loads the calls (execute.c) from beside the program; only in a child.  NULL, or why it failed. */
const char *load_calls(void);
/* Whether a context can be opened as the environment says; only where calls are loaded. */
int can_open(void);

/* Notes that the operation's call is made (worker.c). */
void note_call(void);

/* Prepares the outputs and makes the call. */
void make_call(const struct op *op, int rows, int entries);

/* ---- parts of sequences that interfaces share ---- */

/* Adds FILL of n targets of a batch, like the particles of `load` (an operation with addresses and positions in the
 * given columns), or anywhere in the scene. */
void add_fill(struct sequence *s, const struct scene *scene, int to_batch, int n, int group);

/* Adds a call on a device, now and then one that cannot be, and the number `a`: of GRAPE-5 and libg5c. */
struct op *g5_add(struct sequence *s, rng *r, enum kind kind, int id, int a);

/* Known defects, which sequences do not touch until they are mended; see known.c. */
int is_known(const char *name);

#endif
