# site.mk - make docs: a static site of the pages, in build/site/html; make figures: their figures, from recorded data.
#
# The tools come from PyPI, in pinned versions, into a virtual environment in build/; the library needs none of them.
# BROWSER=1 adds what test_site needs to look at the pages in a headless browser.

PYTHON     ?= python3
DOCS_TOOLS := build/docs-venv
docs_pins   = docs/site/requirements.txt $(if $(BROWSER),docs/site/requirements-browser.txt)
docs_stamp  = $(DOCS_TOOLS)/installed-$(call hash,$(shell cat $(docs_pins)))

.PHONY: docs docs-tools figures
$(DOCS_TOOLS)/installed-%:
	@$(PYTHON) -c 'import sys, ensurepip, venv; sys.exit(sys.version_info < (3, 11))' 2>/dev/null || { \
	    echo 'make docs needs Python 3.11 or later with venv (Debian: apt-get install python3-venv); PYTHON= names another' >&2; \
	    exit 1; }
	@mkdir -p build && $(PYTHON) -m venv $(DOCS_TOOLS)
	@echo 'installing the tools of the site into $(DOCS_TOOLS)'
	@$(DOCS_TOOLS)/bin/pip install --quiet --no-compile --disable-pip-version-check $(addprefix -r ,$(docs_pins)) || { \
	    echo 'make docs needs the packages of $(docs_pins) from PyPI, once' >&2; exit 1; }
	@touch $@

docs-tools: $(docs_stamp)

docs: docs-tools
	@$(DOCS_TOOLS)/bin/python docs/site/pages.py build/site
	@NO_MKDOCS_2_WARNING=1 $(DOCS_TOOLS)/bin/mkdocs build --quiet -f build/site/mkdocs.yml
	@echo 'build/site/html/index.html'

figures: docs-tools
	@PYTHONDONTWRITEBYTECODE=1 $(DOCS_TOOLS)/bin/python docs/figures/draw.py $(FIGURES)
