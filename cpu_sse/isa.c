/* isa.c - which instruction paths are usable, according to the build and, on x86, cpuid and XGETBV. */
#include "isa.h"

#include <stdio.h>
#include <string.h>

#include "base/lock.h"
#include "base/process.h"
#include "sapporo.h"

#if defined(__x86_64__) || defined(__i386__)
#include <cpuid.h>
#define SAP_X86 1
#elif defined(__aarch64__) && defined(__linux__)
#include <sys/auxv.h>
#endif

#define TABLE(isa)                                                                                                     \
    extern const struct sap_kernel sap_kernel_sp_##isa, sap_kernel_ds_##isa, sap_kernel_dp_##isa;                      \
    extern const struct sap_kernel sap_kernel2_sp_##isa, sap_kernel2_ds_##isa, sap_kernel2_dp_##isa,                   \
        sap_kernel2_fast_##isa;                                                                                        \
    extern const struct sap_kernel sap_kernel6_ds_##isa, sap_kernel6_dp_##isa, sap_kernel8_ds_##isa,                   \
        sap_kernel8_dp_##isa;                                                                                          \
    static const struct sap_kernel *const table_##isa[] = {                                                            \
        [SAPPORO_SP] = &sap_kernel_sp_##isa,           [SAPPORO_DS] = &sap_kernel_ds_##isa,                            \
        [SAPPORO_DP] = &sap_kernel_dp_##isa,           [ORDER2] = &sap_kernel2_fast_##isa,                             \
        [ORDER2 + SAPPORO_SP] = &sap_kernel2_sp_##isa, [ORDER2 + SAPPORO_DS] = &sap_kernel2_ds_##isa,                  \
        [ORDER2 + SAPPORO_DP] = &sap_kernel2_dp_##isa, [ORDER6 + SAPPORO_DS] = &sap_kernel6_ds_##isa,                  \
        [ORDER6 + SAPPORO_DP] = &sap_kernel6_dp_##isa, [ORDER8 + SAPPORO_DS] = &sap_kernel8_ds_##isa,                  \
        [ORDER8 + SAPPORO_DP] = &sap_kernel8_dp_##isa};                                                                \
    extern const struct sap_tree_kernel sap_tree_kernel_sp_##isa, sap_tree_kernel_dp_##isa;                            \
    static const struct sap_tree_kernel *const trees_##isa[] = {                                                       \
        [SAPPORO_SP] = &sap_tree_kernel_sp_##isa, [SAPPORO_DP] = &sap_tree_kernel_dp_##isa};

/* Kernels of order 2 follow those of order 4; the first of them has fast roots. Orders 6 and 8 have no sp. */
enum { ORDER2 = SAPPORO_DP + 1, ORDER6 = 2 * ORDER2, ORDER8 = 3 * ORDER2 };

/* One table per compiled path. */
TABLE(scalar)
#if defined(SAP_HAVE_SSE2)
TABLE(sse2)
#else
#define table_sse2 NULL
#define trees_sse2 NULL
#endif
#if defined(SAP_HAVE_AVX2)
TABLE(avx2)
#else
#define table_avx2 NULL
#define trees_avx2 NULL
#endif
#if defined(SAP_HAVE_AVX512)
TABLE(avx512)
#else
#define table_avx512 NULL
#define trees_avx512 NULL
#endif
#if defined(SAP_HAVE_NEON)
TABLE(neon)
#else
#define table_neon NULL
#define trees_neon NULL
#endif

static const struct {
    const char *name;
    const struct sap_kernel *const *kernels;
    const struct sap_tree_kernel *const *trees;
} paths[SAP_ISAS] = {
    [SAP_ISA_SCALAR] = {"scalar", table_scalar, trees_scalar},
    [SAP_ISA_SSE2] = {"sse2", table_sse2, trees_sse2},
    [SAP_ISA_AVX2] = {"avx2", table_avx2, trees_avx2},
    [SAP_ISA_AVX512] = {"avx512", table_avx512, trees_avx512},
    [SAP_ISA_NEON] = {"neon", table_neon, trees_neon},
};

#if defined(SAP_X86)

/* Returns the register state that the operating system saves (XCR0); 0 if it saves none beyond SSE. */
static unsigned long long saved_state(void)
{
    unsigned a, b, c, d;
    if (!__get_cpuid(1, &a, &b, &c, &d) || !(c & bit_OSXSAVE)) return 0;
    unsigned low, high;
    __asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
    return (unsigned long long)high << 32 | low;
}

static int machine_has(enum sap_isa isa)
{
    unsigned a, b, c, d, b7 = 0, unused;
    if (isa == SAP_ISA_SCALAR) return 1;
    if (!__get_cpuid(1, &a, &b, &c, &d)) return 0;
    if (isa == SAP_ISA_SSE2) return (d & bit_SSE2) != 0;
    if (!__get_cpuid_count(7, 0, &unused, &b7, &unused, &unused)) b7 = 0;
    const unsigned long long state = saved_state();
    const int avx2 = (state & 0x06) == 0x06 && (c & bit_AVX) && (c & bit_FMA) && (b7 & bit_AVX2);
    if (isa == SAP_ISA_AVX2) return avx2;
    const unsigned want = bit_AVX512F | bit_AVX512DQ | bit_AVX512BW | bit_AVX512VL;
    return avx2 && (state & 0xE6) == 0xE6 && (b7 & want) == want;
}

#else

/* The only other path is the baseline of its architecture. */
static int machine_has(enum sap_isa isa) { return isa == SAP_ISA_SCALAR || isa == SAP_ISA_NEON; }

#endif

const char *sap_isa_name(enum sap_isa isa) { return paths[isa].name; }

int sap_isa_find(const char *name)
{
    for (int isa = 0; isa < SAP_ISAS; isa++)
        if (strcmp(name, paths[isa].name) == 0) return isa;
    return -1;
}

/* Copies n bytes of text, truncated to the buffer. */
static void copy_text(char *text, size_t room, const char *from, size_t n)
{
    if (room == 0) return;
    if (n > room - 1) n = room - 1;
    memcpy(text, from, n);
    text[n] = '\0';
}

static void read_vendor(char *text, size_t room)
{
#if defined(SAP_X86)
    unsigned a, w[3];
    if (__get_cpuid(0, &a, &w[0], &w[2], &w[1])) { /* the name is in ebx, edx, ecx */
        copy_text(text, room, (const char *)w, sizeof w);
        return;
    }
#endif
    copy_text(text, room, "unknown", strlen("unknown"));
}

struct sap_machine sap_machine;

SAP_GUARD_AT_FORK(machine, SAP_LOCK_MACHINE, &sap_machine.lock)

/* Returns the processor's properties. cpuid runs only once: under a hypervisor each call costs microseconds. */
static const struct sap_machine *machine(void)
{
    struct sap_machine *m = &sap_machine;
    if (atomic_load_explicit(&m->known, memory_order_acquire)) return m;
    sap_lock(&m->lock);
    if (!atomic_load_explicit(&m->known, memory_order_relaxed)) {
        for (int isa = 0; isa < SAP_ISAS; isa++)
            if (paths[isa].kernels && machine_has((enum sap_isa)isa)) m->paths |= 1U << isa;
        read_vendor(m->vendor, sizeof m->vendor);
        atomic_store_explicit(&m->known, 1, memory_order_release);
    }
    sap_unlock(&m->lock);
    return m;
}

int sap_isa_usable(enum sap_isa isa) { return (int)(machine()->paths >> isa & 1U); }

const char *sap_isa_vendor(enum sap_isa isa)
{
    return isa == SAP_ISA_SCALAR || isa == SAP_ISA_NEON ? "any" : machine()->vendor;
}

enum sap_isa sap_isa_best(void)
{
    int isa = SAP_ISAS - 1;
    while (isa > SAP_ISA_SCALAR && !sap_isa_usable((enum sap_isa)isa)) isa--;
    return (enum sap_isa)isa;
}

const struct sap_kernel *sap_isa_kernel(enum sap_isa isa, int order, int precision, int fast)
{
    if (!sap_isa_usable(isa)) return NULL;
    if (order == 4) return paths[isa].kernels[precision];
    if (order > 4) return paths[isa].kernels[(order == 6 ? ORDER6 : ORDER8) + precision];
    return paths[isa].kernels[fast && precision == SAPPORO_SP ? ORDER2 : ORDER2 + precision];
}

const struct sap_tree_kernel *sap_isa_tree_kernel(enum sap_isa isa, int precision)
{
    return sap_isa_usable(isa) ? paths[isa].trees[precision] : NULL;
}

void sap_isa_brand(char *text, size_t room)
{
#if defined(SAP_X86)
    unsigned w[12], a, b, c, d;
    if (__get_cpuid(0x80000000, &a, &b, &c, &d) && a >= 0x80000004) {
        for (unsigned k = 0; k < 3; k++)
            __get_cpuid(0x80000002 + k, &w[4 * k], &w[4 * k + 1], &w[4 * k + 2], &w[4 * k + 3]);
        const char *name = (const char *)w;
        const size_t end = sizeof w;
        size_t from = 0;
        while (from < end && name[from] == ' ') from++;
        copy_text(text, room, name + from, end - from);
        return;
    }
#elif defined(__aarch64__) && defined(HWCAP_CPUID)
    if (getauxval(AT_HWCAP) & HWCAP_CPUID) { /* then Linux lets programs read the register */
        uint64_t id;
        __asm__("mrs %0, midr_el1" : "=r"(id));
        (void)snprintf(text, room, "AArch64, implementer 0x%02x, part 0x%03x", (unsigned)(id >> 24 & 0xff),
                       (unsigned)(id >> 4 & 0xfff));
        return;
    }
#endif
    copy_text(text, room, "CPU", strlen("CPU"));
}
