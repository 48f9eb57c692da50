/* structs.h - copies public structs that begin with their size, from callers of any version of the library. */
#ifndef SAP_STRUCTS_H
#define SAP_STRUCTS_H

#include <stddef.h>
#include <string.h>

#include "base/log.h"
#include "sapporo.h"

/* Structs of all versions are shorter; a greater size means that the caller has not set it. */
enum { SAP_STRUCT_MOST = 4096 };

/* Sizes of the first versions of structs. */
enum {
    SAP_REQUEST_LEAST = offsetof(sapporo_request, regular),
    SAP_REGULAR_LEAST = sizeof(sapporo_regular),
    SAP_SMALL_FORCE_LEAST = offsetof(sapporo_small_force, quad_j),
    SAP_RESULT_LEAST = offsetof(sapporo_result, count),
    SAP_RESULT_COUNTED = offsetof(sapporo_result, memory), /* from this size on, a result has counts */
    SAP_PARTICLES_LEAST = offsetof(sapporo_particles, memory)
};

/*
 * Copies a caller's struct; `least` is the size of its first version.  Members that an older struct lacks become zero.
 * A newer struct may be longer if all unknown members are zero, else SAPPORO_ERR_UNSUPPORTED.  SAPPORO_ERR_ARGUMENT:
 * the size is not valid.
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

/*
 * Sets the error of a struct that sap_struct_copy refused, or that is NULL, and returns status.  The message names the
 * struct's member size, its value and what it must be.
 */
int sap_struct_error(struct sap_notes *notes, int status, const char *name, const void *given);

/*
 * Copies a struct of `room` bytes, which begins with its size, to a caller whose struct may be shorter.  The caller has
 * set its size; on return the size is the number of bytes that were written.
 */
static inline void sap_struct_return(void *to, void *from, size_t room)
{
    size_t size;
    memcpy(&size, to, sizeof size);
    if (size > room) size = room;
    memcpy(from, &size, sizeof size);
    memcpy(to, from, size);
}

/* The address of element k of a column that is not absent; elements have `size` bytes. */
static inline const void *sap_column_at(const sapporo_column *column, int k, size_t size)
{
    const ptrdiff_t stride = column->stride ? column->stride : (ptrdiff_t)size;
    return (const char *)column->base + k * stride;
}

/* Element k of a column of doubles; 0 if the column is absent. */
static inline double sap_column_double(const sapporo_column *column, int k)
{
    double x = 0;
    if (column->base) memcpy(&x, sap_column_at(column, k, sizeof x), sizeof x);
    return x;
}

#endif
