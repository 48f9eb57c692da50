# mpi.mk - libsapporo_mpi, where an MPI compiler is found.
#
#   MPICC      the compiler that finds MPI, `mpicc` if nothing is said; the wrappers of Open MPI and MPICH call CC
#   MPI        1: build the library; 0: leave it out; nothing said: build it if MPICC compiles a program

MPICC ?= mpicc
MPI   ?=
mpicc  = OMPI_CC='$(CC)' MPICH_CC='$(CC)' $(MPICC)

# What the compiler calls, which is another command for another MPI; nothing if there is none.
MPI_ID :=
ifneq ($(filter-out $(NO_COMPILER),$(or $(MAKECMDGOALS),all)),)
ifneq ($(MPI),0)
MPI_PROBE := build/probe-mpi-$(call hash,$(MPICC) $(shell command -v $(firstword $(MPICC)) 2>/dev/null) $(CC) $(CC_ID) $(CFLAGS) $(LDFLAGS)).mk
$(MPI_PROBE): lib/mpi/mpi.mk
	@mkdir -p build
	@t=build/probe-mpi.$$$$; trap 'rm -f '$$t'*' EXIT; \
	printf '#include <mpi.h>\nint main(void) { return MPI_VERSION < 3; }\n' >$$t.c; \
	if $(mpicc) $(CFLAGS) -o $$t.out $$t.c $(LDFLAGS) >/dev/null 2>&1; then \
	    printf 'MPI_ID := %s\n' "$$($(mpicc) -show 2>/dev/null | tr -d '#$$\\' | head -n 1) ($(MPICC))"; else :; fi >$$t.mk && mv -f $$t.mk $@
include $(MPI_PROBE)
ifeq ($(MPI)$(MPI_ID)$(if $(wildcard $(MPI_PROBE)),,not known yet),1)
$(error MPICC='$(MPICC)' compiles no program with mpi.h.  Name another compiler, or leave libsapporo_mpi out with MPI=0)
endif
endif
endif

ifneq ($(MPI_ID)$(filter uninstall,$(MAKECMDGOALS)),)
MPI_LIBRARY := sapporo_mpi
endif

# Objects of another MPI are compiled anew.
$(B)/mpi.id: FORCE
	@mkdir -p $(@D)
	@echo '$(MPI_ID)' | cmp -s - $@ || echo '$(MPI_ID)' >$@

$(call objects,$(MPI_SOURCES) $(MPI_APPS)): $(B)/mpi.id
$(call objects,$(MPI_SOURCES) $(MPI_APPS)): $(B)/%.o: %.c
	$(call say,MPI,$<)
	@mkdir -p $(@D)
	$(Q)$(mpicc) $(call flags,$<) -MMD -MP -c -o $@ $<

# Parts of libsapporo that it does not export are compiled into both libraries.
OBJECTS_sapporo_mpi := $(call objects,$(MPI_SOURCES) lib/engine/accum.c lib/engine/cube.c \
                       lib/base/clock.c lib/base/environment.c lib/base/static_program.c lib/base/saving.c)
LINKER_sapporo_mpi   = $(mpicc)

# hermite4 with another name for its main function, and the calls of GRAPE-6 over MPI.
HERMITE4_MAIN := $(B)/examples/apps/hermite4_main.o
$(HERMITE4_MAIN): examples/apps/hermite4.c
	$(call say,CC,'$< (for MPI)')
	@mkdir -p $(@D)
	$(Q)$(CC) $(call flags,$<) -include examples/apps/hermite4_mpi.h -Dmain=hermite4_main -MMD -MP -c -o $@ $<
# galaxy with its calls of steppers, and with its main function, under other names.
GALAXY_PARTS := $(patsubst %,$(B)/examples/apps/%_over_ranks.o,galaxy common/stepping)
$(GALAXY_PARTS): $(B)/%_over_ranks.o: %.c
	$(call say,CC,'$< (for MPI)')
	@mkdir -p $(@D)
	$(Q)$(CC) $(call flags,$<) -DGALAXY_OVER_RANKS=1 -include examples/apps/galaxy_mpi.h -MMD -MP -c -o $@ $<

$(B)/examples/hermite4_mpi: $(HERMITE4_MAIN)
$(B)/examples/galaxy_mpi: $(GALAXY_PARTS)
$(B)/examples/hermite4_mpi $(B)/examples/galaxy_mpi: $(B)/examples/%: $(B)/examples/apps/%.o $(B)/examples/libcommon.a | \
    $(foreach l,sapporo sapporo_mpi,$(B)/lib/$(call SO_NAME,$l) $(B)/lib/$(call SO_LINK,$l))
	$(call say,LINK,$(@:$(B)/%=%))
	$(Q)$(mpicc) $(LINK_FLAGS) $(OPENMP_FLAGS) -o $@ $(filter %.o,$^) $(filter %.a,$^) -L$(B)/lib -lsapporo_mpi -lsapporo $(RPATH) $(HDF5_LINKED) $(LIBS)
