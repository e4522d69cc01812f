#!/bin/bash
# Makes the pictures of README.md from real output: docs/images/terminal.png and docs/images/report.png.
#
#   tools/make_screenshots.sh MODEL [PROGRAM]
#
# Needs chromium, and `script` (package bsdutils), which gives the program a terminal so that it colours.
set -euo pipefail
cd "$(dirname "$0")/.."
[ $# -ge 1 ] || { sed -n '2,6p' "$0"; exit 2; }
model=$1
program=${2:-build/release/sinkscope}
images=docs/images
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
mkdir -p "$images"

shoot() {  # page, picture, width, height
  chromium --headless --no-sandbox --disable-gpu --hide-scrollbars --force-device-scale-factor=1 \
    --virtual-time-budget=5000 --window-size="$3,$4" --screenshot="$2" "file://$1" >"$folder/chromium.log" 2>&1 ||
    { cat "$folder/chromium.log" >&2; exit 1; }
}

columns=100
command="stty cols $columns rows 60; '$program' scan '$model' -q -f examples/tinyshakespeare.txt --seq-len 64 \
  --max-seqs 16 -o '$folder/run.db' --report '$folder/report.html'"
env -u NO_COLOR TERM=xterm-256color COLORTERM=truecolor script -qec "$command" /dev/null </dev/null |
  sed "s#$folder/##g" >"$folder/terminal.txt"
python3 tools/ansi_to_html.py <"$folder/terminal.txt" >"$folder/terminal.html"
lines=$(wc -l <"$folder/terminal.txt")
shoot "$folder/terminal.html" "$images/terminal.png" $((columns * 9 + 60)) $((lines * 19 + 34))
shoot "$folder/report.html" "$images/report.png" 1280 1250
ls -l "$images"
