# ranks.mk - sequences of collective calls: a part of `make fuzz` (fuzz.mk), where an MPI compiler is found.

MPIRUN             ?= $(patsubst mpicc%,mpirun%,$(MPICC))
FUZZ_RANKS         := $(if $(MPI_ID),$(B)/test/fuzz/fuzz_ranks)
FUZZ_RANKS_SOURCES := $(sort $(wildcard test/fuzz/ranks/*.c)) test/mpi/ranks.c test/mpi/nap.c
FUZZ_RANKS_OBJECTS := $(call objects,$(FUZZ_RANKS_SOURCES))

$(FUZZ_RANKS_OBJECTS): $(B)/mpi.id
$(FUZZ_RANKS_OBJECTS): $(B)/%.o: %.c
	$(call say,MPI,$<)
	@mkdir -p $(@D)
	$(Q)$(mpicc) $(call flags,$<) -MMD -MP -c -o $@ $<

$(B)/test/fuzz/fuzz_ranks: $(FUZZ_RANKS_OBJECTS) $(B)/examples/libcommon.a | \
    $(foreach l,sapporo sapporo_mpi,$(B)/lib/$(call SO_NAME,$l) $(B)/lib/$(call SO_LINK,$l))
	$(call say,LINK,test/fuzz/fuzz_ranks)
	$(Q)$(mpicc) -rdynamic $(LINK_FLAGS) -o $@ $^ -L$(B)/lib -lsapporo_mpi -lsapporo -Wl,-rpath,'$$ORIGIN/../../lib' $(LIBS)
