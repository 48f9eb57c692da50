/* driver_checks.c - see driver_checks.h. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "driver_checks.h"

#include <string.h>

enum { N = 1000 }; /* bytes */

struct sap_dev *driver_opened(const struct sap_driver *d, int number)
{
    struct sap_dev *dev = NULL;
    assert_int_equal(d->open(number, &dev), SAP_DRIVER_OK);
    assert_non_null(dev);
    return dev;
}

void driver_check_copies(const struct sap_driver *d)
{
    unsigned char in[N], out[N], *host = NULL;
    struct sap_mem *a = NULL, *b = NULL, *pinned = NULL;
    struct sap_stream *s = NULL;
    size_t left = 0;
    void *p = NULL;
    for (int k = 0; k < N; k++) in[k] = (unsigned char)(k * 7);
    struct sap_dev *dev = driver_opened(d, 0);
    assert_int_equal(d->memory_left(dev, &left), SAP_DRIVER_OK);
    assert_true(left > 0);
    assert_int_equal(d->stream_create(dev, &s), SAP_DRIVER_OK);
    assert_int_equal(d->allocate(dev, N, &a), SAP_DRIVER_OK);
    assert_int_equal(d->allocate(dev, N, &b), SAP_DRIVER_OK);
    assert_int_equal(d->allocate_pinned(dev, N, &pinned, &p), SAP_DRIVER_OK);
    host = p;

    assert_int_equal(d->copy_in(s, a, 0, in, N), SAP_DRIVER_OK);
    assert_int_equal(d->copy(s, b, 100, a, 10, N - 100), SAP_DRIVER_OK);
    assert_int_equal(d->fill(s, b, 0, 0x5c, 100), SAP_DRIVER_OK);
    assert_int_equal(d->copy_out(s, out, b, 0, N), SAP_DRIVER_OK);
    assert_int_equal(d->copy_peer(s, a, 0, b, 0, N), SAP_DRIVER_OK);
    assert_int_equal(d->copy_out(s, host, a, 0, N), SAP_DRIVER_OK);
    assert_int_equal(d->stream_finish(s), SAP_DRIVER_OK);
    for (int k = 0; k < N; k++) assert_int_equal(out[k], k < 100 ? 0x5c : in[k - 90]);
    assert_memory_equal(host, out, N);

    assert_int_equal(d->copy_in(s, a, 0, host, 0), SAP_DRIVER_OK);
    assert_int_equal(d->copy_in(s, a, 1, in, N), SAP_DRIVER_ERROR);
    assert_int_equal(d->copy_out(s, out, a, (size_t)-1, 2), SAP_DRIVER_ERROR);
    assert_int_equal(d->fill(s, a, N + 1, 0, 0), SAP_DRIVER_ERROR);
    assert_true(strlen(d->error_text()) > 0);
    d->release(pinned);
    d->release(b);
    d->release(a);
    d->stream_destroy(s);
    d->close(dev);
}

void driver_check_events(const struct sap_driver *d)
{
    struct sap_stream *s = NULL, *other = NULL;
    struct sap_event *e = NULL, *from = NULL, *to = NULL;
    float ms = -1;
    struct sap_dev *dev = driver_opened(d, 0);
    assert_int_equal(d->enter(dev), SAP_DRIVER_OK);
    assert_int_equal(d->enter(dev), SAP_DRIVER_ERROR);
    assert_int_equal(d->stream_create(dev, &s), SAP_DRIVER_OK);
    assert_int_equal(d->stream_create(dev, &other), SAP_DRIVER_OK);
    assert_int_equal(d->event_create(dev, &e), SAP_DRIVER_OK);
    assert_int_equal(d->event_create_timed(dev, &from), SAP_DRIVER_OK);
    assert_int_equal(d->event_create_timed(dev, &to), SAP_DRIVER_OK);
    assert_int_equal(d->event_record(from, s), SAP_DRIVER_OK);
    assert_int_equal(d->event_record(e, s), SAP_DRIVER_OK);
    assert_int_equal(d->stream_wait(other, e), SAP_DRIVER_OK);
    assert_int_equal(d->event_record(to, s), SAP_DRIVER_OK);
    d->leave(dev);
    d->leave(dev);
    assert_int_equal(d->event_wait(to), SAP_DRIVER_OK);
    assert_int_equal(d->event_query(to), SAP_DRIVER_OK);
    assert_int_equal(d->event_milliseconds(from, to, &ms), SAP_DRIVER_OK);
    assert_true(ms >= 0);
    assert_int_not_equal(d->event_milliseconds(from, e, &ms), SAP_DRIVER_OK); /* e is not timed */
    d->event_destroy(to);
    d->event_destroy(from);
    d->event_destroy(e);
    d->stream_destroy(other);
    d->stream_destroy(s);
    d->close(dev);
}

void driver_check_too_much(const struct sap_driver *d)
{
    struct sap_dev *dev = driver_opened(d, 0);
    struct sap_mem *m = NULL;
    void *host = NULL;
    assert_int_equal(d->allocate(dev, (size_t)1 << 60, &m), SAP_DRIVER_MEMORY);
    assert_null(m);
    assert_true(strlen(d->error_text()) > 0);
    assert_int_equal(d->allocate_pinned(dev, (size_t)1 << 60, &m, &host), SAP_DRIVER_MEMORY);
    assert_null(m);
    assert_null(host);
    assert_int_equal(d->allocate(dev, 0, &m), SAP_DRIVER_OK);
    d->release(m);
    d->close(dev);
}
