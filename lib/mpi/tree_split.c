/*
 * tree_split.c - divides the particles of all ranks into runs along the curve, one per rank, of about equal weight.
 *
 * The boundaries of the runs are keys.  They are found digit by digit, from the weights of all ranks' particles in the
 * cells of each digit.  The first digits need only the weights of buckets of the curve, for which the first bits of
 * keys will do.  The other digits need the keys of those particles in whose bucket a boundary lies: few of all, and
 * fewer with each digit.
 *
 * Engines cut the sorted particles of a rank into groups from the first particle on.  The extent of a group decides its
 * interactions: a group in sparse surroundings has those of many others, and a cut one particle later makes other
 * groups.  A second search therefore moves each boundary to the nearest particle whose number along the whole curve is
 * a multiple of the group size.  Groups then have the same members whatever the division, so the interactions of the
 * last force foretell those of the next one.
 */
#include <string.h>

#include "context/internals.h"
#include "mpi/tree.h"
#include "physics/scalars.h"
#include "physics/tree_weight.h"

/* Few rounds, since each waits for all ranks; the first ones are of buckets. */
enum { DIGIT_BITS = 7, DIGIT = 1 << DIGIT_BITS, ROUNDS = SAP_KEY_BITS / DIGIT_BITS, BUCKET_ROUNDS = 2 };
enum { BUCKETS = 1 << (BUCKET_ROUNDS * DIGIT_BITS), BUCKET_SHIFT = SAP_KEY_BITS - BUCKET_ROUNDS * DIGIT_BITS };
enum {
    BUCKET_LEVELS = (BUCKET_ROUNDS * DIGIT_BITS + 2) / 3,
    BUCKET_REST = 3 * BUCKET_LEVELS - BUCKET_ROUNDS * DIGIT_BITS
};
/* The mean number of groups of a rank from which on boundaries do not divide a group; of fewer, a group is too much. */
enum { WHOLE_GROUPS = 16 };
/* The part of a rank's share of the weight by which that may change the weight below a boundary, as 1 / MOVED. */
enum { MOVED = 16 };
enum { PARTS = 16, A_PART = 65536 }; /* parts of the particles for threads, at most, and particles of a part */

/* A particle on the curve. */
struct spot {
    sap_key key;
    uint64_t weight;
};

/* A division.  The first arrays are those that MPI reads and writes. */
struct division {
    const sapporo_mpi_tree *h;
    const struct sap_bodies *bodies;
    uint64_t mean;
    int counts;        /* 1: each particle weighs 1 */
    int by_engine;     /* the engine has the particles, and weighs them; the other arrays of particles are not there */
    int knows_buckets; /* `of` is there */
    int n, parts, boundaries, *to;
    uint64_t *mine, *all; /* [boundaries][DIGIT] weights of the cells below each boundary's prefix */
    uint64_t *before;     /* [boundaries] weight of all particles with keys below */
    uint64_t *share;      /* [boundaries] weight that may be below */
    uint64_t *sought;     /* [boundaries * (DIGIT + 1)] keys that the engine is asked for, and what is below them */
    uint64_t *below;
    sap_key *boundary;     /* [boundaries] digits that are known; those that follow are 0 */
    sap_key *exact;        /* [boundaries] those of equal weights */
    int *of;               /* [n] the bucket of each particle */
    uint64_t *bucket;      /* [BUCKETS + 1] weight of this rank's particles in the buckets before this one */
    size_t words;          /* of a row of of_part: as many as buckets, and as ranks */
    uint64_t *of_part;     /* [parts][words] weights of the buckets, or of the ranks, of each part */
    unsigned char *marked; /* [BUCKETS] buckets in which a boundary lies */
    int at[PARTS + 1];     /* first member of each part */
    int members;           /* particles of marked buckets */
    struct spot *member;   /* [members] those with the known digits of a boundary */
    int *rank;             /* [BUCKETS] boundaries in the buckets before this one */
};

/* Makes room for all but the members; 0 or SAPPORO_ERR_MEMORY. */
static int reserve(sapporo_mpi_tree *h, struct division *d)
{
    const size_t many = (size_t)d->boundaries, ranks = BUCKETS * sizeof *d->rank;
    d->words = many < BUCKETS ? (size_t)BUCKETS : many + 1;
    const size_t words = BUCKETS + 1 + (size_t)d->parts * d->words;
    d->mine = sap_room_reserve(&h->rooms.boundary, many * (4 * DIGIT + 6) * sizeof *d->mine);
    d->of = sap_room_array(&h->rooms.key, d->by_engine ? 1 : (size_t)d->n + 1, sizeof *d->of);
    d->bucket = sap_room_reserve(&h->rooms.bucket, words * sizeof *d->bucket + ranks + BUCKETS);
    if (!d->mine || !d->of || !d->bucket) return SAPPORO_ERR_MEMORY;
    d->all = d->mine + many * DIGIT;
    d->before = d->all + many * DIGIT;
    d->share = d->before + many;
    d->boundary = (sap_key *)(d->share + many);
    d->exact = d->boundary + many;
    d->sought = (uint64_t *)(d->exact + many);
    d->below = d->sought + many * (DIGIT + 1);
    d->of_part = d->bucket + BUCKETS + 1;
    d->rank = (int *)(d->bucket + words);
    d->marked = (unsigned char *)(d->rank + BUCKETS);
    return SAPPORO_OK;
}

/* Makes room for the members; 0 or SAPPORO_ERR_MEMORY. */
static int reserve_members(sapporo_mpi_tree *h, struct division *d)
{
    d->member = sap_room_array(&h->rooms.member, (size_t)d->members + 1, sizeof *d->member);
    return d->member ? SAPPORO_OK : SAPPORO_ERR_MEMORY;
}

/* ------------------------------------------------------------------ buckets */

static void cell_of(const struct division *d, int i, sap_cell_number *c)
{
    const struct sap_cube *const cube = &d->h->whole.cube;
    double x[3];
    sap_bodies_position(d->bodies, i, x);
    for (int k = 0; k < 3; k++)
        c[k] = sap_key_cell(cube->gaps.any ? sap_gaps_map(&cube->gaps, k, x[k]) : x[k], cube->low[k], cube->cells);
}

static sap_key key_of(const struct division *d, int i)
{
    sap_cell_number c[3];
    cell_of(d, i, c);
    return sap_key_hilbert(c[0], c[1], c[2]);
}

static int bucket_of(sap_key key) { return (int)(key >> BUCKET_SHIFT); }

/* The bucket of particle i, which the first bits of its key tell. */
static int find_bucket(const struct division *d, int i)
{
    enum { REST = SAP_KEY_LEVELS - BUCKET_LEVELS };
    sap_cell_number c[3];
    cell_of(d, i, c);
    return (int)(sap_key_hilbert_of(c[0] >> REST, c[1] >> REST, c[2] >> REST, BUCKET_LEVELS) >> BUCKET_REST);
}

/* The weight of a particle (physics/tree_weight.h), or 1 if particles are counted. */
static uint64_t weight_of(const struct division *d, int i)
{
    const uint64_t mean = d->mean, work = d->h->work[i] >= 0 ? (uint64_t)d->h->work[i] : mean;
    return d->counts ? 1 : sap_tree_weight(work, mean, d->h->settings.kind == SAPPORO_TREE_KDTREE);
}

/* Finds the buckets of a part, and their weights. */
static void weigh_part(void *argument, int part, int from, int to)
{
    const struct division *const d = argument;
    uint64_t *const weight = d->of_part + (size_t)part * d->words;
    memset(weight, 0, BUCKETS * sizeof *weight);
    for (int i = from; i < to; i++) {
        if (!d->knows_buckets) d->of[i] = find_bucket(d, i);
        weight[d->of[i]] += weight_of(d, i);
    }
}

static void weigh_buckets(struct division *d)
{
    sapporo_internals()->partial_parts(d->h->options.threads, d->n, d->parts, weigh_part, d);
    d->knows_buckets = 1;
    d->bucket[0] = 0;
    for (int b = 0; b < BUCKETS; b++) {
        d->bucket[b + 1] = d->bucket[b];
        for (int part = 0; part < d->parts; part++) d->bucket[b + 1] += d->of_part[(size_t)part * d->words + (size_t)b];
    }
}

/* ------------------------------------------------------------------ members */

static void count_part(void *argument, int part, int from, int to)
{
    struct division *const d = argument;
    int n = 0;
    for (int i = from; i < to; i++) n += d->marked[d->of[i]];
    d->at[part] = n;
}

/* Marks the buckets in which boundaries lie, and counts the particles of each part there. */
static void count_members(struct division *d)
{
    memset(d->marked, 0, BUCKETS);
    for (int b = 0; b < d->boundaries; b++) d->marked[bucket_of(d->boundary[b])] = 1;
    sapporo_internals()->partial_parts(d->h->options.threads, d->n, d->parts, count_part, d);
    d->members = 0;
    for (int part = 0; part < d->parts; part++) {
        const int here = d->at[part];
        d->at[part] = d->members;
        d->members += here;
    }
}

static void take_part(void *argument, int part, int from, int to)
{
    const struct division *const d = argument;
    int at = d->at[part];
    for (int i = from; i < to; i++)
        if (d->marked[d->of[i]]) d->member[at++] = (struct spot){key_of(d, i), weight_of(d, i)};
}

/* Collective.  Takes the members, after the rounds of buckets. */
static int take_members(sapporo_mpi_tree *h, struct division *d)
{
    if (d->by_engine)
        d->members = 0;
    else
        count_members(d);
    const int bad = reserve_members(h, d);
    const int status = sap_mpi_tree_agree_all(h, bad ? sap_mpi_tree_no_memory(h, d->n) : SAPPORO_OK);
    if (bad || status) return status ? status : bad;
    if (!d->by_engine) sapporo_internals()->partial_parts(h->options.threads, d->n, d->parts, take_part, d);
    return SAPPORO_OK;
}

/* --------------------------------------------------------------- boundaries */

/* Asks the engine for what is below n sought keys. */
static void ask_engine(sapporo_mpi_tree *h, const struct division *d, int n)
{
    const int status = sapporo_internals()->bodies_below(h->tree, !d->counts, n, d->sought, d->below);
    if (status) memset(d->below, 0, (size_t)n * sizeof *d->below);
    sap_mpi_tree_fail_late(h, sap_mpi_tree_failed(h, status));
}

/* Weighs the cells below the prefix of each boundary by the engine. */
static void weigh_cells_by_engine(sapporo_mpi_tree *h, const struct division *d, int shift)
{
    for (int b = 0; b < d->boundaries; b++)
        for (int c = 0; c <= DIGIT; c++) d->sought[b * (DIGIT + 1) + c] = d->boundary[b] + ((sap_key)c << shift);
    ask_engine(h, d, d->boundaries * (DIGIT + 1));
    for (int b = 0; b < d->boundaries; b++)
        for (int c = 0; c < DIGIT; c++)
            d->mine[b * DIGIT + c] = d->below[b * (DIGIT + 1) + c + 1] - d->below[b * (DIGIT + 1) + c];
}

/* Weighs the cells below the prefix of each boundary, which are buckets or runs of these. */
static void weigh_bucket_cells(const struct division *d, int shift)
{
    for (int b = 0; b < d->boundaries; b++)
        for (int c = 0; c < DIGIT; c++) {
            const sap_key key = d->boundary[b] + ((sap_key)c << shift);
            d->mine[b * DIGIT + c] = d->bucket[bucket_of(key + ((sap_key)1 << shift))] - d->bucket[bucket_of(key)];
        }
}

/* The number of boundaries whose digits down to `shift` are below those of a key. */
static int boundaries_below(const struct division *d, sap_key key, int shift)
{
    int from = 0, n = d->boundaries;
    while (n > 0) {
        const int half = n / 2;
        if (d->boundary[from + half] >> shift < key >> shift)
            from += half + 1, n -= half + 1;
        else
            n = half;
    }
    return from;
}

/* Weighs the cells below the prefix of each boundary by members, of which only those with such a prefix are kept. */
static void weigh_member_cells(struct division *d, int shift)
{
    const int above = shift + DIGIT_BITS;
    int kept = 0;
    memset(d->mine, 0, (size_t)d->boundaries * DIGIT * sizeof *d->mine);
    for (int k = 0; k < d->members; k++) {
        const struct spot m = d->member[k];
        const int b = boundaries_below(d, m.key, above);
        if (b == d->boundaries || d->boundary[b] >> above != m.key >> above) continue;
        d->mine[b * DIGIT + (int)(m.key >> shift & (DIGIT - 1))] += m.weight;
        d->member[kept++] = m;
    }
    d->members = kept;
    for (int b = 1; b < d->boundaries; b++) /* boundaries of one prefix have the same cells */
        if (d->boundary[b] >> above == d->boundary[b - 1] >> above)
            memcpy(d->mine + (size_t)b * DIGIT, d->mine + (size_t)(b - 1) * DIGIT, DIGIT * sizeof *d->mine);
}

/* Adds a digit to each boundary: of the cell in which its share of the weight ends. */
static void add_digits(const struct division *d, int shift)
{
    for (int b = 0; b < d->boundaries; b++) {
        int c = 0;
        while (c < DIGIT - 1 && d->before[b] + d->all[b * DIGIT + c] <= d->share[b])
            d->before[b] += d->all[b * DIGIT + c++];
        d->boundary[b] += (sap_key)c << shift;
    }
}

/* Gives each rank the same share of a weight. */
static void share_alike(const struct division *d, uint64_t total)
{
    const uint64_t ranks = (uint64_t)d->boundaries + 1, part = total / ranks, rest = total % ranks;
    for (int b = 0; b < d->boundaries; b++) {
        const uint64_t rank = (uint64_t)b + 1;
        d->share[b] = part * rank + rest * rank / ranks;
    }
}

static uint64_t sum_of(const uint64_t *weight, int n)
{
    uint64_t sum = 0;
    for (int k = 0; k < n; k++) sum += weight[k];
    return sum;
}

static int add_over_ranks(struct sap_link *link, const uint64_t *mine, uint64_t *all, int n)
{
    return sap_link_finish(link,
                           MPI_Iallreduce(mine, all, n, MPI_UINT64_T, MPI_SUM, link->communicator, &link->request));
}

/* Collective.  Finds the keys at which the runs of ranks 1, 2, ... begin, digit by digit. */
static int find_boundaries(sapporo_mpi_tree *h, struct division *d)
{
    _Static_assert(ROUNDS * DIGIT_BITS == SAP_KEY_BITS, "digits have all bits of a key");
    memset(d->before, 0, (size_t)d->boundaries * sizeof *d->before);
    memset(d->boundary, 0, (size_t)d->boundaries * sizeof *d->boundary);
    if (!d->by_engine) weigh_buckets(d);
    for (int round = 0; round < ROUNDS; round++) {
        const int shift = DIGIT_BITS * (ROUNDS - 1 - round);
        int bad = round == BUCKET_ROUNDS ? take_members(h, d) : SAPPORO_OK;
        if (bad) return bad;
        if (d->by_engine)
            weigh_cells_by_engine(h, d, shift);
        else if (round < BUCKET_ROUNDS)
            weigh_bucket_cells(d, shift);
        else
            weigh_member_cells(d, shift);
        bad = add_over_ranks(&h->link, d->mine, d->all, d->boundaries * DIGIT);
        if (bad) return bad;
        if (round == 0 && !d->counts) share_alike(d, sum_of(d->all, DIGIT));
        add_digits(d, shift);
    }
    return SAPPORO_OK;
}

/* Counts the boundaries in the buckets before each one. */
static void count_boundaries(const struct division *d)
{
    for (int bucket = 0, b = 0; bucket < BUCKETS; bucket++) {
        while (b < d->boundaries && bucket_of(d->boundary[b]) < bucket) b++;
        d->rank[bucket] = b;
    }
}

/* Writes the ranks of some particles: the number of boundaries at or below the key. */
static void write_some_ranks(void *argument, ptrdiff_t from, ptrdiff_t to)
{
    const struct division *const d = argument;
    for (int i = (int)from; i < to; i++)
        d->to[i] = d->marked[d->of[i]] ? boundaries_below(d, key_of(d, i) + 1, 0) : d->rank[d->of[i]];
}

static void write_ranks(struct division *d)
{
    if (d->by_engine) return;
    count_boundaries(d);
    sapporo_internals()->partial_loop(d->h->options.threads, d->n, write_some_ranks, d);
}

/* Weighs the particles of a part by their ranks. */
static void weigh_ranks_of_part(void *argument, int part, int from, int to)
{
    const struct division *const d = argument;
    uint64_t *const weight = d->of_part + (size_t)part * d->words;
    memset(weight, 0, ((size_t)d->boundaries + 1) * sizeof *weight);
    for (int i = from; i < to; i++) weight[d->to[i]] += weight_of(d, i);
}

/* Writes the weight of this rank's particles for each rank to d->mine, by the engine. */
static void weigh_ranks_by_engine(sapporo_mpi_tree *h, const struct division *d)
{
    const int most = d->boundaries;
    for (int b = 0; b < most; b++) d->sought[b] = d->boundary[b];
    d->sought[most] = UINT64_MAX;
    ask_engine(h, d, most + 1);
    for (int r = 0; r <= most; r++) d->mine[r] = d->below[r] - (r > 0 ? d->below[r - 1] : 0);
}

/* Writes the weight of this rank's particles for each rank to d->mine. */
static void weigh_ranks_here(const sapporo_mpi_tree *h, struct division *d)
{
    const int ranks = d->boundaries + 1;
    sapporo_internals()->partial_parts(h->options.threads, d->n, d->parts, weigh_ranks_of_part, d);
    memset(d->mine, 0, (size_t)ranks * sizeof *d->mine);
    for (int part = 0; part < d->parts; part++)
        for (int r = 0; r < ranks; r++) d->mine[r] += d->of_part[(size_t)part * d->words + (size_t)r];
}

/* Collective.  Finds the weight of the particles of each rank, d->all. */
static int weigh_ranks(sapporo_mpi_tree *h, struct division *d)
{
    const int ranks = d->boundaries + 1;
    if (d->by_engine)
        weigh_ranks_by_engine(h, d);
    else
        weigh_ranks_here(h, d);
    return add_over_ranks(&h->link, d->mine, d->all, ranks);
}

/*
 * Collective.  Moves boundaries back that changed the weight below them by more than a part of a rank's share: groups
 * in sparse surroundings weigh as much as many others, and each of their particles meets nearly all particles however
 * they are cut.
 */
static int keep_even(sapporo_mpi_tree *h, struct division *d)
{
    const int ranks = d->boundaries + 1, status = weigh_ranks(h, d);
    if (status) return status;
    const uint64_t total = sum_of(d->all, ranks), most = total / (uint64_t)ranks / MOVED;
    uint64_t below = 0;
    int back = 0;
    share_alike(d, total);
    for (int b = 0; b < d->boundaries; b++) {
        below += d->all[b];
        const uint64_t moved = below > d->share[b] ? below - d->share[b] : d->share[b] - below;
        const sap_key was = d->boundary[b];
        if (moved > most) d->boundary[b] = d->exact[b];
        if (b > 0 && d->boundary[b] < d->boundary[b - 1]) d->boundary[b] = d->boundary[b - 1];
        back |= d->boundary[b] != was;
    }
    if (!back || d->by_engine) return SAPPORO_OK;
    count_members(d);
    write_ranks(d);
    return SAPPORO_OK;
}

/*
 * Collective.  Moves each boundary to the nearest particle that begins a group, if ranks have many groups, and groups
 * are runs along the curve.
 */
static int move_to_groups(sapporo_mpi_tree *h, struct division *d)
{
    const uint64_t group = (uint64_t)h->settings.group_size, ranks = (uint64_t)d->boundaries + 1;
    uint64_t below = 0;
    if (h->settings.kind != SAPPORO_TREE_OCTREE) return SAPPORO_OK;
    d->counts = 1;
    int status = weigh_ranks(h, d);
    if (status) return status;
    if (sum_of(d->all, (int)ranks) / ranks < WHOLE_GROUPS * group) return SAPPORO_OK;
    for (int b = 0; b < d->boundaries; b++) {
        below += d->all[b];
        d->share[b] = (below + group / 2) / group * group;
    }
    memcpy(d->exact, d->boundary, (size_t)d->boundaries * sizeof *d->exact);
    status = find_boundaries(h, d);
    if (status) return status;
    write_ranks(d);
    d->counts = 0;
    return keep_even(h, d);
}

/* Tells the route how many particles go to each rank, in the order of the engine. */
static void cut_route(sapporo_mpi_tree *h, struct division *d)
{
    struct sap_route *const p = &h->route;
    d->counts = 1;
    weigh_ranks_by_engine(h, d);
    for (int r = 0; r <= d->boundaries; r++) p->sent[r] = (int)d->mine[r];
}

/* Finds the boundaries of the ranks. */
static int divide(sapporo_mpi_tree *h, struct division *d)
{
    const int status = find_boundaries(h, d);
    if (status) return status;
    write_ranks(d);
    return move_to_groups(h, d);
}

int sap_mpi_tree_split(sapporo_mpi_tree *h, const struct sap_bodies *bodies, double mean, int *to)
{
    const int n = bodies->n, wanted = 1 + n / A_PART;
    struct division d = {
        .h = h, .bodies = bodies, .mean = (uint64_t)mean, .by_engine = bodies->by_engine, .n = n, .to = to};
    d.parts = wanted < PARTS ? wanted : PARTS;
    d.boundaries = h->link.size - 1;
    const int bad = reserve(h, &d);
    int status = bad ? sap_mpi_tree_no_memory(h, n) : SAPPORO_OK;
    if (!bad && d.by_engine)
        status = sap_mpi_tree_failed(h, sapporo_internals()->bodies_sort(h->tree, &h->whole.cube, d.mean));
    status = sap_mpi_tree_agree_all(h, status);
    if (bad || status) return status ? status : bad;
    status = divide(h, &d);
    if (!status && d.by_engine) cut_route(h, &d);
    return status;
}
