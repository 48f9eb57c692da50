/*
 * stub_driver.h - a driver whose devices are host memory: for tests of the host flow on machines without a GPU.
 *
 * Memory is allocated by malloc, copies are done at once, events are complete when they are recorded.  Launches are
 * recorded, and do nothing unless on_launch does.  The stub counts all objects, so leaks show.  One thread at a time
 * uses a device; several devices may be used at once.
 */
#ifndef STUB_DRIVER_H
#define STUB_DRIVER_H

#include "driver/driver.h"

#include <stdatomic.h>

/* The objects that exist now; all 0 when everything has been released. */
struct stub_live {
    atomic_int opens, entered, memories, streams, events, modules, functions;
    atomic_size_t bytes;
};

struct stub_state {
    /* set by the test */
    int devices;
    size_t memory;         /* bytes of each device, pinned memory included */
    const char *describe;  /* NULL: the stub's own text */
    int apart;             /* 0: devices access each other's memory, 1: they only copy, 2: they copy and do not wait */
    int pending;           /* number of queries of a recorded event that return PENDING before one returns OK */
    void (*on_call)(void); /* called by the calls of the table */
    /* called for each launch, by the launching thread */
    void (*on_launch)(const char *name, const struct sap_launch *launch);

    /* set by the stub */
    struct stub_live live;
    atomic_long launches, copies, fills, finishes, waits;
    atomic_int outside; /* calls with memory outside an allocation; they fail */
    char last_launch[64];
};

extern struct stub_state stub;
extern const struct sap_driver stub_driver;

/* Resets settings and counts: `devices` devices of 1 GiB.  No object may be open. */
void stub_reset(int devices);

/* Returns 1 if no object exists; else 0, and prints the existing objects. */
int stub_idle(void);

/* Return the bytes of a memory, and their number. */
void *stub_memory(const struct sap_mem *mem);
size_t stub_memory_bytes(const struct sap_mem *mem);

/* Returns the launches of the kernel of that name since stub_reset; it counts at most 64 names. */
long stub_launches(const char *name);

#endif
