#!/bin/sh
# Installs the Debian packages that are missing, and nothing when none is.
#
#   tools/setup.sh build     what `make build` needs
#   tools/setup.sh demo      the same, and what fetches and unpacks the demo's model
#   tools/setup.sh test      the same, and what the checks of the report page need
#   tools/setup.sh fuzz      the same, and clang with its fuzzer's run-time library
#   tools/setup.sh develop   clang for formatting and fuzzing, Google Benchmark
set -eu

what=${1:-build}

build_packages="cmake ninja-build g++ pkg-config ccache python3
  libtorch-dev libopenblas0-openmp libhwy-dev nlohmann-json3-dev libcli11-dev libfmt-dev libeigen3-dev zlib1g-dev
  libsqlitecpp-dev libssl-dev libpcre2-dev libicu-dev libpng-dev libjpeg-dev libgtest-dev
  coinor-libclp-dev"

packages=$build_packages
case $what in
  build) ;;
  demo) packages="$packages python3-pip ca-certificates" ;;
  test) packages="$packages chromium fonts-dejavu-core python3-pip ca-certificates" ;;
  fuzz) packages="$packages clang-14 libclang-rt-14-dev libomp-14-dev" ;;
  develop) packages="$packages clang-14 libclang-rt-14-dev clang-format-14 libbenchmark-dev" ;;
  *) echo "setup: build, demo, test, fuzz or develop, not '$what'" >&2; exit 2 ;;
esac

have() { command -v "$1" >/dev/null 2>&1; }

installed() {
  [ "$(dpkg-query -W -f '${db:Status-Status}' "$1" 2>/dev/null)" = installed ]
}

missing=
for package in $packages; do
  # A program that came another way (a newer compiler, pip of a Python of one's own) counts too.
  case $package in
    cmake | ccache | python3) have "$package" && continue ;;
    g++) have c++ && have g++ && continue ;;
    ninja-build) have ninja && continue ;;
    python3-pip) python3 -m pip --version >/dev/null 2>&1 && continue ;;
    pkg-config) have pkg-config && continue ;;
    chromium) have chromium && continue ;;
  esac
  have dpkg-query && installed "$package" && continue
  missing="$missing $package"
done
# Debian 12's node is too old for the page's build.
finish() {
  if [ "$what" = test ]; then
    sh "$(dirname "$0")/node.sh" --fetch >/dev/null || echo "setup: no node; the page's checks will be skipped" >&2
  fi
  exit 0
}

[ -n "$missing" ] || finish
if ! have apt-get; then
  echo "setup: this system has no apt-get; install what corresponds to:$missing" >&2
  exit 1
fi
if [ "$(id -u)" -eq 0 ]; then
  root=
elif have sudo && { sudo -n true 2>/dev/null || [ -t 0 ]; }; then
  root=sudo
else
  echo "setup: these packages are missing:$missing" >&2
  echo "  and neither root nor sudo is at hand. As root: apt-get install$missing" >&2
  exit 1
fi

echo "setup: installing$missing"
export DEBIAN_FRONTEND=noninteractive
# The lists of a machine that was just made are empty or old; a failure here shows below if it matters.
$root apt-get update -qq || echo "setup: apt-get update failed; going on with the lists at hand" >&2
# shellcheck disable=SC2086  # one word per package is meant
if ! $root env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends $missing \
    >"${TMPDIR:-/tmp}/sinkscope-setup.$$" 2>&1; then
  tail -n 20 "${TMPDIR:-/tmp}/sinkscope-setup.$$" >&2
  rm -f "${TMPDIR:-/tmp}/sinkscope-setup.$$"
  echo "setup: apt-get could not install:$missing" >&2
  exit 1
fi
rm -f "${TMPDIR:-/tmp}/sinkscope-setup.$$"
finish
