# cuda.mk - compiles kernels_cuda/*.cu to fat binaries in build/cuda-HASH and embeds them in the library.
#
#   CUDA=0          builds without CUDA kernels, as a machine without nvcc does
#   NVCC            the compiler; default: nvcc in PATH, else in CUDA_HOME, else in /usr/local/cuda
#   CUDA_ARCHS      "sm_90 compute_90", or `ends`: oldest, newest, PTX; default: those of the GPUs that are here, else
#                   those of data centres, and PTX for all others (archs.sh --here)
#   FULL=1          all architectures, for packages
#
# HASH depends on nvcc, architectures and flags alone: all compilers of the host and all sanitizers share the fat
# binaries.  X.resources keeps what ptxas prints: the registers and the stack of each kernel
# (test/gpu/test_cuda_budget.sh).

CUDA       ?= 1
FULL       ?= 0
CUDA_ARCHS ?=
NVCC_WANTED := $(filter-out undefined,$(origin NVCC))
ifeq ($(NVCC_WANTED),)
NVCC := $(firstword $(shell command -v nvcc 2>/dev/null) \
        $(wildcard $(addsuffix /bin/nvcc,$(CUDA_HOME) /usr/local/cuda)))
endif

ifeq ($(CUDA),1)
NVCC_ID      := $(if $(NVCC),$(shell $(NVCC) --version 2>/dev/null | grep release))
NVCC_RELEASE := $(shell printf '%s' '$(NVCC_ID)' | sed -n 's/.*release \([0-9.]*\).*/\1/p')
CUDA_WHY     := $(if $(NVCC_RELEASE),,built without nvcc)
ifneq ($(and $(NVCC_WANTED),$(NVCC),$(CUDA_WHY)),)
$(error NVCC=$(NVCC) is no CUDA compiler)
endif
else
CUDA_WHY     := built with CUDA=0
endif

# -fmad=false keeps the compiler from fusing products and sums that the source does not fuse.  Fat binaries are
# compressed from CUDA 13 on: every driver that runs code of CUDA 13 can unpack them, but not every driver of CUDA 12.
# Packages are compressed to the smallest size: a tenth of nvcc's time for a quarter less.
NVCC_OPTIONS := -std=c++17 -O3 -fmad=false -Werror all-warnings \
                $(if $(filter-out 11.% 12.%,$(NVCC_RELEASE)),$(if $(filter 1,$(FULL)),--compress-mode=size,--compress-mode=balance -Xfatbin -compress-all))

# ---- what nvcc can do, kept in build/probe-cuda-HASH.mk until `make clean` ------------------
#
#   CUDA_LIST, CUDA_CODE   the architectures, and their flags
#   CUDA_SHARED            flags for sources that are the same for all architectures; those that the caller names are
#                          compiled as they are named
#   CUDA_SPLIT             flags for sources that choose at compute capability 9.0 alone
#   CUDA_HOST              flags for the compiler that nvcc needs to read sources, if its own choice fails
#   CUDA_WHY               why the library is built without CUDA, if it is

ifeq ($(CUDA_WHY),)
CUDA_PROBE := build/probe-cuda-$(call hash,$(NVCC) $(NVCC_ID) $(CUDA_ARCHS) $(FULL) $(CC) $(NVCC_OPTIONS)).mk

$(CUDA_PROBE): kernels_cuda/archs.sh kernels_cuda/cuda.mk
	@mkdir -p build
	@t=build/probe-cuda.$$$$; trap 'rm -f "$$t".*' EXIT; \
	ask() { sh kernels_cuda/archs.sh "$$@" $(NVCC_RELEASE) $(filter-out ends,$(CUDA_ARCHS)); }; \
	choice='$(if $(CUDA_ARCHS),$(if $(filter ends,$(CUDA_ARCHS)),--ends),$(if $(filter 1,$(FULL)),,--here))'; \
	echo '__global__ void f(int *x) { *x = 1; }' >$$t.cu; \
	if list=$$(ask $$choice 2>$$t.log) && code=$$(ask $$choice --flags 2>>$$t.log); then \
	    shared="$(if $(filter-out ends,$(CUDA_ARCHS)),$$code,$$(ask $$choice --flags --shared))"; \
	    split="$(if $(filter-out ends,$(CUDA_ARCHS)),$$code,$$(ask $$choice --flags --split))"; \
	    printf 'CUDA_LIST := %s\nCUDA_CODE := %s\nCUDA_SHARED := %s\nCUDA_SPLIT := %s\n' \
	        "$$list" "$$code" "$$shared" "$$split" >$$t.mk; \
	    for host in '' '-ccbin $(firstword $(CC))' '-ccbin clang++'; do \
	        $(NVCC) $(NVCC_OPTIONS) $$host $$code -fatbin -o $$t.fatbin $$t.cu >>$$t.log 2>&1 && break; \
	    done && echo "CUDA_HOST := $$host" >>$$t.mk && mv -f $$t.mk $@ && exit; \
	fi; \
	why=$$(head -n 1 $$t.log | tr -d '\\"#$$'"'" | cut -c 1-200); \
	$(if $(CUDA_ARCHS),echo "CUDA_ARCHS='$(CUDA_ARCHS)': $$why" >&2; exit 1;) \
	echo "  NOTE no CUDA: $(NVCC) compiles nothing: $$why" >&2; \
	echo "CUDA_WHY := built without CUDA: nvcc $(NVCC_RELEASE) compiles nothing: $$why" >$@
include $(CUDA_PROBE)
endif

ifeq ($(CUDA_WHY),)
CUDA_SOURCES := $(sort $(wildcard kernels_cuda/*.cu))
CUDA_FLAGS   := $(NVCC_OPTIONS) $(CUDA_HOST)
# Sources whose code differs by architecture, and headers must not: test/gpu/test_cuda_archs.sh.  CUDA_OTHER: elsewhere
# than at 9.0.
CUDA_OWN     := $(shell grep -l __CUDA_ARCH__ /dev/null $(CUDA_SOURCES))
CUDA_OTHER   := $(shell grep -l '__CUDA_ARCH__ \(==\|>=* [^9]\|> 9\)' /dev/null $(CUDA_OWN))
cuda_code     = $(if $(filter $1,$(CUDA_OTHER)),$(CUDA_CODE),$(if $(filter $1,$(CUDA_OWN)),$(CUDA_SPLIT),$(CUDA_SHARED)))
CUDA_WHY     := $(if $(CUDA_SOURCES),,built without kernels)
endif

# ---- rules ------------------------------------------------------------------------------------

CUDA_DIR    := build/cuda-$(call hash,$(NVCC_ID) $(CUDA_FLAGS) $(CUDA_CODE) $(CUDA_SHARED) $(CUDA_SPLIT) $(CUDA_WHY))
CUDA_IMAGES := $(CUDA_SOURCES:kernels_cuda/%.cu=$(CUDA_DIR)/%.fatbin)

# The output gets another name first, because several makes may work in this folder at once.
$(CUDA_DIR)/%.fatbin: kernels_cuda/%.cu
	$(call say,NVCC,$<)
	@mkdir -p $(@D)
	$(Q)t=$(@:.fatbin=).$$$$; trap 'rm -f "$$t".*' EXIT; \
	$(NVCC) $(CUDA_FLAGS) $(call cuda_code,$<) -Ilib -Ikernels_cuda -Xptxas -v -MMD -MP -MF $$t.d -MT $@ -fatbin -o $$t.fatbin $< >$$t.log 2>&1 || \
	    { cat $$t.log >&2; exit 1; }; \
	mv -f $$t.log $(@:.fatbin=.resources) && mv -f $$t.d $(@:.fatbin=.d) && mv -f $$t.fatbin $@

# The C file with the bytes of the fat binaries, a label for each, and the table of driver.h.
$(CUDA_DIR)/embedded.c: $(CUDA_IMAGES) kernels_cuda/embed.sh kernels_cuda/cuda.mk
	@mkdir -p $(@D)
	$(Q)$(if $(CUDA_IMAGES),echo '$(NVCC_RELEASE)' >$(@D)/release && echo '$(CUDA_LIST)' >$(@D)/architectures &&) \
	sh kernels_cuda/embed.sh cuda '$(CUDA_LIST)' '$(CUDA_WHY)' $(CUDA_IMAGES) >$@.$$$$ && mv -f $@.$$$$ $@

-include $(CUDA_IMAGES:.fatbin=.d)

.PHONY: cuda-budget
cuda-budget: $(CUDA_DIR)/embedded.c
	$(if $(CUDA_WHY),@echo 'no kernels: $(CUDA_WHY)' >&2; exit 1,test/gpu/test_cuda_budget.sh --write $(CUDA_DIR))
