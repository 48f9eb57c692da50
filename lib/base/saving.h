/*
 * saving.h - writes a file beside another one, which it replaces when it is complete: a process that ends at any moment
 * leaves the old file or the new one.  The library and its sample programs write all their files so.
 *
 * - The new file has a name of its own until it is complete.  No other thread or process uses that name, and no link
 *   that bears it is followed.  After a failure it is removed.
 * - Its descriptor is above 2: a process that has closed its standard streams may still print to 0, 1 or 2.
 * - A full disk or a limit on the size of files (RLIMIT_FSIZE) is an error, and no signal (signals.h).
 * - The bytes are on the disk before the file has its name; then the folder is written to the disk.
 *
 * A symbolic link at the path is replaced, not followed.  A path of the caller that is a folder, a device, a FIFO or a
 * socket is refused.  Thread-safe: each thread has a struct of its own.
 */
#ifndef SAP_SAVING_H
#define SAP_SAVING_H

#include <stddef.h>
#include <stdint.h>

/* A file that is written. */
struct sap_saving {
    int folder; /* open folder in which paths begin */
    int file;   /* -1: not open */
    uint64_t sum;
    int error;       /* errno of the first failure; later bytes are not written */
    char part[4096]; /* path of the new file until it is complete */
};

/* The length of a path is at most this much less than sizeof part. */
enum { SAP_SAVING_ENDING = 64 };

/* The checksum of no bytes (FNV-1a, 64 bits). */
#define SAP_CHECK_START UINT64_C(0xcbf29ce484222325)

/* Adds bytes to a checksum. */
uint64_t sap_check_add(uint64_t sum, const void *from, size_t n);

/* Opens the new file; 0, or -1 if the path is NULL, empty or too long, or errno. */
int sap_saving_open(struct sap_saving *saving, const char *path);

/*
 * Like sap_saving_open, with a path that begins in an open folder of the library's own, which stays open until the file
 * is closed: anything at the path but a folder is replaced.
 */
int sap_saving_open_at(struct sap_saving *saving, int folder, const char *path, unsigned mode);

/* Writes n bytes. */
void sap_saving_put(struct sap_saving *saving, const void *from, size_t n);

/* Writes the checksum of all bytes so far. */
void sap_saving_seal(struct sap_saving *saving);

/*
 * Closes the new file.  Renames it to `path`, which was given when it was opened, unless an error occurred or `keep` is
 * 0: then removes it.  Returns saving->error.
 */
int sap_saving_close(struct sap_saving *saving, const char *path, int keep);

#endif
