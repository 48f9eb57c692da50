/* node.h - what the machines of all ranks have: cores that ranks may use, and memory that they share. */
#ifndef SAP_MPI_NODE_H
#define SAP_MPI_NODE_H

#include "mpi/link.h"

/*
 * Collective, while an object is made.  Warns, once in a process and on one rank, if a rank may use one core alone of a
 * machine that has more: MPI has bound it.  on_cpu: forces are computed on the CPU.  share: a number of which the ranks
 * of a machine have equal parts; *least, unless least is NULL: the smallest part of all ranks.
 */
int sap_node_meet(struct sap_link *link, int on_cpu, double share, double *least);

#endif
