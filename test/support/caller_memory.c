/* caller_memory.c - memory of the caller on a device (caller_memory.h). */
#define _DEFAULT_SOURCE
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "caller_memory.h"
#include "driver/cuda/cuda_driver.h"
#include "driver/driver.h"
#include "engine/engine.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

extern const struct sap_engine sap_engine_cuda, sap_engine_opencl;

enum { ARENA = 1 << 26, PAGE = 1 << 16, ADOPTED = 64, OWNED = 1 << 14 };

static struct sap_driver tables[2]; /* OpenCL's and CUDA's: kernels are kept by the address of a driver */
static const struct sap_driver *real;
static sapporo_backend backend;
static size_t copied;

/* ---- OpenCL: an arena of addresses; memory that is adopted is a copy, which goes back when it is released ---- */

static char *arena;
static size_t used;

static struct adopted {
    struct sap_mem *mem;
    struct sap_dev *dev;
    char *at;
    size_t bytes;
} adopted[ADOPTED];

static void open_arena(int open)
{
    assert_int_equal(mprotect(arena, ARENA, open ? PROT_READ | PROT_WRITE : PROT_NONE), 0);
}

/* Copies between the arena and its copy on the device. */
static int move(const struct adopted *a, int to_device)
{
    struct sap_stream *s = NULL;
    int status = real->stream_create(a->dev, &s);
    if (status) return status;
    open_arena(1);
    status = to_device ? real->copy_in(s, a->mem, 0, a->at, a->bytes) : real->copy_out(s, a->at, a->mem, 0, a->bytes);
    if (!status) status = real->stream_finish(s);
    open_arena(0);
    real->stream_destroy(s);
    return status;
}

static int adopt(struct sap_dev *dev, const void *address, size_t bytes, struct sap_mem **mem)
{
    int k = 0;
    const uintptr_t at = (uintptr_t)address, from = (uintptr_t)arena;
    *mem = NULL;
    if (at < from || at + bytes > from + used) return SAP_DRIVER_UNSUPPORTED;
    while (k < ADOPTED && adopted[k].mem) k++;
    assert_true(k < ADOPTED);
    int status = real->allocate(dev, bytes, mem);
    if (status) return status;
    adopted[k] = (struct adopted){*mem, dev, arena + (at - from), bytes};
    return move(&adopted[k], 1);
}

static void release(struct sap_mem *mem)
{
    for (int k = 0; k < ADOPTED && mem; k++)
        if (adopted[k].mem == mem) {
            assert_int_equal(move(&adopted[k], 0), SAP_DRIVER_OK);
            adopted[k].mem = NULL;
        }
    real->release(mem);
}

/* ---- CUDA ---- */

static struct sap_dev *dev;
static struct sap_stream *stream;
static struct sap_mem *owned[OWNED];
static int n_owned;

static void *cuda_put(const void *from, size_t bytes)
{
    assert_true(n_owned < OWNED);
    struct sap_mem **const m = &owned[n_owned++];
    assert_int_equal(real->allocate(dev, bytes + 1, m), SAP_DRIVER_OK);
    if (bytes > 0) assert_int_equal(real->copy_in(stream, *m, 0, from, bytes), SAP_DRIVER_OK);
    assert_int_equal(real->stream_finish(stream), SAP_DRIVER_OK);
    return real->address(*m);
}

static void cuda_get(void *to, const void *from, size_t bytes)
{
    struct sap_mem *m = NULL;
    assert_int_equal(real->adopt(dev, from, bytes, &m), SAP_DRIVER_OK);
    assert_int_equal(real->copy_out(stream, to, m, 0, bytes), SAP_DRIVER_OK);
    assert_int_equal(real->stream_finish(stream), SAP_DRIVER_OK);
    real->release(m);
}

/* ---- both ---- */

static int until_failure;

void caller_memory_fail(int n) { until_failure = n; }

static int fails(void) { return until_failure > 0 && --until_failure == 0; }

static int count_out(struct sap_stream *s, void *to, struct sap_mem *from, size_t at, size_t bytes)
{
    copied += bytes;
    return fails() ? (int)SAP_DRIVER_ERROR : real->copy_out(s, to, from, at, bytes);
}

static int launch(struct sap_stream *s, struct sap_function *f, const struct sap_launch *l)
{
    return fails() ? (int)SAP_DRIVER_LAUNCH : real->launch(s, f, l);
}

static struct sap_driver *begin(const struct sap_driver *driver, sapporo_backend of)
{
    struct sap_driver *const table = &tables[of == SAPPORO_BACKEND_CUDA];
    real = driver;
    backend = of;
    *table = *driver;
    table->copy_out = count_out;
    table->launch = launch;
    until_failure = 0;
    used = 0;
    return table;
}

int caller_memory_on_opencl(void **state)
{
    (void)state;
    struct sap_driver *const table = begin(&sap_driver_opencl, SAPPORO_BACKEND_OPENCL);
    arena = aligned_alloc(PAGE, ARENA);
    if (!arena) return -1;
    open_arena(0);
    table->adopt = adopt;
    table->release = release;
    sap_driver_replaced.opencl = table;
    return 0;
}

int caller_memory_on_cuda(void **state)
{
    (void)state;
    sap_driver_replaced.cuda = begin(&sap_driver_cuda, SAPPORO_BACKEND_CUDA);
    return 0;
}

int caller_memory_end(void **state)
{
    (void)state;
    sap_driver_replaced.opencl = sap_driver_replaced.cuda = NULL;
    if (backend == SAPPORO_BACKEND_OPENCL) {
        open_arena(1);
        free(arena);
        return 0;
    }
    for (int k = 0; k < n_owned; k++) real->release(owned[k]);
    n_owned = 0;
    if (stream) real->stream_destroy(stream);
    if (dev) real->close(dev);
    stream = NULL;
    dev = NULL;
    return 0;
}

sapporo_backend caller_memory_backend(void) { return backend; }

void caller_memory_need(void)
{
    const char *const wanted = getenv("SAPPORO_TEST_ENGINES");
    const int cuda = backend == SAPPORO_BACKEND_CUDA;
    if (wanted && !strstr(wanted, cuda ? "cuda" : "opencl")) skip();
    if ((cuda ? sap_engine_cuda.count() : sap_engine_opencl.count()) == 0) skip();
    if (!cuda) return;
    assert_int_equal(real->open(0, &dev), SAP_DRIVER_OK);
    assert_int_equal(real->stream_create(dev, &stream), SAP_DRIVER_OK);
}

void *caller_memory_put(const void *from, size_t bytes)
{
    if (backend == SAPPORO_BACKEND_CUDA) return cuda_put(from, bytes);
    char *const to = arena + used;
    used += (bytes + 63) / 64 * 64;
    assert_true(used <= ARENA);
    open_arena(1);
    memcpy(to, from, bytes);
    open_arena(0);
    return to;
}

void caller_memory_get(void *to, const void *from, size_t bytes)
{
    if (backend == SAPPORO_BACKEND_CUDA) {
        cuda_get(to, from, bytes);
        return;
    }
    open_arena(1);
    memcpy(to, from, bytes);
    open_arena(0);
}

size_t caller_memory_copied(void)
{
    const size_t bytes = copied;
    copied = 0;
    return bytes;
}
