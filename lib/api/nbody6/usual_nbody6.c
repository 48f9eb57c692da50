/* usual_nbody6.c - libnbody6_gpu: codes of both kinds link it, so the lists of the first force decide. */
#include "api/nbody6/nbody6.h"

const enum sap_radii sap_nbody6_usual_radii = SAP_RADII_AUTO;
