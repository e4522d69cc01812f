#!/bin/sh
# Checks of the report page: tools/check_web.sh built|browser
#   built     the page in the repository is what its sources in web/ give
#   browser   a headless browser shows it: no script error, no request
# Exit code 77 where the machine lacks what the check needs.
set -eu
cd "$(dirname "$0")/../web"

skip() {
  echo "SKIPPED: $1"
  exit 77
}

node=$(sh ../tools/node.sh) || skip "node 20.19 or newer is not installed"
PATH=$node:$PATH
if [ "$1" = browser ]; then
  command -v chromium >/dev/null || skip "chromium is not installed"
fi

# Anew when the list of packages changed since.
stamp=node_modules/.sinkscope-installed
if ! cmp -s package-lock.json "$stamp"; then
  npm ci --no-audit --no-fund --no-update-notifier --loglevel=error
  cp package-lock.json "$stamp"
fi

case $1 in
  built) npm run --silent check-built ;;
  browser) npm run --silent check ;;
  *) echo "check_web: built or browser, not '$1'" >&2; exit 2 ;;
esac
