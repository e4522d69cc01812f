#pragma once

#include <cstdint>
#include <string>

namespace sinkscope::app {

int64_t available_memory();  ///< bytes that new processes could get now (MemAvailable), cgroup
                             ///< limit included
double peak_rss_mb();        ///< of this process so far

/// Whether the processor multiplies bfloat16 itself; otherwise LibTorch emulates it, very slowly.
bool cpu_has_bfloat16();

/// "1.2 GB", "350 MB".
std::string bytes_text(int64_t bytes);

/// Throws kTooLarge with the size needed when `planned` passes `limit` (0: available_memory()).
void check_memory(int64_t planned, int64_t limit);

}  // namespace sinkscope::app
