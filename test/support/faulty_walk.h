/*
 * faulty_walk.h - runs sessions over the stub, in which the n-th call of the driver fails, for every n and in every
 * way.
 */
#ifndef FAULTY_WALK_H
#define FAULTY_WALK_H

/*
 * Opens, computes and closes.  `fault` is the planned driver status, SAP_DRIVER_OK: none.  Returns how many of its
 * calls noticed a failure, and asserts that results are right or refused.
 */
typedef int faulty_session(int devices, int fault);

/*
 * Makes every `every`-th call fail in turn, with CUDA's engine over the stub as it is set.  The session must notice
 * failures, unless they are harmless; after each failure a session without faults must succeed, and no object may exist
 * once contexts are closed.  Assertions are CMocka's.
 */
void faulty_walk(faulty_session *session, int devices, int every);

/*
 * Returns the step of a walk: `every`, or three times that under sanitizers if cases are left out.  Sessions without
 * sanitizers look at every call, and fail in the same way.
 */
int faulty_every(int every);

/*
 * Prepares main: forces in such tests are tiny, so one thread computes, and memory that the stub frees is used again.
 */
void faulty_alone(char **argv);

#endif
