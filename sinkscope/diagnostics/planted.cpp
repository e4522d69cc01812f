#include "sinkscope/diagnostics/planted.h"

#include <algorithm>
#include <utility>

namespace sinkscope::diagnostics {

namespace {

void spread(std::span<double> keys, double mass) {
  for (double& key : keys) key += mass / static_cast<double>(keys.size());
}

std::vector<double> plant_attention(const PlantedPattern& pattern) {
  const auto tokens = static_cast<size_t>(pattern.tokens);
  std::vector<double> attention(tokens * tokens);
  for (size_t i = 0; i < tokens; ++i) {
    pattern.write_row(static_cast<int64_t>(i), std::span(attention).subspan(i * tokens, tokens));
  }
  return attention;
}

std::vector<double> plant_values(PlantedValues kind, size_t tokens, double sink_value) {
  std::vector<double> values(tokens * tokens);
  if (kind == PlantedValues::kEqual) std::fill(values.begin(), values.end(), 1.0);
  if (kind == PlantedValues::kUnit) {
    for (size_t j = 0; j < tokens; ++j) values[j * tokens + j] = j == 0 ? sink_value : 1;
  }
  return values;
}

}  // namespace

int64_t PlantedPattern::first_key(int64_t query) const {
  const int64_t start = document > 0 ? query / document * document : 0;
  return window > 0 ? std::max(start, query - window + 1) : start;
}

int64_t PlantedPattern::last_key(int64_t query) const {
  if (causal) return query + 1;
  return document > 0 ? std::min(tokens, query / document * document + document) : tokens;
}

void PlantedPattern::write_row(int64_t query, std::span<double> row) const {
  std::fill(row.begin(), row.end(), 0.0);
  const int64_t first = first_key(query);
  const auto visible =
      row.subspan(static_cast<size_t>(first), static_cast<size_t>(last_key(query) - first));
  const auto self = static_cast<size_t>(query - first);
  switch (rows) {
    case PlantedRows::kUniform: spread(visible, 1); return;
    case PlantedRows::kDiagonal: visible[self] = 1; return;
    case PlantedRows::kPrevious: visible[self > 0 ? self - 1 : 0] = 1; return;
    case PlantedRows::kLocal4: {
      const size_t begin = self >= 3 ? self - 3 : 0;
      spread(visible.subspan(begin, self + 1 - begin), 1);
      return;
    }
    case PlantedRows::kSinkEven:
      visible[0] = visible.size() == 1 ? 1 : sink_mass;
      if (visible.size() > 1) spread(visible.subspan(1), 1 - sink_mass);
      return;
    case PlantedRows::kSinkSelf:
      visible[self] = self == 0 ? 1 : 1 - sink_mass;
      if (self > 0) visible[0] = sink_mass;
      return;
    case PlantedRows::kHalfSink:
      if (query % 2 == 0) {
        visible[0] = 1;
      } else {
        spread(visible, 1);
      }
      return;
  }
}

PlantedHead plant_head(std::string name, const PlantedPattern& pattern, PlantedValues values,
                       double sink_value) {
  PlantedHead head;
  head.name = std::move(name);
  head.pattern = pattern;
  head.tokens = head.width = pattern.tokens;
  head.attention = plant_attention(pattern);
  head.values = plant_values(values, static_cast<size_t>(pattern.tokens), sink_value);
  return head;
}

std::vector<PlantedHead> planted_heads() {
  std::vector<PlantedHead> heads;
  const auto add = [&](const char* name, const PlantedPattern& pattern, PlantedValues values,
                       double sink_value, HeadClass expected, std::optional<bool> sink) {
    heads.push_back(plant_head(name, pattern, values, sink_value));
    heads.back().expected_class = expected;
    heads.back().expected_sink = sink;
  };
  const auto even = [](double mass) {
    return PlantedPattern{PlantedRows::kSinkEven, 32, mass, false};
  };
  const auto self = [](double mass) {
    return PlantedPattern{PlantedRows::kSinkSelf, 32, mass, false};
  };
  using enum PlantedRows;
  using enum PlantedValues;
  using enum HeadClass;
  add("uniform", {kUniform}, kUnit, 1, kNone, false);
  add("diagonal", {kDiagonal}, kUnit, 1, kNone, false);
  add("previous token", {kPrevious}, kUnit, 1, kNone, false);
  add("local 4", {kLocal4}, kUnit, 1, kNone, false);
  add("half of the queries on the first key", {kHalfSink}, kUnit, 1, kNone, true);
  add("equal values, uniform attention", {kUniform}, kEqual, 1, kNone, false);
  add("too few tokens", {kSinkEven, 4, 1.0}, kUnit, 0, kTooShort, std::nullopt);
  add("nop", even(0.99), kUnit, 0.1, kNop, true);
  add("nop, causal", {kSinkEven, 64, 0.95}, kUnit, 0.01, kNop, true);
  add("broadcast", even(0.99), kUnit, 4, kBroadcast, true);
  add("broadcast, causal", {kSinkSelf, 64, 0.97}, kUnit, 1, kBroadcast, true);
  add("near miss of nop: short value", even(0.99), kUnit, 0.3, kOther, true);
  add("near miss of broadcast: many directions", self(0.5), kUnit, 0.6, kOther, true);
  add("near miss of an event: mass 0.49", even(0.49), kUnit, 4, kNone, true);
  add("zero values", even(0.99), kZero, 0, kOther, true);
  return heads;
}

}  // namespace sinkscope::diagnostics
