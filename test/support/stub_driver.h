/*
 * stub_driver.h - a driver of devices that are host memory: for tests of the host flow on machines without a GPU.
 *
 * Memory is malloc's, copies are made at once, events have happened when they
 * are recorded, launches are noted and otherwise do nothing unless on_launch
 * does it.  Everything is counted, so that what was not given back shows.
 * One thread at a time uses a device, several devices may be used at once.
 */
#ifndef STUB_DRIVER_H
#define STUB_DRIVER_H

#include "driver/driver.h"

#include <stdatomic.h>

/* What there is at the moment; all 0 when everything has been given back. */
struct stub_live {
    atomic_int opens, entered, memories, streams, events, modules, functions;
    atomic_size_t bytes;
};

struct stub_state {
    /* set by the test */
    int devices;
    size_t memory;         /* bytes of each device, pinned memory included */
    const char *describe;  /* NULL: a text of its own */
    int apart;             /* devices reach each other's memory (0), only copies do (1), nor do they wait (2) */
    int pending;           /* queries of a recorded event that say PENDING before one says OK */
    void (*on_call)(void); /* called by the calls of the table */
    /* Called for each launch, by the thread that launches. */
    void (*on_launch)(const char *name, const struct sap_launch *launch);

    /* told by the stub */
    struct stub_live live;
    atomic_long launches, copies, fills, finishes, waits;
    atomic_int outside; /* calls that would have touched memory outside of an allocation; they fail */
    char last_launch[64];
};

extern struct stub_state stub;
extern const struct sap_driver stub_driver;

/* Forgets settings and counts: `devices` devices of 1 GiB.  Nothing may be open. */
void stub_reset(int devices);

/* 1 if nothing is held; else 0, with a line that says what is. */
int stub_idle(void);

/* The bytes of a memory, and how many. */
void *stub_memory(const struct sap_mem *mem);
size_t stub_memory_bytes(const struct sap_mem *mem);

/* Launches of the kernel of that name since stub_reset; at most 64 names are known. */
long stub_launches(const char *name);

#endif
