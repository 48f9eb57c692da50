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
enum { SAP_SAVED_VERSION = 3, SAP_SAVED_ORDER = 0x01020304 };
enum { SAP_SAVED_CHUNK = 1 << 20, SAP_SAVED_TAG = 1 }; /* bytes of a message at most, and its tag */
#define SAP_SAVED_MAGIC "SAPSTPR"

/* Members fill both structs without gaps. */
struct sap_saved_head {
    char magic[8];
    uint32_t order, version;
    uint64_t bytes; /* of the file */
    int64_t n;      /* particles of all ranks */
    int32_t ranks, worked;
    int32_t width[SAP_SAVED_COLUMNS]; /* bytes per particle; 0: the column is not there */
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

#endif
