/* g6_jobs.c - the queue of begun forces. */
#include "api/g6/g6_jobs.h"

#include <string.h>

static void remove_at(struct sap_g6_queue *queue, int k)
{
    queue->n--;
    memmove(&queue->at[k], &queue->at[k + 1], (size_t)(queue->n - k) * sizeof queue->at[0]);
}

int sap_g6_queue_put(struct sap_g6_queue *queue, const struct sap_g6_begun *begun)
{
    int full = queue->n == SAP_G6_QUEUE;
    if (full) {
        sapporo_force_free(queue->at[0].job);
        remove_at(queue, 0);
    }
    queue->at[queue->n++] = *begun;
    return full;
}

/* How well a begun force matches a call, in ascending order; 0: not at all. */
enum answer { NO_ANSWER, SAME_NI, SHORTER, LONGER, SAME };

static enum answer answer(const struct sap_g6_begun *begun, const struct sap_g6_force *force)
{
    if (begun->index != force->index || begun->x != (const void *)force->x)
        return begun->ni == force->ni ? SAME_NI : NO_ANSWER;
    return begun->ni == force->ni ? SAME : begun->ni > force->ni ? LONGER : SHORTER;
}

/* The index of the best match, or -1.  Of equal matches it takes the oldest, but for SAME_NI the newest. */
static int find(const struct sap_g6_queue *queue, const struct sap_g6_force *force)
{
    enum answer best = NO_ANSWER;
    int place = -1;
    for (int k = 0; k < queue->n; k++) {
        enum answer this = answer(&queue->at[k], force);
        if (this < best || (this == best && this != SAME_NI)) continue;
        best = this;
        place = this != NO_ANSWER ? k : -1;
    }
    return place;
}

enum sap_g6_match sap_g6_queue_take(struct sap_g6_queue *queue, const struct sap_g6_force *force,
                                    struct sap_g6_begun *begun)
{
    int k = find(queue, force);
    if (k < 0) return SAP_G6_NO_MATCH;
    *begun = queue->at[k];
    remove_at(queue, k);
    return begun->ni < force->ni ? SAP_G6_TOO_LARGE : SAP_G6_MATCH;
}

void sap_g6_queue_clear(struct sap_g6_queue *queue)
{
    while (queue->n > 0) sapporo_force_free(queue->at[--queue->n].job);
}
