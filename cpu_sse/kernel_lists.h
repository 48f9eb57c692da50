/*
 * kernel_lists.h - candidates for neighbour lists of many_i, from one bit per pair. A part of force_kernel.h.
 *
 * A pair costs a comparison and a bit. After a tile, its bits are transposed so that each lane has one bit per address,
 * in order. So candidates are sorted, and only candidates cost branches.
 */
#ifndef SAP_KERNEL_LISTS_H
#define SAP_KERNEL_LISTS_H

enum { ROW_WORDS = TILE / 32, SUMMARY_WORDS = ROW_WORDS / 32 };

/*
 * One bit per pair. With k = r % 32, the lanes of row r are in row k % GROUP, word r / 32, from bit k / GROUP * GROUP
 * on. A row is an address or, in the summary, 32 addresses.
 */
struct hit_bits {
    _Alignas(64) uint32_t row[GROUP][ROW_WORDS];
    _Alignas(64) uint32_t summary[GROUP][SUMMARY_WORDS];
};

SAP_INLINE void note_hits(uint32_t *bits, const int words, int r, uint32_t lanes)
{
    const int k = r % 32;
    uint32_t *to = &bits[k % GROUP * words + r / 32];
    if (GROUP == 32)
        *to = lanes;
    else
        *to |= lanes << (k / GROUP * GROUP);
}

/* Transposes lanes and rows, recursively by halves: bit r % 32 of word r / 32 of row `lane` is then the pair's. */
SAP_INLINE void transpose(uint32_t *bits, const int words)
{
    for (int j = GROUP / 2; j > 0; j /= 2) {
        const uint32_t low = UINT32_MAX / ((UINT32_C(1) << j) + 1); /* bits b with b / j even */
        for (int k = 0; k < GROUP; k++) {
            if (k & j) continue;
            uint32_t *const one = bits + (ptrdiff_t)k * words, *const other = one + (ptrdiff_t)j * words;
            for (int w = 0; w < words; w++) {
                const uint32_t t = ((one[w] >> j) ^ other[w]) & low;
                other[w] ^= t;
                one[w] ^= t << j;
            }
        }
    }
}

/* Notes which words of the rows have bits. */
static void summarise(struct hit_bits *h)
{
    uint32_t any[ROW_WORDS] = {0};
    for (int k = 0; k < GROUP; k++)
        for (int w = 0; w < ROW_WORDS; w++) any[w] |= h->row[k][w];
    for (int w = 0; w < ROW_WORDS; w++) {
        for (int half = 16; half >= GROUP; half /= 2) any[w] |= any[w] >> half;
        note_hits(h->summary[0], SUMMARY_WORDS, w, any[w] & (UINT32_MAX >> (32 - GROUP)));
    }
}

/* Lists the addresses (in the tile) whose bits are set. */
static int list_bits(const uint32_t *row, const uint32_t *summary, uint16_t *a)
{
    int n = 0;
    for (uint64_t some = summary[0] | (uint64_t)summary[1] << 32; some; some &= some - 1) {
        const int w = __builtin_ctzll(some);
        for (uint32_t bits = row[w]; bits; bits &= bits - 1) a[n++] = (uint16_t)(w * 32 + __builtin_ctz(bits));
    }
    return n;
}

/* Four words, of which the first three are axes; each fourth word below exists, and is no index. */
typedef W three_axes __attribute__((vector_size(4 * sizeof(W))));

/* Sets *to to a - b.  Through a pointer, because the ABI of such a vector depends on the path. */
SAP_INLINE void subtract_axes(three_axes *to, const W *a, const W *b)
{
    three_axes x, y;
    memcpy(&x, a, sizeof x);
    memcpy(&y, b, sizeof y);
    *to = x - y;
}

SAP_INLINE W square_axes(const three_axes *d)
{
    const three_axes square = *d * *d;
    return square[0] + square[1] + square[2];
}

/*
 * Returns the squared distance of a candidate in the working type; if `ahead`, the smaller of now and the time ahead.
 */
SAP_INLINE double distance2_of(const W *r, const W *x, const int ahead)
{
    three_axes d, low, v;
    subtract_axes(&d, r + JX, x + IX);
    if (LOW) {
        subtract_axes(&low, r + JLOW, x + ILOW);
        d += low;
    }
    const W now = square_axes(&d);
    if (!ahead) return (double)now;
    subtract_axes(&v, r + JV, x + IV);
    d += x[IT] * v;
    const W later = square_axes(&d);
    return (double)(later < now ? later : now);
}

/* Adds the candidates of a lane under a header, and marks the doubtful ones. */
static void add_hits(struct sap_group *g, int lane, const W *records, uint32_t first, const struct hit_bits *h,
                     int outside)
{
    uint16_t a[TILE];
    W x[IWORDS];
    const int n = list_bits(h->row[lane], h->summary[lane], a);
    if (n == 0 || !sap_hits_reserve(&g->hits, n + 1)) return;
    struct sap_hit *to = g->hits.hit + g->hits.n;
    g->hits.n += n + 1;
    *to++ = (struct sap_hit){(uint32_t)lane, n};
    for (int w = 0; w < IWORDS; w++) x[w] = ((const W *)g->words[w])[lane];
    for (int k = 0; k < n; k++) {
        const W *r = record_of(records, a[k]);
        const double r2 = outside ? distance2_of(r, x, 1) : distance2_of(r, x, 0);
        const double sure = g->sure[lane] + (outside ? g->sure_weight[lane] * (double)r[JM] : 0);
        to[k].address = (first + a[k]) | (r2 < sure ? 0 : SAP_DOUBTFUL);
        memcpy(&to[k].index, JID < KEPT ? &r[JID] : &records[AT_INDEX + a[k]], sizeof to[k].index);
    }
}

/* Collects the candidates of a tile, lane by lane. */
static void collect_hits(struct sap_group *g, struct hit_bits *h, const W *records, uint32_t first, int outside)
{
    summarise(h);
    transpose(h->summary[0], SUMMARY_WORDS);
    transpose(h->row[0], ROW_WORDS);
    for (int lane = 0; lane < g->n; lane++) add_hits(g, lane, records, first, h, outside);
}

/*
 * Sorts: the number of smaller entries is the index of an entry. There are no branches, and lists of some tens of
 * entries are a few vectors. Equal entries would get the same index; then the entries stay unchanged.
 */
static int sort(int32_t *entries, int n)
{
    enum { SOME = 16 };
    typedef int32_t some __attribute__((vector_size(SOME * sizeof(int32_t))));
    int32_t x[SAP_SORT_MAX], place[SAP_SORT_MAX];
    int sum = 0;
    memcpy(x, entries, (size_t)n * sizeof *x);
    for (int k = n; k % SOME; k++) x[k] = 0;
    for (int from = 0; from < n; from += SOME) {
        some these, smaller = {0};
        memcpy(&these, x + from, sizeof these);
        for (int k = 0; k < n; k++) smaller -= these > (some){0} + x[k];
        memcpy(place + from, &smaller, sizeof smaller);
    }
    for (int k = 0; k < n; k++) sum += place[k];
    if (sum != n * (n - 1) / 2) return 0;
    for (int k = 0; k < n; k++) entries[place[k]] = x[k];
    return 1;
}

#endif
