/* structs.h - structs of the interface that begin with their size, as a caller of any version has them. */
#ifndef SAP_STRUCTS_H
#define SAP_STRUCTS_H

#include <stddef.h>
#include <string.h>

#include "sapporo.h"

/* No struct of any version is longer: a greater size was never set. */
enum { SAP_STRUCT_MOST = 4096 };

/*
 * Copies a struct whose first version had `least` bytes: what an older caller's lacks becomes zero.  A newer caller's
 * may be longer, if all that this library does not know is zero.  SAPPORO_ERR_ARGUMENT: the size makes no sense.
 */
static inline int sap_struct_copy(void *to, size_t room, const void *from, size_t least)
{
    size_t size;
    memcpy(&size, from, sizeof size);
    if (size < least || size > SAP_STRUCT_MOST) return SAPPORO_ERR_ARGUMENT;
    if (size == room) {
        memcpy(to, from, room);
        return SAPPORO_OK;
    }
    memset(to, 0, room);
    memcpy(to, from, size < room ? size : room);
    for (size_t k = room; k < size; k++)
        if (((const unsigned char *)from)[k] != 0) return SAPPORO_ERR_UNSUPPORTED;
    return SAPPORO_OK;
}

/* Place of particle k in a column of elements of `size` bytes, which must be there. */
static inline const void *sap_column_at(const sapporo_column *column, int k, size_t size)
{
    const ptrdiff_t stride = column->stride ? column->stride : (ptrdiff_t)size;
    return (const char *)column->base + k * stride;
}

/* Number k of a column of doubles, 0 if the column is absent. */
static inline double sap_column_double(const sapporo_column *column, int k)
{
    double x = 0;
    if (column->base) memcpy(&x, sap_column_at(column, k, sizeof x), sizeof x);
    return x;
}

#endif
