/* snapshot_hdf5.c - finds out whether a file is HDF5; the messages of programs without libhdf5. */
#define _POSIX_C_SOURCE 200809L
#include "snapshot_hdf5.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

int snapshot_hdf5_is(const char *path)
{
    static const unsigned char signature[8] = {0x89, 'H', 'D', 'F', '\r', '\n', 0x1a, '\n'};
    unsigned char first[sizeof signature];
    struct stat about;
    if (stat(path, &about) != 0 || !S_ISREG(about.st_mode)) return 0;
    FILE *const file = fopen(path, "rb");
    if (!file) return 0;
    const size_t got = fread(first, 1, sizeof first, file);
    fclose(file);
    return got == sizeof first && !memcmp(first, signature, sizeof first);
}

#ifdef SNAPSHOT_HDF5_BUILT

int snapshot_hdf5_built(void) { return 1; }

#else

static const char MISSING[] = "this program was built without HDF5 (install libhdf5 and build again: make HDF5=1)";

int snapshot_hdf5_built(void) { return 0; }

int snapshot_hdf5_read(const char *path, bodies *set, message *about)
{
    *set = (bodies){0};
    return complain(about, "%s: %s", path, MISSING);
}

int snapshot_hdf5_write(const char *path, const bodies *set, message *about)
{
    (void)set;
    return complain(about, "cannot write %s: %s", path, MISSING);
}

#endif
