/* g6_special.h - the functions behind Sapporo's own calls, which GRAPE-6 does not have. */
#ifndef SAP_API_SAPPORO_SPECIAL_H
#define SAP_API_SAPPORO_SPECIAL_H

/* Destinations for the properties of a j-particle; NULL members are not wanted. */
struct sap_g6_part {
    double *pos, *vel, *acc, *jrk, *ppos, *pvel, *mass, *eps2;
    int *id;
};

/* Reads particle `address` of cluster 0, or of the only open cluster, as stored and as predicted.  After a failure it
 * writes NaN and id -1, and returns -1. */
int sap_g6_get_part(int address, const struct sap_g6_part *part);

/* The number of accelerators of this machine. */
int sap_g6_device_count(void);

#endif
