/* scan.h - sums over the threads of a group, for OpenCL C; kernels_cuda/scan.h explains them. */
#ifndef SAP_SCAN_H
#define SAP_SCAN_H

#include "dialect.h"

SAP_INLINE int scan_group(__local int *room, int items, int x, int *total)
{
    const int me = local_id();
    int sum = x;
    room[me] = sum;
    for (int step = 1; step < items; step *= 2) {
        group_barrier();
        const int before = me >= step ? room[me - step] : 0;
        group_barrier();
        sum += before;
        room[me] = sum;
    }
    group_barrier();
    *total = room[items - 1];
    group_barrier();
    return sum - x;
}

#define SCAN_ROOM(name, items)                __local int name[items]
#define SCAN_ARGUMENT(name, items)            __local int *name
#define group_scan(name, items, x, at, total) at = scan_group(name, items, x, &(total))

/* Scans with few barriers, since compilers for CPUs make a loop of each stretch of code between barriers. */
#define LANES_SCAN_ROOM(name) __local int name[32]
SAP_INLINE int lanes_scan(__local int *room, int x, int *total)
{
    const int me = local_id();
    int before = 0, sum = 0;
    group_barrier();
    room[me] = x;
    group_barrier();
    for (int k = 0; k < 32; k++) {
        if (k == me) before = sum;
        sum += room[k];
    }
    *total = sum;
    return before;
}

#define lanes_rank(room, yes, total) lanes_scan(room, (yes) ? 1 : 0, total)

SAP_INLINE void lanes_spread(__local int *to, int length, int at, int first)
{
    for (int c = 0; c < length; c++) to[at + c] = first + c;
}

struct lanes_marks {
    int first, first_at, second, second_at, third, third_at, fourth;
};
/* Four answers in one word, a byte each, and the marks that sums of such words hold: fewer than 256, of the last 128.
 */
SAP_INLINE int answers_word(int first, int second, int third, int fourth)
{
    return (first ? 1 : 0) + (second ? 1 << 8 : 0) + (third ? 1 << 16 : 0) + (fourth ? 1 << 24 : 0);
}
SAP_INLINE struct lanes_marks marks_of_words(int before, int total)
{
    struct lanes_marks m;
    m.first = total & 255, m.first_at = before & 255;
    m.second = total >> 8 & 255, m.second_at = before >> 8 & 255;
    m.third = total >> 16 & 255, m.third_at = before >> 16 & 255;
    m.fourth = total >> 24;
    return m;
}
SAP_INLINE struct lanes_marks lanes_mark(__local int *room, int first, int second, int third, int fourth)
{
    int total;
    const int before = lanes_scan(room, answers_word(first, second, third, fourth), &total);
    return marks_of_words(before, total);
}

/* The same scans for a group of `items` threads. */
#define ITEMS_ROOM(name, items) __local int name[items]
SAP_INLINE int items_scan(__local int *room, int items, int x, int *total)
{
    return items == 32 ? lanes_scan(room, x, total) : scan_group(room, items, x, total);
}

SAP_INLINE struct lanes_marks items_look(__local int *room, int items, int first, int second, int third, int x, int *at,
                                         int *total)
{
    int all;
    const int before = items_scan(room, items, answers_word(first, second, third, 0), &all);
    *at = items_scan(room, items, x, total);
    return marks_of_words(before, all);
}

#endif
