/* stub_launches.c - see stub_launches.h. */
#include "stub_launches.h"

#include <stdio.h>
#include <string.h>

#include "base/lock.h"
#include "stub_driver.h"

enum { STUB_NAMES_MOST = 64 };

static struct {
    struct sap_lock lock;
    int names;
    char name[STUB_NAMES_MOST][64];
    long launches[STUB_NAMES_MOST];
} noted = {.lock = SAP_LOCK_INIT};

/* Returns the position of a name, a new one if the table is not full; -1: none. */
static int place_of(const char *name)
{
    for (int k = 0; k < noted.names; k++)
        if (strcmp(noted.name[k], name) == 0) return k;
    if (noted.names == STUB_NAMES_MOST) return -1;
    noted.launches[noted.names] = 0;
    (void)snprintf(noted.name[noted.names], sizeof noted.name[0], "%s", name);
    return noted.names++;
}

long stub_launches(const char *name)
{
    sap_lock(&noted.lock);
    const int k = place_of(name);
    const long n = k < 0 ? 0 : noted.launches[k];
    sap_unlock(&noted.lock);
    return n;
}

void stub_note_launch(const char *name)
{
    sap_lock(&noted.lock);
    const int k = place_of(name);
    if (k >= 0) noted.launches[k]++;
    (void)snprintf(stub.last_launch, sizeof stub.last_launch, "%s", name);
    sap_unlock(&noted.lock);
}

void stub_forget_launches(void) { noted.names = 0; }
