/* snapshot_writer.c - see snapshot_writer.h. */
#define _POSIX_C_SOURCE 200809L
#include "snapshot_writer.h"

#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

struct snapshot_writer {
    pthread_t thread;
    int is_begun;
    bodies own; /* arrays, which stay from one write to the next */
    /* of the write */
    char *path;
    bodies set; /* with the arrays of `own` */
    snapshot_form form;
    int status;
    message about;
};

/* Copies what the thread needs.  -1: memory is not sufficient. */
static int copy(snapshot_writer *w, const char *path, const bodies *set, snapshot_form form)
{
    const size_t n = (size_t)set->n;
    bodies *const own = &w->own;
    if (!own->id || own->n != set->n) {
        bodies_free(own);
        if (bodies_allocate(own, set->n)) return -1;
    }
    free(w->path);
    w->path = strdup(path);
    memcpy(own->id, set->id, n * sizeof *own->id);
    memcpy(own->mass, set->mass, n * sizeof *own->mass);
    memcpy(own->x, set->x, n * sizeof *own->x);
    memcpy(own->v, set->v, n * sizeof *own->v);
    w->set = *set;
    w->set.id = own->id;
    w->set.mass = own->mass;
    w->set.x = own->x;
    w->set.v = own->v;
    w->form = form;
    return w->path ? 0 : -1;
}

static void *write_set(void *writer)
{
    snapshot_writer *const w = writer;
    w->status = snapshot_write(w->path, &w->set, w->form, &w->about);
    return NULL;
}

/* Starts the thread, which leaves signals to the others.  -1: it did not start. */
static int start(snapshot_writer *w)
{
    sigset_t all, before;
    (void)sigfillset(&all);
    (void)pthread_sigmask(SIG_SETMASK, &all, &before);
    w->is_begun = !pthread_create(&w->thread, NULL, write_set, w);
    (void)pthread_sigmask(SIG_SETMASK, &before, NULL);
    return w->is_begun ? 0 : -1;
}

int snapshot_writer_begin(snapshot_writer **writer, const char *path, const bodies *set, snapshot_form form,
                          message *about)
{
    if (!*writer) *writer = calloc(1, sizeof **writer);
    if (*writer && !copy(*writer, path, set, form) && !start(*writer)) return 0;
    return snapshot_write(path, set, form, about);
}

int snapshot_writer_wait(snapshot_writer *writer, message *about)
{
    if (!writer || !writer->is_begun) return 0;
    (void)pthread_join(writer->thread, NULL);
    writer->is_begun = 0;
    if (writer->status) *about = writer->about;
    return writer->status;
}

void snapshot_writer_free(snapshot_writer **writer)
{
    message unheard;
    if (!*writer) return;
    (void)snapshot_writer_wait(*writer, &unheard);
    bodies_free(&(*writer)->own);
    free((*writer)->path);
    free(*writer);
    *writer = NULL;
}
