/* opened.h - contexts and trees as they are when they were just opened, on the CPU. */
#ifndef TEST_OPENED_H
#define TEST_OPENED_H

#include "sapporo.h"

/* A context of an order, with one thread. */
sapporo *open_order(int order);

/* A tree of four particles of mass 1 along the x axis, built. */
sapporo_tree *open_tree(void);

/* Fails the test unless a context is as it was opened: no particle below address 8, time 0, no error. */
void is_untouched(sapporo *c);

#endif
