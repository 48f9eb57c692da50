/* test_handle.c - the table of handles: open handles are found, others never, and slots are used again. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/handle.h"
#include "context/context_private.h"
#include "model.h"

#include <stdlib.h>
#include <string.h>

/* In the place of trees, of which this program opens none. */
struct thing {
    struct sap_handle self;
    int made, content;
};

static void make_thing(void *object) { ((struct thing *)object)->made++; }

static struct thing *new_thing(void)
{
    struct thing *t = sap_handle_object(SAP_HANDLE_TREE, sizeof *t, make_thing);
    assert_non_null(t);
    assert_int_equal(t->made, 1); /* once, however often it is opened */
    return t;
}

static void close_thing(struct thing *t)
{
    sap_handle_withdraw(&t->self);
    sap_handle_keep(&t->self);
}

static void lives(void **state)
{
    struct thing *const t = new_thing();
    void *const first = sap_handle_give(&t->self);
    (void)state;
    assert_ptr_equal(sap_handle_find(SAP_HANDLE_TREE, first), t);
    assert_null(sap_handle_find(SAP_HANDLE_CONTEXT, first));
    assert_null(sap_handle_find(SAP_HANDLE_JOB, first));
    close_thing(t);
    assert_null(sap_handle_find(SAP_HANDLE_TREE, first));
    struct thing *const again = new_thing(), *const other = new_thing();
    assert_ptr_equal(again, t);
    assert_ptr_not_equal(other, t);
    void *const second = sap_handle_give(&again->self), *const third = sap_handle_give(&other->self);
    assert_true(second != first && third != first && third != second);
    assert_null(sap_handle_find(SAP_HANDLE_TREE, first));
    assert_ptr_equal(sap_handle_find(SAP_HANDLE_TREE, second), t);
    assert_ptr_equal(sap_handle_find(SAP_HANDLE_TREE, third), other);
    close_thing(again);
    close_thing(other);
}

/* A million lives take one slot, no two have the same handle, and none is NULL or the address of something aligned. */
static void many_lives(void **state)
{
    enum { LIVES = 1000000, KEPT = 100 };
    void *old[KEPT] = {NULL};
    uintptr_t last = 0;
    (void)state;
    close_thing(new_thing()); /* there is one to be used again */
    const int slots = sap_handles.of[SAP_HANDLE_TREE].used;
    for (int k = 0; k < LIVES; k++) {
        struct thing *const t = new_thing();
        void *const handle = sap_handle_give(&t->self);
        assert_true((uintptr_t)handle % sizeof(int) != 0 && (k == 0 || (uintptr_t)handle > last));
        last = (uintptr_t)handle;
        if (k % (LIVES / KEPT) == 0) old[k / (LIVES / KEPT)] = handle;
        close_thing(t);
    }
    assert_int_equal(sap_handles.of[SAP_HANDLE_TREE].used, slots);
    struct thing *const t = new_thing();
    (void)sap_handle_give(&t->self);
    for (int k = 0; k < KEPT; k++) assert_null(sap_handle_find(SAP_HANDLE_TREE, old[k]));
    close_thing(t);
}

/* More at a time than one chunk of the table holds. */
static void many_at_once(void **state)
{
    enum { N = 3 * SAP_HANDLE_CHUNK };
    static struct thing *thing[N];
    static void *handle[N];
    (void)state;
    for (int k = 0; k < N; k++) {
        thing[k] = new_thing();
        handle[k] = sap_handle_give(&thing[k]->self);
    }
    for (int k = 0; k < N; k++) assert_ptr_equal(sap_handle_find(SAP_HANDLE_TREE, handle[k]), thing[k]);
    for (int k = 0; k < N; k += 2) close_thing(thing[k]);
    for (int k = 0; k < N; k++) assert_true((sap_handle_find(SAP_HANDLE_TREE, handle[k]) != NULL) == (k % 2 == 1));
    for (int k = 1; k < N; k += 2) close_thing(thing[k]);
}

/* An object that has had all its lives is not used again: no handle is ever given twice. */
static void worn_out(void **state)
{
    struct thing *const t = new_thing();
    (void)state;
    if (sizeof(uintptr_t) == 4) skip(); /* there lives begin anew */
    const uintptr_t first = t->self.last & (((uintptr_t)1 << SAP_HANDLE_LIFE_SHIFT) - 1);
    t->self.last = (UINTPTR_MAX >> SAP_HANDLE_LIFE_SHIFT << SAP_HANDLE_LIFE_SHIFT | first) -
                   ((uintptr_t)1 << SAP_HANDLE_LIFE_SHIFT); /* one life is left */
    assert_false(sap_handle_is_worn(&t->self));
    void *const handle = sap_handle_give(&t->self);
    assert_ptr_equal(sap_handle_find(SAP_HANDLE_TREE, handle), t);
    assert_true(sap_handle_is_worn(&t->self));
    close_thing(t);
    for (int k = 0; k < 10; k++) assert_ptr_not_equal(new_thing(), t);
    free(t); /* its slot goes on pointing to it */
    const uintptr_t slot = first >> SAP_HANDLE_KIND_BITS;
    struct sap_handle_slots *const of = &sap_handles.of[SAP_HANDLE_TREE];
    atomic_store(&atomic_load(&of->chunk[slot / SAP_HANDLE_CHUNK])->object[slot % SAP_HANDLE_CHUNK], NULL);
}

/* Whatever is asked for, nothing is read but the table. */
static void any_value(void **state)
{
    static const uintptr_t odd[] = {0, 1, 2, 3, 4, UINTPTR_MAX, UINTPTR_MAX - 1, UINTPTR_MAX / 2, 0x42424242};
    rng random;
    rng_seed(&random, 5, 0);
    (void)state;
    for (size_t k = 0; k < sizeof odd / sizeof odd[0]; k++)
        for (int kind = 1; kind < SAP_HANDLE_KINDS; kind++)
            assert_null(sap_handle_find((enum sap_handle_kind)kind, (const void *)odd[k]));
    for (int k = 0; k < 100000; k++) {
        const void *const value = (const void *)(uintptr_t)rng_next(&random);
        assert_null(sap_handle_find((enum sap_handle_kind)(1 + k % 3), value));
    }
}

static int slots_used(void)
{
    int n = 0;
    for (int kind = 0; kind < SAP_HANDLE_KINDS; kind++) n += sap_handles.of[kind].used;
    return n;
}

/* Contexts and forces that are opened and closed for ever take the same slots. */
static void contexts_and_forces(void **state)
{
    const sapporo_options options = {.size = sizeof options, .backend = SAPPORO_BACKEND_CPU, .threads = 1};
    const double x[1][3] = {{0, 0, 0}};
    const sapporo_request request = {.size = sizeof request, .ni = 1, .x = {x, 0}, .want = SAPPORO_ALLOW_EMPTY};
    int slots = 0;
    (void)state;
    for (int turn = 0; turn < 2000; turn++) {
        sapporo *c, *inside;
        sapporo_job *job[6];
        assert_int_equal(sapporo_open(&options, &c), SAPPORO_OK);
        inside = sap_context_of(c);
        assert_ptr_equal(sap_context_of(c), inside);
        for (int k = 0; k < 6; k++) assert_int_equal(sapporo_force_begin(c, &request, &job[k]), SAPPORO_OK);
        for (int k = 0; k < turn % 6; k++) sapporo_force_free(job[k]);
        sapporo_close(c);
        assert_null(sap_context_of(c));
        if (turn == 0) slots = slots_used();
    }
    assert_int_equal(slots_used(), slots);
}

/* Handles of one kind that are all in use leave those of other kinds; the message says so, and a free one is taken. */
static void full_kind(void **state)
{
    const sapporo_options options = {.size = sizeof options, .backend = SAPPORO_BACKEND_CPU, .order = 2, .threads = 1};
    const sapporo_small_force list = {.size = sizeof list};
    struct sap_handle_slots *const of = &sap_handles.of[SAP_HANDLE_BATCH];
    const double x[1][3] = {{0, 0, 0}};
    const sapporo_request request = {.size = sizeof request, .ni = 1, .x = {x, 0}, .want = SAPPORO_ALLOW_EMPTY};
    sapporo_batch *batch;
    sapporo_job *job;
    sapporo *c, *other;
    (void)state;
    assert_int_equal(sapporo_open(&options, &c), SAPPORO_OK);
    const int used = of->used;
    of->used = SAP_HANDLE_SLOTS;
    assert_int_equal(sapporo_force_batch_begin(c, 0, &list, &batch), SAPPORO_ERR_MEMORY);
    assert_non_null(strstr(sapporo_last_error(c), "handles of this kind are in use"));
    assert_int_equal(sapporo_open(&options, &other), SAPPORO_OK);
    assert_int_equal(sapporo_force_begin(other, &request, &job), SAPPORO_OK);
    of->used = used;
    assert_int_equal(sapporo_force_batch_begin(c, 0, &list, &batch), SAPPORO_OK);
    sapporo_force_batch_free(batch);
    of->used = SAP_HANDLE_SLOTS;
    assert_int_equal(sapporo_force_batch_begin(c, 0, &list, &batch), SAPPORO_OK);
    of->used = used + 1;
    sapporo_close(other);
    sapporo_close(c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(contexts_and_forces), cmocka_unit_test(lives),    cmocka_unit_test(many_lives),
        cmocka_unit_test(many_at_once),        cmocka_unit_test(worn_out), cmocka_unit_test(any_value),
        cmocka_unit_test(full_kind),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
