/*
 * gpu_caller_layout.h - what the kernel that looks at a column of the caller tells (caller.h).
 *
 * The word of a number is the high word of its size, which orders as sizes do; 1 for smaller numbers that are not zero.
 */
#ifndef SAP_DEVICE_GPU_CALLER_LAYOUT_H
#define SAP_DEVICE_GPU_CALLER_LAYOUT_H

enum {
    SAP_CALLER_MOST,     /* the largest word; 0: all numbers are zero */
    SAP_CALLER_LEAST,    /* SAP_CALLER_NONE less the smallest word of numbers that are not zero */
    SAP_CALLER_NEGATIVE, /* 1: some number is below zero */
    SAP_CALLER_WORDS,
    SAP_CALLER_NONE = 0x7FFFFFFF
};

#endif
