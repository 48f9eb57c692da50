/* usual_nbody6_2010.c - libnbody6_2010_gpu: the codes that call gpunb_regf without dtr pass radii as they are. */
#include "api/nbody6/nbody6.h"

const enum sap_radii sap_nbody6_usual_radii = SAP_RADII_PLAIN;
