#include "sinkscope/app/measurements/verdicts.h"

#include "sinkscope/stats/dominant_key.h"

namespace sinkscope::app {

std::vector<diagnostics::SinkVerdict> judge_heads(const diagnostics::LayerInput& input,
                                                  const diagnostics::Thresholds& thresholds) {
  std::vector<diagnostics::SinkVerdict> verdicts(input.heads.size());
  for (size_t h = 0; h < input.heads.size(); ++h) {
    if (!input.heads[h].attention) continue;
    verdicts[h] = diagnostics::judge_sink(*input.heads[h].attention, thresholds);
  }
  return verdicts;
}

std::vector<int64_t> dominant_keys(const diagnostics::LayerInput& input,
                                   std::span<const diagnostics::SinkVerdict> verdicts) {
  static_assert(diagnostics::kSinkLogitKey == stats::kNoValueKey);
  std::vector<int64_t> keys;
  for (size_t h = 0; h < verdicts.size(); ++h) {
    keys.push_back(input.heads[h].attention ? verdicts[h].key : stats::kHeadLeftOut);
  }
  return keys;
}

std::vector<theory::SeenKeys> seen_keys(const forward::LayerState& state, int64_t stream) {
  const auto s = static_cast<size_t>(stream);
  const int64_t tokens = state.streams[s].rows;
  std::vector<theory::SeenKeys> seen;
  for (int64_t i = 0; i < tokens; ++i) {
    const auto [first, last] = state.visibility[s].keys_of(i, tokens);
    seen.push_back({first, last});
  }
  return seen;
}

}  // namespace sinkscope::app
