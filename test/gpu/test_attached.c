/* test_attached.c - what modules attach to a store is found by its module, and freed with the store, the last first. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "gpu/gpu_devices.h"
#include "gpu/gpu_store.h"

struct module {
    struct sap_gpu_attached attached;
    int number;
};

static int released[3], count;

static void note(struct sap_gpu_attached *attached) { released[count++] = ((struct module *)(void *)attached)->number; }

static void release_first(struct sap_gpu_store *store, struct sap_gpu_attached *attached)
{
    assert_non_null(store->set); /* the store is whole still */
    note(attached);
}

static void release_second(struct sap_gpu_store *store, struct sap_gpu_attached *attached)
{
    /* a module finds what was attached before it, and nothing that is freed */
    assert_non_null(sap_gpu_attached_by(store, release_first));
    assert_null(sap_gpu_attached_by(store, release_second));
    note(attached);
}

static void freed_with_the_store(void **state)
{
    static struct sap_gpu_set set; /* of no devices */
    struct module first = {.number = 1}, second = {.number = 2};
    struct sap_gpu_store *const store = calloc(1, sizeof *store);
    (void)state;
    assert_non_null(store);
    store->set = &set;
    assert_null(sap_gpu_attached_by(store, release_first));
    sap_gpu_attach(store, &first.attached, release_first);
    assert_null(sap_gpu_attached_by(store, release_second));
    sap_gpu_attach(store, &second.attached, release_second);
    assert_ptr_equal(sap_gpu_attached_by(store, release_first), &first);
    assert_ptr_equal(sap_gpu_attached_by(store, release_second), &second);
    sap_gpu_store_free(store);
    assert_int_equal(count, 2);
    assert_int_equal(released[0], 2);
    assert_int_equal(released[1], 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(freed_with_the_store)};
    return cmocka_run_group_tests_name("attached", tests, NULL, NULL);
}
