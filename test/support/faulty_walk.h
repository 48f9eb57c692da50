/* faulty_walk.h - sessions over the stub, of which the n-th call of the driver fails, for every n and in every way. */
#ifndef FAULTY_WALK_H
#define FAULTY_WALK_H

/*
 * Opens, computes and closes; `fault` is the driver status that is planned, SAP_DRIVER_OK: none.  Returns how many of
 * its calls noticed a failure, and asserts that results are right or refused.
 */
typedef int faulty_session(int devices, int fault);

/*
 * Walks through all calls that can fail, so many further on each time, with CUDA's engine over the stub as it is set.
 * Failures must be noticed, unless they are harmless; after each a session without faults must be well, and nothing may
 * be held once contexts are closed.  Assertions are CMocka's.
 */
void faulty_walk(faulty_session *session, int devices, int every);

/* For main: forces are tiny in such tests, so one thread computes, and memory that the stub frees is used again. */
void faulty_alone(char **argv);

#endif
