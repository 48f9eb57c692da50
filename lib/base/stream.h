/*
 * stream.h - stores that go past the caches, for memory that a device reads next: a line is then not read before it is
 * written.  A thread that used them calls sap_stream_end before another thread may hand the memory on.
 */
#ifndef SAP_STREAM_H
#define SAP_STREAM_H

#include <stdint.h>
#include <string.h>
#if defined(__SSE2__)
#include <emmintrin.h>
#endif

/* 16 bytes. */
typedef uint64_t sap_stream_unit __attribute__((vector_size(16)));

/* Writes 16 bytes to an address that is a multiple of 16. */
static inline void sap_stream(void *to, sap_stream_unit x)
{
#if defined(__SSE2__)
    _mm_stream_si128((__m128i *)to, (__m128i)x);
#else
    memcpy(to, &x, sizeof x);
#endif
}

static inline void sap_stream_end(void)
{
#if defined(__SSE2__)
    _mm_sfence();
#endif
}

#endif
