/*
 * alloc_faults.h - allocations of the library that fail on demand.
 *
 * alloc_faults.c makes a shared library for LD_PRELOAD.  It counts the
 * allocations that libsapporo and the libraries on top of it ask for, and lets
 * the n-th one fail.  Allocations of the C library, of OpenMP, of OpenCL
 * drivers and of the program itself are neither counted nor failed: the
 * address of the caller decides.  A program finds the functions with dlsym.
 */
#ifndef ALLOC_FAULTS_H
#define ALLOC_FAULTS_H

enum { ALLOC_FAULTS_FRAMES = 24 };

/* What has happened since alloc_faults_plan. */
struct alloc_faults_report {
    long failed;                      /* allocations that were made to fail */
    int frames;                       /* of the first that failed: addresses of its callers, the innermost first */
    void *frame[ALLOC_FAULTS_FRAMES]; /* [frames] */
};

/* Which allocations count. */
enum alloc_faults_counted {
    ALLOC_FAULTS_ALL,
    ALLOC_FAULTS_BY_CALLERS /* of one chain of callers in the library the first, second, fourth, eighth and so on */
};

/*
 * The n-th allocation that counts from here fails (1: the next), and, if for_good, all after it; n = 0: none fails. The
 * library writes to *report, which may lie in shared memory, when an allocation fails; NULL: not wanted.
 */
typedef void alloc_faults_plan_function(long n, int for_good, enum alloc_faults_counted counted,
                                        struct alloc_faults_report *report);
alloc_faults_plan_function alloc_faults_plan;

#endif
