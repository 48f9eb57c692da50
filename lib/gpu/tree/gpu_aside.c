/* gpu_aside.c - see gpu_aside.h. */
#include "gpu/tree/gpu_aside.h"

#include "gpu/gpu_launch.h"
#include "gpu/tree/gpu_kernels.h"

int sap_gpu_aside_open(struct sap_gpu_host_tree *t)
{
    struct sap_gpu_session *const s = &t->part.aside;
    const struct sap_gpu_tree_kernels *f;
    if (s->primitives) return SAP_DRIVER_OK;
    TRY(sap_session_open(s, 0));
    return sap_gpu_tree_load(s, &f);
}

int sap_gpu_aside_begin(struct sap_gpu_host_tree *t, struct sap_gpu_built *built)
{
    struct sap_gpu_session *const s = &t->part.aside;
    *built = sap_gpu_tree_built(t);
    built->session = s;
    if (!s->driver) {
        sap_session_init(s, t->session.set, "tree");
        s->urgent = 1;
    }
    s->broken = t->session.broken;
    const int status = sap_session_begin(s);
    return status ? sap_session_fail(&t->session, status, s->message) : SAPPORO_OK;
}

int sap_gpu_aside_end(struct sap_gpu_host_tree *t, int driver_status)
{
    struct sap_gpu_session *const s = &t->part.aside;
    const int status = sap_session_end(s, driver_status);
    t->session.broken = s->broken;
    return status ? sap_session_fail(&t->session, status, s->message) : SAPPORO_OK;
}

void sap_gpu_aside_free(struct sap_gpu_host_tree *t)
{
    struct sap_gpu_session *const s = &t->part.aside;
    if (t->part.ready) t->session.driver->event_destroy(t->part.ready);
    if (!s->driver) return;
    sap_session_stop(s);
    sap_session_close(s);
}
