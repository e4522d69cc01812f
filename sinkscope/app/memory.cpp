#include "sinkscope/app/memory.h"

#include <fmt/format.h>
#include <sys/resource.h>

#include <algorithm>
#include <fstream>
#include <limits>

#include "sinkscope/base/error.h"
#include "sinkscope/report/text.h"

namespace sinkscope::app {

int64_t available_memory() {
  int64_t available = std::numeric_limits<int64_t>::max();
  std::ifstream meminfo("/proc/meminfo");
  std::string key, unit;
  int64_t kilobytes = 0;
  while (meminfo >> key >> kilobytes && std::getline(meminfo, unit)) {
    if (key == "MemAvailable:") available = kilobytes * 1024;
  }
  int64_t limit = 0, used = 0;
  if (std::ifstream("/sys/fs/cgroup/memory.max") >> limit &&
      std::ifstream("/sys/fs/cgroup/memory.current") >> used) {
    available = std::min(available, std::max<int64_t>(0, limit - used));
  }
  return available;
}

bool cpu_has_bfloat16() {
  std::ifstream cpuinfo("/proc/cpuinfo");  // flags avx512_bf16, amx_bf16, bf16
  for (std::string line; std::getline(cpuinfo, line);) {
    if (line.find("bf16") != std::string::npos) return true;
  }
  return false;
}

double peak_rss_mb() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return static_cast<double>(usage.ru_maxrss) / 1024;
}

std::string bytes_text(int64_t bytes) {
  const auto value = static_cast<double>(bytes);
  if (bytes >= 1'000'000'000) return fmt::format("{:.1f} GB", value / 1e9);
  return fmt::format("{:.0f} MB", std::max(1.0, value / 1e6));
}

void check_memory(int64_t planned, int64_t limit) {
  const int64_t allowed = limit > 0 ? limit : available_memory();
  if (planned <= allowed) return;
  throw Error(
      ErrorKind::kTooLarge, "plan memory",
      fmt::format("{} bytes ({}) are needed, {} {}", report::count_text(planned),
                  bytes_text(planned), limit > 0 ? "--max-memory allows" : "the machine has free",
                  report::count_text(allowed)),
      "fewer tokens at once (--batch-tokens, --seq-len) need less; --max-memory sets the limit");
}

}  // namespace sinkscope::app
