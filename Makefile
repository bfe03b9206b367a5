# The commands of this project: `make` lists them. For GNU make 3.81 (macOS) and later, and any sh.
#   PYTHON=python3.12   build the environment with this Python; `make clean` first, if there is one
#   TORCH=2.15.0        work in a separate environment, with this torch (or TORCH=newest)
#   TORCH_INDEX=URL     look for torch there too; small CPU-only builds for Linux: see README.md
#   PORT=8899, ARGS=…   passed to JupyterLab, for example ARGS=--no-browser
#   FILES=FOLDER        the sheets to score, for `make score`; write a space as "\ "

FIRST := notebooks/00_start_here.ipynb
VENV := .venv$(if $(TORCH),-torch-$(TORCH))
RUN := $(VENV)/bin/python
PACKAGES := '.[lab]'
FIXED := # a file of versions that override those of constraints.txt
UNPINNED = $(if $(TORCH),-e ^torch== -e ^sympy==) $(if $(FIXED),-f $(VENV)/fixed)
CONSTRAINTS := $(if $(TORCH)$(FIXED),$(VENV)/)constraints.txt
INSTALL = $(RUN) -m pip install --disable-pip-version-check \
	$(if $(TORCH_INDEX),--extra-index-url '$(TORCH_INDEX)') -c $(CONSTRAINTS) -e

.DEFAULT_GOAL := help
.NOTPARALLEL:
.PHONY: help lab test lint unit nb browser test-colab notebooks site student score publish-as atlas bench real cards clean

help: ## list these commands
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "make %-11s %s\n", $$1, $$2 }' Makefile

lab: $(VENV)/ready ## install what is missing, then open JupyterLab on the first notebook
	$(RUN) -m jupyterlab --ServerApp.root_dir=. --LabApp.default_url=/lab/tree/$(FIRST) \
		--ServerApp.contents_manager_class=tools.lab_files.Notebooks \
		--LabApp.extra_labextensions_path=tools/lab_extensions \
		$(if $(filter 0,$(shell id -u)),--allow-root) $(if $(PORT),--port=$(PORT)) $(ARGS)

# Workers share the cores: threads inside each would wait for one another. Bytecode that pytest
# rewrites (tests, plugins) is kept, or every process would rewrite it.
test unit nb browser test-colab: export OMP_NUM_THREADS = 1
test unit nb browser test-colab: export PYTHONDONTWRITEBYTECODE =

# Four workers for two cores: some wait for JupyterLab and other processes most of the time.
test: lint ## check the style, then run all tests: unit, nb and browser at once
	$(RUN) -m pytest -n 4

lint: $(VENV)/ready-test ## check the style of Python files and notebooks
	$(RUN) -m ruff check
	$(RUN) -m ruff format --check

unit: $(VENV)/ready-test ## test the packages, tools and the form of the notebooks
	$(RUN) -m pytest tests --ignore=tests/browser -n 2

nb: $(VENV)/ready-test ## run every notebook and compare each output with the stored one
	$(RUN) -m pytest notebooks -n 2

browser: $(VENV)/ready-test ## test JupyterLab and the website in a real browser (needs Chromium)
	$(RUN) -m pytest tests/browser -n 2

test-colab: ## test the notebooks with the versions that Google Colab has
	$(MAKE) VENV=.venv-colab PACKAGES="'.[notebooks]' nbval pytest pytest-xdist" FIXED=tests/colab.txt \
		.venv-colab/ready
	.venv-colab/bin/python -m pytest notebooks -n 2

notebooks: $(VENV)/ready-test ## run every notebook and store its outputs
	$(RUN) tools/notebooks.py

site: $(VENV)/ready-site ## build site/: every notebook as a page that needs no kernel and no network
	OMP_NUM_THREADS=1 $(RUN) -m tools.website

student: $(VENV)/ready ## write student/: the notebooks without solutions and outputs, for a class
	$(RUN) -m tools.classroom student

score: $(VENV)/ready ## run returned sheets (FILES=a folder or files), and write scores.csv
	$(RUN) -m tools.classroom score $(ARGS) $(FILES)

publish-as: $(VENV)/ready ## write the GitHub address OWNER/REPO wherever it is needed
	$(RUN) -m tools.publish $(filter-out $@,$(MAKECMDGOALS))
ifeq ($(firstword $(MAKECMDGOALS)),publish-as)
.DEFAULT: ; @: # the address that follows is not a target
endif

atlas: $(VENV)/ready ## measure the default gradients of torch (TORCH=2.8.0: of that one), and write ATLAS.md
	$(RUN) tools/atlas.py
	$(if $(TORCH),rm -rf $(VENV))

bench: $(VENV)/ready-test $(VENV)/ready-peers ## time a slider move, backward, doctor and functions, beside others
	$(RUN) benchmarks/explorer.py
	$(RUN) benchmarks/backward.py
	$(RUN) benchmarks/doctor.py
	$(RUN) benchmarks/functions.py
	$(RUN) benchmarks/arithmetic.py
	$(RUN) benchmarks/cards.py

real: ## examine training steps and bugs of other libraries, and write docs/real_models.md
	$(MAKE) VENV=.venv-real .venv-real/ready-real
	PYTHONPATH=benchmarks:tests/doctor OMP_NUM_THREADS=1 .venv-real/bin/python -m real --write docs/real_models.md

cards: ## make report cards of other libraries' functions, and write docs/report_cards.md
	$(MAKE) VENV=.venv-real .venv-real/ready-real
	OMP_NUM_THREADS=1 .venv-real/bin/python tools/library_cards.py --store

clean: ## remove the environments and all that tests leave behind
	@for each in .venv .venv-torch-* .venv-real .venv-colab; do \
		if test -L "$$each" || test -e "$$each/ours" || test -e "$$each/ready"; then \
			echo rm -rf "$$each"; rm -rf "$$each"; \
		elif test -e "$$each"; then echo "$$each was not made by make, and stays"; fi; \
	done
	rm -rf build site *.egg-info
	rm -rf .pytest_cache .ruff_cache .hypothesis
	find . -name __pycache__ -prune -exec rm -rf {} +

# Prints the first Python that can build the environment, or "no", why, and what to do.
OTHER := another Python with PYTHON=/path/to/python3
NEEDS := Autograd Surprises needs Python 3.10 to 3.14
REMEDY := install one (Debian, Ubuntu: apt install python3-venv; macOS: brew install python@3.13) \
	or name $(OTHER)
define FIND_PYTHON
no=; for p in $(if $(PYTHON),'$(PYTHON)',python3 python3.14 python3.13 python3.12 python3.11 python3.10); do \
	v=$$("$$p" -c 'import sys; print("%d.%d" % sys.version_info[:2])' 2>/dev/null); \
	case "$$v" in \
	3.10|3.11|3.12|3.13|3.14) \
		if "$$p" -c 'import venv, ensurepip' 2>/dev/null; then echo "$$p"; exit; fi; \
		no="$$p has no venv module: apt install python$$v-venv (Debian, Ubuntu) or name $(OTHER)" ;; \
	'') : $${no:="$(NEEDS), and $$p does not run: $(REMEDY)"} ;; \
	*) : $${no:="$(NEEDS), and $$p is $$v: $(REMEDY)"} ;; \
	esac; \
done; \
echo "no $$no"
endef

# Only a finished installation carries the stamp `ready`; the stamp `ours`, with its place, is there
# from the start. So an interrupted installation goes on, and one whose Python does not run, or that
# was moved or copied, is emptied first. A folder without stamps, or behind a link, is not ours to
# empty. The package is found, but not imported: that would load torch, which takes seconds.
FOUND_HERE := import os; from importlib.util import find_spec; \
	print(os.path.samefile(find_spec("autograd_surprises").origin, "autograd_surprises/__init__.py"))
PLACE := "$$(pwd -P)/$(VENV)"
define FIND_STATE
if test -e $(VENV)/ready && $(RUN) -Ic '$(FOUND_HERE)' 2>/dev/null | grep -q True; then echo ready; \
elif test ! -e $(VENV) && test ! -L $(VENV); then echo missing; \
elif test "$$(cat $(VENV)/ours 2>/dev/null)" = $(PLACE) && $(RUN) -c '' 2>/dev/null; then echo begun; \
elif test ! -L $(VENV) && { test -e $(VENV)/ours || test -e $(VENV)/ready; }; then echo broken; \
else echo foreign; fi
endef
STATE := $(shell $(FIND_STATE))
FOREIGN := $(VENV) is a link, or was not made by `make` in this folder, and stays as it is: \
	rename or remove it, and run `make` again
ifneq ($(STATE),ready)
.PHONY: $(VENV)/ready
endif

$(VENV)/ready: pyproject.toml constraints.txt $(FIXED)
	$(if $(filter foreign,$(STATE)),$(error $(FOREIGN)))
	$(eval FOUND := $$(shell $$(FIND_PYTHON)))
	$(if $(filter no,$(firstword $(FOUND))),$(error $(wordlist 2,99,$(FOUND))))
	@mkdir -p $(VENV) && echo $(PLACE) >$(VENV)/ours && rm -f $@
	$(if $(filter broken,$(STATE)),@cd $(VENV) && for each in * .[!.]*; do \
		test "$$each" = ours || rm -rf "$$each"; done)
	'$(FOUND)' -m venv $(VENV)
	$(if $(FIXED),sed -n 's/\(.*==\).*/^\1/p' $(FIXED) >$(VENV)/fixed)
	$(if $(TORCH)$(FIXED),grep -v $(UNPINNED) constraints.txt >$(CONSTRAINTS))
	$(if $(FIXED),cat $(FIXED) >>$(CONSTRAINTS))
	$(if $(filter-out newest,$(TORCH)),echo torch==$(TORCH) >>$(CONSTRAINTS))
	$(INSTALL) $(PACKAGES)
	@touch $@

$(VENV)/ready-%: $(VENV)/ready
	$(INSTALL) '.[$*]'
	@touch $@
