#pragma once

#include "sinkscope/io/config_json.h"
#include "sinkscope/text/normalizer.h"
#include "sinkscope/text/pre_tokenizer.h"

namespace sinkscope::text {

/// What tokenizer.json does to text before the model sees it.
struct TextSteps {
  Normalizer normalizer;
  PreTokenizer pre_tokenizer;
  bool byte_level = false;  ///< the model works on bytes, its vocabulary is spelt in byte letters
};

/// From the keys `normalizer` and `pre_tokenizer` of `tokenizer`. Throws kUnsupported naming a
/// construct that we do not read, kBadFile for a damaged one.
TextSteps read_text_steps(const io::Config& tokenizer);

/// Refuses a construct of tokenizer.json.
[[noreturn]] void refuse_construct(const io::Config& at, std::string_view construct);

/// The objects of the array under `key`; none when absent.
std::vector<io::Config> objects(const io::Config& at, std::string_view key);

}  // namespace sinkscope::text
