# make demo   installs what is missing, builds, measures a real language model, writes report.html
# make test   installs what is missing, builds, passes every test
# The other targets are described in CONTRIBUTING.md.

SHELL := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c
MAKEFLAGS += --no-print-directory

JOBS ?= $(shell sh tools/jobs.sh)
export JOBS

SOURCES = git ls-files '*.h' '*.cpp' '*.cu' | xargs -r clang-format-14

.PHONY: all setup build demo test asan fuzz bench format lint clean

all: build

setup:
	@sh tools/setup.sh build

build: setup
	@bash tools/build.sh release sinkscope
	@echo "built build/release/sinkscope"

demo: build
	@sh tools/setup.sh demo || echo "demo: going on without what is missing"
	@bash tools/demo.sh

test: setup
	@sh tools/setup.sh test
	@bash tools/run_tests.sh ci

# The layers without LibTorch read every file, and build in a minute: they run under sanitizers.
asan: setup
	@bash tools/run_tests.sh asan base io text store report diagnostics

# Each reader's fuzzer for SECONDS.
fuzz: setup
	@sh tools/setup.sh fuzz
	@bash tools/fuzz.sh $(or $(SECONDS),60)

bench: setup
	@sh tools/setup.sh develop
	@bash tools/build.sh dev all
	@for program in build/dev/bench/*_bench; do if [ -x "$$program" ]; then "$$program"; fi; done

format:
	@sh tools/setup.sh develop
	@$(SOURCES) -i

lint:
	@sh tools/setup.sh develop
	@$(SOURCES) --dry-run -Werror
	@python3 tools/check_layers.py
	@python3 tools/check_docs.py
	@python3 tools/check_skips.py

clean:
	@rm -rf build
