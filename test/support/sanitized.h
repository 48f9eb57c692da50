/*
 * sanitized.h - SANITIZED: 1 in a program of the address or thread sanitizer.
 *
 * Such programs are ten times slower, their frames are larger, and they keep memory that is freed.
 */
#ifndef SANITIZED_H
#define SANITIZED_H

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define SANITIZED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define SANITIZED 1
#endif
#endif

#ifndef SANITIZED
#define SANITIZED 0
#endif

#endif
