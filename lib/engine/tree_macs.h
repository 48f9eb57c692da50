/* tree_macs.h - what hosts ask of the acceptance criteria: answers from the rows of physics/tree_mac.h. */
#ifndef SAP_TREE_MACS_H
#define SAP_TREE_MACS_H

#include "physics/scalars.h"
#include "physics/tree_mac.h"
#include "sapporo_tree.h"

/* The number of criteria, and so the greatest number of one. */
#define SAP_MAC_ONE(name, number, word, accuracy, by_a, by_pull, ball) +1
enum { SAP_MAC_COUNT = 0 SAP_MACS(SAP_MAC_ONE, ) };

#define SAP_MAC_AGREES(name, number, word, accuracy, by_a, by_pull, ball)                                              \
    _Static_assert((int)SAPPORO_MAC_##name == (number), "number of criterion " word);                                  \
    _Static_assert((number) >= 1 && (number) <= SAP_MAC_COUNT, "numbers of criteria have no gaps: " word);
SAP_MACS(SAP_MAC_AGREES, )

/* The row of a criterion. */
struct sap_mac_row {
    double accuracy;   /* the default */
    int by_a, by_pull; /* needs sizes of accelerations of targets; the pull of the whole */
    int ball;          /* bound of groups by default, SAP_BALL_* */
};

/* The compiler warns of an enumerator of the public header that has no row. */
static inline struct sap_mac_row sap_mac_row(sapporo_tree_mac mac)
{
#define SAP_MAC_ROW(name, number, word, accuracy, by_a, by_pull, ball)                                                 \
    case SAPPORO_MAC_##name:                                                                                           \
        return (struct sap_mac_row){accuracy, by_a, by_pull, SAP_BALL_##ball};
    switch (mac) {
        SAP_MACS(SAP_MAC_ROW, )
    case SAPPORO_MAC_DEFAULT:
        break;
    }
    return (struct sap_mac_row){0};
#undef SAP_MAC_ROW
}

#endif
