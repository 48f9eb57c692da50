/* stepper_saved.h - the particles of steppers over ranks on their way to a file and back (stepper_save.c). */
#ifndef SAP_MPI_STEPPER_SAVED_H
#define SAP_MPI_STEPPER_SAVED_H

#include "mpi/stepper.h"

/*
 * The file: struct sap_saved_head, struct sap_saved_rank of each rank, columns of the particles of all ranks in the
 * order of the ranks, and a checksum (base/saving.h).  Columns are those of enum sap_step_column, labels, and of trees
 * the rank that walks each particle and its interactions.
 */
enum { SAP_SAVED_WALKER = SAP_STEP_COLUMNS + 1, SAP_SAVED_WORK, SAP_SAVED_COLUMNS };
enum { SAP_SAVED_WIDTHS = SAP_SAVED_COLUMNS + SAP_SAVED_COLUMNS % 2 }; /* of the head, which has no gaps */
enum { SAP_SAVED_VERSION = 4, SAP_SAVED_ORDER = 0x01020304 };
enum { SAP_SAVED_CHUNK = 1 << 20, SAP_SAVED_TAG = 1 }; /* bytes of a message at most, and its tag */
#define SAP_SAVED_MAGIC "SAPSTPR"

/* Members fill both structs without gaps. */
struct sap_saved_head {
    char magic[8];
    uint32_t order, version;
    uint64_t bytes; /* of the file */
    int64_t n;      /* particles of all ranks */
    int32_t ranks, worked;
    int32_t width[SAP_SAVED_WIDTHS]; /* bytes per particle; 0: the column is not there */
    struct sap_stepper_signature signature;
    struct sap_stepper_clock clock; /* of rank 0 */
};

/* What ranks have of their own. */
struct sap_saved_rank {
    int64_t n, active, massive, particle_steps;
};

/* The records of ranks, of which MPI sends int64_t. */
enum { SAP_SAVED_NUMBERS = sizeof(struct sap_saved_rank) / sizeof(int64_t) };

/*
 * Copies a column of n elements of `width` bytes from the order of particles to that of slots, or back.  mass: of the
 * particles; those with mass have the first slots (engine/step_order.h).
 */
void sap_saved_reorder(const void *mass, int n, size_t width, int to_slots, const void *from, void *to);

/* The columns of the particles that a rank takes (stepper_restore.c). */
struct sap_saved_columns {
    int n;
    int32_t width[SAP_SAVED_COLUMNS];
    char *memory, *column[SAP_SAVED_COLUMNS];
    const void *at[SAP_SAVED_COLUMNS];
    int64_t *work; /* by slot, as `walker` */
    int *walker;
};

/* Makes memory for n particles, whose widths are known; 0 or an error.  The caller frees `memory`. */
int sap_saved_reserve(sapporo_mpi_stepper *h, struct sap_saved_columns *c, int n);

/*
 * Collective.  Gives the stepper and its tree the columns.  walks: the ranks of column SAP_SAVED_WALKER walk the
 * particles; worked: that of the tree.
 */
int sap_saved_take(sapporo_mpi_stepper *h, struct sap_stepper_saved *part, struct sap_saved_columns *c, int walks,
                   int worked);

/* The tree whose division among the ranks is known; NULL: there is none. */
sapporo_mpi_tree *sap_saved_tree(const sapporo_mpi_stepper *h);

/* Reads what that tree knows of n particles, by particle; by_slot and mass are memory for n doubles. */
int sap_saved_read_tree(sapporo_mpi_stepper *h, int column, int n, void *mass, void *by_slot, void *to);

#endif
