# fuzz.mk - the fuzzer of test/fuzz: `make fuzz SECONDS=60 BACKENDS="cpu opencl" INTERFACES=g6,native SEED=1 JOBS=2`.
# INTERFACES are those of main.c, and `steppers` and `ranks`, which are programs of their own.

FUZZER_SOURCES := $(sort $(wildcard test/fuzz/*.c))
FUZZER_OBJECTS := $(call objects,$(filter-out test/fuzz/execute.c,$(FUZZER_SOURCES)))
FUZZER         := $(B)/test/fuzz/fuzz
FUZZER_DOORS   := $(foreach l,sapporo6th nbody6pp_gpu nbody6_gpu nbody7_gpu nbody6_2010_gpu cunbody1 harp3 g5c,$(B)/lib/$(call SO_NAME,$l))

SECONDS    ?= 60
BACKENDS   ?= cpu opencl
INTERFACES ?=
SEED       ?= 1
JOBS       ?= $(CPUS)

$(call objects,$(FUZZER_SOURCES)): COMMON += -fPIC

# The calls are an object of their own, which children load with the library (test/fuzz/execute.c).
$(B)/test/fuzz/fuzz_calls.so: $(B)/test/fuzz/execute.o | $(SAPPORO_LINKED) $(FUZZER_DOORS)
	$(call say,LINK,test/fuzz/fuzz_calls.so)
	$(Q)$(CC) -shared $(LINK_FLAGS) -o $@ $< -L$(B)/lib -lsapporo -Wl,-rpath,'$$ORIGIN/../../lib' $(LIBS)

$(FUZZER): $(FUZZER_OBJECTS) $(B)/examples/libcommon.a | $(B)/test/fuzz/fuzz_calls.so
	$(call say,LINK,test/fuzz/fuzz)
	$(Q)$(CC) -rdynamic $(LINK_FLAGS) $(OPENMP_FLAGS) -o $@ $^ $(LIBS)

include test/fuzz/steppers/steppers.mk
include test/fuzz/ranks/ranks.mk

.PHONY: fuzz fuzz-build
fuzz-build: $(FUZZER) $(B)/test/fuzz/fuzz_calls.so $(FUZZ_STEPPERS) $(FUZZ_RANKS)
	@:

# SECONDS are for all backends together.
fuzz: fuzz-build
	@BACKENDS='$(BACKENDS)' INTERFACES='$(INTERFACES)' SEED='$(SEED)' JOBS='$(JOBS)' SECONDS_ALL='$(SECONDS)' MPIRUN='$(MPIRUN)' \
	    test/fuzz/run.sh $(FUZZER)
