/* mpi.h - the types of MPI, for tests that compile headers where no MPI is installed. */
#ifndef TEST_MPI_H
#define TEST_MPI_H

typedef int MPI_Comm, MPI_Request, MPI_Datatype, MPI_Fint;

#endif
