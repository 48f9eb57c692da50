/* g6_special.h - what Sapporo offers beside the GRAPE-6 calls, before it gets its names. */
#ifndef SAP_API_SAPPORO_SPECIAL_H
#define SAP_API_SAPPORO_SPECIAL_H

/* Where the parts of a j-particle go; NULL members are not wanted. */
struct sap_g6_part {
    double *pos, *vel, *acc, *jrk, *ppos, *pvel, *mass, *eps2;
    int *id;
};

/* Particle `address` of cluster 0, or of the only open one: as stored, and predicted.  -1: NaN, id -1. */
int sap_g6_get_part(int address, const struct sap_g6_part *part);

/* Accelerators of this machine. */
int sap_g6_device_count(void);

#endif
