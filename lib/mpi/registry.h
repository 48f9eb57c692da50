/*
 * registry.h - the objects behind the handles of sapporo_mpi.h: their memory, their numbers and the list of open ones.
 *
 * Handles are numbers that are never given twice, in the form of pointers.  An object is found by a search through all
 * open ones, of which a program has few.
 */
#ifndef SAP_MPI_REGISTRY_H
#define SAP_MPI_REGISTRY_H

#include <stddef.h>
#include <stdint.h>

enum sap_listed_kind { SAP_LISTED_SUMS, SAP_LISTED_TREE, SAP_LISTED_STEPPER, SAP_LISTED_KINDS };

/* The first member of an object. */
struct sap_listed {
    uintptr_t number; /* 0: it has no handle yet */
    struct sap_listed *next;
    enum sap_listed_kind kind;
    int is_spare; /* 1: the object of a rank without memory, which cannot be opened: it tells the other ranks so */
};

/* A number for a new handle or job: odd, so that none is the address of an object. */
uintptr_t sap_mpi_number(void);

/*
 * Returns an object of zeros; if memory is short, the spare one of its kind; NULL: another thread has that one.
 * bytes: of the object, the size of struct sapporo_mpi, sapporo_mpi_tree or sapporo_mpi_stepper.
 */
void *sap_listed_make(enum sap_listed_kind kind, size_t bytes);

/* Frees an object without a handle.  An object of a broken link, whose memory MPI may still use, is not freed. */
void sap_listed_free(struct sap_listed *object);

/* Gives an object its handle, and returns the handle. */
void *sap_listed_give(struct sap_listed *object);

/* Withdraws the handle of an object. */
void sap_listed_withdraw(struct sap_listed *object);

/* The object of a handle; NULL: there is none of this kind. */
void *sap_listed_find(enum sap_listed_kind kind, const void *handle);

/* The open object of a kind for which `is` returns 1 with the same second argument; NULL: there is none. */
void *sap_listed_search(enum sap_listed_kind kind, int (*is)(const struct sap_listed *object, uintptr_t number),
                        uintptr_t number);

#endif
