/* ops_scalar.h - the operations of plain C, which code outside the kernels uses too. */
#include "physics/ops_scalar.h"
