# hdf5.mk - snapshots in HDF5 for the sample programs, where libhdf5 is found.
#
#   HDF5       1: build it; 0: leave it out; nothing said: build it if a program with hdf5.h compiles and links
#
# pkg-config knows where libhdf5 is (hdf5-serial on Debian, hdf5 elsewhere), or h5cc does; else the compiler finds it
# without help.  The library itself needs no HDF5.

HDF5 ?=

HDF5_FLAGS :=
HDF5_LIBS  :=
ifneq ($(filter-out $(NO_COMPILER),$(or $(MAKECMDGOALS),all)),)
ifneq ($(HDF5),0)
HDF5_PROBE := build/probe-hdf5-$(call hash,$(CC) $(CC_ID) $(CFLAGS) $(CPPFLAGS) $(LDFLAGS) $(PKG_CONFIG_PATH) $(shell command -v h5cc pkg-config 2>/dev/null) \
              $(shell pkg-config --modversion hdf5-serial hdf5 2>/dev/null) $(wildcard /usr/include/hdf5.h /usr/local/include/hdf5.h)).mk
$(HDF5_PROBE): lib/build/hdf5.mk
	@mkdir -p build
	@t=build/probe-hdf5.$$$$; trap 'rm -f '$$t'*' EXIT; \
	printf '%s\n' '#include <hdf5.h>' 'int main(void) { return !H5_VERSION_GE(1, 8, 16) || H5Pset_fapl_core(H5Pcreate(H5P_FILE_ACCESS), 1, 0) < 0; }' >$$t.c; \
	try() { $(CC) $(CPPFLAGS) $(CFLAGS) $$1 -o $$t.out $$t.c $(LDFLAGS) $$2 >/dev/null 2>&1; }; \
	only() { for word in $$2; do case $$1$$word in flags-I* | flags-D* | libs-L* | libs-lhdf5 | libs-lhdf5_serial | libs-Wl,-rpath*) printf ' %s' "$$word" ;; esac; done; }; \
	for way in 'pkg-config --cflags --libs hdf5-serial' 'pkg-config --cflags --libs hdf5' 'h5cc -show' 'echo -lhdf5'; do \
	    said=$$($$way 2>/dev/null) || continue; \
	    flags=$$(only flags "$$said" | sed 's/ -I/ -isystem /g'); libs=$$(only libs "$$said"); \
	    if [ "$$way" = 'h5cc -show' ]; then libs="$$libs -lhdf5"; fi; \
	    if try "$$flags" "$$libs"; then printf 'HDF5_FLAGS := %s\nHDF5_LIBS := %s\n' "$$flags" "$$libs"; break; fi; \
	done | tr -d '#$$\\' >$$t.mk && mv -f $$t.mk $@
include $(HDF5_PROBE)
ifeq ($(HDF5)$(HDF5_LIBS)$(if $(wildcard $(HDF5_PROBE)),,not known yet),1)
$(error no program with hdf5.h compiles and links.  Install libhdf5 (Debian: libhdf5-dev), or leave it out with HDF5=0)
endif
endif
endif

HDF5_SOURCES := $(wildcard examples/apps/common/snapshot_hdf5*.c)
HDF5_DEFINED := $(if $(HDF5_LIBS),-DSNAPSHOT_HDF5_BUILT=1 $(HDF5_FLAGS))
# Programs that read no snapshots do not ask the loader for libhdf5.
HDF5_LINKED  := $(if $(HDF5_LIBS),$(if $(filter Darwin,$(SYSTEM)),,-Wl$(comma)--as-needed) $(HDF5_LIBS))

# Objects of another libhdf5, or without one, are compiled anew.
$(B)/hdf5.id: FORCE
	@mkdir -p $(@D)
	@echo '$(HDF5_DEFINED) $(HDF5_LIBS)' | cmp -s - $@ || echo '$(HDF5_DEFINED) $(HDF5_LIBS)' >$@

$(call objects,$(HDF5_SOURCES)): $(B)/hdf5.id
