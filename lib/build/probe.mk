# probe.mk - what the compiler can do.  The answers are kept in build/probe-HASH.mk until `make clean`.
#
#   CC_ID          what the compiler calls itself
#   NO_SLP         gcc only: the vectoriser that miscompiles hi/lo splits is off
#   TESTS_LINKER   -fuse-ld=lld, if there is an lld: it links the programs of tests, 27 MB each, in half of the time
#   OPENMP_FLAGS   -fopenmp, if it compiles and links (for programs and tests); LIB_DL: -ldl, if there is such a library
#   AVX2_FLAGS, AVX512_FLAGS, PATHS_DEFINED, ISA_MISSING: paths, and the sources that cannot be built
#
# Sanitizers look at scalar and AVX-512, or at scalar and AVX2 where the processor has no AVX-512: SSE2 and AVX2 differ
# from these as these from each other.  At races, which no path changes, on scalar alone.

CC_ID := $(shell $(CC) --version 2>/dev/null | head -n 1; $(CC) -dumpmachine 2>/dev/null)
PROBE := build/probe-$(call hash,$(CC) $(CC_ID) $(CFLAGS) $(LDFLAGS) $(OPENMP) $(SANITIZE) $(shell command -v ld.lld 2>/dev/null)).mk

PATHS_FEW     := $(findstring thread,$(SANITIZE))
WANTED_AVX2   := -mavx2 -mfma
WANTED_AVX512 := -mavx512f -mavx512dq -mavx512bw -mavx512vl $(WANTED_AVX2) -mprefer-vector-width=512

# try FLAGS SOURCE: does it compile and link?
$(PROBE): lib/build/probe.mk
	@mkdir -p build
	@t=build/probe.$$$$; trap 'rm -f '$$t'*' EXIT; \
	try() { printf '%s\n' "$$2" | tr @ '\n' >$$t.c && $(CC) $(CFLAGS) -Werror $$1 -o $$t.out $$t.c $(LDFLAGS) $$3 >/dev/null 2>&1; }; \
	try '' 'int main(void) { return 0; }' || { echo "$(CC) cannot build a program with CFLAGS='$(CFLAGS)'" >&2; exit 1; }; \
	{ \
	try '' 'int main(void) { int clang = 1; return __clang__ - clang; }' || \
	    { try -fno-tree-slp-vectorize 'int main(void) { return 0; }' && echo 'NO_SLP := -fno-tree-slp-vectorize'; }; \
	try '' 'int main(void) { return 0; }' -ldl && echo 'LIB_DL := -ldl'; \
	for o in -Bsymbolic-functions --undefined-version; do \
	    try '' 'int main(void) { return 0; }' -Wl,$$o && echo "LINKER_TAKES += -Wl,$$o"; \
	done; \
	[ '$(SYSTEM)' != Darwin ] && try '' 'int main(void) { return 0; }' -fuse-ld=lld && echo 'TESTS_LINKER := -fuse-ld=lld'; \
	[ '$(OPENMP)' = 1 ] && try -fopenmp '#include <omp.h>@int main(void) { return omp_get_max_threads() < 1; }' && \
	    echo 'OPENMP_FLAGS := -fopenmp'; \
	if try '' 'int main(void) { return __x86_64__ - 1; }'; then \
	    $(if $(SANITIZE),echo 'ISA_MISSING := %_sse2.c',echo 'PATHS_DEFINED := -DSAP_HAVE_SSE2=1'); \
	    x='#include <immintrin.h>@__m256d f(__m256d a) { return _mm256_fmadd_pd(a, a, a); } int main(void) { return 0; }'; \
	    if $(if $(PATHS_FEW),false,$(if $(SANITIZE),! grep -qs avx512dq /proc/cpuinfo &&) try '$(WANTED_AVX2)' "$$x"); then \
	        echo 'AVX2_FLAGS := $(WANTED_AVX2)'; echo 'PATHS_DEFINED += -DSAP_HAVE_AVX2=1'; \
	    else echo 'ISA_MISSING += %_avx2.c'; fi; \
	    x='#include <immintrin.h>@__m512d f(__m512d a) { return _mm512_and_pd(a, a); } int main(void) { return 0; }'; \
	    if $(if $(PATHS_FEW),false,$(if $(SANITIZE),grep -qs avx512dq /proc/cpuinfo &&) try '$(WANTED_AVX512)' "$$x"); then \
	        echo 'AVX512_FLAGS := $(WANTED_AVX512)'; echo 'PATHS_DEFINED += -DSAP_HAVE_AVX512=1'; \
	    else echo 'ISA_MISSING += %_avx512.c'; fi; \
	else echo 'ISA_MISSING := %_sse2.c %_avx2.c %_avx512.c'; fi; \
	if $(if $(PATHS_FEW),false,try '' 'int main(void) { return __aarch64__ - 1; }'); then echo 'PATHS_DEFINED += -DSAP_HAVE_NEON=1'; \
	else echo 'ISA_MISSING += %_neon.c'; fi; \
	} >$$t.mk && mv -f $$t.mk $@
OPENMP_FLAGS := # of the compiler, not of the environment
include $(PROBE)
