#!/bin/bash
# Builds the fuzzers of every reader and runs each: tools/fuzz.sh SECONDS [READER...]
# A finding is written to build/fuzz/findings and ends the run with a status other than 0.
set -euo pipefail
cd "$(dirname "$0")/.."
[ $# -ge 1 ] || { sed -n '2,3p' "$0"; exit 2; }
seconds=$1
shift
readers=("$@")
[ $# -gt 0 ] || readers=(gguf safetensors config tokenizer image)

bash tools/build.sh fuzz "${readers[@]/#/fuzz_}"
mkdir -p build/fuzz/findings

# Seeds from the repository; what a run finds beside them stays in build/fuzz/corpus.
seeds() {
  case $1 in
    gguf) echo tests/data/gguf/malformed/gguf ;;
    safetensors) echo tests/data/gguf/malformed/safetensors ;;
    config) echo tests/data/fuzz/config ;;
    tokenizer) echo tests/data/fuzz/tokenizer ;;
    image) echo tests/data/image ;;
  esac
}

for reader in "${readers[@]}"; do
  corpus=build/fuzz/corpus/$reader
  mkdir -p "$corpus"
  echo "== $reader, $seconds s"
  # Leaks are looked for at the end of the run; a limit on memory is a check in itself.
  "build/fuzz/fuzz/fuzz_$reader" -max_total_time="$seconds" -max_len=16384 -rss_limit_mb=2048 -timeout=20 \
    -artifact_prefix="build/fuzz/findings/$reader-" -print_final_stats=1 "$corpus" "$(seeds "$reader")" 2>&1 |
    grep -E 'ERROR|SUMMARY|stat::(number_of_executed_units|peak_rss_mb)|artifact|panic' || true
  if compgen -G "build/fuzz/findings/$reader-*" >/dev/null; then
    echo "fuzz: a finding of $reader lies in build/fuzz/findings" >&2
    exit 1
  fi
done
