# test.mk - make check, tests, lint, format.
#
# test/FOLDER/test_X.c is a CMocka program, linked with the static library so
# that it reaches what the shared one hides; test/FOLDER/test_X.sh runs from the
# top folder.  X is unique.  TESTS="X Y" chooses by X, EXCEPT="X Y" leaves out.  TESTS=lint runs test/lint.sh, which is
# none of the tests of the library and takes as long as a fifth of them.

TEST_SOURCES  := $(sort $(wildcard test/*/test_*.c test/api/*/test_*.c))
TEST_SCRIPTS  := $(sort $(wildcard test/*/test_*.sh test/api/*/test_*.sh))
TEST_SUPPORT  := $(call objects,$(sort $(wildcard test/support/*.c)))
include test/fuzz/parsers/parsers.mk
bare           = $(patsubst test_%,%,$(basename $(notdir $1)))
ALL_TESTS     := $(sort $(call bare,$(TEST_SOURCES) $(TEST_SCRIPTS)))
CHOSEN        := $(filter-out $(call bare,$(EXCEPT)),$(if $(TESTS),$(call bare,$(TESTS)),$(ALL_TESTS)))
# Programs of other tests that a script runs; so they are there if the script is chosen alone.
RUN_BY_stack          := bits
RUN_BY_driver_libcuda := driver
RUN_BY_opencl_loader  := bits opencl
RUN_BY_opencl_groups  := accuracy batch_more bits g5_input
RUN_BY_opencl_nofp64  := accum accuracy batch_more bits outside stepper_soft_hermite
RUN_BY_hip            := not_finite spline tree_counts tree_groups
TEST_PROGRAMS := $(patsubst %,$(B)/test/test_%,$(sort $(filter $(CHOSEN),$(call bare,$(TEST_SOURCES))) \
                 $(foreach t,$(CHOSEN),$(RUN_BY_$t))))

# Reported as skipped.
NOT_BUILT     := $(call built,$(filter-out $(FORTRAN),$(ALL_FORTRAN)))

CPUS := $(shell nproc 2>/dev/null || getconf _NPROCESSORS_ONLN 2>/dev/null || echo 1)
parallel = $(if $(findstring jobserver,$(MAKEFLAGS)),,-j$(CPUS))

$(B)/test/libsupport.a: $(TEST_SUPPORT)
	@mkdir -p $(@D) && rm -f $@
	$(Q)$(AR) qcs $@ $^

# All programs lie in one folder of the build, wherever their sources are.
$(foreach s,$(TEST_SOURCES),$(eval $(B)/test/$(basename $(notdir $s)): $(call objects,$s)))
# A part of libsapporo_mpi that needs no MPI.
$(B)/test/test_tree_halo: $(call objects,lib/mpi/tree_halo.c)
$(foreach t,$(call bare,$(TEST_SOURCES)),$(B)/test/test_$t): $(B)/test/libsupport.a $(B)/examples/libcommon.a \
    $(B)/lib/libsapporo.a
	$(call say,LINK,$(@:$(B)/%=%))
	$(Q)$(CC) $(TESTS_LINKER) $(LINK_FLAGS) $(OPENMP_FLAGS) -o $@ $(filter %.o,$^) $(filter %.a,$^) -lcmocka $(HDF5_LINKED) $(LIBS)

include test/fuzz/fuzz.mk
include test/fuzz/trees/trees.mk

# Bits of results, of the engines that this machine has (test/context/test_digest.c).
.PHONY: digest
digest: $(B)/test/test_digest
	@SAPPORO_TEST_SPARING=0 $(B)/test/test_digest --write

.PHONY: check check-quick check-build check-run tests lint format mutants
check:
	@test/setup.sh
	@+$(MAKE) --no-print-directory $(parallel) all
	@+$(MAKE) --no-print-directory check-run

# Between two edits: the tests in C that `long` of run.sh does not name, on the CPU, and the scripts that look at headers
# and folders.  Less than two minutes on two cores.
QUICK_LONG    = $(patsubst test_%,%,$(basename $(shell sed -n '/^long=/,/"$$/p' test/run.sh | sed 's/^long=//' | tr -d '"')))
QUICK_SCRIPTS = rooms layout symbols fortran_modules
check-quick: all
	@+SAPPORO_TEST_ENGINES=cpu $(MAKE) --no-print-directory check-run \
	    TESTS='$(filter-out $(QUICK_LONG),$(call bare,$(TEST_SOURCES))) $(QUICK_SCRIPTS)'

# A test that does not compile fails alone.
check-run:
	@+if printf 'int main(void) { return 0; }\n' | $(CC) -x c - -o build/cmocka.out $(LDFLAGS) -lcmocka 2>/dev/null; then \
	    $(MAKE) --no-print-directory -k $(parallel) tests || :; else export NO_CMOCKA='libcmocka is missing'; fi; \
	CC='$(CC)' FC='$(FC)' OPENMP_FLAGS='$(OPENMP_FLAGS)' SANITIZE='$(SANITIZE)' MAKE='$(MAKE)' \
	NOT_BUILT='$(if $(TESTS),,$(NOT_BUILT))' \
	    test/run.sh $(B) $(CHOSEN)

tests: $(TEST_PROGRAMS) $(if $(filter fuzz fuzz_steppers fuzz_ranks,$(CHOSEN)),fuzz-build fuzz-trees-build)
	@:

lint:
	@CC='$(CC)' MAKE='$(MAKE)' test/lint.sh

# Plants defects in a copy of the tree, and says which no test sees.
mutants:
	@CC='$(CC)' MAKE='$(MAKE)' test/mutants.sh

format:
	@test/lint.sh --format
