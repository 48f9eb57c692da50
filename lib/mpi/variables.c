/* variables.c - the table of variables of the environment, which the shared library hides, for libsapporo_mpi. */
#include "../variables.c" /* NOLINT(bugprone-suspicious-include): of lib/, the one list */
