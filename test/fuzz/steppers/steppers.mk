# steppers.mk - steppers of which allocations fail: a part of `make fuzz` (fuzz.mk).

FUZZ_STEPPERS         := $(B)/test/fuzz/fuzz_steppers
FUZZ_STEPPERS_OBJECTS := $(call objects,$(sort $(wildcard test/fuzz/steppers/*.c)))

# With the static library, so that the linker sees its allocations.
$(FUZZ_STEPPERS): $(FUZZ_STEPPERS_OBJECTS) $(B)/examples/libcommon.a $(B)/lib/libsapporo.a
	$(call say,LINK,test/fuzz/fuzz_steppers)
	$(Q)$(CC) $(LINK_FLAGS) -Wl,--wrap=malloc,--wrap=calloc,--wrap=realloc,--wrap=aligned_alloc -o $@ $^ $(LIBS)
