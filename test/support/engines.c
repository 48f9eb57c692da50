/* engines.c - the engines of model.h, and which of them tests can use. */
#define _POSIX_C_SOURCE 200809L
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "backends.h"
#include "driver/driver.h"
#include "isa.h"
#include "model.h"
#include "sanitized.h"

#define PRECISIONS(name, isa, backend)                                                                                 \
    {name " sp", isa, SAPPORO_SP, backend, 0, SAPPORO_ROOT_DEFAULT},                                                   \
        {name " ds", isa, SAPPORO_DS, backend, 0, SAPPORO_ROOT_DEFAULT},                                               \
    {                                                                                                                  \
        name " dp", isa, SAPPORO_DP, backend, 0, SAPPORO_ROOT_DEFAULT                                                  \
    }
#define PATH(isa) PRECISIONS(isa, isa, SAPPORO_BACKEND_CPU)

/* The paths of the architecture, each given to a macro. */
#if defined(__aarch64__)
#define PATHS(p) p("scalar"), p("neon")
#else
#define PATHS(p) p("scalar"), p("sse2"), p("avx2"), p("avx512")
#endif

const struct engine engines[ENGINES] = {PATHS(PATH), PRECISIONS("cuda", NULL, SAPPORO_BACKEND_CUDA),
                                        PRECISIONS("hip", NULL, SAPPORO_BACKEND_HIP),
                                        PRECISIONS("opencl", NULL, SAPPORO_BACKEND_OPENCL)};

#define PRECISIONS2(name, isa, backend)                                                                                \
    {name " sp, order 2", isa, SAPPORO_SP, backend, 2, SAPPORO_ROOT_FULL},                                             \
        {name " ds, order 2", isa, SAPPORO_DS, backend, 2, SAPPORO_ROOT_FULL},                                         \
    {                                                                                                                  \
        name " dp, order 2", isa, SAPPORO_DP, backend, 2, SAPPORO_ROOT_FULL                                            \
    }
#define PATH2(isa)                                                                                                     \
    PRECISIONS2(isa, isa, SAPPORO_BACKEND_CPU),                                                                        \
    {                                                                                                                  \
        isa " sp fast, order 2", isa, SAPPORO_SP, SAPPORO_BACKEND_CPU, 2, SAPPORO_ROOT_FAST                            \
    }

const struct engine engines2[ENGINES2] = {PATHS(PATH2), PRECISIONS2("cuda", NULL, SAPPORO_BACKEND_CUDA),
                                          PRECISIONS2("hip", NULL, SAPPORO_BACKEND_HIP),
                                          PRECISIONS2("opencl", NULL, SAPPORO_BACKEND_OPENCL)};

#define PRECISIONS68(name, isa, backend, order)                                                                        \
    {name " ds, order " #order, isa, SAPPORO_DS, backend, order, SAPPORO_ROOT_DEFAULT},                                \
    {                                                                                                                  \
        name " dp, order " #order, isa, SAPPORO_DP, backend, order, SAPPORO_ROOT_DEFAULT                               \
    }
#define PATH6(isa) PRECISIONS68(isa, isa, SAPPORO_BACKEND_CPU, 6)
#define PATH8(isa) PRECISIONS68(isa, isa, SAPPORO_BACKEND_CPU, 8)
#define ALL68(path, order)                                                                                             \
    {                                                                                                                  \
        PATHS(path), PRECISIONS68("cuda", NULL, SAPPORO_BACKEND_CUDA, order),                                          \
            PRECISIONS68("hip", NULL, SAPPORO_BACKEND_HIP, order),                                                     \
            PRECISIONS68("opencl", NULL, SAPPORO_BACKEND_OPENCL, order)                                                \
    }

const struct engine engines6[ENGINES68] = ALL68(PATH6, 6), engines8[ENGINES68] = ALL68(PATH8, 8);

/* Returns the backend to which the environment restricts tests; "": none. */
static const char *restriction(void) { return getenv("SAPPORO_TEST_ENGINES") ? getenv("SAPPORO_TEST_ENGINES") : ""; }

int test_sparing(void)
{
    const char *const sparing = getenv("SAPPORO_TEST_SPARING");
    return !sparing || strcmp(sparing, "0") != 0;
}

/*
 * Returns 1 if an engine is representative of others: dp for order 6, ds for order 8; for orders 2 and 4, whose sp is
 * ds without second words, two precisions.
 */
static int tells_of_others(const struct engine *engine)
{
    switch (engine->order) {
    case 8:
        return engine->precision == SAPPORO_DS;
    case 6:
        return engine->precision == SAPPORO_DP;
    case 2:
        return engine->precision != SAPPORO_DS && engine->root != SAPPORO_ROOT_FAST;
    default:
        return engine->precision != SAPPORO_SP;
    }
}

/*
 * Returns 1 if tests skip an engine because they run a representative one.  On OpenCL's CPUs each kernel takes seconds
 * to compile, so tests run representative engines alone; those of orders 6 and 8 only in the form that users get there.
 * The fuzzer runs every precision there, and GPUs run all tests in every precision.  Sanitizers are slow, and they look
 * at memory, not at precision.
 */
static int is_spared(const struct engine *engine)
{
    const int slow_opencl = engine->backend == SAPPORO_BACKEND_OPENCL && sap_opencl_automatic() == 0;
    const int other_form = slow_opencl && (getenv("SAPPORO_OPENCL_VECTORS") || getenv("SAPPORO_OPENCL_FP64"));
    if (!(slow_opencl || SANITIZED) || !test_sparing()) return 0;
    if (!(other_form && engine->order >= 6) && tells_of_others(engine)) return 0;
    print_message("skip: %s: another precision tells of it\n", engine->name);
    return 1;
}

/* Returns 1 if an accelerator supports an order other than 4, or a precision that not all devices have. */
static int has_order(const struct engine *engine)
{
    sapporo *c = NULL;
    const sapporo_options options = {
        .size = sizeof options, .order = engine->order, .precision = engine->precision, .backend = engine->backend};
    const int status = sapporo_open(&options, &c);
    sapporo_close(c);
    if (status == SAPPORO_ERR_UNSUPPORTED) print_message("skip: %s: not there yet\n", engine->name);
    return status != SAPPORO_ERR_UNSUPPORTED;
}

int engine_usable(const struct engine *engine)
{
    const char *const backend = backend_name(engine->backend);
    if (!backend_is_tested(engine->backend)) {
        print_message("skip: SAPPORO_TEST_ENGINES is %s\n", restriction());
        return 0;
    }
    if (engine->backend != SAPPORO_BACKEND_CPU) {
        if (sapporo_device_count(engine->backend) > 0)
            return !is_spared(engine) && ((engine->order == 0 && engine->precision != SAPPORO_DP) || has_order(engine));
        print_message("skip: no %s device\n", backend);
        return 0;
    }
    const int isa = sap_isa_find(engine->isa);
    if (isa >= 0 && sap_isa_usable((enum sap_isa)isa)) return !is_spared(engine);
    print_message("skip: path %s is not usable here\n", engine->isa);
    return 0;
}

const struct engine *engine_any(void)
{
    for (int k = CPU_ENGINES + 1; k < ENGINES; k += 3) /* in ds */
        if (strncmp(restriction(), engines[k].name, strlen(restriction())) == 0 && *restriction()) return &engines[k];
    for (int k = CPU_ENGINES - 2; k > 1; k -= 3) { /* the widest path, in ds */
        const int isa = sap_isa_find(engines[k].isa);
        if (isa >= 0 && sap_isa_usable((enum sap_isa)isa)) return &engines[k];
    }
    return &engines[1];
}

static sapporo *open_with(const struct engine *engine, const sapporo_options *options)
{
    sapporo *c = NULL;
    const int status = sapporo_open(options, &c);
    if (status) fail_msg("%s does not open: %s", engine->name, sapporo_last_error(NULL));
    return c;
}

sapporo *engine_open(const struct engine *engine, int threads)
{
    const sapporo_options options = {.size = sizeof options,
                                     .order = engine->order,
                                     .precision = engine->precision,
                                     .backend = engine->backend,
                                     .cpu_isa = engine->isa,
                                     .threads = threads,
                                     .root = engine->root};
    return open_with(engine, &options);
}

sapporo *engine_open_on(const struct engine *engine, const int *devices, int ndevices)
{
    const sapporo_options options = {.size = sizeof options,
                                     .order = engine->order,
                                     .precision = engine->precision,
                                     .backend = engine->backend,
                                     .devices = devices,
                                     .ndevices = ndevices};
    return open_with(engine, &options);
}

void engines_on_each(const struct engine *list, int n, int (*serves)(const struct engine *e),
                     void (*test)(const struct engine *e))
{
    int done = 0;
    for (int k = 0; k < n; k++) {
        if (!serves(&list[k])) continue;
        test(&list[k]);
        done++;
    }
    if (done == 0) skip();
}
