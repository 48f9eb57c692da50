/* gpu_targets.c - see gpu_targets.h. */
#include "gpu/tree/gpu_targets.h"

#include "gpu/gpu_launch.h"
#include "gpu/gpu_primitives.h"
#include "gpu/tree/gpu_kernels.h"
#include "gpu/tree/gpu_lengths.h"

/* ---- memory ----------------------------------------------------------------------------- */

void sap_gpu_targets_drop(const struct sap_driver *driver, struct sap_gpu_targets *to)
{
    struct sap_gpu_buffer *const all[] = {&to->address, &to->sorted, &to->sorted_at, &to->group_first, &to->bound,
                                          &to->heavy,   &to->strict, &to->group_of,  &to->length,      &to->longest};
    for (int k = 0; k < COUNT(all); k++) sap_gpu_free(driver, all[k]);
}

void sap_gpu_targets_free(const struct sap_driver *driver, struct sap_gpu_targets *to)
{
    sap_gpu_targets_drop(driver, to);
    for (int k = 0; k < 2; k++) {
        sap_gpu_free(driver, &to->key[k]);
        sap_gpu_free(driver, &to->value[k]);
    }
}

int sap_gpu_targets_reserve_sort(struct sap_gpu_session *s, struct sap_gpu_buffer *key, struct sap_gpu_buffer *value,
                                 int n)
{
    for (int k = 0; k < 2; k++) {
        TRY(sap_session_reserve(s, &key[k], (size_t)n * sizeof(uint64_t)));
        TRY(sap_session_reserve(s, &value[k], (size_t)n * sizeof(int)));
    }
    return sap_session_reserve(s, &s->scratch, sap_primitives_scratch(n));
}

/* ---- order ------------------------------------------------------------------------------ */

int sap_gpu_targets_sort(struct sap_gpu_session *s, const struct sap_gpu_tree_kernels *f, struct sap_gpu_targets *to,
                         const struct sap_gpu_buffer *given, const struct sap_gpu_tree *frame, int n, int *at)
{
    TRY(sap_gpu_targets_reserve_sort(s, to->key, to->value, n));
    const struct sap_sort sort = {.key = {to->key[0].mem, to->key[1].mem},
                                  .value = {to->value[0].mem, to->value[1].mem},
                                  .n = n,
                                  .to = 63,
                                  .places = 1};
    TRY(sap_launch_tree_keys(s, f, n, given->mem, to->key[0].mem, *frame, n));
    return sap_primitives_sort(s->primitives, s->stream, &sort, s->scratch.mem, at);
}

void sap_gpu_targets_take(struct sap_gpu_targets *to, int n, int groups, int at)
{
    sap_gpu_exchange(&to->address, &to->value[at]);
    to->n = n;
    to->groups = groups;
}

int sap_gpu_targets_gather(const struct sap_gpu_session *s, const struct sap_gpu_tree_kernels *f,
                           const struct sap_gpu_targets *to, const struct sap_gpu_buffer *given, int numbers,
                           double mass_unit)
{
    const struct sap_gpu_buffer *const sorted_at = numbers ? &to->sorted_at : &to->sorted;
    return sap_launch_tree_gather(s, f, to->n, given->mem, to->address.mem, to->sorted.mem, sorted_at->mem, numbers,
                                  mass_unit, to->n);
}

int sap_gpu_targets_positions(struct sap_gpu_session *s, const struct sap_gpu_tree_kernels *f,
                              struct sap_gpu_targets *to, const struct sap_gpu_buffer *given,
                              const struct sap_gpu_tree *frame, int n, int run)
{
    const size_t groups = (size_t)sap_gpu_targets_runs(run, n);
    int at;
    TRY(sap_session_reserve(s, &to->sorted, (size_t)n * 4 * sizeof(double)));
    TRY(sap_session_reserve(s, &to->group_of, (size_t)n * sizeof(int)));
    TRY(sap_session_reserve(s, &to->group_first, (groups + 1) * sizeof(int)));
    TRY(sap_session_reserve(s, &to->bound, groups * SAP_GROUP_WORDS * sizeof(double)));
    TRY(sap_session_reserve(s, &to->heavy, groups * sizeof(int)));
    TRY(sap_session_reserve(s, &to->strict, groups * sizeof(float)));
    struct sap_gpu_tree how = *frame;
    how.signs = 0; /* positions have none */
    TRY(sap_gpu_targets_sort(s, f, to, given, &how, n, &at));
    sap_gpu_targets_take(to, n, (int)groups, at);
    to->run = run;
    TRY(sap_gpu_targets_cut_runs(s, f, to, run));
    return sap_gpu_targets_gather(s, f, to, given, 0, 1);
}

/* ---- groups ----------------------------------------------------------------------------- */

int sap_gpu_targets_runs(int run, int n) { return n / run + (n % run > 0); }

int sap_gpu_targets_halve(struct sap_gpu_session *s, const struct sap_gpu_tree_kernels *f, struct sap_gpu_cut *cut,
                          const struct sap_gpu_buffer *given, const struct sap_gpu_halving *how)
{
    const int size = cut->first ? 0 : how->group_size;
    size_t at;
    TRY(sap_session_reserve(s, &s->scratch, sap_primitives_scratch(cut->n)));
    TRY(sap_launch_tree_divide(s, f, cut->groups, given->mem, cut->order->mem,
                               cut->first ? cut->first->mem : cut->flag->mem, cut->flag->mem, how->extent, size,
                               cut->groups, cut->n));
    TRY(sap_primitives_scan(s->primitives, s->stream, cut->flag->mem, cut->before->mem, cut->n, s->scratch.mem, &at));
    TRY(sap_session_copy_out(s, how->groups, s->scratch.mem, at, sizeof *how->groups));
    TRY(sap_session_wait(s));
    cut->groups = *how->groups;
    return SAP_DRIVER_OK;
}

int sap_gpu_targets_cut(const struct sap_gpu_session *s, const struct sap_gpu_tree_kernels *f,
                        const struct sap_gpu_targets *to, const struct sap_gpu_cut *cut)
{
    return sap_launch_tree_flagged(s, f, cut->n, cut->flag->mem, cut->before->mem, to->group_first.mem,
                                   to->group_of.mem, cut->n);
}

int sap_gpu_targets_cut_runs(const struct sap_gpu_session *s, const struct sap_gpu_tree_kernels *f,
                             const struct sap_gpu_targets *to, int run)
{
    return sap_launch_tree_runs(s, f, to->n, to->group_first.mem, to->group_of.mem, run, to->n);
}

int sap_gpu_targets_bound(const struct sap_gpu_session *s, const struct sap_gpu_tree_kernels *f,
                          const struct sap_gpu_targets *to, const struct sap_gpu_buffer *root,
                          const struct sap_gpu_lengths *lengths, const struct sap_gpu_buffer *a,
                          const struct sap_gpu_tree *frame)
{
    const int has_a = a != NULL;
    const struct sap_gpu_buffer *const sizes = a ? a : &to->sorted;
    TRY(sap_launch_tree_groups(s, f, to->groups, to->sorted.mem, root->mem, to->group_first.mem, to->bound.mem,
                               to->heavy.mem, sizes->mem, to->address.mem, to->strict.mem, has_a, *frame));
    return lengths->law->groups(s, lengths, to);
}
