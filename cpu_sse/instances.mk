# instances.mk - the kernels of the CPU.  make compiles each row once for each instruction path that the compiler has.
#
#   NAME        the object: cpu_sse/kernels/NAME_PATH.o, with the table sap_kernel* or sap_tree_kernel* of isa.c
#   FLAGS       order, working type and roots, as force_kernel.h and tree_kernel.h read them
#   WIDE        paths on which a thread holds two vectors of targets, which was measured to be faster there
#
# A new row needs a line in TABLE of isa.c.

vectors := sse2 avx2 avx512 neon
INSTANCES :=
define instance
INSTANCES += $1
FLAGS_$1  := $2
WIDE_$1   := $3
endef

#                      NAME         FLAGS                                             WIDE
$(eval $(call instance,force_sp,    -DSAP_ORDER=4 -DSAP_KERNEL_SP=1,                  $(vectors)))
$(eval $(call instance,force_ds,    -DSAP_ORDER=4 -DSAP_KERNEL_DS=1,                  $(vectors)))
$(eval $(call instance,force_dp,    -DSAP_ORDER=4 -DSAP_KERNEL_DP=1,                  avx512 neon))
$(eval $(call instance,force2_fast, -DSAP_ORDER=2 -DSAP_KERNEL_SP=1 -DSAP_KERNEL_FAST=1, $(vectors)))
$(eval $(call instance,force2_sp,   -DSAP_ORDER=2 -DSAP_KERNEL_SP=1,                  $(vectors)))
$(eval $(call instance,force2_ds,   -DSAP_ORDER=2 -DSAP_KERNEL_DS=1,                  $(vectors)))
$(eval $(call instance,force2_dp,   -DSAP_ORDER=2 -DSAP_KERNEL_DP=1,                  avx2 avx512 neon))
$(eval $(call instance,force6_ds,   -DSAP_ORDER=6 -DSAP_KERNEL_DS=1,))
$(eval $(call instance,force6_dp,   -DSAP_ORDER=6 -DSAP_KERNEL_DP=1,))
$(eval $(call instance,force8_ds,   -DSAP_ORDER=8 -DSAP_KERNEL_DS=1,))
$(eval $(call instance,force8_dp,   -DSAP_ORDER=8 -DSAP_KERNEL_DP=1,))
$(eval $(call instance,tree_sp,     -DSAP_KERNEL_SP=1,                                avx512 neon))
$(eval $(call instance,tree_dp,     -DSAP_KERNEL_DP=1,                                avx512 neon))

# Orders 2 and 4 of sse2, the path of x86 processors without AVX2 (before 2013), compile in half the time so, and are as
# fast within 5 %.  Order 8 would lose a quarter.
ifeq ($(if $(KERNEL_OPTIMISE),$(IS_GCC)),1)
QUICKLY := -O1 -fschedule-insns2 -fexpensive-optimizations
endif
quickly = $(if $(filter sse2,$2),$(if $(filter force_% force2_%,$1),$(QUICKLY)))

# instance_flags NAME,PATH; instance_source NAME
instance_source = cpu_sse/$(if $(filter tree_%,$1),tree,force)_instance.c
instance_flags  = $(quickly) $(FLAGS_$1) -DSAP_PATH=$2 -DSAP_VECTORS_OF_TARGETS=$(if $(filter $2,$(WIDE_$1)),2,1) \
                  -DSAP_INSTANCE=sap_$(patsubst force%,kernel%,$(patsubst tree%,tree_kernel%,$1))_$2

# Objects of the paths that the compiler has.
INSTANCE_OBJECTS := $(patsubst %.c,$(B)/%.o,$(filter-out $(ISA_MISSING),$(foreach p,$(vectors) scalar,\
                    $(INSTANCES:%=cpu_sse/kernels/%_$p.c))))

# An object depends on its own row: a change of this file writes NAME_PATH.flags anew only where flags have changed.
define instance_rule
$$(B)/cpu_sse/kernels/$1_$2.flags: cpu_sse/instances.mk
	@mkdir -p $$(@D)
	@f='$$(strip $$(call instance_flags,$1,$2))'; [ "$$$$f" = "$$$$(cat $$@ 2>/dev/null)" ] || echo "$$$$f" >$$@

$$(B)/cpu_sse/kernels/$1_$2.o: $$(call instance_source,$1) $$(B)/cpu_sse/kernels/$1_$2.flags
	$$(call say,CC,'$$< ($1 $2)')
	@mkdir -p $$(@D)
	$$(Q)$$(CC) $$(call flags,cpu_sse/$1_$2.c) $$(call instance_flags,$1,$2) -MMD -MP -c -o $$@ $$<
endef
$(foreach n,$(INSTANCES),$(foreach p,scalar $(vectors),$(eval $(call instance_rule,$n,$p))))
