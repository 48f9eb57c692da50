# hip.mk - compiles kernels_cuda/*.cu for AMD GPUs, over the names of kernels_hip/, and embeds them in the library.
#
#   HIP=1, HIP=0    builds with them, or without, as CUDA=0 does
#   HIPCC           the compiler, a clang that knows AMD GPUs; default: ROCm's, else the newest of PATH from 17 on
#   HIP_ARCHS       "gfx90a gfx1100", or `ends`: a chip with wavefronts of 64 and one of 32; default: the chips of
#                   data centres and of cards
#
# Where neither ROCm is nor HIP=1, HIP_ARCHS or HIPCC asks for them, nothing is compiled: it takes two minutes of a
# processor for each chip.  The kernels use clang's builtins alone: neither ROCm's headers nor its device libraries.
# X.resources keeps what clang tells of each kernel (test/gpu/test_hip_budget.sh).

HIP       ?= $(CUDA)
HIP_ARCHS ?=
HIP_ALL   := gfx90a gfx942 gfx1030 gfx1100
HIP_ROCM  := $(firstword $(wildcard $(addsuffix /llvm/bin/clang++,$(ROCM_PATH) /opt/rocm)))
HIP_ASKED := $(strip $(HIP_ARCHS)$(HIP_ROCM)$(filter-out undefined,$(origin HIPCC))$(filter command,$(origin HIP)))
HIP_CHIPS := $(if $(filter ends,$(HIP_ARCHS)),gfx90a gfx1100,$(or $(HIP_ARCHS),$(HIP_ALL)))
HIP_WHY   := $(if $(filter 1,$(HIP)),$(if $(HIP_ASKED),,built without ROCm),built with HIP=$(HIP))
ifeq ($(HIP_WHY),)
ifeq ($(origin HIPCC),undefined)
HIP_FOUND := $(HIP_ROCM) $(shell for v in 23 22 21 20 19 18 17; do command -v clang++-$$v; done; true)
HIPCC     := $(firstword $(HIP_FOUND))
endif
endif

# Products and sums are fused where the source says so; quotients and roots of floats are rounded correctly.
HIP_OPTIONS := -x hip --cuda-device-only --gpu-bundle-output -nogpulib -nogpuinc -std=c++17 -O3 -ffp-contract=off \
               -fhip-fp32-correctly-rounded-divide-sqrt -Wall -Wextra -Wno-unused-parameter -Werror -Ilib -Ikernels_hip

ifeq ($(HIP_WHY),)
HIP_PROBE := build/probe-hip-$(call hash,$(HIPCC) $(HIP_CHIPS) $(HIP_OPTIONS)).mk
$(HIP_PROBE): kernels_hip/hip.mk
	@mkdir -p build
	@t=build/probe-hip.$$$$; trap 'rm -f "$$t".*' EXIT; \
	echo '__attribute__((global)) void f(int *x) { *x = 1; }' >$$t.cu; \
	if $(or $(HIPCC),false) $(HIP_OPTIONS) $(HIP_CHIPS:%=--offload-arch=%) -o $$t.bundle $$t.cu >$$t.log 2>&1; then \
	    echo "HIP_ID := $$($(HIPCC) --version | head -n 1 | tr -d '#$$')" >$@; \
	else \
	    why=$$(head -n 1 $$t.log | tr -d '\\"#$$'"'" | cut -c 1-200); \
	    echo "HIP_WHY := built without HIP: $(or $(HIPCC),no clang from 17 on) compiles nothing: $$why" >$@; \
	fi
include $(HIP_PROBE)
endif

# Block steps by one kernel need clusters of groups, which these chips do not have.
HIP_SOURCES := $(if $(HIP_WHY),,$(filter-out kernels_cuda/blocks%,$(sort $(wildcard kernels_cuda/*.cu))))
HIP_DIR     := build/hip-$(call hash,$(HIP_ID) $(HIP_CHIPS) $(HIP_OPTIONS) $(HIP_WHY))
HIP_IMAGES  := $(HIP_SOURCES:kernels_cuda/%.cu=$(HIP_DIR)/%.fatbin)

$(HIP_DIR)/%.fatbin: kernels_cuda/%.cu
	$(call say,HIP,$<)
	@mkdir -p $(@D)
	$(Q)t=$(@:.fatbin=).$$$$; trap 'rm -f "$$t".*' EXIT; \
	$(HIPCC) $(HIP_OPTIONS) $(HIP_CHIPS:%=--offload-arch=%) -Rpass-analysis=kernel-resource-usage -MMD -MP -MF $$t.d -MT $@ \
	    -o $$t.fatbin $< >$$t.log 2>&1 || { cat $$t.log >&2; exit 1; }; \
	mv -f $$t.log $(@:.fatbin=.resources) && mv -f $$t.d $(@:.fatbin=.d) && mv -f $$t.fatbin $@

$(HIP_DIR)/embedded.c: $(HIP_IMAGES) kernels_cuda/embed.sh kernels_hip/hip.mk
	@mkdir -p $(@D)
	$(Q)$(if $(HIP_IMAGES),echo '$(HIP_ID)' >$(@D)/release && echo '$(HIP_CHIPS)' >$(@D)/architectures &&) \
	sh kernels_cuda/embed.sh hip '$(HIP_CHIPS)' '$(HIP_WHY)' $(HIP_IMAGES) >$@.$$$$ && mv -f $@.$$$$ $@

-include $(HIP_IMAGES:.fatbin=.d)

.PHONY: hip-budget
hip-budget: $(HIP_DIR)/embedded.c
	$(if $(HIP_WHY),@echo 'no kernels: $(HIP_WHY)' >&2; exit 1,test/gpu/test_hip_budget.sh --write $(HIP_DIR))
