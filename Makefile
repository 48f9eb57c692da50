# Makefile - builds, tests and installs libsapporo with GNU make and a C compiler.
#
#   make            the libraries in lib/, the programs in examples/
#   make help       everything else
#
# Objects live in build/HASH, where HASH stands for the compiler and all flags:
# another compiler, SANITIZE=... or OPENMP=0 never mix with what was built
# before, and coming back to a set of flags compiles nothing.  What users run
# is copied to lib/ and examples/.

.DEFAULT_GOAL := all
.SUFFIXES:
.DELETE_ON_ERROR:
MAKEFLAGS += -r
# All cores, unless the caller says -j: what is on the command line wins.  Not together with `clean`, which must end first.
ifeq ($(MAKELEVEL)$(filter clean uninstall,$(MAKECMDGOALS)),0)
MAKEFLAGS += -j$(shell sh lib/build/cores.sh)
endif

# ---- what the caller may set (docs/building.md) ---------------------------------

found = $(firstword $(foreach name,$1,$(if $(shell command -v $(name) 2>/dev/null),$(name))))
ifeq ($(origin CC),default)
CC := $(or $(call found,cc gcc clang),cc)
endif
# The tools beside a cross compiler: aarch64-linux-gnu-gcc has aarch64-linux-gnu-gfortran.
beside = $(if $(filter %-gcc,$(firstword $(CC))),$(patsubst %-gcc,%-$1,$(firstword $(CC))),$1)
ifeq ($(origin FC),default)
FC := $(call beside,gfortran)
endif
ifeq ($(origin AR),default)
AR := $(call beside,ar)
endif
ifeq ($(origin CFLAGS),undefined)
CFLAGS := $(if $(SANITIZE),-O1 -g1,-O2)
KERNEL_OPTIMISE := $(if $(SANITIZE),,-O3)
endif
FFLAGS   ?= -O2
SANITIZE ?=
OPENMP   ?= $(if $(findstring thread,$(SANITIZE)),0,1)
THREADS  ?= own
WERROR   ?= 0
FAULTS   ?= 0
V        ?= 0
TESTS    ?=
EXCEPT   ?=

# More flags for cpu_sse/; nothing here may change the value of a floating-point expression.
KERNEL_FLAGS ?=

# ---- version, system, compiler ----------------------------------------------------

VERSION := $(shell sed -n 's/^.define SAPPORO_VERSION "\([0-9.]*\)".*/\1/p' include/sapporo.h)
MAJOR   := $(firstword $(subst ., ,$(VERSION)))
SYSTEM  := $(shell uname -s)
hash     = $(shell printf '%s' '$(subst ','\'',$1)' | cksum | cut -d ' ' -f 1)

NO_COMPILER := clean help uninstall format docs docs-tools figures dist debian first-hour
ifneq ($(filter-out $(NO_COMPILER),$(or $(MAKECMDGOALS),all)),)
include lib/build/probe.mk
include kernels_cuda/cuda.mk
include kernels_hip/hip.mk
endif

# ---- flags ----------------------------------------------------------------------------

# Flags that would change the bits of results are taken out of what the caller sets.
UNSAFE := -ffast-math -funsafe-math-optimizations -fassociative-math -freciprocal-math -ffinite-math-only \
          -fno-signed-zeros -fsingle-precision-constant -ffp-contract=%
safe    = $(patsubst -Ofast,-O3,$(filter-out $(UNSAFE),$1))

WARNINGS := -Wall -Wextra
ifeq ($(WERROR),1)
WARNINGS += -Wpedantic -Wshadow -Wconversion -Wstrict-prototypes -Wmissing-prototypes -Wvla -Werror
endif
# Kernels take long to compile: `object-size` asks once more what the checks of addresses ask, and -g1 names lines.
ifneq ($(SANITIZE),)
SANITIZE_FLAGS := -fsanitize=$(SANITIZE) $(if $(findstring address,$(SANITIZE)),-fno-sanitize=object-size) \
                  -fno-sanitize-recover=all -fno-omit-frame-pointer
endif

# The bits of results depend on these; -fno-tree-slp-vectorize avoids a miscompilation by gcc (docs/building.md).
ARITHMETIC := -fno-fast-math -ffp-contract=off -fno-math-errno $(NO_SLP)

# Driver calls that fail when SAPPORO_FAULT says so (docs/contributing.md): for tests, never for users.
ifeq ($(FAULTS),1)
FAULTS_DEFINED := -DSAP_FAULTS=1 -fPIC
FAULTS_SOURCE  := test/support/faulty_driver.c test/support/faulty_environment.c
endif

# Threads of the library: its own, or those of the compiler's OpenMP run time, of which a client with OpenMP has one set.
ifeq ($(THREADS),openmp)
OTHER_TEAM := lib/base/team.c
TEAM_FLAGS := $(OPENMP_FLAGS)
ifeq ($(TEAM_FLAGS)$(filter $(NO_COMPILER),$(MAKECMDGOALS)),)
$(error THREADS=openmp: $(CC) has no OpenMP)
endif
else
ifneq ($(THREADS),own)
$(error THREADS is own or openmp, not '$(THREADS)')
endif
OTHER_TEAM := lib/base/team_openmp.c
endif

COMMON := -std=c11 $(WARNINGS) $(call safe,$(CFLAGS)) $(ARITHMETIC) $(SANITIZE_FLAGS) \
          $(FAULTS_DEFINED) -Iinclude $(CPPFLAGS)
FLAGS_lib      := -Ilib -Icpu_sse $(PATHS_DEFINED) -fPIC -fvisibility=hidden
FLAGS_cpu_sse  := $(FLAGS_lib) $(KERNEL_OPTIMISE) $(KERNEL_FLAGS)
# Small examples get what a user's own program gets.
FLAGS_examples :=
# Programs and tests use OpenMP, as clients do.  Without it its pragmas are known to be unknown.
FLAGS_apps     := -Iexamples/apps/common -Ilib $(or $(OPENMP_FLAGS),-Wno-unknown-pragmas)
FLAGS_test     := -Ilib -Icpu_sse $(PATHS_DEFINED) $(FLAGS_apps) -Itest/support

# The reference of the tests is most of their time: it is always optimised, and sanitizers look at what it calls alone.
REFERENCE_FLAGS := $(if $(SANITIZE),-O2 -fno-sanitize=all)
IS_GCC := $(if $(findstring clang,$(CC_ID)),0,1)
# The scalar kernels: fast to compile where a vector path always exists, else made for speed.  Fields of fixed length are
# walked element by element there: more optimisation takes four times as long and gains 2 %.  The compiler cannot see
# which words a variant reads that is not a constant.
SCALAR_FLAGS := $(if $(KERNEL_OPTIMISE),-O1) \
                $(if $(filter -DSAP_HAVE_SSE2=1 -DSAP_HAVE_NEON=1,$(PATHS_DEFINED)),-DSAP_SMALL_KERNELS=1 $(if $(filter 1,$(IS_GCC)),-Wno-maybe-uninitialized))

isa   = $(if $(filter %_avx512.c,$1),$(AVX512_FLAGS),$(if $(filter %_avx2.c,$1),$(AVX2_FLAGS)))
# The CPU engine outside of its kernels: loops over three axes, which -O2 of gcc does not unroll.
own   = $(if $(filter lib/base/team_openmp.c,$1),$(TEAM_FLAGS)) $(if $(filter lib/cpu/%,$1),$(KERNEL_OPTIMISE)) $(if $(filter %_scalar.c,$1),$(SCALAR_FLAGS),$(if $(filter %/reference.c,$1),$(REFERENCE_FLAGS))) \
        $(if $(filter examples/apps/%,$1),$(FLAGS_apps)) $(if $(filter $(HDF5_SOURCES),$1),$(HDF5_DEFINED)) $(if $(filter test/mpi/% test/fuzz/ranks/% test/fuzz/planted/ranks.c lib/mpi/% $(MPI_APPS),$1),$(filter -I%,$(MPI_ID))) $(if $(filter test/fuzz/ranks/%,$1),-Itest/mpi)
flags = $(COMMON) $(FLAGS_$(firstword $(subst /, ,$1))) $(isa) $(own)

LINK_FLAGS = $(call safe,$(CFLAGS)) $(SANITIZE_FLAGS) $(TEAM_FLAGS) $(LDFLAGS)
LIBS      := $(LIB_DL) -lpthread -lm
comma     := ,

ifeq ($(SYSTEM),Darwin)
SO_FILE = lib$1.$(VERSION).dylib
SO_NAME = lib$1.$(MAJOR).dylib
SO_LINK = lib$1.dylib
SHARED  = -dynamiclib -install_name @rpath/$(call SO_NAME,$1)
RPATH  := -Wl,-rpath,@loader_path/../lib
BESIDE := -Wl,-rpath,@loader_path
else
SO_FILE = lib$1.so.$(VERSION)
SO_NAME = lib$1.so.$(MAJOR)
SO_LINK = lib$1.so
# Sanitizer run times are found when the program starts: no -z defs then.  A library that was loaded stays in memory
# (nodelete): threads sleep in its code, and nothing is lost when a program loads and closes it again and again.
SHARED  = -shared -Wl,-soname,$(call SO_NAME,$1) $(LINKER_TAKES) -Wl,--version-script=lib/build/sapporo.map \
          $(if $(SANITIZE),,-Wl,-z,defs) -Wl,--as-needed -Wl,-z,noexecstack \
          -Wl,-z,nodelete
RPATH  := -Wl,-rpath,'$$ORIGIN/../lib'
BESIDE := -Wl,-rpath,'$$$$ORIGIN'
endif

# RPATH= on the command line: no search path in any file, as packages want.  Programs then run where the loader finds
# the library.
ifeq ($(RPATH),)
BESIDE :=
endif

B := build/$(call hash,$(CC) $(CC_ID) $(COMMON) $(FLAGS_cpu_sse) $(SCALAR_FLAGS) $(REFERENCE_FLAGS) $(AVX2_FLAGS) $(AVX512_FLAGS) $(LDFLAGS) $(FC) $(FFLAGS) \
     $(CUDA_DIR) $(OPENMP_FLAGS) $(TEAM_FLAGS)$(if $(RPATH),, no search path))

# ---- sources: new files are picked up by their place ---------------------------------------

# Interfaces that are libraries of their own, on libsapporo.
BESIDE_SOURCES := $(wildcard lib/api/nbody6/*.c lib/api/sixth/*.c lib/api/sphgrav/*.c lib/api/onecall/*.c lib/api/g5c/*.c)
# In place of g5_plain*.c, in libpg5_symmetric.
SYMMETRIC_SOURCES := $(wildcard lib/api/g5/g5_symmetric*.c)
MPI_SOURCES    := $(sort $(wildcard lib/mpi/*.c))
MPI_APPS       := examples/apps/galaxy_mpi.c examples/apps/hermite4_mpi.c
LIB_SOURCES  := $(sort $(filter-out $(BESIDE_SOURCES) $(SYMMETRIC_SOURCES) $(MPI_SOURCES) $(OTHER_TEAM),$(wildcard lib/*.c lib/*/*.c lib/*/*/*.c)) \
                $(filter-out %_instance.c,$(wildcard cpu_sse/*.c))) $(FAULTS_SOURCE)
# Small examples are single files; larger programs share the parts in examples/apps/common.  Built programs of both
# lie in examples/, without the suffix.
TOOL         := $(sort $(wildcard examples/apps/tool/*.c))
COMMON_PARTS := $(sort $(wildcard examples/apps/common/*.c))
# Parts of the library that programs have a copy of: files are written by one text.
COMMON_BASE  := lib/base/saving.c
APPS         := $(sort $(filter-out $(MPI_APPS),$(wildcard examples/apps/*.c)))
EXAMPLES     := $(sort $(wildcard examples/*.c))
ALL_FORTRAN  := $(sort $(wildcard examples/*.f90 examples/apps/*.f90))
FORTRAN      := $(if $(ALL_FORTRAN),$(if $(call found,$(FC)),$(ALL_FORTRAN)))
built         = $(patsubst %.c,examples/%,$(patsubst %.f90,examples/%_f90,$(notdir $1)))

objects      = $(patsubst %.c,$(B)/%.o,$1)
include cpu_sse/instances.mk
include lib/mpi/mpi.mk
include lib/build/hdf5.mk
# Objects that take longest come first.
LIB_OBJECTS := $(INSTANCE_OBJECTS) $(call objects,$(LIB_SOURCES)) $(B)/lib/embedded_cuda.o $(B)/lib/embedded_hip.o $(B)/lib/embedded_opencl.o
DOORS       := sapporo6th nbody6pp_gpu nbody6_gpu nbody7_gpu nbody6_2010_gpu sphgrav_sapporo cunbody1 harp3 g5c $(MPI_LIBRARY)
LIBRARIES   := sapporo g6 pg5_symmetric yebisug6 $(DOORS)
PROGRAMS    := $(call built,$(EXAMPLES) $(APPS) $(FORTRAN)) $(if $(TOOL),examples/sapporo) $(if $(MPI_ID),$(call built,$(MPI_APPS)))
PUBLISHED   := $(foreach l,$(LIBRARIES),lib/$(call SO_FILE,$l) lib/lib$l.a) $(PROGRAMS)
LINKS       := $(foreach l,$(LIBRARIES),lib/$(call SO_NAME,$l) lib/$(call SO_LINK,$l)) lib/$(call SO_LINK,pg5) lib/libpg5.a

# ---- rules -------------------------------------------------------------------------------------

ifeq ($(V),1)
Q :=
say = @:
else
Q := @
say = @printf '%9s  %-4s %s\n' '$(count)' $1 $2
endif

# [n/of] in front of what is made: `of` files do not exist yet.  Files that are older than their sources are not among
# them, nor are tests; beyond `of` only n is printed.
MADE    :=
MISSING  = $(eval MISSING := $(filter-out $(wildcard $(COUNTED)),$(COUNTED)))$(MISSING)
count    = $(eval MADE += x)[$(words $(MADE))$(if $(word $(words $(MADE)),$(MISSING)),/$(words $(MISSING)))]
# The objects of embedded kernels take no time: they are not told.
COUNTED  = $(filter-out %/embedded_cuda.o %/embedded_hip.o %/embedded_opencl.o,$(sort $(foreach l,$(LIBRARIES),$(OBJECTS_$l) $(B)/lib/lib$l.a $(B)/lib/$(call SO_FILE,$l)) $(CUDA_IMAGES) $(HIP_IMAGES) \
           $(call objects,$(TOOL) $(COMMON_PARTS) $(APPS) $(EXAMPLES) $(if $(MPI_ID),$(MPI_APPS))) \
           $(if $(MPI_ID),$(HERMITE4_MAIN) $(GALAXY_PARTS)) $(addprefix $(B)/,$(PROGRAMS))))

.PHONY: all unpublished FORCE
all: $(PUBLISHED) $(LINKS)

# The same for another processor: what users of this one run stays.  Prints where it lies.
unpublished: $(addprefix $(B)/,$(filter %.a,$(PUBLISHED)) $(PROGRAMS)) $(foreach l,$(LIBRARIES),$(B)/lib/$(call SO_NAME,$l))
	@echo '$(B)'

$(B)/%.o: %.c
	$(call say,CC,$<)
	@mkdir -p $(@D)
	$(Q)$(CC) $(call flags,$<) -MMD -MP -c -o $@ $<

# libg6 differs from libsapporo in this one object: 48 pipes, as in the library whose name it bears.
$(B)/lib/api/g6/npipes.o:    COMMON += -DSAP_NPIPES=16384
$(B)/lib/api/g6/npipes_48.o: COMMON += -DSAP_NPIPES=48
$(B)/lib/api/g6/npipes_48.o: lib/api/g6/npipes.c
	$(call say,CC,'$< (48 pipes)')
	@mkdir -p $(@D)
	$(Q)$(CC) $(call flags,$<) -MMD -MP -c -o $@ $<

# The kernels of kernels_cuda/ for NVIDIA and for AMD; tests find what cuda.mk and hip.mk know of them by $(B)/cuda, hip.
$(B)/lib/embedded_cuda.o: $(CUDA_DIR)/embedded.c
$(B)/lib/embedded_hip.o: $(HIP_DIR)/embedded.c
$(B)/lib/embedded_cuda.o $(B)/lib/embedded_hip.o:
	@mkdir -p $(@D) && echo '$(patsubst %/,%,$(dir $<))' >$(B)/$(@F:embedded_%.o=%)
	$(Q)$(CC) $(COMMON) $(FLAGS_lib) -MMD -MP -c -o $@ $<

include kernels_ocl/opencl.mk

OBJECTS_sapporo := $(LIB_OBJECTS)
OBJECTS_g6      := $(LIB_OBJECTS:%/npipes.o=%/npipes_48.o)
# Phantom-GRAPE has a call with one argument more under a name of its other library, so this one contains all of libsapporo.
OBJECTS_pg5_symmetric := $(LIB_OBJECTS:%/g5_plain.o=%/g5_symmetric.o)
OBJECTS_pg5_symmetric := $(OBJECTS_pg5_symmetric:%/g5_plain_fortran.o=%/g5_symmetric_fortran.o)
# Codes link libyebisug6 for GRAPE-6 calls alone, and take its static library apart: it contains all of libsapporo.
OBJECTS_yebisug6 := $(LIB_OBJECTS) $(call objects,lib/api/sixth/sixth.c lib/api/sixth/api_yebisu.c lib/api/sixth/api_yebisu_cxx.c)

# Front doors that are libraries of their own, on libsapporo, which lies beside them.
OBJECTS_sapporo6th := $(call objects,lib/api/sixth/sixth.c lib/api/sixth/api_sixth.c)
NBODY6_PARTS       := lib/api/nbody6/device.c lib/api/nbody6/radii.c lib/api/nbody6/regular.c lib/api/nbody6/potential.c lib/api/nbody6/irregular.c lib/api/nbody6/waiting.c \
                      lib/base/environment.c lib/variables.c
OBJECTS_nbody6pp_gpu := $(call objects,$(NBODY6_PARTS) lib/api/nbody6/api_nbody6pp.c)
OBJECTS_nbody6_gpu   := $(call objects,$(NBODY6_PARTS) lib/api/nbody6/api_nbody6.c lib/api/nbody6/regf_nbody6.c lib/api/nbody6/usual_nbody6.c)
OBJECTS_nbody7_gpu   := $(call objects,$(NBODY6_PARTS) lib/api/nbody6/api_nbody6.c lib/api/nbody6/regf_nbody6.c lib/api/nbody6/usual_nbody7.c)
OBJECTS_nbody6_2010_gpu := $(call objects,$(NBODY6_PARTS) lib/api/nbody6/api_nbody6.c lib/api/nbody6/regf_nbody6_2010.c \
                           lib/api/nbody6/usual_nbody6_2010.c)
OBJECTS_sphgrav_sapporo := $(call objects,lib/api/sphgrav/sphgrav.c lib/api/sphgrav/sphgrav_kernel.c lib/api/sphgrav/sphgrav_tree.c \
                           lib/base/environment.c lib/variables.c)
OBJECTS_cunbody1 := $(call objects,lib/api/onecall/onecall.c lib/api/onecall/api_cunbody1.c)
OBJECTS_harp3    := $(call objects,lib/api/onecall/onecall.c lib/api/onecall/api_harp3.c)
OBJECTS_g5c      := $(call objects,lib/api/g5c/g5c.c)
SAPPORO_LINKED     := $(B)/lib/$(call SO_NAME,sapporo) $(B)/lib/$(call SO_LINK,sapporo)
$(foreach l,$(DOORS),$(B)/lib/$(call SO_FILE,$l)): | $(SAPPORO_LINKED)
$(foreach l,$(DOORS),$(eval ON_$l := -L$(B)/lib -lsapporo $(BESIDE)))

# Members of a static library have different names, for programs that take it apart (ar x): an object whose name another
# one has is a member by the name of its path.
namesakes    = $(foreach o,$1,$(if $(word 2,$(filter %/$(notdir $o),$1)),$o))
by_path      = $(B)/members/$(subst /,_,$(1:$(B)/%=%))
link_by_path = mkdir -p $(B)/members && $(foreach o,$1,ln -f $o $(call by_path,$o) &&) true
members      = $(foreach o,$1,$(if $(filter $o,$2),$(call by_path,$o),$o))

define library_rules
$(B)/lib/lib$1.a: $$(OBJECTS_$1)
	$$(call say,AR,lib/lib$1.a)
	@rm -f $$@
	$$(Q)$$(call link_by_path,$$(call namesakes,$$^))
	$$(Q)$(AR) qcs $$@ $$(call members,$$^,$$(call namesakes,$$^))

$(B)/lib/$(call SO_FILE,$1): $$(OBJECTS_$1) lib/build/sapporo.map
	$$(call say,LINK,lib/$(call SO_FILE,$1))
	$$(Q)$$(or $$(LINKER_$1),$$(CC)) $$(LINK_FLAGS) $$(call SHARED,$1) -o $$@ $$(OBJECTS_$1) $$(ON_$1) $$(LIBS)

$(B)/lib/$(call SO_NAME,$1) $(B)/lib/$(call SO_LINK,$1): $(B)/lib/$(call SO_FILE,$1)
	$$(Q)ln -sf $(call SO_FILE,$1) $$@
lib/$(call SO_NAME,$1) lib/$(call SO_LINK,$1): lib/$(call SO_FILE,$1)
	$$(Q)ln -sf $(call SO_FILE,$1) $$@
endef
$(foreach l,$(LIBRARIES),$(eval $(call library_rules,$l)))

# The name under which GRAPE-5 clients link: programs linked so ask the loader for libsapporo.
lib/$(call SO_LINK,pg5): lib/$(call SO_LINK,sapporo)
	$(Q)ln -sf $(call SO_LINK,sapporo) $@
lib/libpg5.a: lib/libsapporo.a
	$(Q)ln -sf libsapporo.a $@

$(B)/examples/libcommon.a: $(call objects,$(COMMON_PARTS) $(COMMON_BASE))
	@mkdir -p $(@D) && rm -f $@
	$(Q)$(AR) qcs $@ $^

link_program    = $(CC) $(LINK_FLAGS) $(if $(filter %/libcommon.a,$^),$(OPENMP_FLAGS)) -o $@ $(filter %.o %.a,$^) -L$(B)/lib -lsapporo $(RPATH) $(if $(filter %/libcommon.a,$^),$(HDF5_LINKED)) $(LIBS)

$(EXAMPLES:%.c=$(B)/%): %: %.o | $(SAPPORO_LINKED)
	$(call say,LINK,$(@:$(B)/%=%))
	$(Q)$(link_program)
$(addprefix $(B)/,$(call built,$(APPS))): $(B)/examples/%: $(B)/examples/apps/%.o $(B)/examples/libcommon.a | $(SAPPORO_LINKED)
	$(call say,LINK,$(@:$(B)/%=%))
	$(Q)$(link_program)
$(B)/examples/sapporo: $(call objects,$(TOOL)) $(B)/examples/libcommon.a | $(SAPPORO_LINKED)
	$(call say,LINK,$(@:$(B)/%=%))
	$(Q)$(link_program)
$(B)/examples/nbody6_regular_f90: | $(foreach f,SO_FILE SO_NAME SO_LINK,$(B)/lib/$(call $f,nbody6pp_gpu))
$(B)/examples/first_force_f90: include/sapporo.f90
define fortran_rule
$(B)/$(call built,$1): $1 | $(SAPPORO_LINKED)
	$$(call say,FC,$1)
	@mkdir -p $$(@D)
	$$(Q)$$(FC) $$(FFLAGS) $$(SANITIZE_FLAGS) $$(LDFLAGS) -Iinclude -J $$(@D) -o $$@ $1 -L$(B)/lib \
	    $(if $(findstring nbody6,$1),-lnbody6pp_gpu) -lsapporo $$(RPATH)
endef
$(foreach f,$(FORTRAN),$(eval $(call fortran_rule,$f)))

# What users run: the copy follows the flags, whichever build is newer.
build/current: FORCE
	@mkdir -p build
	@echo '$(B)' | cmp -s - $@ || echo '$(B)' >$@
$(PUBLISHED): %: $(B)/% build/current
	$(Q)cp -f $< $@.new && mv -f $@.new $@

-include $(wildcard $(B)/*/*.d $(B)/*/*/*.d $(B)/*/*/*/*.d)

# ---- the rest ---------------------------------------------------------------------------------------

include test/test.mk
include lib/build/install.mk
include lib/api/python/python.mk
include docs/site/site.mk
include lib/build/packages.mk

.PHONY: demo bench settings clean help compile_commands.json
demo: all
	examples/hermite4 --demo

bench: all
	examples/sapporo bench

# The tables of environment variables in docs/settings.md, as the library describes them (lib/variables.c).
settings: examples/sapporo lib/$(call SO_NAME,sapporo)
	$(Q)test/settings.sh >build/settings.md && mv build/settings.md docs/settings.md

# For editors, and for clang-tidy in test/lint.sh.
NO_MPI_SOURCES   = $(if $(MPI_ID),,test/mpi/% test/fuzz/ranks/% test/fuzz/planted/ranks.c)
DATABASE_SOURCES = $(LIB_SOURCES) $(BESIDE_SOURCES) $(SYMMETRIC_SOURCES) $(if $(MPI_ID),$(MPI_SOURCES) $(MPI_APPS)) $(TOOL) $(COMMON_PARTS) $(APPS) $(EXAMPLES) \
                   $(filter-out $(NO_MPI_SOURCES),$(wildcard test/*.c test/*/*.c test/*/*/*.c))
database_entry = {"directory": "$(CURDIR)", "file": "$1", "command": "$(subst ",\",$(CC) $(call flags,$1) \
    -DSAP_NPIPES=16384 -c $1)"}$(if $(filter $1,$(lastword $(DATABASE_SOURCES))),,$(comma))
# Of the kernels one instance of each order on the widest path, and one on each path.
DATABASE_INSTANCES = $(foreach n,force_ds force2_fast force6_dp force8_ds tree_sp,$n:avx512) force_ds:avx2 force_ds:sse2 \
                     force_ds:scalar tree_sp:scalar
ONLY_GCC = $(QUICKLY) -Wno-maybe-uninitialized
instance_name = $(firstword $(subst :, ,$1))
instance_path = $(lastword $(subst :, ,$1))
instance_entry = {"directory": "$(CURDIR)", "file": "$(call instance_source,$(instance_name))", "command": "$(subst ",\",$(CC) \
    $(filter-out $(ONLY_GCC),$(call flags,cpu_sse/$(instance_name)_$(instance_path).c) \
    $(call instance_flags,$(instance_name),$(instance_path))) \
    -DSAP_NPIPES=16384 -c $(call instance_source,$(instance_name)))"}$(comma)
# One command for each source: all of them in one are longer than systems allow.
compile_commands.json:
	@mkdir -p build
	@echo '[' >build/$@
	$(foreach s,$(DATABASE_INSTANCES),@echo '$(call instance_entry,$s)' >>build/$@$(newline))
	$(foreach s,$(DATABASE_SOURCES),@echo '$(call database_entry,$s)' >>build/$@$(newline))
	@echo ']' >>build/$@
define newline


endef

clean:
	rm -rf build
	rm -f lib/*.so lib/*.so.* lib/*.dylib lib/*.a $(PROGRAMS) $(call built,$(MPI_APPS))

help:
	@echo 'make                     libraries in lib/, programs in examples/'
	@echo 'make check               installs what the tests need (Debian), runs all tests'
	@echo 'make check-quick         some of them, in less than two minutes: between two edits'
	@echo 'make check TESTS="a b"   runs test/test_a.* and test/test_b.*; EXCEPT="a b" all but these'
	@echo 'make demo                integrates a star cluster of 1,024 stars'
	@echo 'make fuzz SECONDS=60     random sequences of calls against the tests own model (docs/contributing.md)'
	@echo 'make bench               measures forces a second on this machine'
	@echo 'make install             to PREFIX=$(or $(PREFIX),/usr/local); also DESTDIR, LIBDIR, INCLUDEDIR'
	@echo 'make uninstall           removes what install put there'
	@echo 'make dist, make debian   the tarball of a release; Debian'"'"'s source package (docs/packaging/README.md)'
	@echo 'make lint, make format   checks of the sources, clang-format 14'
	@echo 'make mutants             plants defects in a copy of the tree: does a test fail? (test/README.md)'
	@echo 'make fuzz-trees          random systems with near pairs in trees; SECONDS=60 (docs/contributing.md)'
	@echo 'make fuzz-parsers        libFuzzer on all parsers; SECONDS=60 per target (docs/building.md)'
	@echo 'make docs                the pages as a site that needs no network, in build/site/html'
	@echo 'make figures             draws the figures of docs/ from the data in docs/figures'
	@echo 'make settings            rewrites the tables of environment variables in docs/settings.md'
	@echo 'make clean               removes everything that was built'
	@echo
	@echo 'CC, CFLAGS, CPPFLAGS, LDFLAGS, FC, FFLAGS   as usual'
	@echo 'CUDA=0, CUDA_ARCHS=ends  no GPU kernels; only for the oldest and newest GPUs (docs/building.md)'
	@echo 'HIP_ARCHS=gfx90a         kernels for AMD GPUs, with a clang from 17 on (docs/building.md)'
	@echo 'make cuda-budget         records what registers the GPU kernels take; hip-budget: on AMD GPUs'
	@echo 'make digest              records the bits of results on this machine (docs/contributing.md)'
	@echo 'SANITIZE=                address,undefined or thread; OPENMP=0: programs and tests without OpenMP'
	@echo 'THREADS=openmp           threads of the OpenMP run time in place of the library'"'"'s own (docs/building.md)'
	@echo 'HDF5=0                   sample programs without snapshots in HDF5; HDF5=1: an error if there is no libhdf5'
	@echo 'FAULTS=1                 driver calls that fail on demand, to test clients (docs/contributing.md)'
	@echo 'WERROR=1                 all warnings, as errors; V=1 shows the commands'
