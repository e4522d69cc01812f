#include "sinkscope/theory/pattern.h"

#include <random>

namespace sinkscope::theory {
namespace {

Pattern make(int64_t context, bool causal, auto winner) {
  Pattern pattern;
  pattern.causal = causal;
  pattern.winner.push_back(Pattern::kFree);
  for (int64_t i = 1; i <= context; ++i) pattern.winner.push_back(winner(i));
  return pattern;
}

std::vector<int64_t> sources(int64_t context, int64_t every, int64_t first, auto source) {
  std::vector<int64_t> all(static_cast<size_t>(context + 1), Pattern::kFree);
  for (int64_t i = every; i <= context; i += every) {
    if (i >= first) all[static_cast<size_t>(i)] = source(i);
  }
  return all;
}

Pattern mixed(const std::vector<int64_t>& source, bool causal, auto dormant) {
  return make(static_cast<int64_t>(source.size()) - 1, causal, [&](int64_t i) {
    const int64_t from = source[static_cast<size_t>(i)];
    return from == Pattern::kFree ? dormant(i) : from;
  });
}

}  // namespace

int64_t Pattern::pairs() const {
  int64_t count = 0;
  for (int64_t i = 0; i < tokens(); ++i) {
    if (winner[static_cast<size_t>(i)] != kFree) count += visible(i) - 1;
  }
  return count;
}

Pattern sink_pattern(int64_t context, bool causal) {
  return make(context, causal, [](int64_t) -> int64_t { return 0; });
}

Pattern diagonal_pattern(int64_t context, bool causal) {
  return make(context, causal, [](int64_t i) { return i; });
}

Pattern mixed_sink_pattern(const std::vector<int64_t>& source, bool causal) {
  return mixed(source, causal, [](int64_t) -> int64_t { return 0; });
}

Pattern mixed_diagonal_pattern(const std::vector<int64_t>& source, bool causal) {
  return mixed(source, causal, [](int64_t i) { return i; });
}

std::vector<int64_t> backcopy_sources(int64_t context, int64_t every, int64_t offset) {
  return sources(context, every, offset + 1, [&](int64_t i) { return i - offset; });
}

std::vector<int64_t> copy_paste_sources(int64_t context, int64_t every, uint64_t seed) {
  std::mt19937_64 random(seed);
  return sources(context, every, 2, [&](int64_t i) {
    return std::uniform_int_distribution<int64_t>(1, i - 1)(random);
  });
}

}  // namespace sinkscope::theory
