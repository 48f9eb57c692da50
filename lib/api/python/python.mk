# python.mk - the library for the wheel of the Python package (lib/api/python/build_hook.py).
#
#   make python-library PYTHON_LIBRARY=FILE    builds libsapporo alone, and copies it to FILE

.PHONY: python-library
python-library: $(B)/lib/$(call SO_FILE,sapporo)
	$(if $(PYTHON_LIBRARY),,$(error python-library needs PYTHON_LIBRARY=FILE))
	@mkdir -p '$(dir $(PYTHON_LIBRARY))'
	$(Q)cp -f $< '$(PYTHON_LIBRARY).new' && mv -f '$(PYTHON_LIBRARY).new' '$(PYTHON_LIBRARY)'
