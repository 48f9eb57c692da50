/* object.h - the life of an object behind a handle: made and retired; of trees and steppers.  Calls on them: call.h. */
#ifndef SAP_OBJECT_H
#define SAP_OBJECT_H

#include "base/handle.h"
#include "base/lock.h"
#include "base/log.h"

/* The first member of the object of a handle. */
struct sap_object {
    struct sap_handle self;
    struct sap_lock busy;   /* held during every call */
    struct sap_notes notes; /* sap_object_retire clears this member and all that follow */
};

/*
 * Returns a locked object of zeros behind `notes`, without a handle; NULL, after setting sap_open_error, if memory is
 * short.  what: the word for messages.
 */
void *sap_object_make(enum sap_handle_kind kind, size_t size, const char *what);

/*
 * Ends the making of an object.  Status 0: returns its handle and unlocks it.  Otherwise returns NULL, and the caller
 * retires the object, whose error is kept in sap_open_error.
 */
void *sap_object_give(struct sap_object *object, int status);

/*
 * Ends the life of a locked object of `size` bytes, whose parts the caller has freed after sap_handle_withdraw. Unlocks
 * the object and keeps its memory for another one: threads that wait for the lock find it closed.
 */
void sap_object_retire(struct sap_object *object, size_t size);

/* The same for other objects: clears `bytes` bytes from `from` on, notes among them. */
void sap_object_keep(struct sap_handle *self, struct sap_lock *busy, void *from, size_t bytes);

/* The text of the last error of a handle's object; of NULL: why the last object of this thread was not made. */
const char *sap_object_error(enum sap_handle_kind kind, const void *handle);

#endif
