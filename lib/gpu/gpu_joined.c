/*
 * gpu_joined.c - neighbour lists of several devices. When the first list is asked for, several threads join the lists
 * of all i-particles of the force.
 */
#include <stdlib.h>

#include "base/team.h"
#include "base/threads.h"
#include "device/gpu_layout.h"
#include "gpu/gpu_devices.h"
#include "gpu/gpu_force.h"
#include "gpu/gpu_lists.h"

struct joined_row {
    size_t first;
    int n;
};

/* Lists joined from several devices, and the memory that later forces reuse. */
struct sap_gpu_joined {
    int rows; /* rows that fit */
    size_t room;
    struct joined_row *row; /* [rows] */
    int32_t *entry;         /* [room] */
};

/* The part of one list that one device found. */
struct run {
    const int32_t *at, *end;
};

struct sap_gpu_run sap_gpu_list_of(const struct sap_gpu_part *p, int i)
{
    const struct sap_gpu_list_row row = ((const struct sap_gpu_list_row *)p->list_rows.host)[i];
    const int32_t *const all = p->list_entries.host;
    return (struct sap_gpu_run){all + (size_t)row.first * SAP_GPU_LIST_UNIT, row.count};
}

/* Collects the devices' sorted parts of the list of i; returns the number of parts. */
static int runs_of(const struct sap_gpu_host_force *f, int i, struct run *run)
{
    int n = 0;
    for (int k = 0; k < f->set->n; k++) {
        if (f->superpackets[k] == 0) continue;
        const struct sap_gpu_run r = sap_gpu_list_of(&f->part[k], i);
        if (r.n > 0) run[n++] = (struct run){r.at, r.at + r.n};
    }
    return n;
}

/* Merges n sorted runs into one, each index once; returns its length. */
static int merge_runs(struct run *run, int n, int32_t *to)
{
    int kept = 0;
    while (n > 0) {
        int least = 0;
        for (int k = 1; k < n; k++) least = *run[k].at < *run[least].at ? k : least;
        const int32_t next = *run[least].at++;
        if (run[least].at == run[least].end) run[least] = run[--n];
        if (kept == 0 || to[kept - 1] != next) to[kept++] = next;
    }
    return kept;
}

/* Sets the start of each list, with space for all entries that the devices found; 0: no memory. */
static int make_room(struct sap_gpu_host_force *f)
{
    if (!f->joined) f->joined = calloc(1, sizeof *f->joined);
    struct sap_gpu_joined *const j = f->joined;
    const int ni = f->request.ni;
    size_t total = 0;
    if (!j) return 0;
    if (ni > j->rows) {
        free(j->row);
        j->row = malloc((size_t)ni * sizeof *j->row);
        j->rows = j->row ? ni : 0;
        if (!j->row) return 0;
    }
    for (int i = 0; i < ni; i++) {
        j->row[i].first = total;
        for (int k = 0; k < f->set->n; k++)
            if (f->superpackets[k] > 0) total += (size_t)sap_gpu_list_of(&f->part[k], i).n;
    }
    if (total <= j->room) return 1;
    free(j->entry);
    j->entry = malloc((total + total / 8) * sizeof *j->entry);
    j->room = j->entry ? total + total / 8 : 0;
    return j->entry != NULL;
}

static void join_row(struct sap_gpu_host_force *f, int i)
{
    struct run run[SAP_GPU_DEVICES];
    struct sap_gpu_joined *const j = f->joined;
    const int n = runs_of(f, i, run);
    j->row[i].n = n > 0 ? merge_runs(run, n, j->entry + j->row[i].first) : 0;
}

static void join_range(void *argument, ptrdiff_t from, ptrdiff_t to)
{
    for (ptrdiff_t i = from; i < to; i++) join_row(argument, (int)i);
}

int sap_gpu_join_lists(struct sap_gpu_host_force *f)
{
    const int ni = f->request.ni, threads = sap_threads_for_rows(ni);
    if (f->is_joined) return SAPPORO_OK;
    if (!make_room(f)) return SAPPORO_ERR_MEMORY;
    sap_team_for(threads, ni, sap_team_chunk(ni, threads, 16), join_range, f);
    f->is_joined = 1;
    return SAPPORO_OK;
}

struct sap_gpu_run sap_gpu_joined_list(const struct sap_gpu_host_force *f, int i)
{
    const struct sap_gpu_joined *const j = f->joined;
    return (struct sap_gpu_run){j->entry + j->row[i].first, j->row[i].n};
}

void sap_gpu_joined_free(struct sap_gpu_host_force *f)
{
    if (!f->joined) return;
    free(f->joined->row);
    free(f->joined->entry);
    free(f->joined);
}
