# install.mk - install and uninstall.
#
# The names of AMUSE (g6lib.h and the like) belong to other packages too, so
# include/compat goes to a folder of its own; g6lib.pc and sapporo_light.pc name it.

PREFIX     ?= /usr/local
LIBDIR     ?= $(PREFIX)/lib
INCLUDEDIR ?= $(PREFIX)/include
BINDIR     ?= $(PREFIX)/bin
DOCDIR     ?= $(PREFIX)/share/doc/sapporo
MANDIR     ?= $(PREFIX)/share/man
BASHDIR    ?= $(PREFIX)/share/bash-completion/completions
ZSHDIR     ?= $(PREFIX)/share/zsh/site-functions
INSTALL    ?= install

empty :=
space := $(empty) $(empty)

# Names of folders go through make, the shell and sed, so what one of them would misread is refused.
ifneq ($(filter install uninstall,$(MAKECMDGOALS)),)
refuse_folder = $(error $1='$($1)' $2.  Nothing was done.  Name a folder without blanks and quotes, such as PREFIX=/opt/nbody)
$(foreach v,PREFIX DESTDIR LIBDIR INCLUDEDIR BINDIR DOCDIR MANDIR BASHDIR ZSHDIR,\
    $(foreach c,' " | & \ ;,$(if $(findstring $c,$($v)),$(call refuse_folder,$v,contains $c)))\
    $(if $(findstring $(space),$($v)),$(call refuse_folder,$v,contains a blank))\
    $(if $(filter ~%,$($v)),$(call refuse_folder,$v,begins with ~ which the shell did not replace: write $$HOME)))
# A relative PREFIX is a folder of the folder in which make runs.
override PREFIX := $(abspath $(PREFIX))
$(foreach v,LIBDIR INCLUDEDIR BINDIR DOCDIR MANDIR BASHDIR ZSHDIR,\
    $(if $(filter-out /%,$($v)),$(call refuse_folder,$v,is relative: write the whole path)))
endif

PC_DIR      = $(LIBDIR)/pkgconfig
CMAKE_DIR   = $(LIBDIR)/cmake/sapporo
COMPAT_DIR  = $(INCLUDEDIR)/sapporo/compat

PC_FILES    := sapporo.pc sapporo_light.pc g6lib.pc pg5.pc pg5_symmetric.pc sapporo6th.pc yebisug6.pc nbody6pp_gpu.pc nbody6_gpu.pc nbody7_gpu.pc nbody6_2010_gpu.pc sphgrav_sapporo.pc cunbody1.pc harp3.pc g5c.pc $(MPI_LIBRARY:%=%.pc)
CMAKE_FILES := sapporoConfig.cmake sapporoConfigVersion.cmake
HEADERS     := $(filter-out $(if $(MPI_LIBRARY),,sapporo_mpi.h sapporo_mpi.f90),$(notdir $(wildcard include/*.h include/*.hpp include/*.f90)))
COMPAT      := $(notdir $(wildcard include/compat/*.h))

INSTALLED = $(foreach l,$(LIBRARIES),$(addprefix $(LIBDIR)/,lib$l.a $(call SO_FILE,$l) $(call SO_NAME,$l) \
            $(call SO_LINK,$l))) $(LIBDIR)/$(call SO_LINK,pg5) $(LIBDIR)/libpg5.a $(HEADERS:%=$(INCLUDEDIR)/%) \
            $(COMPAT:%=$(COMPAT_DIR)/%) $(PC_FILES:%=$(PC_DIR)/%) $(CMAKE_FILES:%=$(CMAKE_DIR)/%) $(BINDIR)/sapporo \
            $(foreach n,$(MANUALS),$(MANDIR)/man$n/sapporo.$n) $(BASHDIR)/sapporo $(ZSHDIR)/_sapporo

# Documents lie under DOCDIR as in the clone, so that their links work.
DOCUMENTS  := LICENSE README.md CHANGELOG.md CITATION.cff $(wildcard docs/*.md docs/figures/*.svg docs/figures/*.png docs/figures/*.webp docs/notebooks/*.ipynb examples/*.c examples/*.cc examples/*.f90 examples/*.py)
DOC_DIRS   := docs/figures docs/notebooks docs examples

# The tool finds the library in ../lib; elsewhere only if it is linked anew.
TOOL_FITS   = $(filter $(patsubst %/bin,%/lib,$(BINDIR)),$(LIBDIR))
TOOL_BUILT  = $(if $(TOOL_FITS),examples/sapporo,$(B)/package/sapporo)
$(B)/package/sapporo: RPATH += -Wl,-rpath,'$(LIBDIR)'
$(B)/package/sapporo: $(call objects,$(TOOL)) $(B)/examples/libcommon.a FORCE | $(SAPPORO_LINKED)
	@mkdir -p $(@D)
	$(Q)$(link_program)

# The tool writes the manual pages from its own tables of options and the library's table of variables.
MANUALS     := 1 7
$(B)/package/sapporo.%: $(B)/examples/sapporo $(B)/lib/$(call SO_NAME,sapporo)
	@mkdir -p $(@D)
	$(Q)LD_LIBRARY_PATH='$(B)/lib' $< --man $* >$@

# So it does the files by which shells complete its command lines.
SHELLS      := bash zsh
$(B)/package/completion.%: $(B)/examples/sapporo $(B)/lib/$(call SO_NAME,sapporo)
	@mkdir -p $(@D)
	$(Q)LD_LIBRARY_PATH='$(B)/lib' $< --completion $* >$@

# A folder as seen from the prefix, and the way back up to it; absolute folders outside the prefix stay as they are.
under_prefix = $(patsubst $(PREFIX)/%,$${prefix}/%,$1)
way_up       = $(subst $(space),/,$(patsubst %,..,$(subst /, ,$(patsubst $(PREFIX)/%,%,$(CMAKE_DIR)))))
from_cmake   = $(patsubst $(PREFIX)/%,$${CMAKE_CURRENT_LIST_DIR}/$(way_up)/%,$1)
CMAKE_FROM   = $(if $(filter $(PREFIX)/%,$(CMAKE_DIR)),$(from_cmake),$1)

# A program that is linked by pkg-config carries the way to a LIBDIR that loaders do not search by themselves.
SEARCHED    = /lib /lib64 /usr/lib /usr/lib64 /usr/lib/% /usr/local/lib /usr/local/lib64 /usr/local/lib/%
RUN_PATH    = $(if $(RPATH),$(if $(filter $(SEARCHED),$(LIBDIR)),, -Wl,-rpath,$${libdir}))

# Other packages, such as AMUSE's g6lib and sapporo_light and Phantom-GRAPE, install files under these names.  A file that
# is not ours is kept beside ours, and comes back when ours goes.  Ours name a variable of the library, or the library.
SHARED_NAMES := lib/libsapporo.so lib/libsapporo.a lib/libg6.so lib/libg6.a lib/libpg5.so lib/libpg5.a lib/pkgconfig/g6lib.pc \
    lib/pkgconfig/pg5.pc lib/pkgconfig/sapporo_light.pc
AT_STAKE     = $(SHARED_NAMES:lib/%='$(DESTDIR)$(LIBDIR)/%') '$(DESTDIR)$(INCLUDEDIR)/sapporo.h'
KEPT         = before-libsapporo
keep_others  = for f in $(AT_STAKE); do \
    if [ -e "$$f" ] && ! grep -qE 'SAPPORO_PRECISION|libsapporo' "$$f"; then \
        cp -pL "$$f" "$$f.$(KEPT)" && rm -f "$$f" || exit; \
        printf '  KEPT %s\n' "$$f.$(KEPT), the file of another package: make uninstall brings it back"; \
    fi; done
bring_back   = for f in $(AT_STAKE); do \
    if [ -e "$$f.$(KEPT)" ]; then \
        mv "$$f.$(KEPT)" "$$f" || exit; \
        printf '  BACK %s\n' "$$f, the file of another package"; \
    fi; done

substitute = sed -e 's|@VERSION@|$(VERSION)|g' -e 's|@PREFIX@|$(PREFIX)|g' \
    -e 's|@LIBDIR@|$(call under_prefix,$(LIBDIR))|g' -e 's|@INCLUDEDIR@|$(call under_prefix,$(INCLUDEDIR))|g' \
    -e 's|@COMPATDIR@|$(call under_prefix,$(COMPAT_DIR))|g' \
    -e 's|@CMAKE_LIBDIR@|$(call CMAKE_FROM,$(LIBDIR))|g' -e 's|@CMAKE_INCLUDEDIR@|$(call CMAKE_FROM,$(INCLUDEDIR))|g' \
    -e 's|@CMAKE_COMPATDIR@|$(call CMAKE_FROM,$(COMPAT_DIR))|g' \
    -e 's|@RUN_PATH@|$(RUN_PATH)|g' \
    -e 's|@SO_FILE@|$(call SO_FILE,$${_sapporo_name})|g' -e 's|@SO_NAME@|$(call SO_NAME,$${_sapporo_name})|g' \
    -e 's|@LIBS@|$(LIBS)|g' \
    -e 's|@CMAKE_LIBS@|$(subst $(space),;,$(strip $(LIBS)))|g'

# The loader keeps a list of libraries by soname.
ldconfig = @[ -n '$(DESTDIR)' ] || [ "$$(id -u)" != 0 ] || ldconfig 2>/dev/null || :

.PHONY: install uninstall
install: all $(TOOL_BUILT) $(MANUALS:%=$(B)/package/sapporo.%) $(SHELLS:%=$(B)/package/completion.%)
	@mkdir -p $(foreach d,$(LIBDIR) $(PC_DIR) $(CMAKE_DIR) $(INCLUDEDIR) $(if $(COMPAT),$(COMPAT_DIR)) $(BINDIR) \
	    $(MANUALS:%=$(MANDIR)/man%) $(BASHDIR) $(ZSHDIR) $(DOC_DIRS:%=$(DOCDIR)/%),'$(DESTDIR)$d')
	@$(keep_others)
	$(Q)$(INSTALL) -m 644 $(HEADERS:%=include/%) '$(DESTDIR)$(INCLUDEDIR)'
	$(Q)$(if $(COMPAT),$(INSTALL) -m 644 $(COMPAT:%=include/compat/%) '$(DESTDIR)$(COMPAT_DIR)',:)
	$(Q)$(INSTALL) -m 644 $(LIBRARIES:%=lib/lib%.a) '$(DESTDIR)$(LIBDIR)'
	$(Q)$(INSTALL) -m 755 $(foreach l,$(LIBRARIES),lib/$(call SO_FILE,$l)) '$(DESTDIR)$(LIBDIR)'
	$(Q)$(foreach l,$(LIBRARIES),$(foreach n,$(call SO_NAME,$l) $(call SO_LINK,$l),\
	    ln -sf $(call SO_FILE,$l) '$(DESTDIR)$(LIBDIR)/$n' &&)) :
	$(Q)ln -sf $(call SO_LINK,sapporo) '$(DESTDIR)$(LIBDIR)/$(call SO_LINK,pg5)'
	$(Q)ln -sf libsapporo.a '$(DESTDIR)$(LIBDIR)/libpg5.a'
	@mkdir -p $(B)/package
	$(Q)for f in $(PC_FILES:%=pkgconfig/%) $(CMAKE_FILES:%=cmake/%); do \
	    $(substitute) lib/build/$$f.in >$(B)/package/$${f##*/} || exit; done
	$(Q)$(INSTALL) -m 644 $(PC_FILES:%=$(B)/package/%) '$(DESTDIR)$(PC_DIR)'
	$(Q)$(INSTALL) -m 644 $(CMAKE_FILES:%=$(B)/package/%) '$(DESTDIR)$(CMAKE_DIR)'
	$(Q)$(INSTALL) -m 755 $(TOOL_BUILT) '$(DESTDIR)$(BINDIR)/sapporo'
	$(Q)$(foreach n,$(MANUALS),$(INSTALL) -m 644 $(B)/package/sapporo.$n '$(DESTDIR)$(MANDIR)/man$n' &&) :
	$(Q)$(INSTALL) -m 644 $(B)/package/completion.bash '$(DESTDIR)$(BASHDIR)/sapporo'
	$(Q)$(INSTALL) -m 644 $(B)/package/completion.zsh '$(DESTDIR)$(ZSHDIR)/_sapporo'
	$(Q)$(foreach d,./ $(DOC_DIRS:%=%/),$(INSTALL) -m 644 \
	    $(foreach f,$(DOCUMENTS),$(if $(filter $d,$(dir $f)),$f)) '$(DESTDIR)$(DOCDIR)/$d' &&) :
	@printf '  INST %s\n' $(INSTALLED:%='$(DESTDIR)%') '$(DESTDIR)$(DOCDIR)/'
	$(ldconfig)

# Folders go only if they are ours by name.
uninstall:
	@$(keep_others)
	$(Q)rm -f $(INSTALLED:%='$(DESTDIR)%') $(DOCUMENTS:%='$(DESTDIR)$(DOCDIR)/%')
	@for d in '$(COMPAT_DIR)' '$(INCLUDEDIR)/sapporo' '$(CMAKE_DIR)' $(DOC_DIRS:%='$(DOCDIR)/%') '$(DOCDIR)'; do \
	    [ ! -d '$(DESTDIR)'"$$d" ] || rmdir '$(DESTDIR)'"$$d" || :; done
	@$(bring_back)
	$(ldconfig)
