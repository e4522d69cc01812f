#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "sinkscope/io/config_json.h"

namespace sinkscope::text {

struct AddedToken {
  std::string content;
  int32_t id = 0;
  bool special = false;
  bool normalized = false;  ///< looked for in normalised text
  bool strips_left = false;
  bool strips_right = false;
  bool single_word = false;
};

/// The tokens of a tokenizer.json: who is who.
struct JsonEntries {
  std::vector<std::pair<std::string, int32_t>> vocabulary;
  std::vector<double> scores;  ///< Unigram: one an entry of `vocabulary`; otherwise empty
  std::vector<AddedToken> added;
  int64_t size = 0;  ///< highest id + 1

  std::optional<int32_t> find(std::string_view text) const;
};

/// `model` is the child of that name. Throws kBadFile naming the token that is damaged.
JsonEntries read_entries(const io::Config& tokenizer, const io::Config& model);

}  // namespace sinkscope::text
