# The commands of this project: `make` lists them. For GNU make 3.81 (macOS) and later, and any sh.
#   PYTHON=python3.12   build the environment with this Python; `make clean` first, if there is one
#   TORCH=2.15.0        work in a separate environment, with this torch (or TORCH=newest)
#   TORCH_INDEX=URL     look for torch there too; small CPU-only builds for Linux: see docs/installing.md
#   PORT=8899, ARGS=…   passed to JupyterLab, for example ARGS=--no-browser
# tools/environment.sh builds the environment.

FIRST := notebooks/00_start_here.ipynb
VENV := .venv$(if $(TORCH),-torch-$(TORCH))
RUN := $(VENV)/bin/python
ENVIRONMENT := @sh tools/environment.sh

.DEFAULT_GOAL := help
.NOTPARALLEL:
.PHONY: help lab test test-all test-processor lint unit nb browser test-colab notebooks site student atlas bench cases clean

help: ## list these commands
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "make %-11s %s\n", $$1, $$2 }' Makefile

lab: ## install what is missing, then open JupyterLab on the first notebook
	$(ENVIRONMENT) $(VENV)
	@folder=$$($(RUN) -m jupyter_core --runtime-dir) && mkdir -p "$$folder" 2>/dev/null && test -w "$$folder" || \
		{ echo "Jupyter cannot write to $$folder: name a folder with make lab JUPYTER_DATA_DIR=FOLDER" >&2; exit 1; }
	$(RUN) -m jupyterlab --ServerApp.root_dir=. --LabApp.default_url=/lab/tree/$(FIRST) \
		--LabApp.extra_labextensions_path=tools/lab_extensions \
		--LabApp.app_settings_dir=tools/lab_settings \
		$(if $(filter 0,$(shell id -u)),--allow-root) $(if $(PORT),--port=$(PORT)) $(ARGS)

# Workers share the cores: threads inside each would wait for one another. Bytecode that pytest
# rewrites (tests, plugins) is kept, or every process would rewrite it.
test test-all test-processor unit nb browser test-colab: export OMP_NUM_THREADS = 1
test test-all test-processor unit nb browser test-colab: export PYTHONDONTWRITEBYTECODE =

# One worker for each of two cores: a third one would save nothing, and import torch once more.
test: lint ## check the style, then run the unit tests, every notebook, and a slider in a browser
	$(RUN) -m pytest -n 2 -m "not slow" --durations=10

# Three: now and then one waits for JupyterLab or another process.
test-all: lint ## run every test: those of `make test`, and the slow ones, most of them in a browser
	$(RUN) -m pytest -n 3 --durations=10

# Without vector instructions, sums end in other last bits.
test-processor: lint ## test the doctor once more, as if on another processor
	ATEN_CPU_CAPABILITY=default $(RUN) -m pytest tests/doctor -n 3 -m "not slow"

lint: ## check the style of Python files and notebooks
	$(ENVIRONMENT) $(VENV) test
	$(RUN) -m ruff check
	$(RUN) -m ruff format --check

unit: ## test the packages, tools and the form of the notebooks, without a browser
	$(ENVIRONMENT) $(VENV) test
	$(RUN) -m pytest tests -n 2 -m "not slow and not browser"

nb: ## run the notebooks that changed, or whose modules did, and compare the outputs
	$(ENVIRONMENT) $(VENV) test
	$(RUN) -m pytest notebooks -n 2 -m "not slow" || test $$? = 5 # there is none to run

browser: ## test JupyterLab and the website in a real browser (needs Chromium)
	$(ENVIRONMENT) $(VENV) test
	$(RUN) -m pytest tests/browser -n 2

test-colab: ## test the notebooks with the versions that Google Colab has
	@BASE=".[notebooks] nbval pytest pytest-xdist" FIXED=tests/colab.txt \
		sh tools/environment.sh .venv-colab
	.venv-colab/bin/python -m pytest notebooks -n 2

notebooks: ## run every notebook, and write its outputs and all that follows from them
	$(ENVIRONMENT) $(VENV) test
	$(RUN) -m tools.course
	$(RUN) -m tools.notebooks
	$(RUN) -m tools.course
	$(RUN) -m tools.lesson_texts
	OMP_NUM_THREADS=1 $(RUN) -m cases.rule_ids

site: ## build site/: every notebook as a page that needs no kernel and no network
	$(ENVIRONMENT) $(VENV) site
	OMP_NUM_THREADS=1 $(RUN) -m tools.website

student: ## write student/: the notebooks without solutions and outputs, for a class
	$(ENVIRONMENT) $(VENV)
	$(RUN) -m tools.sheets

atlas: ## measure the default gradients of torch (TORCH=2.8.0: of that one), and write ATLAS.md
	$(ENVIRONMENT) $(VENV)
	$(RUN) -m tools.atlas
	$(if $(TORCH),rm -rf $(VENV))

bench: ## time a slider move, the doctor and the functions, beside others
	$(ENVIRONMENT) $(VENV) test peers
	$(RUN) benchmarks/explorer.py
	$(RUN) benchmarks/slider_in_a_page.py
	$(RUN) benchmarks/doctor.py
	$(RUN) benchmarks/functions.py
	$(RUN) benchmarks/operators.py
	$(RUN) benchmarks/cards.py

cases: ## examine training steps, bugs and functions of other libraries, and write their pages in docs/
	$(ENVIRONMENT) .venv-real real
	OMP_NUM_THREADS=1 .venv-real/bin/python -m cases --write docs/real_models.md
	OMP_NUM_THREADS=1 .venv-real/bin/python -m cases.library_cards --store

clean: ## remove the environments and all that tests leave behind
	@for each in .venv .venv-torch-* .venv-real .venv-colab; do \
		if test -L "$$each" || test -e "$$each/ours" || test -e "$$each/ready"; then \
			echo rm -rf "$$each"; rm -rf "$$each"; \
		elif test -e "$$each"; then echo "$$each was not made by make, and stays"; fi; \
	done
	rm -rf build site *.egg-info
	rm -rf .pytest_cache .ruff_cache .hypothesis
	find . -name __pycache__ -prune -exec rm -rf {} +
