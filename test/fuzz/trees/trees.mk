# trees.mk - the proof of forces of trees: `make fuzz-trees SECONDS=60 BACKENDS="cpu opencl" SEED=1 JOBS=2 SYSTEMS=1000`.

FUZZ_TREES         := $(B)/test/fuzz/fuzz_trees
FUZZ_TREES_OBJECTS := $(call objects,$(sort $(wildcard test/fuzz/trees/*.c)) $(sort $(wildcard test/support/multiscale*.c)))

$(FUZZ_TREES): $(FUZZ_TREES_OBJECTS) $(B)/examples/libcommon.a | $(SAPPORO_LINKED)
	$(call say,LINK,test/fuzz/fuzz_trees)
	$(Q)$(CC) $(LINK_FLAGS) -o $@ $^ -L$(B)/lib -lsapporo -Wl,-rpath,'$$ORIGIN/../../lib' $(LIBS)

.PHONY: fuzz-trees fuzz-trees-build
fuzz-trees-build: $(FUZZ_TREES)
	@:

# SECONDS are for all backends together; SYSTEMS: as many for each of them instead.
fuzz-trees: fuzz-trees-build
	@BACKENDS='$(BACKENDS)' SEED='$(SEED)' JOBS='$(JOBS)' SECONDS_ALL='$(SECONDS)' SYSTEMS='$(SYSTEMS)' \
	    PRECISION='$(PRECISION)' test/fuzz/trees/run.sh $(FUZZ_TREES)
