/* room.h - memory that a handle keeps from one call to the next, so that its pages are touched once. */
#ifndef SAP_MPI_ROOM_H
#define SAP_MPI_ROOM_H

#include <stddef.h>
#include <stdlib.h>

/* All zeros: no memory. */
struct sap_room {
    void *at;
    size_t bytes;
};

/* Makes room for so many bytes, at least one; what was there is lost if it grows.  Returns NULL if memory is short. */
static inline void *sap_room_reserve(struct sap_room *room, size_t bytes)
{
    if (room->at && room->bytes >= bytes) return room->at;
    free(room->at);
    room->bytes = bytes > 0 ? bytes : 1;
    room->at = malloc(room->bytes);
    return room->at;
}

/*
 * Does the same for n elements whose number changes a little from call to call: memory that grows for the second time
 * takes an eighth more than it needs.
 */
static inline void *sap_room_array(struct sap_room *room, size_t n, size_t each)
{
    const size_t bytes = n * each;
    const int again = room->at && room->bytes < bytes;
    return sap_room_reserve(room, again ? bytes + bytes / 8 : bytes);
}

static inline void sap_room_free(struct sap_room *room)
{
    free(room->at);
    *room = (struct sap_room){0};
}

#endif
