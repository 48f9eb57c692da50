/*
 * file.h - reads small files that another user may have put there.
 *
 * Opening never blocks: only regular files of bounded size are read.  A FIFO, a
 * device or an endless file counts as unreadable.
 */
#ifndef SAP_FILE_H
#define SAP_FILE_H

#include <stddef.h>
#include <sys/stat.h>

/* The largest sizes of files that the library reads, in bytes. */
enum {
    SAP_CONFIG_MOST = 1 << 16, /* sapporo2.config, sapporo.config */
    SAP_TUNE_MOST = 1 << 20,   /* the tuning file */
    SAP_CACHE_MOST = 1 << 28   /* a compiled program; programs of PoCL and NVIDIA have some MB */
};

enum sap_file_status {
    SAP_FILE_READ,
    SAP_FILE_MISSING,
    SAP_FILE_REFUSED,  /* `why` has the reason */
    SAP_FILE_NO_MEMORY /* there is no memory for the bytes; `why` says so */
};

struct sap_file {
    char *bytes; /* allocated by malloc, followed by a 0; NULL unless SAP_FILE_READ */
    size_t size;
    char why[96]; /* the reason why the file was refused */
};

/*
 * Reads a regular file of at most `most` bytes.  A symbolic link is followed.  The caller frees file->bytes.
 * Thread-safe.
 */
enum sap_file_status sap_file_read(const char *path, size_t most, struct sap_file *file);

/*
 * What a reader knows of a file that begins with a head: `check` gets the first `size` bytes and the length of the
 * whole file, and returns NULL, or the reason why the file is refused.
 */
struct sap_file_head {
    size_t size;
    const char *(*check)(void *user, const void *head, size_t length);
    void *user;
};

/*
 * Reads a regular file of any size whose first bytes are good: it asks for memory and reads the rest after they have
 * been checked.  A symbolic link is followed.  The caller frees file->bytes.  Thread-safe.
 */
enum sap_file_status sap_file_read_headed(const char *path, const struct sap_file_head *head, struct sap_file *file);

/*
 * Like sap_file_read, for a file `name` in an open folder.  The file must belong to the effective user, must not be
 * writable by the group or others, and must not be a symbolic link.
 */
enum sap_file_status sap_file_read_own(int folder, const char *name, size_t most, struct sap_file *file);

/* NULL if a file or folder belongs to the effective user and no other user can write to it; else the reason. */
const char *sap_file_distrust(const struct stat *about);

#endif
