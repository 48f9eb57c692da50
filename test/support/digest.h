/*
 * digest.h - bits of results as one number each, and the file that keeps them from commit to commit.
 *
 * Lines of the file are `number case | kind`.  A number holds for one kind of engine, as the library names it; kinds
 * that the file does not have are not compared.
 */
#ifndef TEST_DIGEST_H
#define TEST_DIGEST_H

#include <stddef.h>
#include <stdint.h>

enum { DIGEST_START = 0 }; /* of a number to which nothing was added */

/* Adds n doubles or bytes to a number. */
void digest_doubles(uint64_t *digest, const double *x, size_t n);
void digest_bytes(uint64_t *digest, const void *bytes, size_t n);

/* What the file says of a case on a kind of engine; 0: nothing. */
struct digest_book;

/* Reads a file; one that is not there is empty.  Ends the program if there is no memory. */
struct digest_book *digest_read(const char *path);

/* Notes a number.  Returns 1 if the file has another one for this case and kind, which is printed; else 0. */
int digest_note(struct digest_book *book, const char *name, const char *kind, uint64_t digest);

/* How many of the noted numbers the file has, and how many it does not have. */
void digest_counts(const struct digest_book *book, int *known, int *unknown);

/* Writes the file, with the noted numbers in place of those of the same case and kind; 0: written. */
int digest_write(const struct digest_book *book, const char *path);

void digest_free(struct digest_book *book);

#endif
