#!/bin/bash
# Tries the front door on a bare Debian: makes one in FOLDER, clones this repository into it and runs
# the make targets there. Needs root and debootstrap.
#
#   tools/test_in_chroot.sh FOLDER [TARGET...]      (test, then demo, when no target is named)
#
# FOLDER/bookworm is made anew when it is not there; remove it to start from nothing. The packages'
# mirror and, where the machine has its own, the certificates are taken from this machine.
set -euo pipefail
[ $# -ge 1 ] || { sed -n '2,8p' "$0"; exit 2; }
[ "$(id -u)" -eq 0 ] || { echo "test_in_chroot: chroot needs root" >&2; exit 2; }
repository=$(cd "$(dirname "$0")/.." && pwd)
mkdir -p "$1"
system=$(cd "$1" && pwd)/bookworm
shift
targets=("$@")
[ $# -gt 0 ] || targets=(test demo)

# From `deb URI suite` lines or from the newer `URIs:` form.
mirror=$({ cat /etc/apt/sources.list /etc/apt/sources.list.d/*.sources /etc/apt/sources.list.d/*.list 2>/dev/null || true; } |
  sed -nE 's/^URIs: *([^ ]+).*/\1/p; s/^deb +(\[[^]]*\] +)?([^ ]+) .*/\2/p' | grep -m1 '/debian/*$')

if [ ! -e "$system/etc/debian_version" ]; then
  debootstrap --variant=minbase bookworm "$system" "$mirror"
fi
cat >"$system/etc/apt/sources.list" <<LIST
deb $mirror bookworm main
deb $mirror bookworm-updates main
LIST

mounted=()
unmount() {
  for place in "${mounted[@]}"; do umount -l "$place" || true; done
}
trap unmount EXIT
for place in proc sys dev dev/pts dev/shm; do
  mountpoint -q "$system/$place" && continue
  mkdir -p "$system/$place"
  mount --bind "/$place" "$system/$place"
  mounted=("$system/$place" "${mounted[@]}")
done
cp /etc/resolv.conf /etc/hosts "$system/etc/"

environment=(HOME=/root PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin TERM=dumb)
for name in http_proxy https_proxy no_proxy; do
  [ -z "${!name:-}" ] || environment+=("$name=${!name}")
done
if [ -n "${SSL_CERT_FILE:-}" ]; then
  mkdir -p "$system/etc/ssl"
  cp -L "$SSL_CERT_FILE" "$system/etc/ssl/machine.pem"
  for name in SSL_CERT_FILE PIP_CERT REQUESTS_CA_BUNDLE NODE_EXTRA_CA_CERTS; do
    environment+=("$name=/etc/ssl/machine.pem")
  done
fi

inside() { chroot "$system" env -i "${environment[@]}" bash -euc "$1"; }

# All that a person needs to clone a repository and type make.
inside 'apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends git make >/dev/null'
rm -rf "$system/root/sinkscope" "$system/root/sinkscope.bundle"
git -C "$repository" bundle create -q "$system/root/sinkscope.bundle" HEAD
inside 'cd && git -c advice.detachedHead=false clone -q sinkscope.bundle sinkscope'
for target in "${targets[@]}"; do
  echo "== make $target"
  inside "cd ~/sinkscope && time make $target"
done
