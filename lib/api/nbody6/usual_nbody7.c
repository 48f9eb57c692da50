/* usual_nbody7.c - libnbody7_gpu: the calls of libnbody6_gpu for codes that weight neighbour radii by mass. */
#include "api/nbody6/nbody6.h"

const enum sap_radii sap_nbody6_usual_radii = SAP_RADII_MASS;
