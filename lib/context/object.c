/* object.c - see object.h. */
#include "context/object.h"

#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "context/context.h"

_Thread_local char sap_open_error[256];

static void make_lock(void *object) { sap_lock_start(&((struct sap_object *)object)->busy); }

void *sap_object_make(enum sap_handle_kind kind, size_t size, const char *what)
{
    struct sap_object *const o = sap_handle_object(kind, size, make_lock);
    if (o)
        sap_lock(&o->busy);
    else
        (void)snprintf(sap_open_error, sizeof sap_open_error, "a %s needs a handle and %zu bytes of memory: %s", what,
                       size, sap_handle_lack(kind));
    return o;
}

void *sap_object_give(struct sap_object *o, int status)
{
    (void)snprintf(sap_open_error, sizeof sap_open_error, "%s", status ? sap_error_text(&o->notes) : "");
    if (status) return NULL;
    void *const handle = sap_handle_give(&o->self);
    sap_unlock(&o->busy);
    return handle;
}

void sap_object_keep(struct sap_handle *self, struct sap_lock *busy, void *from, size_t bytes)
{
    sap_lock(&sap_messages.lock); /* other threads may read the error */
    memset(from, 0, bytes);
    sap_unlock(&sap_messages.lock);
    sap_unlock(busy); /* before another thread can reuse the object, or a child process inherits it */
    sap_handle_keep(self);
}

void sap_object_retire(struct sap_object *o, size_t size)
{
    const size_t from = offsetof(struct sap_object, notes);
    sap_object_keep(&o->self, &o->busy, (char *)o + from, size - from);
}

const char *sap_object_error(enum sap_handle_kind kind, const void *handle)
{
    if (!handle) return sap_open_error;
    const struct sap_object *const o = sap_handle_find(kind, handle);
    return o ? sap_error_text(&o->notes) : sapporo_status_text(SAPPORO_ERR_CLOSED);
}
