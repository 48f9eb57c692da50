/*
 * saving.h - writes a file beside another one, which it replaces when it is complete: a process that ends at any moment
 * leaves the old file or the new one.  The file ends with a checksum of all that is before (FNV-1a, 64 bits).
 */
#ifndef SAP_SAVING_H
#define SAP_SAVING_H

#include <stddef.h>
#include <stdint.h>

/* A file that is written. */
struct sap_saving {
    int file;
    uint64_t sum;
    int error;       /* errno of the first failure; later bytes are not written */
    char part[4096]; /* path of the new file until it is complete */
};

/* The checksum of no bytes. */
#define SAP_CHECK_START UINT64_C(0xcbf29ce484222325)

/* Adds bytes to a checksum. */
uint64_t sap_check_add(uint64_t sum, const void *from, size_t n);

/* Opens the new file; 0, or -1 if the path is NULL, empty or too long, or errno. */
int sap_saving_open(struct sap_saving *saving, const char *path);

/* Writes n bytes. */
void sap_saving_put(struct sap_saving *saving, const void *from, size_t n);

/* Writes the checksum, and lets all bytes reach the disk. */
void sap_saving_seal(struct sap_saving *saving);

/*
 * Closes the new file, and renames it to `path`, unless an error occurred or `keep` is 0: then removes it.  Returns
 * saving->error.
 */
int sap_saving_close(struct sap_saving *saving, const char *path, int keep);

#endif
