/* exact_sum.h - accelerations by the library's direct sum in double precision, to which those of trees are compared. */
#ifndef TOOL_EXACT_SUM_H
#define TOOL_EXACT_SUM_H

#include "bodies.h"
#include "client.h"
#include "message.h"

/*
 * Computes the accelerations of n target particles, which `target` names, by all particles of the set; eps is the
 * softening length of all particles.  A few of them are compared with a plain sum of the tool's own.  Returns -1 with a
 * message if the library fails, or if a sum is wrong.  `what` chooses the engine; its precision and order are ignored.
 */
int exact_sum(const settings *what, const bodies *set, sapporo_softening softening, double eps, const int *target,
              int n, double (*acc)[3], message *why);

#endif
