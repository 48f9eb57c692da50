/* ops.h - the operations of the instruction path that SAP_PATH names (instances.mk). */
#define SAP_QUOTE(x)         #x
#define SAP_OPERATIONS(path) SAP_QUOTE(ops_##path.h)
#define SAP_OPERATIONS_OF(x) SAP_OPERATIONS(x)
#include SAP_OPERATIONS_OF(SAP_PATH)
