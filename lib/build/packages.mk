# packages.mk - the tarball of a release, Debian's source package, and the first hour of a user.
#
#   make dist      build/libsapporo-VERSION.tar.gz: the files of the last commit
#   make debian    build/debian/: the same as Debian's source, with docs/packaging/debian in place
#   make first-hour
#                  what a new user does, in a new Debian system in build/bare (as root; test/project/first_hour.sh)

DIST     := build/libsapporo-$(VERSION).tar.gz
UNPACKED := build/debian/sapporo-$(VERSION)

.PHONY: dist debian first-hour
dist:
	@mkdir -p build
	$(Q)git diff --quiet HEAD || echo 'dist: changes that are not committed are left out' >&2
	$(Q)git archive --format=tar --prefix=libsapporo-$(VERSION)/ HEAD >$(DIST).part
	$(Q)gzip -9 -n <$(DIST).part >$(DIST) && rm $(DIST).part
	@echo 'made $(DIST)'

debian: dist
	$(Q)rm -rf build/debian && mkdir -p $(UNPACKED)
	$(Q)cp $(DIST) build/debian/sapporo_$(VERSION).orig.tar.gz
	$(Q)gzip -d -c $(DIST) | tar -x -f - -C $(UNPACKED) --strip-components=1
	$(Q)cp -R docs/packaging/debian $(UNPACKED)/debian
	@echo 'made $(UNPACKED); to build: cd $(UNPACKED) && dpkg-buildpackage -us -uc'

first-hour:
	test/project/first_hour.sh bare build/bare
