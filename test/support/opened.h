/* opened.h - newly opened contexts and trees, on the CPU. */
#ifndef TEST_OPENED_H
#define TEST_OPENED_H

#include "sapporo.h"

/* Opens a context of an order, with one thread. */
sapporo *open_order(int order);

/* Builds a tree of four particles of mass 1 along the x axis. */
sapporo_tree *open_tree(void);

/* Fails the test unless a context is in its initial state: no particle below address 8, time 0, no error. */
void is_untouched(sapporo *c);

#endif
