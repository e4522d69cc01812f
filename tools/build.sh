#!/bin/bash
# Configures build/PRESET when that is new and builds the targets: tools/build.sh PRESET TARGET...
set -euo pipefail
cd "$(dirname "$0")/.."
preset=$1
shift

# Compiled objects are kept outside the tree, so that a fresh clone builds quickly. The two relaxations
# are what a precompiled header needs.
if command -v ccache >/dev/null; then
  export CMAKE_C_COMPILER_LAUNCHER=ccache CMAKE_CXX_COMPILER_LAUNCHER=ccache
  export CCACHE_DIR=${CCACHE_DIR:-${XDG_CACHE_HOME:-$HOME/.cache}/ccache}
  export CCACHE_SLOPPINESS=${CCACHE_SLOPPINESS:-pch_defines,time_macros}
fi

log=$(mktemp)
trap 'rm -f "$log"' EXIT
cmake --preset "$preset" >"$log" 2>&1 || { cat "$log" >&2; exit 1; }
cmake --build --preset "$preset" -j "${JOBS:-$(sh tools/jobs.sh)}" --target "$@"
