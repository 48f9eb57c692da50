/* hermite4_mpi.h - the main function of hermite4.c under another name, which rank 0 of hermite4_mpi calls. */
#ifndef HERMITE4_MPI_H
#define HERMITE4_MPI_H

int hermite4_main(int argc, char **argv);

#endif
