#!/bin/sh
# How many compile jobs fit: one per core, and 1.5 GB each (a file that includes LibTorch takes about 1 GB).
set -eu
cores=$(nproc 2>/dev/null || echo 1)
available=$(awk '/^MemAvailable:/ {print int($2 / 1500000)}' /proc/meminfo 2>/dev/null || echo 1)
# A container's limit is not in /proc/meminfo.
limit=$(cat /sys/fs/cgroup/memory.max 2>/dev/null || echo max)
if [ "$limit" != max ]; then
  used=$(awk '/^anon / {print $2}' /sys/fs/cgroup/memory.stat 2>/dev/null || echo 0)
  inside=$(awk -v limit="$limit" -v used="$used" 'BEGIN {print int((limit - used) / 1.5e9)}')
  [ "$inside" -lt "$available" ] && available=$inside
fi
jobs=$cores
[ "$available" -lt "$jobs" ] && jobs=$available
[ "$jobs" -lt 1 ] && jobs=1
echo "$jobs"
