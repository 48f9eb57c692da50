/* gpu_division.c - see gpu_division.h. */
#include "gpu/tree/gpu_division.h"

#include "gpu/tree/gpu_copied.h"

/* Slots from which on a walk is divided whose times are unknown. */
enum { SLOTS_TRIED = 256 };
enum { EARLY = 8 }; /* walks after one that gains from copies that are sent early */

static const double start_seconds = 5e-5;                /* to let a helper walk at all */
static const double usual_byte[] = {5e-12, 1e-10, 1e-9}; /* seconds per byte that is sent, by the mode */
static const double worth = 0.95; /* divided walks that take more of the time of one device do not pay */

/* ---- times ------------------------------------------------------------------------------ */

/* Reads the seconds between two events; returns 0 if they are not complete. */
static int read_times(const struct sap_driver *d, struct sap_event *from, struct sap_event *to, double *seconds)
{
    float ms;
    if (d->event_query(to) != SAP_DRIVER_OK || d->event_milliseconds(from, to, &ms) != SAP_DRIVER_OK) return 0;
    *seconds = 1e-3 * (double)ms;
    return 1;
}

/* Learns what a walk of a device has cost; *change: the cost, over what it was. */
static void learn_walk(const struct sap_driver *d, struct sap_gpu_sharer *sharer, int octave, int slots, double *change)
{
    double seconds;
    if (!read_times(d, sharer->began, sharer->ended, &seconds) || !(seconds > 0)) return;
    const double cost = seconds * SAP_SHARES / sharer->shares / slots;
    const double before = sharer->cost[octave];
    sharer->cost[octave] = before > 0 ? (before + cost) / 2 : cost; /* a single walk may have been held up */
    if (before > 0) *change = sharer->cost[octave] / before;
}

static void learn_helper(const struct sap_driver *d, struct sap_gpu_helper *h, int octave, int slots, double change)
{
    double seconds;
    if (h->walks.shares == 0) {
        h->walks.cost[octave] *= change; /* walks have become dearer everywhere */
        return;
    }
    learn_walk(d, &h->walks, octave, slots, &change);
    if (h->sent_bytes > 1 << 20 && read_times(d, h->sends, h->sent, &seconds))
        h->byte_cost = seconds / (double)h->sent_bytes;
}

static void learn(struct sap_gpu_shares *shares, const struct sap_driver *d)
{
    double change = 1;
    if (!shares->walked) return;
    shares->walked = 0;
    learn_walk(d, &shares->first, shares->octave, shares->slots, &change);
    for (int k = 0; k < shares->helpers; k++)
        learn_helper(d, &shares->helper[k], shares->octave, shares->slots, change);
}

/* ---- shares ----------------------------------------------------------------------------- */

static int octave_of(int slots)
{
    int octave = 0;
    while (slots >> (octave + 1)) octave++;
    return octave;
}

/* A helper's time for all items, and until it can begin. */
struct offer {
    double all, before;
    int taken;
};

static double cost_of(const struct sap_gpu_shares *shares, const struct sap_gpu_helper *h, int octave)
{
    return h->walks.cost[octave] > 0 ? h->walks.cost[octave] : shares->first.cost[octave];
}

/* Returns the offer of a helper that lacks `what` of the tree, as far as it is stale. */
static struct offer offer_of(const struct sap_gpu_shares *shares, struct sap_gpu_helper *h,
                             const struct sap_gpu_walking *walk, const struct sap_gpu_subset *to, unsigned what)
{
    const double byte = h->byte_cost > 0 ? h->byte_cost : usual_byte[shares->mode];
    const struct sap_gpu_copying lacks = {.tree = &walk->tree, .to = to, .what = what};
    const double bytes = (double)sap_gpu_copied_lacks(h, &lacks);
    return (struct offer){.all = cost_of(shares, h, octave_of(to->w.slots)) * to->w.slots,
                          .before = start_seconds + byte * bytes,
                          .taken = !h->full};
}

/* Returns when the first device, which takes `alone`, and the helpers that are taken end together. */
static double end_of(double alone, const struct offer *offer, int helpers)
{
    double sum = 1, rate = 1 / alone;
    for (int k = 0; k < helpers; k++) {
        if (!offer[k].taken) continue;
        sum += offer[k].before / offer[k].all;
        rate += 1 / offer[k].all;
    }
    return sum / rate;
}

/* Takes the helpers that begin before all others have ended; returns the end. */
static double take_helpers(double alone, struct offer *offer, int helpers)
{
    double end = end_of(alone, offer, helpers);
    for (int k = 0; k < helpers; k++) {
        if (!offer[k].taken || offer[k].before < end) continue;
        offer[k].taken = 0;
        end = end_of(alone, offer, helpers);
        k = -1; /* others may begin too late now */
    }
    return end;
}

/* Gives helpers `most` shares each, and the rest to the first device. */
static void share_out(struct sap_gpu_shares *shares, const int *most)
{
    int left = SAP_SHARES;
    for (int k = 0; k < shares->helpers; k++) {
        struct sap_gpu_sharer *const walks = &shares->helper[k].walks;
        walks->shares = most[k] < left ? most[k] : left - 1;
        left -= walks->shares;
        walks->share = left;
    }
    shares->first.share = 0;
    shares->first.shares = left;
}

static void share_alike(const struct sap_gpu_shares *shares, int *most)
{
    int n = 1;
    for (int k = 0; k < shares->helpers; k++) n += !shares->helper[k].full;
    for (int k = 0; k < shares->helpers; k++) most[k] = shares->helper[k].full ? 0 : SAP_SHARES / n;
}

/* Returns whether the walk is divided if helpers lack `what`, as far as it is stale. */
static int share_by_times(const struct sap_gpu_shares *shares, const struct sap_gpu_walking *walk,
                          const struct sap_gpu_subset *to, unsigned what, int *most)
{
    struct offer offer[SAP_GPU_DEVICES] = {{.taken = 0}};
    const double alone = shares->first.cost[shares->octave] * to->w.slots;
    for (int k = 0; k < shares->helpers; k++) offer[k] = offer_of(shares, &shares->helper[k], walk, to, what);
    const double end = take_helpers(alone, offer, shares->helpers);
    const int pays = end < worth * alone;
    for (int k = 0; k < shares->helpers; k++)
        most[k] = pays && offer[k].taken ? (int)(SAP_SHARES * (end - offer[k].before) / offer[k].all + 0.5) : 0;
    return pays;
}

/* Divides a walk whose times are known, and decides whether later copies are sent early. */
static void share_known(struct sap_gpu_shares *shares, const struct sap_gpu_walking *walk,
                        const struct sap_gpu_subset *to, int *most)
{
    const unsigned all = to->w.every ? SAP_COPY_ALL : SAP_COPY_ALL & ~SAP_COPY_CELLS;
    const unsigned late = all & ~(unsigned)(SAP_COPY_CUT | SAP_COPY_PARTICLES);
    int unused[SAP_GPU_DEVICES];
    if (share_by_times(shares, walk, to, all, most) || share_by_times(shares, walk, to, late, unused))
        shares->early = EARLY;
    else if (shares->early > 0)
        shares->early--;
}

/* Divides a walk of a driver without times if that has not been tried, or was faster than the next one, undivided. */
static void share_untimed(struct sap_gpu_shares *shares, int *most)
{
    const double whole = shares->whole[0][shares->octave], divided = shares->whole[1][shares->octave];
    const int pays = divided > 0 ? divided < worth * whole : shares->slots >= SLOTS_TRIED;
    if (pays) share_alike(shares, most);
}

void sap_gpu_shares_took(struct sap_gpu_shares *shares, double seconds)
{
    if (!shares->walked || shares->slots == 0) return;
    double *const known = &shares->whole[shares->first.shares < SAP_SHARES][shares->octave];
    const double cost = seconds / shares->slots;
    *known = *known > 0 ? (*known + cost) / 2 : cost;
    shares->walked = 0;
}

void sap_gpu_division_choose(struct sap_gpu_shares *shares, const struct sap_gpu_walking *walk,
                             const struct sap_gpu_subset *to)
{
    const struct sap_gpu_session *const s = walk->tree.session;
    int most[SAP_GPU_DEVICES] = {0};
    if (s->times.events) learn(shares, s->driver);
    shares->slots = to->w.slots;
    shares->parts = to->w.parts > 0;
    shares->octave = octave_of(to->w.slots);
    if (!s->times.events)
        share_untimed(shares, most);
    else if (shares->first.cost[shares->octave] > 0)
        share_known(shares, walk, to, most);
    else if (to->w.slots >= SLOTS_TRIED)
        share_alike(shares, most);
    share_out(shares, most);
}
