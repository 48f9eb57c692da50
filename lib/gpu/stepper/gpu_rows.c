/*
 * gpu_rows.c - forces of a tree on massive and on massless particles of a stepper, as rows of one force; the order of
 * the particles on the device.
 *
 * The tree has the particles with mass.  Massless ones are target positions, which are copied and sorted along the
 * curve for each force: a group of target particles must lie together.  Both kinds of forces leave their results in
 * memory of the tree, so rows of both are copied to memory of the stepper.
 */
#include <math.h>
#include <stdlib.h>

#include "gpu/gpu_launch.h"
#include "gpu/stepper/gpu_stepper.h"

/* ---- order -------------------------------------------------------------------------------- */

struct sap_stepper_order sap_stepper_order_of(const struct sap_gpu_stepper *s)
{
    return (struct sap_stepper_order){.has_order = s->order.slot != NULL, .massive = s->order.massive};
}

const struct sap_gpu_buffer *sap_stepper_slots(const struct sap_gpu_stepper *s)
{
    return s->order.slot ? &s->slot : &s->level;
}

const struct sap_gpu_buffer *sap_stepper_addresses(const struct sap_gpu_stepper *s)
{
    return s->order.address ? &s->address : &s->level;
}

int sap_stepper_arrange(struct sap_gpu_stepper *s, const double *mass)
{
    const int n = s->n;
    const size_t bytes = (size_t)n * sizeof(int);
    TRY(sap_session_reserve(s->session, &s->slot, (size_t)s->room * sizeof(int)));
    TRY(sap_session_reserve(s->session, &s->address, (size_t)s->room * sizeof(int)));
    TRY(sap_session_copy_in(s->session, s->slot.mem, 0, s->order.slot, bytes));
    TRY(sap_session_copy_in(s->session, s->address.mem, 0, s->order.address, bytes));
    TRY(sap_session_copy_in(s->session, s->pot.mem, 0, mass,
                            (size_t)n * sizeof *mass)); /* potentials are not known yet */
    TRY(sap_launch_stepper_arrange(s->session, s->f, n, s->x.mem, s->pot.mem, s->slot.mem, s->given->particle.mem, n));
    return sap_session_wait(s->session);
}

/* ---- softening lengths -------------------------------------------------------------------- */

/* Uploads numbers by address, or by slot, in pinned memory piece by piece. */
static int send_numbers(struct sap_gpu_stepper *s, struct sap_gpu_buffer *to, const double *from, int by_slot)
{
    double *const chunk = s->session->chunk.host;
    TRY(sap_session_reserve(s->session, to, (size_t)s->room * sizeof *from));
    for (int first = 0; first < s->n; first += SAP_SESSION_CHUNK) {
        const int n = s->n - first < SAP_SESSION_CHUNK ? s->n - first : (int)SAP_SESSION_CHUNK;
        for (int k = 0; k < n; k++) chunk[k] = from[by_slot ? sap_step_address(&s->order, first + k) : first + k];
        TRY(sap_session_copy_in(s->session, to->mem, (size_t)first * sizeof *from, chunk, (size_t)n * sizeof *from));
        TRY(sap_session_wait(s->session));
    }
    return SAP_DRIVER_OK;
}

/* Gives the tree the lengths of its particles, by slot. */
static int send_to_tree(struct sap_gpu_stepper *s)
{
    const int n = s->order.massive;
    double *const by_slot = malloc(((size_t)n + 1) * sizeof *by_slot);
    const sapporo_column column = {by_slot, 0};
    if (!by_slot) return SAP_DRIVER_MEMORY;
    for (int k = 0; k < n; k++) by_slot[k] = s->lengths->h[sap_step_address(&s->order, k)];
    const int status = sap_gpu_lengths_take(s->session, &s->t->lengths, &column, n, 0);
    free(by_slot);
    return status;
}

int sap_stepper_send_lengths(struct sap_gpu_stepper *s)
{
    TRY(send_numbers(s, &s->reach, s->lengths->reach, 0));
    if (s->t) TRY(send_to_tree(s));
    return s->source || (s->t && s->order.massive < s->n) ? send_numbers(s, &s->length, s->lengths->h, 1)
                                                          : (int)SAP_DRIVER_OK;
}

/* ---- rows --------------------------------------------------------------------------------- */

const struct sap_gpu_buffer *sap_stepper_rows_a(const struct sap_gpu_stepper *s)
{
    return s->own_rows ? &s->row_a : sap_gpu_results_acc(&s->t->results);
}

const struct sap_gpu_buffer *sap_stepper_rows_pot(const struct sap_gpu_stepper *s)
{
    return s->own_rows ? &s->row_pot : sap_gpu_results_pot(&s->t->results);
}

int sap_stepper_own_rows(struct sap_gpu_stepper *s, int rows)
{
    s->own_rows = 1;
    TRY(sap_session_reserve(s->session, &s->row_a, (size_t)rows * 3 * sizeof(double)));
    return sap_session_reserve(s->session, &s->row_pot, (size_t)rows * sizeof(double));
}

int sap_stepper_no_force(struct sap_gpu_stepper *s, int rows)
{
    const size_t bytes = (size_t)rows * sizeof(double);
    TRY(sap_stepper_own_rows(s, rows));
    TRY(sap_session_fill(s->session, s->row_a.mem, 0, 0, 3 * bytes));
    return sap_session_fill(s->session, s->row_pot.mem, 0, 0, bytes);
}

static struct sap_stepper_range range_of(const struct sap_gpu_host_tree *t)
{
    struct sap_stepper_range range = {.unit = t->frame.unit, .most = SAP_TREE_FARTHEST, .wrong = NAN};
    for (int c = 0; c < 3; c++) range.low[c] = t->cube.low[c];
    return range;
}

/* Copies rows of the tree's last force to rows from `first` on. */
static int join(struct sap_gpu_stepper *s, const struct sap_step_active *active, int first, int rows)
{
    const struct sap_gpu_results *const r = &s->t->results;
    const struct sap_stepper_range range = range_of(s->t);
    const int has_active = active->n < s->n, is_massless = first >= active->massive;
    const struct sap_gpu_buffer *const acc = is_massless ? &r->acc : sap_gpu_results_acc(r);
    const struct sap_gpu_buffer *const pot = is_massless ? &r->pot : sap_gpu_results_pot(r);
    TRY(sap_launch_stepper_join(s->session, s->f, rows, acc->mem, pot->mem, s->given->particle.mem, s->active.mem,
                                s->row_a.mem, s->row_pot.mem, has_active, is_massless, first, rows, range));
    if (!is_massless || !s->lengths) return SAP_DRIVER_OK;
    return sap_launch_stepper_lengths(s->session, s->f, rows, s->length.mem, s->active.mem, s->row_pot.mem,
                                      s->row_a.mem, s->row_pot.mem, has_active, 1, first, rows, range);
}

/* Copies the lengths of active massless particles, as those of positions. */
static int copy_lengths(struct sap_gpu_stepper *s, int has_active, int first, int rows, struct sap_stepper_range range)
{
    struct sap_gpu_buffer *const to = &s->t->lengths.of_positions;
    TRY(sap_session_reserve(s->session, to, (size_t)rows * sizeof(double)));
    return sap_launch_stepper_lengths(s->session, s->f, rows, s->length.mem, s->active.mem, to->mem, s->row_a.mem,
                                      s->row_pot.mem, has_active, 0, first, rows, range);
}

static int massless_force(struct sap_gpu_stepper *s, const struct sap_step *step, const struct sap_step_active *active)
{
    struct sap_gpu_host_tree *const t = s->t;
    const struct sap_stepper_range range = range_of(t);
    const int first = active->massive, rows = active->n - first, has_active = active->n < s->n;
    const int has_sizes = s->settings.by_acceleration && !step->start;
    TRY(sap_session_reserve(s->session, &s->row_a, (size_t)s->room * 3 * sizeof(double)));
    TRY(sap_session_reserve(s->session, &s->row_pot, (size_t)s->room * sizeof(double)));
    TRY(sap_session_reserve(s->session, &t->positions.given, (size_t)rows * 4 * sizeof(double)));
    TRY(sap_session_reserve(s->session, &t->positions.a, (size_t)rows * sizeof(double)));
    TRY(sap_launch_stepper_massless(s->session, s->f, rows, s->given->particle.mem, s->given->a.mem, s->active.mem,
                                    t->positions.given.mem, t->positions.a.mem, has_active, has_sizes, first, rows,
                                    range));
    if (s->lengths) TRY(copy_lengths(s, has_active, first, rows, range));
    TRY(sap_gpu_tree_force_massless(t, rows, has_sizes));
    return join(s, active, first, rows);
}

/* Computes forces on the active particles with mass: rows of the tree. */
static int massive_force(struct sap_gpu_stepper *s, const struct sap_step_active *active)
{
    static const int listed = 0; /* the tree reads the list in device memory, not this one */
    const int some = active->massive < s->order.massive;
    const sapporo_tree_request request = {
        .size = sizeof request, .ni = active->massive, .active = some ? &listed : NULL};
    s->t->active.listed = &s->active;
    const int status = sap_gpu_tree_force(s->t, &request, NULL, NULL);
    s->t->active.listed = NULL;
    return status;
}

int sap_stepper_tree_force(struct sap_gpu_stepper *s, const struct sap_step *step, const struct sap_step_active *active)
{
    const int massless = active->n > active->massive;
    int status = massless ? sap_session_begin(s->session) : (int)SAPPORO_OK;
    if (!status && massless) status = sap_session_end(s->session, massless_force(s, step, active));
    if (!status && active->massive > 0) status = massive_force(s, active);
    s->own_rows = massless;
    if (status || !massless || active->massive == 0) return status;
    status = sap_session_begin(s->session);
    return status ? status : sap_session_end(s->session, join(s, active, 0, active->massive));
}
