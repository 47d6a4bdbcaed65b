# One word each, the same here and in CI. Each target sets up what it needs.
.PHONY: demo unit test lint docs bench bench-hostile fuzz lock clean python-tests e2e vsix dist man rules platforms \
  playground portal release-dry-run field

VENV := .venv
BIN := $(VENV)/bin
# The tests start the program hundreds of times; compiling it each time would take longer than they do.
unexport PYTHONDONTWRITEBYTECODE

demo: $(VENV)/.ready
	@PATH="$(abspath $(BIN)):$$PATH" scripts/demo.sh

# In seconds: without the tests marked slow, with few generated cases, and on a share of the files.
unit: $(VENV)/.ready
	$(BIN)/python -m pytest -q -n auto --dist worksteal -m "not slow" --hypothesis-profile fast

# All of it also after a failure, with a list of the failures at the end.
test: $(VENV)/.ready
	scripts/all_tests.sh

lint: $(VENV)/.ready
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy
	$(BIN)/zizmor --quiet --offline --no-progress .github
	$(BIN)/check-jsonschema --quiet --builtin-schema vendor.github-issue-forms .github/ISSUE_TEMPLATE/*.yml
	$(BIN)/check-jsonschema --quiet --builtin-schema vendor.dependabot .github/dependabot.yml
	$(BIN)/check-jsonschema --quiet --builtin-schema vendor.github-workflows .github/workflows/*.yml

# The unit tests on every supported Python that this machine has.
python-tests: $(VENV)/.ready
	scripts/test_pythons.sh

# The tests in real editors; what they need is installed where that is allowed.
e2e: $(VENV)/.ready
	scripts/e2e.sh

# The VS Code extension as build/openpai-jobs-VERSION.vsix, with the packages of its server for this platform.
vsix: $(VENV)/.ready
	scripts/build_vsix.sh

# The page that checks jobs in the browser, in build/playground/; `make docs` takes it into the site.
playground: $(VENV)/.ready
	scripts/build_playground.sh

# The plugin of OpenPAI's web portal, in build/portal/: a folder for any web server. See docs/portal.md.
portal: $(VENV)/.ready
	scripts/build_playground.sh portal

# The sdist and, built from it, the wheel, in dist/.
dist: .venvs/dist/.ready
	scripts/build_dist.sh dist

# The files of a release, made twice in clean clones of the last commit and compared; in build/release.
release-dry-run:
	scripts/release_dry_run.sh

# The manual page docs/pai-lsp.1; a test compares it with the command line.
man: $(VENV)/.ready
	$(BIN)/python scripts/man_page.py

# What each rule fixes, schemas/rules.json; a test compares it with the examples and fixtures.
rules: $(VENV)/.ready
	$(BIN)/python scripts/rules_table.py

platforms: $(VENV)/.ready
	$(BIN)/python scripts/platform_page.py

# How right the rules are on the real files of FOLDER, one or more: a table, and what changed since the last run.
FOLDER :=
field: $(VENV)/.ready
	mkdir -p build
	$(BIN)/python scripts/field.py $(FOLDER) --before build/field.ndjson --out build/field.ndjson

bench: $(VENV)/.bench
	$(BIN)/python -m benchmarks

# Searches for texts that take long, in every reader and command; fails above the limits of docs/reliability.md.
bench-hostile: $(VENV)/.ready
	$(BIN)/python -m benchmarks.hostile

# The site, in site/, with the playground if `make playground` has made it; a broken link fails it.
docs: .venvs/docs/.ready
	NO_MKDOCS_2_WARNING=1 .venvs/docs/bin/mkdocs build --quiet --strict

# N odd jobs through check, fix, expand and graph, RUNS expanded jobs run with bash, FILES files of all kinds through all
# commands and the language server, then MINUTES of random edits through the server.
N := 20000
RUNS := 5000
FILES := 20000
MINUTES := 5
fuzz: $(VENV)/.ready
	$(BIN)/python tests/fuzz/fuzz_jobs.py --count $(N)
	$(BIN)/python tests/fuzz/fuzz_jobs.py --run --count $(RUNS)
	$(BIN)/python tests/fuzz/fuzz_files.py --count $(FILES)
	$(BIN)/python tests/fuzz/fuzz_server.py --minutes $(MINUTES)
	$(BIN)/python -m benchmarks.hostile

# Pins every dependency with its hash, for all supported Pythons at once.
PIN := $(BIN)/uv pip compile --quiet --universal --python-version 3.10 --generate-hashes --no-emit-index-url \
  --no-emit-find-links --no-header
lock: $(VENV)/.ready
	$(PIN) pyproject.toml --output-file requirements/server.txt
	$(PIN) --group setup --output-file requirements/setup.txt
	for group in test lint bench docs dist spark e2e; do \
	  $(PIN) --group $$group pyproject.toml --output-file requirements/$$group.txt || exit 1; \
	done

# An editable installation, too, makes pai_lsp/platform/_job_validator.py.
$(VENV)/.ready: requirements/setup.txt requirements/test.txt requirements/lint.txt pyproject.toml hatch_build.py schemas/job.schema.json $(wildcard schemas/platforms/*.json)
	scripts/setup_venv.sh $(VENV) "$$(scripts/pythons.sh | tail -n 1)" test lint

$(VENV)/.bench: $(VENV)/.ready requirements/bench.txt
	scripts/setup_venv.sh $(VENV) "$$(scripts/pythons.sh | tail -n 1)" bench
	touch $@

# What a group of requirements is for needs an environment of its own when nothing else is to be in it.
.venvs/%/.ready: requirements/%.txt | $(VENV)/.ready
	scripts/setup_venv.sh .venvs/$* "$$(scripts/pythons.sh | tail -n 1)" $*

clean:
	rm -rf $(VENV) .venvs build dist site .pytest_cache .mypy_cache .ruff_cache .hypothesis
