# parsers.mk - make fuzz-parsers: libFuzzer on every parser of files, variables and numbers.
#
#   SECONDS=60       seconds per target
#   RUNS=1000000     inputs per target instead
#   FUZZ_JOBS=2      targets at a time
#   FUZZ_TARGETS=... some of them
#   FUZZ_CC=clang    a clang with libFuzzer
#
# The targets are compiled on their own, with the address and undefined
# behaviour sanitizers.  New inputs are kept in build/fuzz/corpus, and an input
# that fails in build/fuzz/failed; test_parsers replays test/fuzz/corpus.

PARSER_TARGETS := snapshot restart option tune config cache environment number
PARSER_SOURCES := $(sort $(wildcard test/fuzz/parsers/target_*.c)) \
                  $(addprefix lib/,variables.c $(addprefix base/,environment.c variable_table.c variable_check.c file.c log.c saving.c \
                  structs.c clock.c process.c static_program.c team.c team_ranges.c cores.c) $(addprefix engine/,config.c options.c tune.c) api/g6/npipes.c \
                  driver/opencl/opencl_cache.c) $(sort $(wildcard examples/apps/common/snapshot*.c)) \
                  $(addprefix examples/apps/common/,message.c bodies.c atomic_file.c number.c nearest_name.c parallel.c restart.c options.c unit_words.c)

FUZZ_CC      ?= $(or $(call found,clang-14 clang),clang)
FUZZ_FLAGS   := -std=c11 -O1 -g -Wall -Wextra -fsanitize=address,undefined -fno-sanitize-recover=all \
                -Iinclude -Ilib -Icpu_sse -Iexamples/apps/common
FUZZ_OBJECTS := $(patsubst %.c,build/fuzz/%.o,$(PARSER_SOURCES))

# Targets are part of test_parsers too, without libFuzzer.
TEST_SUPPORT += $(call objects,$(sort $(wildcard test/fuzz/parsers/target_*.c)))

build/fuzz/%.o: %.c
	@mkdir -p $(@D)
	$(Q)$(FUZZ_CC) $(FUZZ_FLAGS) -fsanitize=fuzzer-no-link -MMD -MP -c -o $@ $<

$(PARSER_TARGETS:%=build/fuzz/%): build/fuzz/%: test/fuzz/parsers/fuzzer.c $(FUZZ_OBJECTS)
	$(call say,LINK,$@)
	$(Q)$(FUZZ_CC) $(FUZZ_FLAGS) -DPARSER_TARGET=parse_$* -fsanitize=fuzzer -o $@ $^ -lpthread -lm

-include $(wildcard $(B)/test/fuzz/parsers/*.d build/fuzz/*/*.d build/fuzz/*/*/*.d build/fuzz/*/*/*/*.d)

.PHONY: fuzz-parsers fuzz-parsers-build
fuzz-parsers-build: $(PARSER_TARGETS:%=build/fuzz/%)
	@:

fuzz-parsers:
	@+FUZZ_CC='$(FUZZ_CC)' MAKE='$(MAKE)' FUZZ_SECONDS='$(or $(filter-out 0,$(SECONDS)),60)' RUNS='$(RUNS)' \
	    FUZZ_JOBS='$(FUZZ_JOBS)' test/fuzz/parsers/run.sh $(or $(FUZZ_TARGETS),$(PARSER_TARGETS))
