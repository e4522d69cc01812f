#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "sinkscope/io/config_json.h"

namespace sinkscope::train {

/// A bigram language over the symbols 0..V-1: how often each starts and what follows it.
struct Bigram {
  std::vector<std::vector<double>> next;     ///< P(. | x), [V][V], rows sum to 1
  std::vector<double> unigram;               ///< pi [V]
  std::vector<uint32_t> characters;          ///< [V] code points; empty: symbols without a name
  std::vector<std::vector<int64_t>> counts;  ///< of a text; empty otherwise

  int64_t symbols() const { return static_cast<int64_t>(unigram.size()); }
  double entropy_after(int64_t symbol) const;  ///< nats
};

/// Each symbol has `successors` others, weighted 0.1 + uniform; pi is the stationary distribution.
Bigram random_bigram(int64_t symbols, int64_t successors, uint64_t key);
/// Of the characters of a UTF-8 text, in the order of their code points. A character that only ends
/// the text is followed by the first one. Throws kUsage: fewer than 4 or more than 1024 characters.
Bigram text_bigram(std::string_view text, std::string_view where);
/// The same of stored "characters" and "counts". Throws kBadFile when they do not fit.
Bigram stored_bigram(const io::Config& settings);

}  // namespace sinkscope::train
