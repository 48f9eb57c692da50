/*
 * kd_groups.h - kernels that cut the sorted particles of a kd-tree into groups of whole nodes, by the rule of
 * cpu/tree/cpu_groups.c: each of the largest nodes with at most `most` particles is in one group, and nodes that follow
 * each other share a group while they fit.
 *
 * So a group can begin where such a node begins, and after each `most` particles of a leaf that has more; these
 * positions are breaks.  If a group begins at a break, the next one begins at the last break that is at most `most`
 * particles further on: each break has a link to another.  Each round marks the breaks to which links lead from marked
 * breaks, and doubles the length of all links.  The first break is marked at the start, so k rounds mark the begins of
 * the first 2^k groups.  tree_flagged (tree_moments.h) writes them.
 */
#include "dialect.h"

#include "device/kd_layout.h"

/* Sets flag[i] to 1 if position i is a break; all flags must be 0. */
KERNEL(SAP_KD_TILE)
kd_breaks(const GLOBAL struct sap_kd_part *inner, const GLOBAL struct sap_kd_part *leaf, GLOBAL int *flag,
          const int most, const int n)
{
    const int i = (int)global_id();
    if (i >= n || leaf[i].count == 0) return;
    const int top = i > 0 ? inner[i].level + 1 : 0; /* level of the largest node that begins here */
    int particles = leaf[i].count, level = leaf[i].level, parent = 0;
    for (int k = 0; k < particles && particles > most; k += most) flag[i + k] = 1;
    if (particles > most) return;
    for (; level > top; level--) {
        parent = inner[i + particles].count;
        if (parent > most) break;
        particles = parent;
    }
    if (level > top || i == 0 || inner[i].count > most) flag[i] = 1;
}

/* Makes the links of all breaks, count[count_at] of them; a link to that number leads behind the last break. */
KERNEL(SAP_KD_TILE)
kd_group_links(const GLOBAL int *at, const GLOBAL int *count, GLOBAL int *link, GLOBAL int *mark, const int count_at,
               const int most, const int n)
{
    const int breaks = count[count_at];
    for (int k = (int)global_id(); k < breaks; k += (int)global_size()) {
        const int here = at[k];
        int next = k + 1;
        while (next + 1 < breaks && at[next + 1] - here <= most) next++;
        link[k] = n - here <= most ? breaks : next;
        mark[k] = k == 0;
    }
}

/* Does a round; a mark that another thread has just set leads to a begin of a group, too. */
KERNEL(SAP_KD_TILE)
kd_group_marks(const GLOBAL int *count, const GLOBAL int *link, GLOBAL int *further, GLOBAL int *mark,
               const int count_at)
{
    const int breaks = count[count_at];
    for (int k = (int)global_id(); k < breaks; k += (int)global_size()) {
        const int next = link[k];
        if (mark[k] && next < breaks) mark[next] = 1;
        further[k] = next < breaks ? link[next] : breaks;
    }
}

/* Takes the flags of breaks at which no group begins away. */
KERNEL(SAP_KD_TILE)
kd_group_begins(const GLOBAL int *at, const GLOBAL int *count, const GLOBAL int *mark, GLOBAL int *flag,
                const int count_at)
{
    for (int k = (int)global_id(); k < count[count_at]; k += (int)global_size()) flag[at[k]] = mark[k];
}
